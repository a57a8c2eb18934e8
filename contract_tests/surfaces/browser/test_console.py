"""The console in a real browser: it comes alive by itself, steers the world, and is fit for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from contract_tests.support.sandbox import Sandbox
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
    """Return a page that hears the stream; it is marked, so that a reloaded one can be distinguished from it."""
    tab = surf(address(sandbox, path), **DESK)
    listening(tab)
    tab.evaluate("window.mark = true")
    return tab


def assert_same_page(tab: Any) -> None:
    assert tab.evaluate("window.mark") is True, "the page was reloaded"


def shop(sandbox: Sandbox) -> Any:
    return sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app(sandbox)}")


def test_a_renewal_arrives_with_events_deliveries_and_email_without_a_reload(sandbox: Sandbox, surf: Surf) -> None:
    shop(sandbox)
    sandbox.subscribe()
    sandbox.settle()
    tab = opened(surf, sandbox)
    expect(tab.get_by_test_id("timeline")).to_contain_text("Subscription renews")
    tab.get_by_test_id("plus-P1M").click()
    expect(tab.get_by_test_id("notice")).to_contain_text("Advanced to 1 Feb 2026, 00:00: 1 job done, 3 events.")
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
    """Make a world with some of everything, under names that are wider than a phone; the pages there are to see."""
    ids = fill(sandbox, "W" * 80)
    sandbox.api.request("GET", "/customers/cust_" + "W" * 200 + "/")
    [delivery, *_] = sandbox.deliveries({"id": ids["endpoint"]})
    request, event, email = (
        sandbox.control.get(f"/{kind}")["data"][0]["id"] for kind in ("requests", "events", "emails")
    )
    objects = (*ids.values(), delivery["id"], event, sandbox.invoices("id")[0])
    shown = (*(f"objects/{id}" for id in objects), f"requests/{request}", f"emails/{email}")
    return ["", *(path for path in PAGES if "{" not in path), *shown, "nowhere"]
