"""Strict JSON: from a body's text to its object, or 400 with the reason (B-12)."""

from __future__ import annotations

import json
import re
from itertools import chain
from sys import intern
from typing import Any, NoReturn

from emulator.core.errors import ApiError
from emulator.core.limits import DEPTH, DIGITS, VALUES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def malformed(reason: str) -> ApiError:
    """Return the error for a malformed body: 400 ``VALIDATION_ERROR`` (B-12)."""
    return ApiError(
        "VALIDATION_ERROR", http_status=400, message=f"The body must be a JSON object: {reason}."
    )


def parse(raw: bytes) -> dict[str, Any]:
    """Return the object in a JSON body; an empty body counts as ``{}``.

    Raises 400 for: not UTF-8, not JSON, not an object, duplicate keys, NaN and Infinity, numbers
    out of range, unpaired surrogates, nesting too deep.
    """
    if not raw.strip():
        return {}
    _check_text(raw)
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
        if _ESCAPED_SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        raise malformed("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise malformed("a string holds an unpaired surrogate") from None
    except RecursionError:
        raise malformed("it is nested too deeply") from None
    except ValueError as error:
        raise malformed(f"{error}") from None
    # Counting brackets is quick: where there are few of them, nothing can be nested deeply.
    if raw.count(b"[") + raw.count(b"{") > DEPTH.most and _deeper(value, DEPTH.most):
        raise malformed("it is nested too deeply")
    if not isinstance(value, dict):
        raise malformed(f"this is {_KINDS.get(type(value), 'something else')}")
    return value


def _check_text(raw: bytes) -> None:
    """Raise 400 for a text that is malformed at first sight, before it is parsed."""
    if raw.startswith(_BYTE_ORDER_MARK):
        raise malformed("it begins with a byte order mark")
    # A value can take a hundred times the memory of its text. Fewer bytes cannot hold so many
    # values.
    if len(raw) > VALUES.most and raw.count(b",") + raw.count(b"[") + raw.count(b"{") > VALUES.most:
        raise malformed(f"it has more than {VALUES.most} values")


_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def _deeper(value: Any, levels: int) -> bool:
    """Return whether nesting exceeds this many levels; goes level by level, not recursively."""
    level = [value]
    for _ in range(levels):
        parts = (
            value.values() if isinstance(value, dict) else value
            for value in level
            if isinstance(value, dict | list)
        )
        level = [*chain.from_iterable(parts)]
    return any(isinstance(part, dict | list) for part in level)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The same few names come with every body and are stored with metadata: one string for each is
    # enough.
    value = {intern(name): part for name, part in pairs}
    if len(value) != len(pairs):
        seen: set[str] = set()
        # add is falsy
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:40]!r} stands twice")
    return value


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS.most:
        raise ValueError("a number is out of range")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
