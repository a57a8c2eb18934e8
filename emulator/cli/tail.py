"""Following is showing the latest of a list and then each new one as it happens, none twice and none left out."""

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
    "lost": "this reader was too slow and missed something",
}
"""What the stream's ``reset`` means, by its cause."""


def tail(emulator: ControlClient, kind: str, recent: Callable[[], list[Any]]) -> Iterator[Any]:
    """The recent ones, oldest first, then each as the stream tells it. It ends only by an error or Ctrl-C."""
    shown: set[str] = set()
    for told, item in emulator.stream(kind):
        if told == "open":
            # Asked for only now that the stream listens: what happens meanwhile comes twice, and is told once.
            before = recent()
            shown = {each["id"] for each in before}
            yield from before
        elif told == "reset":
            shown = set()
            click.echo(f"-- {RESETS.get(item['cause'], item['cause'])}; it is now {when(item['now'])}", err=True)
        elif told == kind and item["id"] not in shown:
            yield item
