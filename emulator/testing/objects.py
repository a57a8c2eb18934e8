"""The names of ``objects.pyi``'s types for type checkers: at run time objects are plain dicts."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return dict[str, Any]
