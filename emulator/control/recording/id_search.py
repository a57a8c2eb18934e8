"""Finds ids in requests and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from emulator.control.recording.exchanges import Exchange

ID = re.compile(r"\b[a-z]+_[0-9A-Za-z]{24}\b")

_KEY = re.compile(r"\w+", re.ASCII)


def ids_in(answer: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The ids in an answer with the paths that lead to them, the object's own first."""
    if isinstance(answer, str):
        if ID.fullmatch(answer):
            yield path, answer
    elif isinstance(answer, dict):
        for name in sorted(filter(_KEY.fullmatch, answer), key="id".__ne__):
            yield from ids_in(answer[name], (*path, name))
    elif isinstance(answer, list):
        for index, each in enumerate(answer):
            yield from ids_in(each, (*path, index))


def request_ids(exchange: Exchange) -> set[str]:
    """Everything in a request that looks like an id."""
    return set(ID.findall(msgspec.json.encode([exchange.target, exchange.body]).decode()))
