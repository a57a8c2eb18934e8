"""The handset in a real browser: it rings by itself, and everyone can use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from contract_tests.support.sandbox import Sandbox

PHONE = "+24177123456"
PHONE_SIZED = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

Surf = Callable[..., Any]


@pytest.fixture
def address(sandbox: Sandbox) -> str:
    """Where the buyer's phone is."""
    sandbox.settings(mobile_money="handset")
    return f"{sandbox.url}/_emulator/phones/{PHONE}?app={sandbox.key.removeprefix('sk_test_')}"


def asked(sandbox: Sandbox) -> Any:
    method = sandbox.method(type="mobile_money", phone=PHONE)
    return sandbox.pay(method, description="Raphia basket")


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_it_rings_by_itself_and_everyone_can_use_it(sandbox: Sandbox, surf: Surf, address: str, lang: str) -> None:
    tab = surf("about:blank", **PHONE_SIZED)
    with tab.expect_response(lambda response: "/_emulator/console/stream" in response.url):
        tab.goto(f"{address}&lang={lang}")
    expect(tab.get_by_test_id("nothing")).to_be_visible()
    intent = asked(sandbox)
    tab.get_by_test_id("approve").wait_for()
    assert Axe().run(tab).response["violations"] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.get_by_test_id("approve").click()
    expect(tab.get_by_test_id("answered")).to_be_visible()
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == "succeeded"
