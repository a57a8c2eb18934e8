"""axe finds nothing on any page (console, buyer, guide, explorer, reference), in both themes.

CI sees each page in two of eight ways. ``pytest
contract_tests/surfaces/browser/test_accessibility.py --every-view`` sees all pages, those of the
guide too, in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.browser.test_buyer_pages import pay
from contract_tests.surfaces.browser.test_console import address, full_world
from contract_tests.surfaces.pages.buyer import (
    CARD,
    DECLINED,
    STEP,
    TRANSFER,
    WHO,
    invoice,
    link,
    session,
)
from contract_tests.surfaces.pages.buyer import PHONE as MOBILE_MONEY
from emulator.checks.report import Finding, Report
from emulator.document.bundles import load
from emulator.ui.docs.reference import DOCUMENTS
from emulator.ui.reports.report_page import page_of_failed_test, page_of_report

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")

AXE = """async (tags) => {
    // What a page does about a new size, it does before the next frame.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const { violations } = await axe.run({ resultTypes: ["violations"], runOnly: tags });
    return violations.map(({ id, nodes }) =>
        `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 150)).join("  ")}`);
}"""

SHIFTS = """() => new Promise((done) => new PerformanceObserver((list) =>
    done(list.getEntries().reduce(
        (sum, { value, hadRecentInput }) => sum + (hadRecentInput ? 0 : value), 0)))
    .observe({ type: "layout-shift", buffered: true }) || setTimeout(() => done(0), 300))"""
"""How far things have moved by themselves since the page was loaded; 0 if nothing has."""

LEAST_SHIFT = 0.01
"""Less is the rounding of a browser."""

WIDE = "document.documentElement.scrollWidth > innerWidth"


class View(NamedTuple):
    """A window, in CSS pixels: a browser at 200 % shows half as many of them."""

    name: str
    width: int
    height: int


PHONE = View("320 px", 320, 780)
TABLET = View("768 px", 768, 1024)
ZOOMED = View("1280 px at 200 %", 640, 450)
DESK = View("1280 px", 1280, 900)

# In this order, a page is seen in CI at one width in light and at the next but one in dark.
VIEWS = (PHONE, TABLET, ZOOMED, DESK)
THEMES = ("light", "dark")


def sample(number: int) -> Iterable[tuple[View, str]]:
    """Two of the eight ways to see a page; four pages in a row have all eight between them."""
    return ((VIEWS[number % 4], "light"), (VIEWS[(number + 2) % 4], "dark"))


def every() -> Iterable[tuple[View, str]]:
    return ((view, theme) for view in VIEWS for theme in THEMES)


def violations(tab: Any, ways: Iterable[tuple[View, str]]) -> list[str]:
    """Return axe's finds on a page in each way, with first elements; movement; too wide or not."""
    shift = tab.evaluate(SHIFTS)
    tab.evaluate(Axe().axe_script)
    wrong = [f"moved by {shift:.3f}"] if shift >= LEAST_SHIFT else []
    for view, theme in ways:
        tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
        tab.set_viewport_size({"width": view.width, "height": view.height})
        wrong += [
            f"{view.name}, {theme}: {violation}" for violation in tab.evaluate(AXE, list(RULES))
        ]
        if tab.evaluate(WIDE):
            wrong.append(f"{view.name}: wider than the window")
    tab.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    if tab.evaluate(WIDE):
        wrong.append("wider than a phone")
    return wrong


pytestmark = pytest.mark.long

Surf = Callable[..., Any]
Ways = Callable[[int], Iterable[tuple[View, str]]]

GUIDE = (".", "testing", "quickstart", "security", "webhooks")
"""Pages that have between them everything that a page of the guide can have."""

REFERENCE = ("errors", "events", "assumptions", "nothing")


@pytest.fixture
def every_view(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("every_view"))


@pytest.fixture
def ways(every_view: bool) -> Ways:
    return lambda number: every() if every_view else sample(number)


def flat(wrong: dict[str, list[str]]) -> list[str]:
    return [
        f"{page or 'overview'}: {violation}"
        for page, page_violations in wrong.items()
        for violation in page_violations
    ]


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
    tab = surf(
        "about:blank", viewport={"width": PHONE.width, "height": PHONE.height}, locale="fr-FR"
    )
    tab.goto(address(sandbox, ""))
    wide = ["welcome"] if tab.evaluate(WIDE) else []
    for path in full_world(sandbox):
        tab.goto(address(sandbox, path))
        if tab.evaluate(WIDE):
            wide.append(path or "overview")
    assert tab.locator("html").get_attribute("lang") == "fr"
    assert wide == []


HIDDEN = """() => [...document.querySelectorAll("main .scroll")]
    .filter(box => box.checkVisibility() && box.scrollWidth > box.clientWidth).length"""


def test_a_phone_shows_both_values_of_a_comparison_and_each_currency(
    sandbox: Sandbox, surf: Surf
) -> None:
    """Not behind a sideways scroll, of which nothing tells."""
    sandbox.pay()
    sandbox.pay(amount=1999, currency="EUR")
    sandbox.pay(amount=99_000_000, currency="XOF")
    [first, second] = [sandbox.subscribe()["id"] for _ in range(2)]
    tab = surf("about:blank", viewport={"width": 390, "height": 780})
    for path, query in ((f"objects/{first}/compare", f"&left=&right={second}"), ("ledger", "")):
        tab.goto(address(sandbox, path) + query)
        assert tab.locator("main table.stacked").count() > 0
        assert tab.evaluate(HIDDEN) == 0, path


def test_the_reports(surf: Surf, ways: Ways) -> None:
    """However long the lines of a finding are; their files are opened where CI shows artifacts."""
    command = f"payments-emulator test app --only 5:drop-after -- python {'shop/' * 30}buy.py"
    finding = Finding(
        "a double refund",
        "A request is sent again without an `Idempotency-Key`: a double refund",
        [f"request 5, POST /v1/refunds/: {'its response was lost, ' * 12}", f"    {'x' * 200}"],
        "https://acme.example/payments/going-live/#send-a-request-again",
        command,
    )
    cells = ["same", "differs", "money", *[""] * 9]
    grid = {"kinds": [f"drop-after-{n}" for n in range(12)], "rows": {"request 5": cells}}
    report = Report("test app", "1 problem", [finding], notes=["n" * 300], facts={"grid": grid})
    tab = surf("about:blank")
    wrong = {}
    for name, page in {
        "report": page_of_report(report),
        "failed test": page_of_failed_test("test_a", f"assert {'y' * 300}", "Events:\n  z", None),
    }.items():
        tab.set_content(page)
        wrong[name] = violations(tab, ways(0))
    assert flat(wrong) == []


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


def test_the_reference_pages(
    surf: Surf, server: RunningServer, ways: Ways, every_view: bool
) -> None:
    tab = surf("about:blank")
    wrong = {}
    for number, name in enumerate(REFERENCE if every_view else ("assumptions", "nothing")):
        tab.goto(f"{server.url}/docs/{name}")
        wrong[name] = violations(tab, ways(number))
    assert flat(wrong) == []


def explored(tab: Any, url: str) -> list[Any]:
    """Open a document in the explorer, try an operation, show the schemas; return the requests."""
    requests: list[Any] = []

    def note(request: Any) -> None:
        requests.append(request)

    tab.on("request", note)
    tab.set_default_timeout(
        60_000
    )  # eighty operations are a lot to draw for a machine that has other things to do
    tab.goto(url)
    expect(tab.locator(".opblock").first).to_be_visible(timeout=60_000)
    assert tab.evaluate(SHIFTS) < LEAST_SHIFT
    for method in (".opblock-post", ".opblock-get"):
        tab.locator(f"{method} button.opblock-summary-control").first.click()
    tab.locator(".opblock-get").get_by_role("button", name="Execute").click()
    expect(tab.locator(".live-responses-table").first).to_be_visible()
    if tab.locator("section.models button").count():
        tab.locator("section.models button").first.click()
    return requests


def test_the_explorer(surf: Surf, server: RunningServer, ways: Ways, every_view: bool) -> None:
    """A request with the given key works; nothing comes from elsewhere, no policy blocks a thing.

    The shortest document has every part of the others. A late response moves what is below it, as
    was asked for.
    """
    wrong = {}
    messages: list[str] = []
    for number, document in enumerate(DOCUMENTS if every_view else ("service", "pages")):
        tab = surf("about:blank")
        tab.on(
            "console",
            lambda message: messages.append(message.text) if "404" not in message.text else None,
        )
        requests = explored(tab, f"{server.url}/docs/?api={document}")
        assert [request.url for request in requests if not request.url.startswith(server.url)] == []
        assert (requests[-1].headers.get("authorization") == "Bearer sk_test_demo") is (
            document != "pages"
        )
        if document != "service" or every_view:
            wrong[document] = [
                violation
                for violation in violations(tab, ways(number))
                if not violation.startswith("moved by")
            ]
    assert (flat(wrong), messages) == ([], [])


# -- the guide: every page on a phone, tabs, search, theme; nothing from elsewhere


@pytest.fixture
def tab(surf: Surf, served: str) -> Iterator[Any]:
    """The first page. What the browser reports as an error fails the test."""
    tab = surf("about:blank")
    errors: list[str] = []
    urls: list[str] = []
    tab.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: urls.append(request.url))
    tab.goto(served)
    yield tab
    assert errors == []
    assert [url for url in urls if not url.startswith(served.removesuffix("/docs/guide/"))] == []


def pages(site: Path) -> list[str]:
    return sorted(str(file.parent.relative_to(site)) for file in site.rglob("index.html"))


@pytest.mark.needs("mkdocs")
def test_no_page_is_wider_than_a_phone(tab: Any, served: str, site: Path) -> None:
    tab.set_viewport_size({"width": 320, "height": 700})
    wide = []
    for name in pages(site):
        tab.goto(f"{served}{name}/")
        if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(name)
    assert wide == []
    link = tab.get_by_role("link", name="Tests in Python")
    expect(link).to_be_hidden()
    tab.get_by_role("button", name="Menu").click()
    with tab.expect_navigation():
        link.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Tests in Python")


@pytest.mark.needs("mkdocs")
def test_samples_in_several_languages_are_tabs(tab: Any, served: str, surf: Surf) -> None:
    """The chosen language, like the theme, holds on the next page; arrows move between the tabs."""
    tab.goto(f"{served}signatures/")
    expect(tab.get_by_role("tabpanel")).to_have_count(1)
    tab.get_by_role("tab", name="Python").focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_role("tab", name="TypeScript")).to_have_attribute("aria-selected", "true")
    expect(tab.get_by_role("tabpanel", name="TypeScript")).to_contain_text("timingSafeEqual")
    tab.get_by_role("tab", name="Python").click()
    theme = tab.locator("#theme")
    theme.click()
    theme.click()
    expect(theme).to_have_text("Dark theme")
    tab.goto(f"{served}webhooks/")
    expect(tab.get_by_role("tabpanel", name="Python").first).to_be_visible()
    expect(tab.get_by_role("tabpanel", name="Node")).to_have_count(0)
    expect(theme).to_have_text("Dark theme")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(11, 15, 24)"
    without_script = surf(f"{served}webhooks/", java_script_enabled=False)
    for text in ("def is_genuine", "function isGenuine"):
        expect(without_script.get_by_text(text)).to_be_visible()


@pytest.mark.needs("mkdocs")
def test_every_request_of_the_guide_that_opens_exists(site: Path) -> None:
    documents = {name: load(name)["paths"].values() for name in ("service", "control")}
    known = {
        (name, f"{operation['tags'][0]}/{operation['operationId']}".replace(" ", "%20"))
        for name, paths in documents.items()
        for item in paths
        for operation in item.values()
        if isinstance(operation, dict) and "operationId" in operation
    }
    pattern = re.compile(r'href="/docs/\?api=(\w+)[^"#]*#/([^"]+)"')
    links = {
        pair
        for file in site.rglob("index.html")
        for pair in pattern.findall(file.read_text("utf-8"))
    }
    assert len(links) > 10
    assert links - known == set()


@pytest.mark.needs("mkdocs")
def test_the_search_finds_what_the_emulator_serves_itself(tab: Any, served: str) -> None:
    """From a page of the guide and from one of reference: an error, an assumption, an operation."""
    tab.keyboard.press("/")
    tab.keyboard.type("qqqqqq")
    expect(tab.locator("#found")).to_have_text("Nothing was found.")
    tab.keyboard.press("Escape")
    expect(tab.locator("#found")).to_be_hidden()
    for page, words, heading in (
        (served, "INSUFFICIENT_FUNDS", "Errors and magic values"),
        (served.replace("/guide/", "/events"), "B-57", "Assumptions"),
        (served.replace("/guide/", "/errors"), "Cancel a subscription", "API"),
    ):
        tab.goto(page)
        tab.locator("#find").fill(words)
        link = tab.locator("#found a[href^='/docs/']:not([href^='/docs/guide'])").first
        expect(link).to_be_visible()
        with tab.expect_navigation():
            link.click()
        expect(tab.get_by_role("heading", level=1).first).to_have_text(heading)
