"""axe finds nothing on any page: console, buyer's pages, guide, explorer and reference, in both themes.

CI sees each page in two of eight ways. ``pytest contract_tests/surfaces/browser/test_accessibility.py --every-view`` sees all
pages, those of the guide too, in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.browser.accessibility import (
    LEAST_SHIFT,
    PHONE,
    SHIFTS,
    WIDE,
    View,
    every,
    sample,
    violations,
)
from contract_tests.surfaces.browser.test_buyer_pages import pay
from contract_tests.surfaces.browser.test_console import address, full_world
from contract_tests.surfaces.browser.test_guide import pages
from contract_tests.surfaces.pages.buyer import CARD, DECLINED, STEP, TRANSFER, WHO, invoice, link, session
from contract_tests.surfaces.pages.buyer import PHONE as MOBILE_MONEY
from emulator.ui.docs.reference import DOCUMENTS

pytestmark = pytest.mark.long

Surf = Callable[..., Any]
Ways = Callable[[int], Iterable[tuple[View, str]]]

GUIDE = (".", "testing", "quickstart", "security", "webhooks")
"""Pages that have between them everything that a page of the guide can have."""

REFERENCE = ("errors", "events", "assumptions")


@pytest.fixture
def every_view(pytestconfig: pytest.Config) -> bool:
    """Whether each page is seen in every way."""
    return bool(pytestconfig.getoption("every_view"))


@pytest.fixture
def ways(every_view: bool) -> Ways:
    """How the page of this number is seen."""
    return lambda number: every() if every_view else sample(number)


def flat(wrong: dict[str, list[str]]) -> list[str]:
    """What is wrong, each with its page."""
    return [f"{page or 'overview'}: {each}" for page, found in wrong.items() for each in found]


def test_the_console(sandbox: Sandbox, surf: Surf, ways: Ways) -> None:
    tab = surf("about:blank")
    wrong = {}
    for number, path in enumerate(full_world(sandbox)):
        tab.goto(address(sandbox, path))
        wrong[path] = violations(tab, ways(number))
    for number, sheet in enumerate(("steering", "help", "apps")):
        tab.evaluate(f"document.getElementById('{sheet}').showPopover()")
        wrong[sheet] = violations(tab, ways(number))
    tab.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    tab.evaluate("document.getElementById('menu').showPopover()")
    wrong["menu"] = violations(tab, [(PHONE, "light"), (PHONE, "dark")])
    assert flat(wrong) == []


def test_the_console_in_french_is_no_wider_than_a_phone(sandbox: Sandbox, surf: Surf) -> None:
    """French words are longer, on buttons above all."""
    tab = surf("about:blank", viewport={"width": PHONE.width, "height": PHONE.height}, locale="fr-FR")
    tab.goto(address(sandbox, ""))
    wide = ["welcome"] if tab.evaluate(WIDE) else []
    for path in full_world(sandbox):
        tab.goto(address(sandbox, path))
        if tab.evaluate(WIDE):
            wide.append(path or "overview")
    assert tab.locator("html").get_attribute("lang") == "fr"
    assert wide == []


def buyer_pages(sandbox: Sandbox) -> dict[str, str]:
    products = [sandbox.product(name=name)["id"] for name in ("Basket", "Mat")]
    choose = {"payment_link_type": "product", "products": products, "allow_quantity": True}
    ended = session(sandbox)
    sandbox.api.post(f"/checkout-sessions/{ended['id']}/expire/")
    return {
        "session": session(sandbox)["url"],
        "panel": session(sandbox)["url"] + "?method=bank_card&fill=success",
        "link": link(sandbox, **choose)["url"],
        "donation": link(sandbox, payment_link_type="donation")["url"],
        "invoice": invoice(sandbox, description="x " * 800, footer="Thanks")["payment_url"],
        "expired": ended["url"],
        "unknown": f"{sandbox.url}/pay/link_0",
    }


SENT = {
    "wrong": {},
    "failed": DECLINED,
    "waiting": TRANSFER,
    "phone": {**MOBILE_MONEY, "phone": "+24177000003"},
    "step": STEP,
}
"""What a buyer sends, by the page that comes then."""


def test_the_buyers_pages(sandbox: Sandbox, surf: Surf, ways: Ways) -> None:
    tabs = {name: surf(url) for name, url in buyer_pages(sandbox).items()}
    for name, fields in SENT.items():
        tabs[name] = surf(session(sandbox)["url"])
        pay(tabs[name], fields)
    tabs["paid"] = surf(link(sandbox)["url"])
    pay(tabs["paid"], {**CARD, **WHO})
    tabs["receipt"] = surf(sandbox.api.get("/receipts/")["data"][0]["url"])
    wrong = {name: violations(tab, ways(number)) for number, (name, tab) in enumerate(tabs.items())}
    assert flat(wrong) == []


@pytest.mark.needs("mkdocs")
def test_the_guide(surf: Surf, served: str, site: Path, ways: Ways, every_view: bool) -> None:
    tab = surf("about:blank")
    wrong = {}
    for number, name in enumerate(pages(site) if every_view else GUIDE):
        tab.goto(f"{served}{name}/")
        wrong[name] = violations(tab, ways(number))
    assert flat(wrong) == []


def test_the_reference_pages(surf: Surf, server: RunningServer, ways: Ways, every_view: bool) -> None:
    tab = surf("about:blank")
    wrong = {}
    for number, name in enumerate(REFERENCE if every_view else ("assumptions",)):
        tab.goto(f"{server.url}/docs/{name}")
        wrong[name] = violations(tab, ways(number))
    assert flat(wrong) == []


def explored(tab: Any, url: str) -> list[Any]:
    """Open a document in the explorer, in it an operation, which is tried, and the list of schemas; what was asked."""
    asked: list[Any] = []

    def note(request: Any) -> None:
        asked.append(request)

    tab.on("request", note)
    tab.set_default_timeout(60_000)  # eighty operations are a lot to draw for a machine that has other things to do
    tab.goto(url)
    expect(tab.locator(".opblock").first).to_be_visible(timeout=60_000)
    assert tab.evaluate(SHIFTS) < LEAST_SHIFT
    for method in (".opblock-post", ".opblock-get"):
        tab.locator(f"{method} button.opblock-summary-control").first.click()
    tab.locator(".opblock-get").get_by_role("button", name="Execute").click()
    expect(tab.locator(".live-responses-table").first).to_be_visible()
    if tab.locator("section.models button").count():
        tab.locator("section.models button").first.click()
    return asked


def test_the_explorer(surf: Surf, server: RunningServer, ways: Ways, every_view: bool) -> None:
    """A request is tried with the key that is filled in; nothing comes from elsewhere, and no policy blocks anything.

    The shortest document has every part of the others. A late response moves what is below it, as was asked for.
    """
    wrong = {}
    said: list[str] = []
    for number, document in enumerate(DOCUMENTS if every_view else ("service", "pages")):
        tab = surf("about:blank")
        tab.on("console", lambda message: said.append(message.text) if "404" not in message.text else None)
        asked = explored(tab, f"{server.url}/docs/?api={document}")
        assert [each.url for each in asked if not each.url.startswith(server.url)] == []
        assert (asked[-1].headers.get("authorization") == "Bearer sk_test_demo") is (document != "pages")
        if document != "service" or every_view:
            wrong[document] = [each for each in violations(tab, ways(number)) if not each.startswith("moved by")]
    assert (flat(wrong), said) == ([], [])
