"""Strict JSON: what a body must be before anyone looks at its fields (B-12)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from sys import intern
from typing import Any, NoReturn

from emulator.errors import ApiError

MAX_DIGITS = 300
"""Digits of an integer: more than anyone tries a limit with, and still a number to every library that reads it."""

MAX_DEPTH = 64
"""Objects and arrays within each other. Documented bodies need four; whatever reads them further on is recursive."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def refuse(reason: str) -> ApiError:
    """A malformed body: 400 ``VALIDATION_ERROR`` (B-12)."""
    return ApiError("VALIDATION_ERROR", http_status=400, message=f"The body must be a JSON object: {reason}.")


def parse(raw: bytes) -> dict[str, Any]:
    """The object in a JSON body; an empty body counts as ``{}``.

    Refused with 400: not UTF-8, not JSON, not an object, duplicate keys, NaN and Infinity, numbers out of range,
    unpaired surrogates, nesting too deep.
    """
    if not raw.strip():
        return {}
    if raw.startswith(_BYTE_ORDER_MARK):
        raise refuse("it begins with a byte order mark")
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
        if _ESCAPED_SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        raise refuse("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise refuse("a string holds an unpaired surrogate") from None
    except RecursionError:
        raise refuse("it is nested too deeply") from None
    except ValueError as fault:
        raise refuse(f"{fault}") from None
    # Counting brackets is quick and errs on the safe side: few of them cannot be deep.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise refuse("it is nested too deeply")
    if not isinstance(value, dict):
        raise refuse(f"this is {_KINDS.get(type(value), 'something else')}")
    return value


_KINDS = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}


def _deeper(value: Any, levels: int) -> bool:
    """Whether more than so many objects and arrays lie within each other; one level at a time, without recursion."""
    level = [value]
    for _ in range(levels):
        level = [part for whole in level if isinstance(whole, dict | list) for part in _parts(whole)]
    return any(isinstance(part, dict | list) for part in level)


def _parts(whole: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return whole.values() if isinstance(whole, dict) else whole


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The same few names come with every body, and metadata keeps them: one string for each is enough.
    value = {intern(name): part for name, part in pairs}
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add is falsy
        raise ValueError(f"the key {twice[:40]!r} stands twice")
    return value


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError("a number is out of range")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
