"""``explain``: why an object is as it is, in a sentence, and what led to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import ID, as_json, with_client
from emulator.cli.output import print_line, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient
    from emulator.control.explain.chains import Entry, Episode

LATEST = 8
"""The episodes that are shown without ``--all``."""

NARROWEST = 40
"""The least columns that lines are fitted into."""


@click.command()
@click.argument("id", type=ID, metavar="ID")
@click.option("--all", "every", is_flag=True, help="Show everything that led to it, not only the latest.")
@as_json
@with_client
def explain(emulator: ControlClient, id: str, *, every: bool, as_json: bool) -> None:
    """Explain why an object is as it is.

    \b
    payments-emulator explain sub_6Fd4sA7gH2jK9lQ1wE5rT8yU
    payments-emulator explain inv_3Hj6kL9pQ2rS5tU8vW1xY4zA --all
    payments-emulator explain whd_2Lp7wQ9xR4tY6uN1mB3vC8zK --json | jq -r .summary

    First how it stands and what comes next. Then each request and job that led there, with what it caused in lanes:
    clock, money, webhooks, mail. Repeats are counted.
    """
    print_line(emulator.get(f"/explain/{id}"), lambda found: _searchable("\n".join(lines(found, every))), as_json)


def _searchable(text: str) -> str:
    """The text with ordinary spaces, once its lines are wrapped: amounts have others, and a terminal is searched."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def lines(found: Any, every: bool) -> Iterator[str]:
    """The name, the sentence, and the episodes, the oldest first."""
    # Imported here: help needs none of it.
    from emulator.control.explain.chains import episodes

    width = max(NARROWEST, shutil.get_terminal_size().columns)
    status = f", {found['status'].replace('_', ' ')}" if found["status"] else ""
    yield click.style(found["name"] or found["id"], bold=True)
    yield f"{found['kind'].replace('_', ' ')} {found['id']}{status}"
    if found["summary"]:
        yield ""
        yield click.wrap_text(found["summary"], min(width, 100))
    steps = episodes(found["chain"], found["id"])
    shown = steps if every else steps[-LATEST:]
    yield ""
    if len(shown) < len(steps):
        yield f"({len(steps) - len(shown)} earlier; --all shows them)"
    for episode in shown:
        yield from _episode(episode, width)
    if not found["complete"]:
        yield "The log no longer covers the start; this is reconstructed from what remains."


def _episode(episode: Episode, width: int) -> Iterator[str]:
    until = f" to {when(episode.last)}" if episode.last != episode.first and episode.times > 1 else ""
    repeats = click.style(f"  × {episode.times}", bold=True) if episode.times > 1 else ""
    yield f"{when(episode.first)}{until}{repeats}"
    yield from (_entry(entry, width) for entry in episode.entries)


def _entry(entry: Entry, width: int) -> str:
    step, lane = entry.step, click.style(entry.lane.ljust(8), dim=True)
    repeats = f" × {entry.times}" if entry.times > 1 else ""
    room = width - len("  requests  ") - len(repeats)
    return f"  {lane}  {_fitted(step, room)}{repeats}"


def _fitted(step: Any, room: int) -> str:
    """The summary of a step, or as much as fits of its subject and outcome."""
    if len(step["summary"]) <= room:
        return str(step["summary"])
    text = f"{step['subject']}: {step['outcome']}" if step["outcome"] else step["subject"]
    return text if len(text) <= room else f"{text[: room - 1]}…"
