"""A page for a program: text, links, elements with ``data-testid``, and the forms' fields."""

from __future__ import annotations

from functools import cached_property
from html.parser import HTMLParser

import httpx

VOID = ("br", "circle", "img", "input", "link", "meta", "path", "rect", "use")
"""The elements without an end that our pages use."""

UNSEEN = ("script", "style")
"""The elements whose content is not shown."""

Attributes = dict[str, str | None]


class _Reader(HTMLParser):
    """What a program sees of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.language: str | None = None
        self.elements: dict[str, Attributes] = {}
        self.fields: dict[str, str] = {}
        self.links: list[str] = []
        self.strange: list[str] = []
        self.parts: list[str] = []
        self.marked: dict[str, list[str]] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        mark = known.get("data-testid")
        if mark is not None:
            self.elements[mark] = known
            self.marked.setdefault(mark, [])
        if tag not in VOID:
            self._open.append((tag, mark))
        self._note(tag, known)
        self.strange += _strange(tag, known)

    def _note(self, tag: str, known: Attributes) -> None:
        if tag == "html":
            self.language = known.get("lang")
        if tag == "a" and known.get("href"):
            self.links.append(str(known["href"]))
        if (
            tag == "input"
            and known.get("name")
            and (known.get("type") != "radio" or "checked" in known)
        ):
            self.fields[str(known["name"])] = known.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self._open and self._open.pop()[0] != tag:
            pass  # an element whose end HTML lets one leave out

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] in UNSEEN:
            return
        self.parts.append(data)
        for _, mark in self._open:
            if mark is not None:
                self.marked[mark].append(data)


class Page:
    """A response's page, which is read once something of it is asked for.

    ``elements``: attributes by ``data-testid``, where there is one. ``strange`` is what a strict
    policy forbids: scripts and styles within elements, and links that are scripts. Style sheets in
    the page are for its ``Content-Security-Policy`` to judge, in a browser.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.html = response.text

    @cached_property
    def _read(self) -> _Reader:
        return _Reader(self.html)

    @property
    def language(self) -> str | None:
        return self._read.language

    @property
    def elements(self) -> dict[str, Attributes]:
        return self._read.elements

    @property
    def fields(self) -> dict[str, str]:
        return self._read.fields

    @property
    def links(self) -> list[str]:
        return self._read.links

    @property
    def strange(self) -> list[str]:
        return self._read.strange

    @property
    def text(self) -> str:
        """All there is to read, white space put together."""
        return _together(self._read.parts)

    def text_of(self, mark: str) -> str:
        """Return the text of the elements marked so; ``KeyError`` where there is none."""
        return _together(self._read.marked[mark])

    def has(self, mark: str) -> bool:
        return mark in self.elements

    @property
    def state(self) -> str:
        return next(
            name.removeprefix("page-") for name in self.elements if name.startswith("page-")
        )


def _together(parts: list[str]) -> str:
    return " ".join("".join(parts).split())


def _strange(tag: str, known: Attributes) -> list[str]:
    strange = [f"{tag} {name}" for name in known if name.startswith("on") or name == "style"]
    return strange + ([tag] if str(known.get("href")).startswith("javascript:") else [])
