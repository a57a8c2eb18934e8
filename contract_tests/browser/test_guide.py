"""The guide in a browser: every page in both themes and on a phone, search, theme and copy; nothing from elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import expect

from contract_tests.sandbox import RunningServer
from emulator.pages import guide

Surf = Callable[..., Any]

CONFIG = Path(__file__).parents[2] / "docs" / "mkdocs.yml"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide, built as it is for a wheel."""
    folder = tmp_path_factory.mktemp("site")
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    build(load_config(str(CONFIG), site_dir=str(folder), strict=True))
    return folder


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The URL of the guide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guide, "guide_folder", lambda: site)
        server = RunningServer()
        yield f"{server.url}/docs/guide/"
        server.stop()


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


LOOKED_AT = ("", "testing", "errors", "security")
"""Pages that have between them everything that a page of the guide can have."""


def test_axe_finds_nothing(tab: Any, served: str) -> None:
    found: dict[str, Any] = {}
    for name in LOOKED_AT:
        tab.goto(f"{served}{name}")
        found[name] = Axe().run(tab).response["violations"]
        tab.emulate_media(color_scheme="dark")
        found[f"{name} dark"] = Axe().run(tab, options={"runOnly": ["color-contrast"]}).response["violations"]
        tab.emulate_media(color_scheme="light")
    assert {name: [each["id"] for each in wrong] for name, wrong in found.items() if wrong} == {}


def test_no_page_is_wider_than_a_phone(tab: Any, served: str, site: Path) -> None:
    tab.set_viewport_size({"width": 320, "height": 700})
    wide = []
    for name in pages(site):
        tab.goto(f"{served}{name}/")
        if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(name)
    assert wide == []


def test_the_guide_is_searched(tab: Any) -> None:
    tab.keyboard.press("/")
    tab.keyboard.type("Idempotency-Key")
    first = tab.locator("#found a").first
    expect(first).to_be_visible()
    with tab.expect_navigation():
        first.click()
    tab.locator("#find").fill("qqqqqq")
    expect(tab.locator("#found")).to_have_text("Nothing was found.")
    tab.keyboard.press("Escape")
    expect(tab.locator("#found")).to_be_hidden()


def test_a_theme_that_was_chosen_stays(tab: Any) -> None:
    theme = tab.locator("#theme")
    expect(theme).to_have_text("System theme")
    theme.click()
    theme.click()
    expect(theme).to_have_text("Dark theme")
    tab.reload()
    expect(theme).to_have_text("Dark theme")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(11, 15, 24)"


def test_the_menu_opens_on_a_phone(tab: Any) -> None:
    tab.set_viewport_size({"width": 360, "height": 700})
    link = tab.get_by_role("link", name="Test suites")
    expect(link).to_be_hidden()
    tab.get_by_role("button", name="Menu").click()
    with tab.expect_navigation():
        link.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Test suites")
