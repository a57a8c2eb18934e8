"""What people come to the console for: at most two clicks from the overview, and the answer is in view."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from contract_tests import ROOT
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.browser.accessibility import SHIFTS
from contract_tests.surfaces.browser.test_console import address, app, listening

Surf = Callable[..., Any]

DESK = {"viewport": {"width": 1280, "height": 800}}

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


def in_view(tab: Any) -> str:
    return str(tab.evaluate(IN_VIEW))


class Person:
    """Somebody at the overview who counts their clicks."""

    def __init__(self, tab: Any, sandbox: Sandbox) -> None:
        self.tab = tab
        self.sandbox = sandbox
        self.home = address(sandbox)
        self.clicks = 0

    def start(self) -> None:
        self.tab.goto(self.home)
        listening(self.tab)
        self.clicks = 0

    def click(self, target: Any) -> None:
        target.click()
        self.clicks += 1

    def object(self, id: str) -> None:
        """Be on the page of an object, where the question comes up."""
        self.tab.goto(address(self.sandbox, f"objects/{id}"))
        listening(self.tab)

    def menu(self, name: str) -> None:
        self.click(self.tab.locator(f'#menu [data-go="{name}"]'))
        listening(self.tab)

    def row(self, part: str, text: str) -> None:
        self.click(self.tab.get_by_test_id(part).locator(".cover", has_text=text).first)
        listening(self.tab)


def busy_world(sandbox: Sandbox) -> dict[str, str]:
    """Return an unpaid subscription, an active one, an email with a PDF, a snapshot, and an endpoint that fails."""
    endpoint = sandbox.endpoint(
        f"{sandbox.url}/_emulator/inbox/shop?app={app(sandbox)}", "invoice.paid", "customer.created", name="Shop"
    )
    active = sandbox.subscribe()
    unpaid = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("40d")
    lines = [{"description": "Mat", "unit_amount": 9000}]
    invoice = sandbox.api.post("/invoices/", {"customer": active["customer"], "line_items": lines})
    for step in ("finalize", "send"):
        sandbox.api.post(f"/invoices/{invoice['id']}/{step}/")
    sandbox.control.post("/snapshots", {"name": "before"})
    sandbox.inbox_answers("shop", status=400)
    sandbox.customer(name="Late Comer")
    sandbox.api.patch(f"/customers/{active['customer']}/", {"name": "Ada Ndong"})
    sandbox.settle()
    return {"endpoint": endpoint["id"], "active": active["id"], "unpaid": unpaid["id"]}


def why_a_webhook_failed(person: Person) -> str:
    person.row("latest_deliveries", "customer.created")
    return "Not delivered to Shop: 1 attempt, which got 400."


def what_a_request_changed(person: Person) -> str:
    person.row("latest_requests", "/v1/customers/…")
    return 'lastname "Diop" "Ndong"'


def open_an_email(person: Person) -> str:
    person.row("latest_emails", "INV-")
    return "buyer0@example.com"


def copy_a_curl(person: Person) -> str:
    person.row("latest_requests", "/v1/")
    person.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.click(person.tab.get_by_test_id("copy-code"))
    expect(person.tab.get_by_test_id("copy-code")).to_have_text("Copied")
    assert person.tab.evaluate("navigator.clipboard.readText()").startswith("curl ")
    return "Copied"


def unpaid(person: Person) -> str:
    person.tab.locator("#find").fill("Awa Diop")
    person.click(person.tab.locator("#suggestions [role=option]", has_text="unpaid"))
    return "5 charges failed, the last to Airtel +241 …0001, with INSUFFICIENT_FUNDS."


def within_a_month(person: Person) -> str:
    person.menu("schedule")
    person.click(person.tab.get_by_test_id("play-P1M"))
    return "invoice.paid"


def in_menu(name: str, answer: str, *more: str) -> Callable[[Person], str]:
    """Find the answer on a page of the menu, or on one that a link of it leads to."""

    def look(person: Person) -> str:
        person.menu(name)
        for text in more:
            person.click(person.tab.locator(".cover", has_text=text))
        return answer

    return look


QUESTIONS: dict[str, Callable[[Person], str]] = {
    "Why did this webhook fail?": why_a_webhook_failed,
    "Why is this subscription unpaid?": unpaid,
    "What did this request change?": what_a_request_changed,
    "What happens next, and when?": lambda person: "Ada Ndong · Basic · 5,000 XAF / month",
    "What will happen within a month?": within_a_month,
    "What did the customer get by email?": open_an_email,
    "Where is the money?": in_menu("ledger", "Merchant"),
    "Which operations are not used yet?": in_menu("coverage", "operations of the service were called"),
    "Does my client follow the rules of the service?": in_menu("audit", "requests checked."),
    "What did the receiver get, and was its signature right?": in_menu("inbox", "signature valid", "shop"),
}


@pytest.mark.long
def test_each_question_takes_two_clicks_at_most_and_its_answer_is_in_view(sandbox: Sandbox, surf: Surf) -> None:
    assert re.findall(r"^## (.+\?)$", GUIDE.read_text("utf-8"), re.MULTILINE) == [*QUESTIONS]
    busy_world(sandbox)
    person = Person(surf(address(sandbox), **DESK), sandbox)
    clicks, unseen = [], {}
    for task in (*QUESTIONS.values(), copy_a_curl):
        person.start()
        answer = task(person)
        person.tab.wait_for_load_state()
        clicks.append(person.clicks)
        if answer not in (view := in_view(person.tab).replace("\u00a0", " ")):
            unseen[answer] = view[:400]
    assert unseen == {}
    assert max(clicks) == 2, clicks


# -- ten jobs, each with the most clicks that it may take from where one has the question


def send_a_failed_webhook_again(person: Person, world: dict[str, str]) -> str:
    person.row("latest_deliveries", "customer.created")
    person.click(person.tab.get_by_test_id("step-retry"))
    expect(person.tab.get_by_test_id("notice")).to_be_visible()
    return "Replayed: failed, the endpoint answered 400."


def play_dunning_through(person: Person, world: dict[str, str]) -> str:
    person.object(world["trial"])
    for step, status in (("advance_trial", "past due"), ("advance_retries", "unpaid")):
        person.click(person.tab.get_by_test_id(f"step-{step}"))
        expect(person.tab.locator("#name")).to_contain_text(status)
    return "unpaid"


def pay_an_invoice_on_a_phone(person: Person, world: dict[str, str]) -> str:
    person.tab.set_viewport_size({"width": 390, "height": 844})
    person.tab.goto(world["invoice"])
    person.click(person.tab.get_by_test_id("pay"))
    expect(person.tab.get_by_test_id("confirmation")).to_be_visible()
    return "This invoice is paid."


def refund_half(person: Person, world: dict[str, str]) -> str:
    person.object(world["transaction"])
    person.click(person.tab.get_by_test_id("step-refund"))
    person.click(person.tab.get_by_role("button", name="Half"))
    person.click(person.tab.get_by_test_id("step-refund-do"))
    expect(person.tab.get_by_test_id("notice")).to_be_visible()
    assert [each["amount"] for each in person.sandbox.api.get("/refunds/")["data"]] == [2500]
    return "Done: Refund."


def find_the_request_that_made_it(person: Person, world: dict[str, str]) -> str:
    person.object(world["active"])
    person.click(person.tab.get_by_test_id("why").locator("a[href*='/requests/']").first)
    return "POST /v1/subscriptions/"


def compare_two_instants(person: Person, world: dict[str, str]) -> str:
    person.object(world["unpaid"])
    person.click(person.tab.get_by_test_id("more"))
    person.click(person.tab.get_by_test_id("compare"))
    return "fields differ."


def switch_an_assumption(person: Person, world: dict[str, str]) -> str:
    person.tab.goto(address(person.sandbox, "assumptions"))
    chosen = person.tab.locator(".assumption").first.locator("label.check:not(:has(input:checked))").first
    meaning = chosen.inner_text().split("  ")[0].rpartition(" ")[0]
    person.click(chosen)
    person.click(person.tab.get_by_test_id("save-assumptions"))
    expect(person.tab.get_by_test_id("notice")).to_contain_text(meaning)
    return meaning


def share_a_bug(person: Person, world: dict[str, str]) -> str:
    person.object(world["unpaid"])
    person.click(person.tab.get_by_test_id("more"))
    person.click(person.tab.get_by_role("link", name="Share this world"))
    with person.tab.expect_download(timeout=60_000):
        person.click(person.tab.get_by_role("link", name="Export to share before"))
    return "before"


def see_an_email_in_french(person: Person, world: dict[str, str]) -> str:
    person.row("latest_emails", "INV-")
    person.click(person.tab.get_by_role("link", name="Français").first)
    expect(person.tab.frame_locator("iframe.email").get_by_text("Régler cette facture")).to_be_visible()
    return "Français"


def look_up_a_card_number(person: Person, world: dict[str, str]) -> str:
    person.menu("magic")
    return "4242"


JOBS: dict[Callable[[Person, dict[str, str]], str], int] = {
    send_a_failed_webhook_again: 3,
    find_the_request_that_made_it: 1,
    compare_two_instants: 3,
    share_a_bug: 3,
    see_an_email_in_french: 2,
    look_up_a_card_number: 1,
    refund_half: 3,
    switch_an_assumption: 2,
    play_dunning_through: 2,
    pay_an_invoice_on_a_phone: 1,
}


@pytest.mark.long
def test_each_job_is_done_in_few_clicks_without_a_dead_end(sandbox: Sandbox, surf: Surf) -> None:
    world = busy_world(sandbox)
    [invoice] = sandbox.api.get("/invoices/", status="open")["data"][:1]
    world |= {
        "trial": sandbox.subscribe(FAILING_PHONE, trial_period_days=14)["id"],
        "transaction": sandbox.pay()["transaction"],
        "invoice": invoice["payment_url"],
    }
    person = Person(surf(address(sandbox), **DESK), sandbox)
    for job, most in JOBS.items():
        person.start()
        answer = job(person, world)
        person.tab.wait_for_load_state()
        assert answer in in_view(person.tab).replace("\u00a0", " "), job.__name__
        assert person.clicks <= most, job.__name__


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.long
def test_nothing_moves_when_the_script_starts_or_live_updates_come(sandbox: Sandbox, surf: Surf, language: str) -> None:
    """It starts after the first paint, so what it adds or shows has its place before."""
    sandbox.subscribe()
    sandbox.settle()
    entry = sandbox.control.get("/requests")["data"][0]
    customer = sandbox.api.get("/customers/")["data"][0]
    moved = {}
    for path in ("", f"requests/{entry['id']}", f"objects/{customer['id']}", "settings", "snapshots", "magic"):
        tab = surf(f"{address(sandbox, path)}&lang={language}", **DESK)
        listening(tab)
        if not path:
            sandbox.customer(name="Late Comer")
            expect(tab.get_by_test_id("count-customer")).to_have_text("2")
        if (shift := tab.evaluate(SHIFTS)) >= 0.001:  # one pixel of the whole page is 0.0008: less is rounding
            moved[path] = shift
    assert moved == {}
