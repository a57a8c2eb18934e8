"""Registers the formats of the document with schemathesis, which generates values of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import schemathesis
from hypothesis import strategies as st

from emulator.document.tree import Document

LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
DOMAIN = st.builds("{}.{}".format, LABEL, LABEL)

VALID: dict[str, st.SearchStrategy[str]] = {
    "currency": st.sampled_from(["XAF", "XOF", "EUR", "USD", "JPY", "TND"]),
    "country": st.sampled_from(["GA", "CM", "FR", "US", "KP"]),
    "domain": DOMAIN,
    "e164": st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True),
    "email": st.builds("{}@{}".format, LABEL, DOMAIN),
    "instant": st.one_of(
        st.dates().map(str),
        st.datetimes().map(datetime.isoformat),
        st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    ),
    "https-uri": st.builds("https://{}/{}".format, DOMAIN, LABEL),
    "uri": st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), DOMAIN, LABEL),
    "page-url": st.builds("https://{}/{}".format, DOMAIN, LABEL),
    "app-url": st.builds(
        "{}://{}/{}".format, st.sampled_from(["http", "https", "myapp"]), DOMAIN, LABEL
    ),
    "ipv4-network": st.sampled_from(["127.0.0.1", "127.0.0.0/8", "0.0.0.0/0"]),
    "not-blank": st.text(
        st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=50
    ),
}
"""Texts by format. Schemathesis knows OpenAPI's own ``date`` and ``date-time``."""


def _domain(length: int) -> str:
    """Return a domain name of this many characters, of labels as short as DNS wants them."""
    return (("a" * 59 + ".") * (length // 60 + 1))[:length]


LENGTHENED: dict[str, Callable[[int], str]] = {
    "domain": _domain,
    "email": lambda length: f"a@{_domain(length - 2)}",
    "not-blank": lambda length: "a" * length,
    **dict.fromkeys(
        ("https-uri", "uri", "page-url", "app-url"),
        lambda length: "https://shop.example/".ljust(length, "a"),
    ),
}
"""By format, what makes a text of so many characters, where that may be as long as one likes."""


def register(document: Document) -> None:
    """Register texts of each format, some as long as each ``maxLength``, one shorter, one longer.

    schemathesis tries these lengths: it draws texts of the format until one fits. Where none does,
    that takes seconds for each bound, and the bound is not tried.
    """
    for name, texts in VALID.items():
        lengths = sorted(
            {bound + offset for bound in _bounds(document, name) for offset in (-1, 0, 1)}
        )
        long = [LENGTHENED[name](length) for length in lengths] if name in LENGTHENED else []
        schemathesis.openapi.format(name, texts | st.sampled_from(long) if long else texts)


def _bounds(node: object, format: str) -> Iterator[int]:
    """Yield each ``maxLength`` that stands beside the format."""
    if isinstance(node, dict):
        if node.get("format") == format and isinstance(node.get("maxLength"), int):
            yield node["maxLength"]
        node = [*node.values()]
    if isinstance(node, list):
        for part in node:
            yield from _bounds(part, format)
