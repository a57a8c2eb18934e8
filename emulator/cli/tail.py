"""``--follow``: the latest objects of a list, then each new one, without gaps or repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.output import when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

RESETS = {
    "reset": "the world was reset",
    "restore": "a snapshot was restored",
    "rewind": "the world was rewound",
    "lost": "this reader was too slow and missed messages",
}
"""The meaning of the stream's ``reset``, by its cause."""


def tail(emulator: ControlClient, kind: str, recent: Callable[[], list[Any]]) -> Iterator[Any]:
    """The recent objects, oldest first, then each that the stream reports. It ends only with an error or Ctrl-C."""
    shown: set[str] = set()
    for message, item in emulator.stream(kind):
        if message == "open":
            # Fetched after the stream is open, so nothing is missed; what arrives by both ways is shown once.
            before = recent()
            shown = {each["id"] for each in before}
            yield from before
        elif message == "reset":
            shown = set()
            click.echo(f"-- {RESETS.get(item['cause'], item['cause'])}; it is now {when(item['now'])}", err=True)
        elif message == kind and item["id"] not in shown:
            yield item
