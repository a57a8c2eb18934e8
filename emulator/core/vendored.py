"""Large libraries, in part in a wheel (``docs/libraries.py``), in a checkout installed whole."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@cache
def library(module: str) -> Any:
    """Return a module such as ``"babel.numbers"``, imported on first use."""
    if find_spec("emulator.vendor"):
        return import_module(f"emulator.vendor.{module}")
    try:
        return import_module(module)
    except ModuleNotFoundError:
        missing = (
            f"{module} is not installed; a checkout needs the extra test: pip install -e '.[test]'"
        )
        raise ModuleNotFoundError(missing) from None
