"""The buyer's pages in a real browser: the effects of scripts, keyboard and screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import CARD, DECLINED, PHONE, WHO, link, session

Surf = Callable[..., Any]

THANKS = re.compile(r"^https://shop\.example\.com/thanks\?session=sess_")
PHONE_SIZED = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def fill(tab: Any, fields: dict[str, str]) -> None:
    """Choose the method and type into its fields, as a person does."""
    if "method" in fields:
        tab.get_by_test_id(f"method-{fields['method']}").check()
    for name, value in fields.items():
        if name != "method":
            tab.get_by_test_id(name).fill(value)


def pay(tab: Any, fields: dict[str, str]) -> None:
    fill(tab, fields)
    tab.get_by_test_id("pay").click()


WITH_AND_WITHOUT_SCRIPT = pytest.mark.parametrize(
    "script", [True, pytest.param(False, marks=pytest.mark.long)], ids=["script", "no_script"]
)


@WITH_AND_WITHOUT_SCRIPT
def test_after_a_failure_a_buyer_pays_and_arrives_at_the_shop(
    sandbox: Sandbox, surf: Surf, script: bool
) -> None:
    tab = surf(session(sandbox)["url"], java_script_enabled=script)
    pay(tab, DECLINED)
    expect(tab.get_by_test_id("problem")).to_contain_text("did not go through")
    if script:
        expect(tab.get_by_test_id("problem")).to_be_focused()
    pay(tab, CARD)
    expect(tab).to_have_url(THANKS)


@pytest.mark.long
@WITH_AND_WITHOUT_SCRIPT
def test_a_page_that_waits_for_the_phone_moves_on_by_itself(
    sandbox: Sandbox, surf: Surf, script: bool
) -> None:
    tab = surf(session(sandbox)["url"], java_script_enabled=script)
    pay(tab, {**PHONE, "phone": "+24177000006"})
    expect(tab.get_by_test_id("waiting")).to_contain_text("Confirm on your phone")
    sandbox.advance("60s")
    expect(tab).to_have_url(THANKS)


def test_a_double_click_back_and_reload_pay_once(sandbox: Sandbox, surf: Surf) -> None:
    tab = surf(link(sandbox)["url"])
    fill(tab, {**CARD, **WHO})
    tab.get_by_test_id("pay").dblclick()
    expect(tab.get_by_test_id("confirmation")).to_be_visible()
    tab.reload()
    tab.go_back()
    expect(tab.get_by_test_id("confirmation")).to_be_visible()
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == 1


@pytest.mark.long
def test_the_page_follows_the_product_the_card_and_the_panel(sandbox: Sandbox, surf: Surf) -> None:
    """The total follows the choice, the brand the typed digits, the fields a magic value."""
    basket, mat = (
        sandbox.product(name=name, unit_amount=price)["id"]
        for name, price in (("A", 9500), ("B", 4000))
    )
    offer = {"payment_link_type": "product", "products": [basket, mat], "allow_quantity": True}
    tab = surf(
        sandbox.api.post("/payment-links/", {**offer, "currency": "XAF", "name": "Market"})["url"]
    )
    expect(tab.get_by_test_id("pay")).to_have_text("Pay")
    expect(tab.get_by_test_id("total")).to_have_text("From 4,000 XAF")
    tab.get_by_test_id(f"product-{basket}").check()
    expect(tab.get_by_test_id("total")).to_have_text("9,500 XAF")
    tab.get_by_test_id("quantity").fill("3")
    expect(tab.get_by_test_id("pay")).to_have_text("Pay 28,500 XAF")
    tab.get_by_test_id(f"product-{mat}").check()
    expect(tab.get_by_test_id("total")).to_have_text("12,000 XAF")
    tab.get_by_test_id("method-bank_card").check()
    for typed, brand in (
        ("4", "Visa"),
        ("", ""),
        ("37", "American Express"),
        ("5555 55", "Mastercard"),
        ("9", ""),
    ):
        tab.get_by_test_id("number").fill(typed)
        expect(tab.get_by_test_id("brand")).to_have_text(brand)
    tab.get_by_test_id("sandbox-summary").click()
    expect(tab.get_by_test_id("magic-mobile_money")).to_be_hidden()
    tab.get_by_test_id("fill-bank_card-success").click()
    expect(tab.get_by_test_id("number")).to_have_value(CARD["number"])
    fill(tab, WHO)
    tab.get_by_test_id("pay").click()
    tab.get_by_test_id("page-paid").wait_for()
    assert sandbox.api.get("/payment-intents/")["data"][0]["amount"] == 12000


@pytest.mark.long
def test_it_can_be_paid_by_keyboard_alone(sandbox: Sandbox, surf: Surf) -> None:
    tab = surf(session(sandbox)["url"])
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Skip to the payment form")).to_be_focused()
    tab.keyboard.press("Enter")
    for name, typed in (
        ("name", WHO["name"]),
        ("email", WHO["email"]),
        ("method-mobile_money", None),
    ):
        tab.keyboard.press("Tab")
        expect(tab.get_by_test_id(name)).to_be_focused()
        if typed:
            tab.keyboard.type(typed)
    tab.keyboard.press("ArrowDown")
    for name in ("number", "expiry", "cvc"):
        tab.keyboard.press("Tab")
        expect(tab.get_by_test_id(name)).to_be_focused()
        tab.keyboard.type(CARD[name])
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(THANKS)


NUMBER = "+24177123456"


@pytest.fixture
def handset(sandbox: Sandbox) -> str:
    sandbox.settings(mobile_money="handset")
    return f"{sandbox.url}/_emulator/phones/{NUMBER}?app={sandbox.key.removeprefix('sk_test_')}"


def asked(sandbox: Sandbox) -> Any:
    return sandbox.pay(
        sandbox.method(type="mobile_money", phone=NUMBER), description="Raphia basket"
    )


@pytest.mark.long
def test_the_phone_rings_by_itself(sandbox: Sandbox, surf: Surf, handset: str) -> None:
    tab = surf("about:blank", **PHONE_SIZED)
    with tab.expect_response(lambda response: "/_emulator/console/stream" in response.url):
        tab.goto(f"{handset}&lang=fr")
    expect(tab.get_by_test_id("nothing")).to_be_visible()
    intent = asked(sandbox)
    tab.get_by_test_id("approve").wait_for()
    assert Axe().run(tab).response["violations"] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(
        button.bounding_box()["height"] >= 44 for button in tab.locator("main button").all()
    )  # a finger hits it
    tab.get_by_test_id("approve").click()
    expect(tab.get_by_test_id("answered")).to_be_visible()
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == "succeeded"
