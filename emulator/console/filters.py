"""Drawing: how instants, amounts and JSON look on a page, with every id a link to what it names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from itertools import zip_longest
from typing import Any

from markupsafe import Markup, escape

from emulator.pages.languages import Language

ID = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{24}", re.ASCII)
"""The form of an id."""

DEEPEST = 30
"""Levels of JSON that are drawn; what is deeper stands on one line."""

Link = Callable[[str], str]


FULL, SHORT = "d MMM y HH:mm:ss", "d MMM HH:mm"


def instant(at: str, form: str = FULL, *, t: Language) -> Markup:
    """An instant of the world's clock, in UTC; as it goes on the wire it shows under the pointer."""
    # Loaded on first use, as Babel is everywhere.
    from babel.dates import format_datetime

    text = format_datetime(datetime.fromisoformat(at), form, locale=t.code)
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(at, text)


def apart(at: str, now: str, *, t: Language) -> str:
    """How far an instant is from now: "in 12 days"."""
    from babel.dates import format_timedelta

    span = datetime.fromisoformat(at) - datetime.fromisoformat(now)
    if abs(span.total_seconds()) < 1:
        return t("now")
    return str(format_timedelta(span, add_direction=True, threshold=1, locale=t.code))


def id_link(id: str, *, place: Link) -> Markup:
    """An id, leading to its object's page."""
    return Markup('<a class="id" href="{}">{}</a>').format(place(id), id)


def linked(text: str, *, place: Link) -> Markup:
    """A sentence in which every id leads to what it names."""
    parts = ID.split(text)
    links = [id_link(id, place=place) for id in ID.findall(text)]
    return Markup("").join(part for pair in zip_longest(map(escape, parts), links, fillvalue="") for part in pair)


def tree(value: Any, *, place: Link, depth: int = 0) -> Markup:
    """A value as indented JSON; keys, texts and numbers are told apart, and ids are links."""
    if isinstance(value, dict) and value and depth < DEEPEST:
        lines = [_key(name) + tree(item, place=place, depth=depth + 1) for name, item in value.items()]
        return _block("{", lines, "}", depth)
    if isinstance(value, list) and value and depth < DEEPEST:
        return _block("[", [tree(item, place=place, depth=depth + 1) for item in value], "]", depth)
    return _leaf(value, place)


def _key(name: str) -> Markup:
    return Markup('<span class="k">{}</span>: ').format(json.dumps(name, ensure_ascii=False))


def _block(start: str, lines: list[Markup], end: str, depth: int) -> Markup:
    inner = Markup(",\n").join(Markup("  ") * (depth + 1) + line for line in lines)
    return Markup("{}\n{}\n{}{}").format(start, inner, "  " * depth, end)


def _leaf(value: Any, place: Link) -> Markup:
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        shown = Markup('<a href="{}">{}</a>').format(place(value), text) if ID.fullmatch(value) else escape(text)
        return Markup('<span class="s">{}</span>').format(shown)
    return Markup('<span class="n">{}</span>').format(text)
