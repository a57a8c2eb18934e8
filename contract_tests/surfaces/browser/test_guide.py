"""The guide in a browser: every page on a phone, tabs, search, theme and copy; nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from emulator.document.bundles import load

pytestmark = [pytest.mark.long, pytest.mark.needs("mkdocs")]

Surf = Callable[..., Any]


@pytest.fixture
def tab(surf: Surf, served: str) -> Iterator[Any]:
    """The first page. What the browser reports as an error fails the test."""
    tab = surf("about:blank")
    errors: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(served)
    yield tab
    assert errors == []
    assert [url for url in asked if not url.startswith(served.removesuffix("/docs/guide/"))] == []


def pages(site: Path) -> list[str]:
    return sorted(str(file.parent.relative_to(site)) for file in site.rglob("index.html"))


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


def test_samples_in_several_languages_are_tabs(tab: Any, served: str, surf: Surf) -> None:
    """The language that was chosen, like the theme, is chosen on the next page too; arrows move between the tabs."""
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


def test_every_request_of_the_guide_that_opens_exists(site: Path) -> None:
    documents = {name: load(name)["paths"].values() for name in ("service", "control")}
    known = {
        (name, f"{each['tags'][0]}/{each['operationId']}".replace(" ", "%20"))
        for name, paths in documents.items()
        for item in paths
        for each in item.values()
        if isinstance(each, dict) and "operationId" in each
    }
    pattern = re.compile(r'href="/docs/\?api=(\w+)[^"#]*#/([^"]+)"')
    found = {pair for file in site.rglob("index.html") for pair in pattern.findall(file.read_text("utf-8"))}
    assert len(found) > 10
    assert found - known == set()


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
