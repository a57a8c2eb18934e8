"""Large libraries of which a wheel carries a part (``docs/libraries.py``); in a checkout they are installed whole."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@cache
def library(module: str) -> Any:
    """Return a module, imported on first use: ``library("babel.numbers")``. An error says what to install."""
    if find_spec("emulator.vendor"):
        return import_module(f"emulator.vendor.{module}")
    try:
        return import_module(module)
    except ModuleNotFoundError:
        missing = f"{module} is not installed; a checkout needs the extra test: pip install -e '.[test]'"
        raise ModuleNotFoundError(missing) from None
