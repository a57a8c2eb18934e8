"""The names of the types in ``objects.pyi``, which type checkers read: at run time each object is a plain dict."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return dict[str, Any]
