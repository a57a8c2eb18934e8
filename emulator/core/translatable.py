"""The mark of messages that are shown in several languages; ``emulator.presentation.languages`` translates them."""

from __future__ import annotations


def N_(message: str) -> str:  # noqa: N802  # the name that gettext's tools look for
    """Mark a message of a table for extraction; it is translated where it is shown."""
    return message
