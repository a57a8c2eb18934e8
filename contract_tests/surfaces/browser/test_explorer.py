"""The documents in a browser: read, and tried out on this very emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from contract_tests.support.sandbox import RunningServer

pytestmark = pytest.mark.long

Surf = Callable[..., Any]

TOKEN = "a token"

PATIENCE = 60_000
"""Milliseconds: a page of eighty operations is a lot to draw for a machine that has other things to do."""


@pytest.mark.parametrize(
    ("api", "operation", "url"),
    [
        ("service", "operations-Customers-listCustomers", "/v1/customers/"),
        ("control", "operations-Clock-getClock", "/_emulator/clock"),
    ],
)
def test_a_request_is_tried_out(surf: Surf, api: str, operation: str, url: str) -> None:
    """With the key that is filled in; nothing comes from elsewhere, nothing is blocked by the page's own policy."""
    asked: list[Any] = []
    said: list[str] = []

    def note(request: Any) -> None:
        asked.append(request)

    with RunningServer(control_token=TOKEN if api == "control" else None) as server:
        tab = surf("about:blank")
        tab.on("request", note)
        tab.on("console", lambda message: said.append(message.text))
        tab.set_default_timeout(PATIENCE)
        tab.goto(f"{server.url}/docs/?api={api}")
        if api == "control":
            tab.locator("button.authorize").first.click()
            token = tab.locator(".auth-container", has_text="controlToken")
            token.get_by_role("textbox").fill(TOKEN)
            token.get_by_role("button", name="Apply credentials").click()
            token.get_by_role("button", name="Close").click()
        block = tab.locator(f"#{operation}")
        block.locator("button.opblock-summary-control").click()
        block.get_by_role("button", name="Execute").click()
        expect(block.locator(".live-responses-table .response-col_status").last).to_have_text("200", timeout=PATIENCE)
    assert asked[-1].url.partition("?")[0] == f"{server.url}{url}"
    assert asked[-1].headers["authorization"] == "Bearer sk_test_demo"
    assert {request.url.startswith(server.url) for request in asked} == {True}
    assert said == []
