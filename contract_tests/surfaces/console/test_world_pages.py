"""The pages about a world as a whole: plots over its time, coverage, worlds, inboxes, assumptions, reports of examinations."""

from __future__ import annotations

from re import DOTALL, findall, search

from contract_tests.support.html import Page
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.console.visitor import Visitor, visiting
from emulator.checks.report import Finding, Report, as_json


def inbox(sandbox: Sandbox, name: str) -> str:
    return f"{sandbox.url}/_emulator/inbox/{name}?app={sandbox.key.removeprefix('sk_test_')}"


def test_money_states_and_events_are_plotted_with_tables_of_the_same_facts(sandbox: Sandbox) -> None:
    """An empty world has nothing to plot, and what was received is drawn when its entries are forgotten."""
    with visiting(sandbox) as visitor:
        page = visitor.open("charts")
        assert "<svg role" not in page.html
        assert "No money moved." in page.said("plot-money")
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
    assert f"{curve['amount']:,}" in page.said("plot-money")
    assert f"{curve['amount']:,}" in restored.said("plot-money")
    assert "unpaid" in page.said("plot-states")
    assert "Awa Diop · Basic" in page.said("plot-states")
    assert page.said("plot-events").count("invoice.paid") == 3, "the row and a line of the table for each"
    assert "invoice.paid: 200" in page.said("plot-attempts")
    assert "réussi" in french.said("plot-attempts")


def test_all_money_is_drawn_and_a_plot_of_a_part_says_so_on_the_axis_of_all(sandbox: Sandbox) -> None:
    for _ in range(2):
        sandbox.subscribe(unit_amount=500, currency="XAF", interval="week")
    sandbox.advance("364d")
    totals = sandbox.control.get("/ledger", page_size=1)["totals"]
    merchant = next(each["amount"] for each in totals if each["account"] == "merchant")
    entries = sandbox.control.get("/ledger", page_size=1, account="merchant")["entries"]["pagination"]["count"]
    events = sandbox.control.get("/events")["pagination"]["count"]
    with visiting(sandbox) as visitor:
        page = visitor.open("charts")
    assert (entries, events > 300) == (106, True)
    assert f"The last 300 of {events:,} events." in page.said("plot-states")
    assert "The last" not in page.said("plot-money")
    rows = findall(r"<tr><td>(\d+ \w+ \d+), [\d:]+</td><td>XAF</td><td[^>]*>([\d,]+)", page.html)
    assert (len(rows), rows[0][0], rows[-1][1]) == (entries, "1 Jan 2026", f"{merchant:,}")
    plots = [search(rf'data-testid="plot-{name}".*?</svg>', page.html, DOTALL) for name in ("money", "states")]
    axes = [
        findall(r'<text class="tick" x="[^"]*" y="[^"]*" text-anchor="start">([^<]+)</text>', plot[0])
        for plot in plots
        if plot
    ]
    assert axes == [["1 Jan 2026"]] * 2, "one axis for all plots of the page"


def test_coverage_says_how_much_was_used_and_what_was_not(sandbox: Sandbox) -> None:
    """It begins with what an application that sells subscriptions has not seen."""
    sandbox.customer()
    found = sandbox.control.get("/coverage")
    with visiting(sandbox) as visitor:
        page = visitor.open("coverage")
        sandbox.subscribe()
        sandbox.settle()
        needs = visitor.open("coverage").said("needs")
    total = found["operations"]["total"]
    assert page.said("answer").startswith(f"2 of {total} operations of the service were called, and 1 of ")
    assert "createCustomer" in page.said("groups")
    assert all(name in page.said("groups") for name in found["errors"]["missing"])
    assert "needs" not in page.elements
    assert "a renewal that fails subscription past_due" in " ".join(needs.split())
    assert "a refund that fails" not in needs, "it has no refund"


def test_a_movement_of_the_ledger_is_never_cut_by_a_page(sandbox: Sandbox) -> None:
    """Each page says the amount of whole movements: no renewal is listed twice, and none as 0 XAF."""
    sandbox.subscribe(unit_amount=500, currency="XAF", interval="week")
    sandbox.advance("30w")
    with visiting(sandbox) as visitor:
        pages = [visitor.open("ledger", page=number) for number in (1, 2)]
    amounts = [findall(r'<span class="num push">([^<]+)</span>', page.html) for page in pages]
    assert amounts == [["500\N{NO-BREAK SPACE}XAF"] * 25, ["500\N{NO-BREAK SPACE}XAF"] * 6]
    assert f'<td class="num">−{500 * 31:,}</td>' in pages[0].html
    assert "Page 1 of 2" in pages[0].text


def test_a_movement_of_the_ledger_is_named_by_its_payment(sandbox: Sandbox) -> None:
    """Not by its customer, although the trigger makes both at once."""
    sandbox.control.post("/trigger", {"event": "invoice.paid"})
    with visiting(sandbox) as visitor:
        assert "INV-2026-000001 · Awa Diop · 5,000 XAF Invoice" in visitor.open("ledger").text


def test_an_inbox_shows_what_it_received_and_its_response_is_set_and_cleared(sandbox: Sandbox) -> None:
    sandbox.endpoint(inbox(sandbox, "shop"))
    sandbox.customer()
    sandbox.settle()
    with visiting(sandbox) as visitor:
        assert "shop" in visitor.open("inbox").said("inboxes")
        page = visitor.open("inbox/shop")
        assert page.said("answer") == "It answers with 200 at once. 2 requests received."
        assert "customer.created 200 signature valid" in page.said("received")
        form = {"_id": "shop", "status:number": "500", "delay_ms:number": "5"}
        page = visitor.do("response", "inbox/shop", **form)
        assert page.said("notice") == "From now on it answers with 500."
        assert page.said("answer").startswith("It answers with 500 after 5 ms.")
        page = visitor.do("clear_response", "inbox/shop", _id="shop")
        assert page.said("notice") == "From now on it answers with 200."
        assert "It answers with 200 at once." in page.said("answer")


REPORT = Report(
    "test all",
    "1 problem; worst: two customers",
    [Finding("app", "lost <b>.", ["1 -> 2"], "Send a key.", "payments-emulator test app")],
    notes=["12 runs."],
)


def opened(visitor: Visitor, text: str) -> Page:
    answer = visitor.http.post("/_emulator/console/reports", params={"app": visitor.app}, data={"report": text})
    return Page(answer)


def test_the_report_of_an_examination_is_opened(sandbox: Sandbox) -> None:
    words = (
        "test all Found something",
        "1 problem; worst",
        "lost <b>.",
        "1 -> 2",
        "Send a key.",
        "test app",
        "12 runs.",
    )
    with visiting(sandbox) as visitor:
        page = opened(visitor, as_json(REPORT))
        passed = opened(visitor, as_json(Report("test app", "No problem in 4 cases.")))
    assert page.status == 200
    assert [word for word in words if word not in page.said("report")] == []
    assert "<b>" not in page.html
    assert passed.said("report").startswith("test app Passed")
    with visiting(sandbox) as visitor:
        for text in ("", "{", "[]", '{"headline": 1}', "[" * 10_000):
            page = opened(visitor, text)
            assert (page.status, page.said("report-error")) == (422, "This is not the JSON of a report.")
