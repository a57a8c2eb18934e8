"""Registers the formats of the document with schemathesis, which generates values of them."""

from __future__ import annotations

import schemathesis

from emulator.strategies import format_texts


def register() -> None:
    """Register them with schemathesis."""
    for name, strategy in format_texts.VALID.items():
        schemathesis.openapi.format(name, strategy)
