"""Registers the formats of the document with schemathesis, which generates values of them."""

from __future__ import annotations

import schemathesis

from emulator.strategies import formats


def register() -> None:
    """Register them with schemathesis."""
    for name, strategy in formats.VALID.items():
        schemathesis.openapi.format(name, strategy)
