"""Registers the formats of the document with schemathesis, which generates values of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import schemathesis
from hypothesis import strategies as st

from emulator.strategies import format_texts

Lengthen = Callable[[int], str]
"""Makes a text of a format, of so many characters."""

LENGTHENED: dict[str, Lengthen] = {
    "not-blank": lambda length: "a" * length,
    **dict.fromkeys(("https-uri", "uri", "web-url"), lambda length: "https://shop.example/".ljust(length, "a")),
}
"""By format: those whose texts may be as long as one likes."""


def register(document: Any) -> None:
    """Register them with schemathesis."""
    for name, texts in strategies(document).items():
        schemathesis.openapi.format(name, texts)


def strategies(document: Any) -> dict[str, st.SearchStrategy[str]]:
    """Texts of each format, among them some as long as each of its ``maxLength``, one character shorter and one longer.

    schemathesis tries these lengths: it draws texts of the format until one fits. Where none does, that takes seconds
    for each bound, and the bound is not tried.
    """
    return {
        name: _with_bounds(texts, LENGTHENED.get(name), set(_bounds(document, name)))
        for name, texts in format_texts.VALID.items()
    }


def _with_bounds(texts: st.SearchStrategy[str], lengthen: Lengthen | None, bounds: set[int]) -> st.SearchStrategy[str]:
    if lengthen is None or not bounds:
        return texts
    lengths = sorted({bound + offset for bound in bounds for offset in (-1, 0, 1)})
    return texts | st.sampled_from([lengthen(length) for length in lengths])


def _bounds(node: Any, format: str) -> Iterator[int]:
    """Each ``maxLength`` that stands beside the format."""
    if isinstance(node, dict):
        if node.get("format") == format and isinstance(node.get("maxLength"), int):
            yield node["maxLength"]
        node = [*node.values()]
    if isinstance(node, list):
        for each in node:
            yield from _bounds(each, format)
