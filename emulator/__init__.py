"""A local sandbox of a Payments and Recurring Billing API, with a clock that can be moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.testing import AsyncEmulator, Emulator, verify_webhook

__all__ = ["AsyncEmulator", "Emulator", "verify_webhook"]


def __getattr__(name: str) -> Any:
    """Load what test suites import from here on first use: a plain start needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("emulator.testing"), name)
