"""Template functions: instants, ids and JSON as markup, in which every id is a link."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from markupsafe import Markup, escape

from emulator.presentation.languages.language import Language

ID = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{24}", re.ASCII)
"""The form of an id."""

DEEPEST = 30
"""Levels of JSON that are indented; what is deeper is on one line."""

UrlOf = Callable[[str], str]

NO_NAMES: Mapping[str, str] = {}


FULL = "d MMM y HH:mm:ss"


def instant(at: str, pattern: str = FULL, *, language: Language) -> Markup:
    """An instant, in UTC; its title is the form the API uses."""
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(at, language.instant(at, pattern))


def ids_in(value: Any) -> list[str]:
    """Every id that occurs in a JSON value, once, in order."""
    return list(dict.fromkeys(ID.findall(json.dumps(value, default=str))))


def id_link(id: str, *, page_of: UrlOf, names: Mapping[str, str] = NO_NAMES) -> Markup:
    """An id as a link to its page: the name of the object, with the id as its title, or the id where it has none."""
    if id not in names:
        return Markup('<a class="id" href="{}">{}</a>').format(page_of(id), id)
    return Markup('<a href="{}" title="{}" dir="auto">{}</a>').format(page_of(id), id, names[id])


def linked(text: str, *, page_of: UrlOf) -> Markup:
    """A text in which every id is a link to its page."""
    parts = ID.split(text)
    links = [id_link(id, page_of=page_of) for id in ID.findall(text)]
    return Markup("").join(part for pair in zip_longest(map(escape, parts), links, fillvalue="") for part in pair)


def breakable(text: str) -> Markup:
    """A name of the API that may be broken after its dots and underscores."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[._])(?=.)", text))


def short_instants(text: str) -> str:
    """A text of changes whose instants have no more than minutes, and no time of day where it is midnight."""
    short = re.sub(r"T(\d\d:\d\d):\d\d\.\d{3}Z", lambda at: "" if at[1] == "00:00" else f" {at[1]}", text)
    return short.replace(" -> ", " → ")


def tree(value: Any, *, page_of: UrlOf, depth: int = 0) -> Markup:
    """A value as indented JSON, highlighted by type, in which ids are links."""
    if isinstance(value, dict) and value and depth < DEEPEST:
        lines = [_key(name) + tree(item, page_of=page_of, depth=depth + 1) for name, item in value.items()]
        return _block("{", lines, "}", depth)
    if isinstance(value, list) and value and depth < DEEPEST:
        return _block("[", [tree(item, page_of=page_of, depth=depth + 1) for item in value], "]", depth)
    return _leaf(value, page_of)


def _key(name: str) -> Markup:
    return Markup('<span class="k">{}</span>: ').format(json.dumps(name, ensure_ascii=False))


def _block(start: str, lines: list[Markup], end: str, depth: int) -> Markup:
    inner = Markup(",\n").join(Markup("  ") * (depth + 1) + line for line in lines)
    return Markup("{}\n{}\n{}{}").format(start, inner, "  " * depth, end)


def _leaf(value: Any, page_of: UrlOf) -> Markup:
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        shown = Markup('<a href="{}">{}</a>').format(page_of(value), text) if ID.fullmatch(value) else escape(text)
        return Markup('<span class="s">{}</span>').format(shown)
    return Markup('<span class="n">{}</span>').format(text)
