"""Requests that refer to earlier responses: ``POST /payment-intents/{intent.id}/confirm/``.

A reference is the name of a response and the path to a value in it, in braces: ``{customer.id}``,
``{methods.data.0.id}``. A name alone stands for another value, such as ``{currency}``. The
player of the requests gives :func:`filled` a function that looks a reference up: in the responses
so far, or by first making an object that does not exist yet. The recipes of errors, the probes, the
objects of ``compare document`` and of triggers, and the requests of tests are written so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from emulator.document import tree

LookUp = Callable[[str], Any]
"""Returns the value of a reference, by its dotted path."""

Computed = Mapping[str, Callable[[Any, LookUp], Any]]
"""Functions by key: an object with this one key has the value that the function computes."""

_REFERENCE = re.compile(r"\{([a-z_][\w -]*(?:\.[\w-]+)*)\}")


def filled(value: Any, look_up: LookUp, computed: Computed = MappingProxyType({})) -> Any:
    """Return a JSON value with references replaced; a lone reference becomes the value itself."""
    if isinstance(value, dict) and len(value) == 1 and (word := next(iter(value))) in computed:
        return computed[word](value[word], look_up)
    if not isinstance(value, str):
        return tree.map_parts(value, lambda part: filled(part, look_up, computed))
    if whole := _REFERENCE.fullmatch(value):
        return look_up(whole[1])
    return _REFERENCE.sub(lambda match: str(look_up(match[1])), value)


def value_at(responses: Mapping[str, Any], path: str) -> Any:
    """Return the value that a dotted path leads to, or ``MISSING``."""
    return tree.look_up(responses, tuple(path.split(".")))


def names(value: Any) -> Iterator[str]:
    """Yield the first word of every reference in a JSON value."""
    if isinstance(value, str):
        yield from (match[1].partition(".")[0] for match in _REFERENCE.finditer(value))
    elif isinstance(value, dict):
        yield from names(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from names(part)
