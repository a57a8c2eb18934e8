"""The console in a real browser: it updates itself, steers the world, responds in few clicks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import expect

from contract_tests import ROOT
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.console.test_pages import fill
from contract_tests.surfaces.console.visitor import HOME, PLACE
from emulator.ui.console.views import PAGES

Surf = Callable[..., Any]

DESK = {"viewport": {"width": 1280, "height": 900}}


def app(sandbox: Sandbox) -> str:
    return sandbox.key.removeprefix("sk_test_")


def address(sandbox: Sandbox, path: str = "") -> str:
    return f"{sandbox.url}{PLACE + path if path else HOME}?app={app(sandbox)}"


def listening(tab: Any) -> None:
    """Wait until the page's script runs and hears the stream."""
    expect(tab.locator(".live")).to_have_class("live on")


def opened(surf: Surf, sandbox: Sandbox, path: str = "") -> Any:
    """Return a page that hears the stream, with a mark that a reloaded one does not have."""
    tab = surf(address(sandbox, path), **DESK)
    listening(tab)
    tab.evaluate("window.mark = true")
    return tab


def assert_same_page(tab: Any) -> None:
    assert tab.evaluate("window.mark") is True, "the page was reloaded"


def shop(sandbox: Sandbox) -> Any:
    return sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app(sandbox)}")


def test_a_renewal_arrives_with_events_deliveries_and_email_without_a_reload(
    sandbox: Sandbox, surf: Surf
) -> None:
    shop(sandbox)
    sandbox.subscribe()
    sandbox.settle()
    tab = opened(surf, sandbox)
    expect(tab.get_by_test_id("timeline")).to_contain_text("Subscription renews")
    tab.get_by_test_id("plus-P1M").click()
    expect(tab.get_by_test_id("notice")).to_contain_text(
        "Advanced to 1 Feb 2026, 00:00: 1 job done, 3 events."
    )
    expect(tab.get_by_test_id("now")).to_have_text("1 Feb 2026, 00:00:00")
    expect(tab.get_by_test_id("count-invoice")).to_have_text("2")
    for part, text in (
        ("latest_requests", "/v1/subscriptions/"),
        ("latest_events", "invoice.paid"),
        ("latest_deliveries", "invoice.paid"),
        ("latest_emails", "Receipt"),
    ):
        expect(tab.get_by_test_id(part)).to_contain_text(text)
    # What somebody else does shows just as well.
    sandbox.advance("31d")
    expect(tab.get_by_test_id("count-invoice")).to_have_text("3")
    expect(tab.get_by_test_id("now")).to_have_text("4 Mar 2026, 00:00:00")
    tab.get_by_test_id("advance-here").first.click()
    expect(tab.get_by_test_id("count-invoice")).to_have_text("4")
    assert_same_page(tab)


@pytest.mark.long
def test_a_wrong_field_is_marked_named_and_has_the_focus(sandbox: Sandbox, surf: Surf) -> None:
    """The navigation and the result of an action stay in view."""
    tab = opened(surf, sandbox, "settings")
    rate = tab.locator("#s-tax_rate")
    rate.fill("101")
    tab.get_by_test_id("save-settings").click()
    expect(rate).to_be_focused()
    expect(rate).to_have_attribute("aria-invalid", "true")
    notice = tab.get_by_test_id("notice")
    expect(notice).to_contain_text("Tax rate: ")
    expect(rate.locator("+ .wrong")).to_be_in_viewport()
    rate.fill("18")
    tab.get_by_test_id("save-settings").scroll_into_view_if_needed()
    assert tab.evaluate("scrollY") > 200
    assert tab.locator("nav.side").bounding_box()["y"] > -1
    tab.get_by_test_id("save-settings").click()
    expect(notice).to_have_text("Settings saved.")
    expect(rate).not_to_have_attribute("aria-invalid", "true")
    header = tab.locator("header").first.bounding_box()
    assert notice.bounding_box()["y"] >= header["y"] + header["height"]


@pytest.mark.long
def test_it_is_steered_by_keyboard_alone(sandbox: Sandbox, surf: Surf) -> None:
    sandbox.subscribe()
    tab = opened(surf, sandbox)
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Skip to content")).to_be_focused()
    tab.keyboard.press("c")
    tab.keyboard.press("Enter")
    expect(tab.get_by_test_id("now")).to_have_text("1 Feb 2026, 00:00:00")
    tab.keyboard.press("?")
    expect(tab.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    tab.keyboard.press("Escape")
    assert_same_page(tab)
    tab.keyboard.press("g")
    tab.keyboard.press("e")
    expect(tab.get_by_role("heading", name="Events", level=1)).to_be_visible()
    listening(tab)
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    expect(tab.get_by_test_id("json")).to_contain_text("invoice.paid")
    listening(tab)
    tab.keyboard.press("/")
    tab.keyboard.type("awa")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Results for “awa”")


def full_world(sandbox: Sandbox) -> list[str]:
    """Make a world of everything, with names wider than a phone; return the pages to see."""
    ids = fill(sandbox, "W" * 80)
    sandbox.api.request("GET", "/customers/cust_" + "W" * 200 + "/")
    [delivery, *_] = sandbox.deliveries({"id": ids["endpoint"]})
    request, event, email = (
        sandbox.control.get(f"/{kind}")["data"][0]["id"]
        for kind in ("requests", "events", "emails")
    )
    objects = (*ids.values(), delivery["id"], event, sandbox.invoices("id")[0])
    details = (*(f"objects/{id}" for id in objects), f"requests/{request}", f"emails/{email}")
    return ["", *(path for path in PAGES if "{" not in path), *details, "nowhere"]


# -- what people come for: few clicks from where they have the question, and the answer is in view


GUIDE = ROOT / "docs" / "guide" / "console.md"

IN_VIEW = """() => {
  const words = [], range = document.createRange();
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.textContent.trim() || !text.parentElement.checkVisibility()) continue;
    range.selectNodeContents(text);
    const { top, bottom, width } = range.getBoundingClientRect();
    if (width && top >= 0 && bottom <= innerHeight) words.push(text.textContent);
  }
  return words.join(" ").replace(/\\s+/g, " ");
}"""
"""The text of a page that stands within the window."""


def busy_world(sandbox: Sandbox) -> dict[str, str]:
    """Return an unpaid and an active subscription, email with PDF, snapshot, failing endpoint."""
    sandbox.endpoint(
        f"{sandbox.url}/_emulator/inbox/shop?app={app(sandbox)}",
        "invoice.paid",
        "customer.created",
        name="Shop",
    )
    active, unpaid = sandbox.subscribe(), sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("40d")
    trial, deposit = (
        sandbox.subscribe(FAILING_PHONE, trial_period_days=14),
        sandbox.pay()["transaction"],
    )
    sandbox.pay(sandbox.method(None, type="mobile_money", phone="+24177000006"))
    lines = [{"description": "Mat", "unit_amount": 9000}]
    invoice = sandbox.api.post("/invoices/", {"customer": active["customer"], "line_items": lines})
    for step in ("finalize", "send"):
        sandbox.api.post(f"/invoices/{invoice['id']}/{step}/")
    sandbox.control.post("/snapshots", {"name": "before"})
    sandbox.inbox_responses("shop", status=400)
    sandbox.customer(name="Late Comer")
    sandbox.api.patch(f"/customers/{active['customer']}/", {"name": "Ada Ndong"})
    sandbox.settle()
    paths = {
        name: f"objects/{subscription['id']}"
        for name, subscription in (("active", active), ("unpaid", unpaid), ("trial", trial))
    }
    return {**paths, "deposit": f"objects/{deposit}", "invoice": f"../../invoice/{invoice['id']}"}


class Task(NamedTuple):
    """From the overview or a busy world's object: clicks or inputs, and the view after them."""

    name: str
    start: str
    steps: tuple[str | tuple[str, str], ...]
    response: str


def row(part: str, text: str) -> str:
    return f'[data-testid={part}] .cover:has-text("{text}")'


def menu(name: str) -> str:
    return f'#menu [data-go="{name}"]'


def mark(name: str) -> str:
    return f"[data-testid={name}]"


FAILED = row("latest_deliveries", "customer.created")
SENT = row("latest_emails", "INV-")
UNPAID = "5 charges failed, the last to Airtel +241 …0001, with INSUFFICIENT_FUNDS."
OF_AWA = (("#find", "Awa Diop"), '#suggestions [role=option]:has-text("unpaid")')
RECEIVED = (menu("inbox"), '.cover:has-text("shop")')
MADE_BY = f"{mark('why')} a[href*='/requests/']"
SHARED = ('a:has-text("Share this world")', 'role=link[name="Export to share before"]')
HALF = (mark("step-refund"), 'button:has-text("Half")', mark("step-refund-do"))
TWO_XX = 'label.check:has(input[name="settings.assumptions.webhook_success"][value="2xx"])'

TASKS = [
    Task(
        "Why did this webhook fail?",
        "",
        (FAILED,),
        "Not delivered to Shop: 1 attempt, which got 400.",
    ),
    Task("Why is this subscription unpaid?", "", OF_AWA, UNPAID),
    Task(
        "What did this request change?",
        "",
        (row("latest_requests", "/v1/customers/…"),),
        'lastname "Diop" "Ndong"',
    ),
    Task(
        "Which payments and refunds have no outcome yet?", "", (), "Waits for the operator’s answer"
    ),
    Task("What happens next, and when?", "", (), "Ada Ndong · Basic · 5,000 XAF / month"),
    Task(
        "What will happen within a month?", "", (menu("schedule"), mark("play-P1M")), "invoice.paid"
    ),
    Task("What did the customer get by email?", "", (SENT,), "buyer0@example.com"),
    Task("Where is the money?", "", (menu("ledger"),), "Merchant"),
    Task(
        "Which operations are not used yet?",
        "",
        (menu("coverage"),),
        "operations of the service were called",
    ),
    Task(
        "Does my client follow the rules of the service?", "", (menu("audit"),), "requests checked."
    ),
    Task(
        "What did the receiver get, and was its signature right?", "", RECEIVED, "signature valid"
    ),
    Task("look a card number up", "", (menu("magic"),), "4242"),
    Task(
        "send a failed webhook again",
        "",
        (FAILED, mark("step-retry")),
        "Replayed: failed, the endpoint answered 400",
    ),
    Task("find the request that made it", "active", (MADE_BY,), "POST /v1/subscriptions/"),
    Task("compare two instants", "unpaid", (mark("more"), mark("compare")), "fields differ."),
    Task("share a bug", "unpaid", (mark("more"), *SHARED), "before"),
    Task("see an email in French", "", (SENT, 'role=link[name="Français"]'), "Français"),
    Task("refund half", "deposit", HALF, " sent."),
    Task(
        "switch an assumption", "assumptions", (TWO_XX, mark("save-assumptions")), "Settings saved."
    ),
    Task(
        "play dunning through",
        "trial",
        (mark("step-advance_trial"), mark("step-advance_retries")),
        "unpaid",
    ),
    Task("pay an invoice", "invoice", (mark("pay"),), "This invoice is paid."),
    Task(
        "copy a request as curl", "", (row("latest_requests", "/v1/"), mark("copy-code")), "Copied"
    ),
]


@pytest.mark.long
def test_each_task_takes_few_clicks_without_a_dead_end(sandbox: Sandbox, surf: Surf) -> None:
    """Two clicks for a question of the guide or from the overview, three from an object's page."""
    questions = [task.name for task in TASKS if task.name.endswith("?")]
    assert re.findall(r"^## (.+\?)$", GUIDE.read_text("utf-8"), re.MULTILINE) == questions
    world = busy_world(sandbox)
    tab = surf(address(sandbox), **DESK, permissions=["clipboard-read", "clipboard-write"])
    for task in TASKS:
        assert len([step for step in task.steps if isinstance(step, str)]) <= (
            3 if task.start in world else 2
        )
        tab.goto(address(sandbox, world.get(task.start, task.start)))
        for step in task.steps:
            if task.start != "invoice":
                listening(tab)
            if isinstance(step, str):
                tab.locator(step).first.click()
            else:
                tab.locator(step[0]).fill(step[1])
        tab.wait_for_function(f"answer => ({IN_VIEW})().includes(answer)", arg=task.response)
    assert [refund["amount"] for refund in sandbox.api.get("/refunds/")["data"]] == [2500]
    assert tab.evaluate("navigator.clipboard.readText()").startswith("curl ")
