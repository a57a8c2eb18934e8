"""The console's visitor without a browser: reads pages and sends forms by HTTP, runs no script."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from contract_tests.support.client import http_client
from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox

HOME = "/_emulator/"
PLACE = "/_emulator/console/"


class Visitor:
    """Somebody who looks at one world."""

    def __init__(self, url: str, app: str, **headers: str) -> None:
        self.app = app
        self.http = http_client(
            base_url=url, headers={"Accept": "text/html", **headers}, follow_redirects=True
        )

    def open(self, path: str = "", **query: Any) -> Page:
        """Return a page of the console; the overview if none is named."""
        address = path if path.startswith("/") else PLACE + path if path else HOME
        return Page(self.http.get(address, params={"app": self.app, **query}))

    def follow(self, link: str) -> Page:
        return Page(self.http.get(link))

    def do(self, action: str, back: str = "", **form: Any) -> Page:
        """Send a form and arrive where it leads."""
        fields = {"_back": f"{PLACE + back if back else HOME}?app={self.app}", **form}
        return Page(self.http.post(f"{PLACE}do/{action}", params={"app": self.app}, data=fields))


@contextmanager
def visiting(sandbox: Sandbox, **headers: str) -> Iterator[Visitor]:
    visitor = Visitor(sandbox.url, sandbox.key.removeprefix("sk_test_"), **headers)
    with visitor.http:
        yield visitor
