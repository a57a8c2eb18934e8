"""The plain helpers as coroutine functions. Type checkers read ``awaited.pyi``, made from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any


class AsyncHelper:
    """A helper with coroutine functions for methods and properties: calls run in a thread."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        member = getattr(type(self.plain), name)
        return partial(asyncio.to_thread, getattr(member, "fget", member), self.plain)


def __getattr__(name: str) -> type[AsyncHelper]:
    if not name.startswith("Async"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return AsyncHelper
