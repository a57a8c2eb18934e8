"""The pages about a world as a whole: plots, coverage, ledger, inboxes, reports."""

from __future__ import annotations

import re
from re import DOTALL, findall, search

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.console.visitor import Visitor, visiting
from emulator.checks.report import Finding, Report, as_json


def inbox(sandbox: Sandbox, name: str) -> str:
    return f"{sandbox.url}/_emulator/inbox/{name}?app={sandbox.key.removeprefix('sk_test_')}"


def test_money_states_and_events_are_plotted_with_tables_of_the_same_facts(
    sandbox: Sandbox,
) -> None:
    """An empty world plots nothing; received money is drawn even with its entries forgotten."""
    with visiting(sandbox) as visitor:
        page = visitor.open("charts")
        assert "<svg role" not in page.html
        assert "No money moved." in page.text_of("plot-money")
        sandbox.endpoint(inbox(sandbox, "shop"))
        sandbox.subscribe(FAILING_PHONE)
        sandbox.subscribe()
        sandbox.advance("40d")
        page, french = visitor.open("charts"), visitor.open("charts", lang="fr")
        (curve,) = sandbox.control.get("/ledger")["totals"][1:2]
        sandbox.control.post("/snapshots", {"name": "paid"})
        sandbox.control.post("/reset")
        sandbox.control.post("/snapshots/paid/restore")
        restored = visitor.open("charts", lang="en")
    plots = ["plot-money", "plot-states", "plot-events", "plot-attempts"]
    assert findall(r'<svg role="img" aria-labelledby="(\S+)-title', page.html) == plots
    assert f"{curve['amount']:,}" in page.text_of("plot-money")
    assert f"{curve['amount']:,}" in restored.text_of("plot-money")
    assert "unpaid" in page.text_of("plot-states")
    assert "Awa Diop · Basic" in page.text_of("plot-states")
    assert page.text_of("plot-events").count("invoice.paid") == 3, (
        "the row and a line of the table for each"
    )
    assert "invoice.paid: 200" in page.text_of("plot-attempts")
    assert "réussi" in french.text_of("plot-attempts")


def test_all_money_is_drawn_and_a_plot_of_a_part_says_so_on_the_axis_of_all(
    sandbox: Sandbox,
) -> None:
    for _ in range(2):
        sandbox.subscribe(unit_amount=500, currency="XAF", interval="week")
    sandbox.advance("364d")
    totals = sandbox.control.get("/ledger", page_size=1)["totals"]
    merchant = next(total["amount"] for total in totals if total["account"] == "merchant")
    entries = sandbox.control.get("/ledger", page_size=1, account="merchant")["entries"][
        "pagination"
    ]["count"]
    events = sandbox.control.get("/events")["pagination"]["count"]
    with visiting(sandbox) as visitor:
        page = visitor.open("charts")
    assert (entries, events > 300) == (106, True)
    assert f"The last 300 of {events:,} events." in page.text_of("plot-states")
    assert "The last" not in page.text_of("plot-money")
    rows = findall(r"<tr><td>(\d+ \w+ \d+), [\d:]+</td><td>XAF</td><td[^>]*>([\d,]+)", page.html)
    assert (len(rows), rows[0][0], rows[-1][1]) == (entries, "1 Jan 2026", f"{merchant:,}")
    plots = [
        search(rf'data-testid="plot-{name}".*?</svg>', page.html, DOTALL)
        for name in ("money", "states")
    ]
    axes = [
        findall(
            r'<text class="tick" x="[^"]*" y="[^"]*" text-anchor="start">([^<]+)</text>', plot[0]
        )
        for plot in plots
        if plot
    ]
    assert axes == [["1 Jan 2026"]] * 2, "one axis for all plots of the page"


def test_the_attempts_of_a_delivery_have_their_numbers_the_last_first(sandbox: Sandbox) -> None:
    endpoint = sandbox.endpoint(inbox(sandbox, "shop"), "customer.created")
    sandbox.inbox_responses("shop", status=503)
    sandbox.customer()
    sandbox.settle()
    sandbox.inbox_responses("shop", status=200)
    sandbox.advance("1m")
    [delivery] = sandbox.deliveries(endpoint)
    with visiting(sandbox) as visitor:
        text = visitor.open(f"objects/{delivery['id']}").text
    attempts = re.findall(r"Attempt (\d)\s*(\d{3})", text)
    assert attempts == [("2", "200"), ("1", "503")]


def test_the_deliveries_of_an_endpoint_are_drawn_from_the_first(sandbox: Sandbox) -> None:
    sandbox.endpoint(inbox(sandbox, "shop"), "invoice.paid")
    sandbox.subscribe(unit_amount=500, currency="XAF", interval="day")
    sandbox.advance("104d")
    sandbox.settle()
    with visiting(sandbox) as visitor:
        text = visitor.open("charts").text_of("plot-attempts")
    assert text.count("invoice.paid: 200") == 2 * 105, "a mark and a line of the table for each"
    assert "not drawn" not in text


def test_coverage_says_how_much_was_used(sandbox: Sandbox) -> None:
    """It begins with what an application that sells subscriptions has not seen."""
    sandbox.customer()
    coverage = sandbox.control.get("/coverage")
    with visiting(sandbox) as visitor:
        page = visitor.open("coverage")
        sandbox.subscribe()
        sandbox.settle()
        needs = visitor.open("coverage").text_of("needs")
    total = coverage["operations"]["total"]
    assert page.text_of("answer").startswith(
        f"2 of {total} operations of the service were called, and 1 of "
    )
    assert "createCustomer" in page.text_of("groups")
    assert all(name in page.text_of("groups") for name in coverage["errors"]["missing"])
    assert "needs" not in page.elements
    assert "a renewal that fails subscription past_due" in " ".join(needs.split())
    assert "a refund that fails" not in needs, "it has no refund"


def test_a_movement_of_the_ledger_is_never_cut_by_a_page(sandbox: Sandbox) -> None:
    """Pages have whole movements' amounts: no renewal is listed twice, and none as 0 XAF."""
    sandbox.subscribe(unit_amount=500, currency="XAF", interval="week")
    sandbox.advance("30w")
    with visiting(sandbox) as visitor:
        pages = [visitor.open("ledger", page=number) for number in (1, 2)]
    amounts = [findall(r'<span class="num push">([^<]+)</span>', page.html) for page in pages]
    assert amounts == [["500\N{NO-BREAK SPACE}XAF"] * 25, ["500\N{NO-BREAK SPACE}XAF"] * 6]
    assert f'<td class="num" data-of="XAF">−{500 * 31:,}</td>' in pages[0].html
    assert "Page 1 of 2" in pages[0].text


def test_a_movement_of_the_ledger_is_named_by_its_payment(sandbox: Sandbox) -> None:
    """Not by its customer, although the trigger makes both at once."""
    sandbox.control.post("/trigger", {"event": "invoice.paid"})
    with visiting(sandbox) as visitor:
        assert "INV-2026-000001 · Awa Diop · 5,000 XAF Invoice" in visitor.open("ledger").text


def test_an_inbox_shows_what_it_received_and_its_response_is_set_and_cleared(
    sandbox: Sandbox,
) -> None:
    sandbox.endpoint(inbox(sandbox, "shop"))
    sandbox.customer()
    sandbox.settle()
    with visiting(sandbox) as visitor:
        assert "shop" in visitor.open("inbox").text_of("inboxes")
        page = visitor.open("inbox/shop")
        assert page.text_of("answer") == "It answers with 200 at once. 2 requests received."
        assert "customer.created 200 signature valid" in page.text_of("received")
        page = visitor.do(
            "response",
            "inbox/shop",
            **{"_id": "shop", "status:number": "500", "delay_ms:number": "5"},
        )
        assert page.text_of("notice") == "From now on it answers with 500."
        assert page.text_of("answer").startswith("It answers with 500 after 5 ms.")
        page = visitor.do("clear_response", "inbox/shop", _id="shop")
        assert page.text_of("notice") == "From now on it answers with 200."
        assert "It answers with 200 at once." in page.text_of("answer")


REPORT = Report(
    "test all",
    "1 problem; worst: two customers",
    [Finding("app", "lost <b>.", ["1 -> 2"], "Send a key.", "payments-emulator test app")],
    notes=["12 runs."],
)


def opened(visitor: Visitor, text: str) -> Page:
    return Page(
        visitor.http.post(
            "/_emulator/console/reports", params={"app": visitor.app}, data={"report": text}
        )
    )


def test_the_report_of_an_examination_is_opened(sandbox: Sandbox) -> None:
    words = ("1 problem; worst", "lost <b>.", "1 -> 2", "Send a key.", "test app", "12 runs.")
    with visiting(sandbox) as visitor:
        page = opened(visitor, as_json(REPORT))
        passed = opened(visitor, as_json(Report("test app", "No problem in 4 cases.")))
    assert page.status == 200
    assert page.text_of("report").startswith("test all Found something")
    assert [word for word in words if word not in page.text_of("report")] == []
    assert "<b>" not in page.html
    assert passed.text_of("report").startswith("test app Passed")
    with visiting(sandbox) as visitor:
        for text in ("", "{", "[]", '{"headline": 1}', "[" * 10_000):
            page = opened(visitor, text)
            assert (page.status, page.text_of("report-error")) == (
                422,
                "This is not the JSON of a report.",
            )


def test_a_list_marks_the_objects_with_a_payment_under_way(sandbox: Sandbox) -> None:
    sandbox.settings(mobile_money="handset")
    made = sandbox.subscribe("+24177123456")
    sandbox.settle()
    with visiting(sandbox) as visitor:
        for kind in ("subscription", "invoice", "customer"):
            page = visitor.open(f"objects?kind={kind}")
            assert page.text_of("under-way") == "5,000 XAF under way", kind
        assert "operator" not in visitor.open(f"objects/{made['id']}").text_of("answer")


def test_a_charge_under_way_is_no_failed_attempt(sandbox: Sandbox) -> None:
    """The plot has the retries that follow if it fails, and no number is broken."""
    sandbox.settings(operator_delay=3600)
    made = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("2h")
    sandbox.advance("23h")
    with visiting(sandbox) as visitor:
        page = visitor.open(f"objects/{made['id']}")
        assert "✕ failed, △ announced, ○ under way" in page.text_of("charges")
        assert page.text_of("charges").count("INSUFFICIENT_FUNDS (failed)") == 1
        assert '<span class="nowrap">INV-2026-000001</span>' in page.html


def test_the_overview_shows_the_last_six_of_each_list(sandbox: Sandbox) -> None:
    sandbox.endpoint(inbox(sandbox, "shop"), "customer.created")
    for _ in range(7):
        sandbox.act(sandbox.invoice(), "send")
    sandbox.settle()
    with visiting(sandbox) as visitor:
        lists = visitor.open().html.split('data-testid="latest_')[1:]
    assert [html.count("data-key") for html in lists] == [6, 6, 6, 6]


@pytest.mark.parametrize(
    ("language", "waits", "none"),
    [
        (
            "en",
            "5,000 XAF Awa Diop · Subscription Awa Diop · Basic · 5,000 XAF / month"
            " (INV-2026-000001) Airtel +241 …3456 · Waits for the buyer’s phone · until"
            " 1 Jan 2026",
            "Nothing is under way.",
        ),
        ("fr", "Attend le téléphone de l’acheteur · jusqu’au 1 janv. 2026", "Rien n’est en cours."),
    ],
)
def test_the_overview_says_what_waits_for_whom_and_until_when(
    sandbox: Sandbox, language: str, waits: str, none: str
) -> None:
    sandbox.settings(mobile_money="handset")
    with visiting(sandbox) as visitor:
        assert none in visitor.open(lang=language).text_of("waiting")
        sandbox.subscribe("+24177123456")
        sandbox.settle()
        assert waits in visitor.open(lang=language).text_of("waiting")
