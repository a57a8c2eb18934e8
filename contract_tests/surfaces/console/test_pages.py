"""The console's pages without a script: whole, escaped, in two languages, of all objects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract_tests.contract.every.conftest import factory_in
from contract_tests.contract.every.values import SERVICE
from contract_tests.support.html import Page
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import CARD, FAILING_PHONE, Sandbox
from contract_tests.surfaces.console.visitor import visiting
from emulator.checks.document.object_factory import documented
from emulator.presentation.languages.language import language_of
from emulator.presentation.languages.wording import STATUSES, TRANSITIONS, status_name
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.console.views import PAGES

NASTY = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7*7 }}"
    " </textarea></pre> \u202e 😀"
)
WORD = "Hostile"

LISTS = [path for path in PAGES if "{" not in path]


def fill(sandbox: Sandbox, text: str = NASTY) -> dict[str, Any]:
    """Make a world of everything, with one bad text as its names; return some objects' ids."""
    inbox = f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}"
    endpoint = sandbox.endpoint(inbox, name=f"{WORD} {text}"[:100])
    sandbox.inbox_responses("shop", status=400)
    customer = sandbox.customer(
        name=f"{WORD} {text}", metadata={"note": text}, phone="+24177000000"
    )
    plan = sandbox.plan(name=text, description=text)
    subscription = sandbox.api.post(
        "/subscriptions/", {"customer": customer["id"], "plan": plan["id"]}
    )
    sandbox.subscribe(FAILING_PHONE, plan=plan["id"])
    sandbox.product(name=text)
    session = sandbox.session(
        line_items=[{"description": text, "unit_amount": 15000, "quantity": 1}]
    )
    sandbox.buy(session, CARD, customer={"name": text, "email": "nasty@example.com"})
    sandbox.link(name=text)
    sandbox.api.request("GET", "/customers/", params={"search": text})
    sandbox.control.post(
        "/outcomes", {"operation": "payment", "result": "failed", "match": {"customer": text}}
    )
    sandbox.control.post(
        "/faults", {"then": {"status": 503, "body": text}, "match": {"customer": text}}
    )
    sandbox.control.post("/snapshots", {"name": "before"})
    sandbox.settle()
    return {
        "customer": customer["id"],
        "subscription": subscription["id"],
        "endpoint": endpoint["id"],
    }


def faults(page: Page) -> list[str]:
    """Return a page's faults: strangers' markup, inline scripts and styles, missing words."""
    wrong = []
    if (
        page.html.count("<script") != 1
        or page.html.count("<style") != 1
        or "<img src=x" in page.html
        or "49 <" in page.html
    ):
        wrong.append("strange markup")
    wrong += page.strange
    if not re.search(r"<h1", page.html) or "<title>" not in page.html:
        wrong.append("no heading")
    return wrong


def test_an_empty_world_has_every_page_in_french(sandbox: Sandbox) -> None:
    """A choice of theme and language lasts."""
    with visiting(sandbox, **{"Accept-Language": "fr-FR,fr;q=0.9"}) as visitor:
        for path in ("", *LISTS):
            page = visitor.open(path)
            assert (page.status, faults(page)) == (409 if path == "recording" else 200, [])
            assert '<html lang="fr"' in page.html
            assert "Vue d’ensemble" in page.text
    with visiting(sandbox) as visitor:
        for choice in ({"theme": "dark"}, {"language": "fr"}, {"theme": "<b>", "language": "xx"}):
            visitor.http.post("/_emulator/console/choose", data={**choice, "_back": "/_emulator/"})
        assert '<html lang="fr" data-theme="dark"' in visitor.open("events").html


def test_a_world_without_objects_is_welcomed(sandbox: Sandbox) -> None:
    """Until its first object: moving the clock is no reason to stop."""
    with visiting(sandbox) as visitor:
        for _ in range(2):
            page = visitor.open()
            assert 'data-testid="to-next" disabled' in page.html
            assert "A world of your own" in page.text
            visitor.do("advance", by="1d")
        sandbox.subscribe()
        page = visitor.open()
    assert 'data-testid="to-next" disabled' not in page.html
    assert "A world of your own" not in page.text


FEMININE = ("checkout_session", "invoice", "payment_intent", "transaction")
"""The kinds whose French nouns are feminine; a delivery is *un envoi*."""


def test_every_transition_has_words() -> None:
    rows = [row for machine in STATE_MACHINES for row in machine.rows]
    assert {row.trigger for row in rows} <= TRANSITIONS.keys()


def test_every_status_has_words() -> None:
    assert {
        (machine.kind.kind, status)
        for machine in STATE_MACHINES
        for row in machine.rows
        for status in (row.source, row.target)
        if status
    } <= {(kind, status) for kind, statuses in STATUSES.items() for status in statuses}


def test_a_french_status_agrees_with_the_noun_of_its_kind() -> None:
    """A participle is feminine where the noun is."""
    french = language_of("fr")
    for kind, statuses in STATUSES.items():
        words = {status: status_name(french, kind, status) for status in statuses}
        assert [status for status, word in words.items() if word == status.replace("_", " ")] == []
        participles = [
            word for word in words.values() if re.fullmatch(r"\w+ée?|ouverte?|réussie?", word)
        ]
        assert all(word.endswith("e") == (kind in FEMININE) for word in participles), words


def test_what_strangers_wrote_shows_as_text_on_every_page_and_reading_changes_nothing(
    sandbox: Sandbox,
) -> None:
    """B-93: same requests, same bytes; somebody who looks makes none."""
    ids = fill(sandbox)
    before = (
        sandbox.control.get("/requests")["pagination"]["count"],
        sandbox.control.get("/clock"),
    )
    kinds = ("requests", "emails", "events")
    details = [f"{kind}/{sandbox.control.get(f'/{kind}')['data'][0]['id']}" for kind in kinds[:2]]
    details += [
        f"objects/{item['id']}"
        for kind in sandbox.control.get("/counts")
        for item in sandbox.control.get("/objects", kind=kind, page_size=1)["data"]
    ]
    with visiting(sandbox) as visitor:
        for path in ["", *LISTS, *details]:
            page = visitor.open(path)
            assert (page.status, faults(page)) == (200, []), path
        assert NASTY.replace('"', '\\"') in visitor.open(f"objects/{ids['customer']}").text_of(
            "json"
        )
        assert WORD in visitor.open("search", q=WORD.lower()).text
        assert visitor.open("search", q=f" {ids['customer']} ").response.url.path.endswith(
            ids["customer"]
        )
        assert visitor.open("search", q=NASTY).html.count("<script") == 1
        assert visitor.open("objects", kind="customer", query=NASTY).html.count("<script") == 1
    assert (
        sandbox.control.get("/requests")["pagination"]["count"],
        sandbox.control.get("/clock"),
    ) == before


BOUGHT = {"checkout_session": "checkout", "payment_link": "pay", "invoice": "invoice"}
"""What has a page for buyers, by its kind, and the first part of its path."""


@pytest.mark.long
def test_each_status_of_each_kind_has_its_pages_and_every_link_of_the_console_leads_somewhere(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """In both languages, also for buyers; a status that nothing led to is set directly."""
    customer = fill(sandbox)["customer"]
    place = {"line1": "1 Rue des Palmes", "city": "Libreville", "country": "GA"}
    sandbox.api.post(f"/customers/{customer}/addresses/", place)
    sandbox.control.post("/trigger", {"event": "refund.succeeded"})
    sandbox.api.post("/security-profiles/", {"name": "Shop"})
    factory = factory_in(sandbox, receiver.url)
    for kind in documented(SERVICE):
        factory.object(kind, {})
    factory.connections.disconnect()
    statuses = {
        (machine.kind.kind, row.target) for machine in STATE_MACHINES for row in machine.rows
    }
    links: set[str] = set()
    with visiting(sandbox) as visitor:
        for kind, status in [
            *((kind, "") for kind in sandbox.control.get("/counts")),
            *sorted(statuses),
        ]:
            object, *_ = sandbox.control.get("/objects", kind=kind)["data"]
            if status:
                sandbox.control.request(
                    "PATCH", f"/objects/{object['id']}", json={"status": status}
                )
            for language in ("fr", "en"):
                page = visitor.open(f"objects/{object['id']}", lang=language)
                assert (page.status, faults(page)) == (200, []), (kind, status)
                links |= {*page.links}
                if kind in BOUGHT:
                    assert visitor.open(
                        f"/{BOUGHT[kind]}/{object['id']}", lang=language
                    ).status in (200, 404, 410)
        for path in LISTS:
            links |= {*visitor.open(path).links}
        own = sorted(
            link for link in links if link.startswith("/_emulator/") and "/stream" not in link
        )
        assert len(own) > 150
        assert [link for link in own if visitor.http.get(link).status_code >= 400] == []


NOT_THERE = {
    "nowhere": 404,
    "objects/cust_000000000000000000000000": 404,
    "objects/%3Fkind=customer": 404,
    "requests/req_0": 404,
    "emails/mail_0": 404,
    "snapshots/none/export": 404,
    "objects?kind=settings": 404,
    "objects?related=cust_0": 404,
    "events?page=<b>": 422,
    "requests?status=abc": 422,
    "events?app=<script>": 404,
    "do/advance": 405,
    "static/0/passwd": 404,
}


def test_what_is_not_there_is_a_page_that_says_so(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        for address, status in NOT_THERE.items():
            path, _, query = address.partition("?")
            page = visitor.open(path, **dict([query.split("=")] if query else []))
            assert (page.status, "<b>" in page.html) == (status, False), address
            assert path.startswith("static") or page.text_of("problem")


def test_a_page_may_load_and_run_only_our_own_files(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        page = visitor.open()
        assert re.match(
            "default-src 'none'; style-src 'sha256-[^ ;]+'; script-src 'self' 'sha256-[^ ;]+';"
            " img-src 'self' data:; connect-src 'self'; ",
            page.response.headers["content-security-policy"],
        )
        assert page.response.headers["cache-control"] == "no-store"
        assert page.response.headers["x-frame-options"] == "SAMEORIGIN"
        files = re.findall(r'(?:href|data-module)="(/_emulator/console/static/[^"]+)"', page.html)
        types = {visitor.http.get(file).headers["content-type"].partition(";")[0] for file in files}
    assert types == {"text/javascript", "image/svg+xml"}
    assert not re.findall(r'(?:src|href)="https?:', page.html)


def test_the_address_of_the_console_responds_whatever_is_accepted(sandbox: Sandbox) -> None:
    """The address that ``serve`` prints also serves curl and link checkers; programs get JSON."""
    with visiting(sandbox, Accept="*/*") as visitor:
        responses = [visitor.http.request(method, "/_emulator/") for method in ("GET", "HEAD")]
        assert [response.status_code for response in responses] == [200, 200]
        assert (
            visitor.http.get("/_emulator/health", headers={"Accept": "text/html"}).json()["status"]
            == "ok"
        )


def test_other_addresses_of_the_console_lead_home(sandbox: Sandbox) -> None:
    """The live side is a world of its own."""
    sandbox.customer()
    with visiting(sandbox) as visitor:
        for path in ("/_emulator", "/_emulator/console/"):
            assert visitor.open(path).response.url.path == "/_emulator/"
        assert [visitor.open(**live).text_of("count-customer") for live in ({}, {"live": "1"})] == [
            "1",
            "0",
        ]


def test_a_request_shows_fields_before_its_first_change_with_those_after_its_last(
    sandbox: Sandbox,
) -> None:
    subscription = sandbox.subscribe()
    sandbox.advance("62d")
    [advance] = sandbox.control.get("/requests", page_size=1)["data"]
    with visiting(sandbox) as visitor:
        html = visitor.open(f"requests/{advance['id']}").html
    row = re.search(r"<tr><th[^>]*>current_period_end</th>.*?</tr>", html)
    ends = [subscription["current_period_end"], "2026-04-01T00:00:00.000Z"]
    assert row
    assert [end for end in ends if f'>"{end}"<' in row[0]] == ends


def test_an_email_is_shown_in_each_form(sandbox: Sandbox) -> None:
    invoice = sandbox.api.post(
        "/invoices/",
        {
            "customer": sandbox.customer()["id"],
            "line_items": [{"description": "Mat", "unit_amount": 9000}],
        },
    )
    for step in ("finalize", "send"):
        sandbox.api.post(f"/invoices/{invoice['id']}/{step}/")
    email = sandbox.control.get("/emails")["data"][0]
    with visiting(sandbox) as visitor:
        page = visitor.open(f"emails/{email['id']}")
        frame = visitor.open(f"emails/{email['id']}/html")
        paper = next(visitor.http.get(link) for link in page.links if "/attachments/" in link)
        none = visitor.open(f"emails/{email['id']}/attachments/none.pdf")
        raw = visitor.open(f"emails/{email['id']}/raw")
    assert email["subject"] in page.text
    assert "<iframe" in page.html
    assert " sandbox " in page.html
    assert "default-src 'none'" in frame.response.headers["content-security-policy"]
    assert paper.headers["content-type"] == "application/pdf"
    assert paper.content.startswith(b"%PDF")
    assert none.status == 404
    assert raw.response.headers["content-type"].startswith("text/plain")
    assert "Subject:" in raw.html


def test_an_object_is_explained_and_leads_on(sandbox: Sandbox) -> None:
    """The causes' chain, with ids as links, in the reader's language. The future can be played."""
    subscription = sandbox.subscribe()
    sandbox.advance("P2M")
    invoice = sandbox.api.get("/invoices/")["data"][0]
    with visiting(sandbox) as visitor:
        page = visitor.open(f"objects/{invoice['id']}")
        french = visitor.open(f"objects/{invoice['id']}", lang="fr")
        assert "invoice.paid" in visitor.open("schedule", until="P3M").text
    why = page.text_of("why")
    assert why.startswith(
        "Why is it in this state? When Requests Clock and jobs Money and states Webhooks Emails"
    )
    for text in (
        "POST /v1/subscriptions/",
        "Subscription renews",
        "open → paid",
        "amount_paid 0 XAF → 5,000 XAF",
    ):
        assert text in why
    assert "no longer covers" not in why
    assert "Pourquoi cet état ? Quand Requêtes Horloge et tâches Argent et états" in french.text_of(
        "why"
    )
    assert "L’abonnement se renouvelle" in french.text_of("why")
    leads = page.text_of("relations")
    assert all(
        name in leads for name in ("Customer", "Subscription", "Payment intent", "Transaction")
    )
    linked = {link.partition("?")[0].rpartition("/")[2] for link in page.links}
    assert {
        subscription["id"],
        invoice["id"],
        invoice["transaction"],
        invoice["payment_intent"],
    } <= linked
    assert f'title="{invoice["due_date"]}"' in page.html, (
        "days are written as everywhere, with the API's form as title"
    )


def test_a_row_says_what_it_is_about(sandbox: Sandbox) -> None:
    """A delivery's object, endpoint's health, email's buyer and amount, error's code, a date."""
    url = f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}"
    sandbox.endpoint(url, "invoice.paid", "customer.created")
    sandbox.inbox_responses("shop", status=400)
    sandbox.subscribe()
    sandbox.settle()
    sandbox.api.rejected(
        "POST", "/refunds/", 404, "TRANSACTION_NOT_FOUND", json={"transaction": "trans_0"}
    )
    with visiting(sandbox) as visitor:
        texts = {
            path: visitor.open(path, **query).text.replace("\N{NO-BREAK SPACE}", " ")
            for path, query in ROWS.items()
        }
    assert {path: text for path, text in ROW_TEXTS.items() if text not in texts[path]} == {}
    assert "2 of 2 failed" in texts["webhooks"]


ROWS: dict[str, dict[str, str]] = {
    "webhooks": {},
    "emails": {},
    "requests": {"status": "4xx"},
    "search": {"q": "Awa"},
}

ROW_TEXTS = {
    "webhooks": (
        "failed invoice.paid INV-2026-000001 · Awa Diop · 5,000 XAF Shop 400 1 Jan 2026, 00:00"
    ),
    "emails": "Awa Diop 5,000 XAF buyer0@example.com 1 Jan 2026, 00:00",
    "requests": "404 TRANSACTION_NOT_FOUND",
    "search": "Awa Diop Customer active 1 Jan 2026, 00:00",
}
