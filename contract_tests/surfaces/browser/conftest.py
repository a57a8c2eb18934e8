"""A real browser, Debian's Chromium with Playwright, and other people's pages for it."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from contract_tests import ROOT
from contract_tests.support.sandbox import RunningServer
from emulator.ui.docs import reference

# A busy machine is no defect: what is waited for has time to come.
BROWSER_TIMEOUT_MS = 30_000
expect.set_options(timeout=BROWSER_TIMEOUT_MS)

CONFIG = ROOT / "docs" / "mkdocs.yml"

NAMES = ("shop.example", "books.example", "evil.example", "rebound.example")
"""Names that lead to this machine, as far as the browser knows."""

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    f"--host-resolver-rules={', '.join(f'MAP {name} 127.0.0.1' for name in NAMES)}",
]


# Not for longer than this folder: Playwright keeps a loop running in this thread, in which other
# tests start their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab without a past. Pages may do all their origin may: no policy of ours stops them."""
    context = browser.new_context(bypass_csp=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def surf(browser: Browser) -> Iterator[Callable[..., Any]]:
    """Open a page in its own browser without cookies; options are a Playwright context's."""
    with ExitStack() as cleanup:

        def opened(url: str, **options: Any) -> Any:
            context = browser.new_context(**{"locale": "en-GB", **options})
            cleanup.callback(context.close)
            # The merchant's shop is nowhere; it answers so that the browser arrives.
            context.route(
                "https://shop.example.com/**", lambda route: route.fulfill(body="<h1>Thanks</h1>")
            )
            tab = context.new_page()
            tab.set_default_timeout(BROWSER_TIMEOUT_MS)
            tab.goto(url)
            return tab

        yield opened


class Blank(BaseHTTPRequestHandler):
    """Somebody else's website: an empty page at every path."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Elsewhere</title>")

    def log_message(self, format: str, *args: object) -> None:
        """Silence: tests print what they need."""


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as website:
        threading.Thread(target=website.serve_forever, daemon=True).start()
        yield website.server_port
        website.shutdown()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    build(load_config(str(CONFIG), site_dir=str(folder), strict=True))
    return folder


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "GUIDE", site)
        with RunningServer() as server:
            yield f"{server.url}/docs/guide/"
