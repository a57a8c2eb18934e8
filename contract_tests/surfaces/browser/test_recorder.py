"""The red button in a real browser: by keyboard, counting while requests come, and the test as a file."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.browser.accessibility import sample, violations
from contract_tests.surfaces.browser.test_console import Surf, assert_same_page, opened


def test_a_recording_is_made_by_keyboard_and_downloaded(sandbox: Sandbox, surf: Surf) -> None:
    tab = opened(surf, sandbox, "requests")
    tab.get_by_test_id("record").press("Enter")
    expect(tab.get_by_test_id("recorded")).to_have_text("Recording: 0 requests")
    tab.get_by_label("Form").focus()
    tab.keyboard.type("curl")
    sandbox.api.post("/customers/", {"email": "awa@example.com", "name": "Awa"})
    expect(tab.get_by_test_id("recorded")).to_have_text("Recording: 1 request")
    expect(tab.get_by_label("Form")).to_be_focused()
    expect(tab.get_by_label("Form")).to_have_value("curl")
    assert_same_page(tab)
    assert violations(tab, sample(1)) == []
    tab.get_by_test_id("stop-recording").press("Enter")
    expect(tab.get_by_test_id("notice")).to_have_text("1 request was recorded.")
    assert violations(tab, sample(2)) == []
    with tab.expect_download() as download:
        tab.get_by_test_id("download").press("Enter")
    assert download.value.suggested_filename == "recorded.sh"
    text = Path(download.value.path()).read_text("utf-8")
    assert "awa@example.com" in text
