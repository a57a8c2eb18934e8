"""A visitor of the console without a browser: pages are read and forms are sent as HTTP, no script runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

import httpx

from contract_tests.sandbox import Sandbox

HOME = "/_emulator/"
PLACE = "/_emulator/console/"


class Page(HTMLParser):
    """A page: its text, its links, and what is in elements with a ``data-testid``."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__()
        self.answer = answer
        self.status = answer.status_code
        self.html = answer.text
        self.links: list[str] = []
        self.strange: list[str] = []
        self._parts: list[str] = []
        self._marked: dict[str, list[str]] = {}
        self._inside: list[str | None] = []
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.strange += [f"{tag} {name}" for name in found if name.startswith("on") or name == "style"]
        self.strange += [tag] if tag == "style" or str(found.get("href")).startswith("javascript:") else []
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag not in ("meta", "link", "img", "input", "path", "circle", "use", "br"):
            self._inside.append(found.get("data-testid"))

    def handle_endtag(self, tag: str) -> None:
        if self._inside:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        self._parts.append(data)
        for mark in filter(None, self._inside):
            self._marked.setdefault(mark, []).append(data)

    @property
    def text(self) -> str:
        """All there is to read, white space put together."""
        return " ".join("".join(self._parts).split())

    def said(self, mark: str) -> str:
        """What stands in an element, or nothing."""
        return " ".join("".join(self._marked.get(mark, [])).split())


class Visitor:
    """Somebody who looks at one world."""

    def __init__(self, url: str, app: str, **headers: str) -> None:
        self.app = app
        self.http = httpx.Client(
            base_url=url, headers={"Accept": "text/html", **headers}, timeout=60, trust_env=False, follow_redirects=True
        )

    def open(self, path: str = "", **query: Any) -> Page:
        """A page of the console; the overview if none is named."""
        address = path if path.startswith("/") else PLACE + path if path else HOME
        return Page(self.http.get(address, params={"app": self.app, **query}))

    def follow(self, link: str) -> Page:
        """Where a link leads."""
        return Page(self.http.get(link))

    def do(self, action: str, back: str = "", **form: Any) -> Page:
        """Send a form and arrive where it leads."""
        fields = {"_back": f"{PLACE + back if back else HOME}?app={self.app}", **form}
        return Page(self.http.post(f"{PLACE}do/{action}", params={"app": self.app}, data=fields))


@contextmanager
def visiting(sandbox: Sandbox, **headers: str) -> Iterator[Visitor]:
    """A visitor of this world."""
    visitor = Visitor(sandbox.url, sandbox.key.removeprefix("sk_test_"), **headers)
    with visitor.http:
        yield visitor


def within(link: str) -> bool:
    """Whether a link leads to a page of the console that is read and not handed out."""
    path = link.partition("?")[0]
    return bool(re.fullmatch(rf"{HOME}|{PLACE}[^#]*", path)) and not path.endswith(("/export", "/raw"))
