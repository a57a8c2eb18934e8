"""Deferral: libraries that another library imports and a server never uses, not loaded until something calls them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


class Deferred(ModuleType):
    """Stands for a module whose functions and classes are only ever called; the first call imports it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*positional: Any, **named: Any) -> Any:
            return getattr(import_module(self.__name__), name)(*positional, **named)

        return call


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Imports made inside get stand-ins for these modules; afterwards everyone gets the real ones, as ever."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update({name: Deferred(name) for name in absent})
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


@contextmanager
def forgotten(*packages: str) -> Iterator[None]:
    """Packages first imported inside, with modules of their own deferred, are theirs alone who import them there.

    Their namespaces keep the stand-ins. Whoever wants such a package afterwards imports it anew, and gets it whole.
    """
    known = set(sys.modules)
    try:
        yield
    finally:
        for name in sys.modules.keys() - known:
            if name.partition(".")[0] in packages:
                del sys.modules[name]
