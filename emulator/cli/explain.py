"""``explain``: say why an object is as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import (
    ID,
    as_json,
    with_client,
)
from emulator.cli.output import columns, print_line, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient
    from emulator.insight.explain.explanation_text import Entry, Episode


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

    Print the current state and the next step, then every request and job that led to it, with what each
    caused in columns: clock, money, webhooks, emails. Repeats are counted.
    """

    def text(found: Any) -> str:
        # With ordinary spaces, once its lines are wrapped: amounts have others, and a terminal is searched.
        return "\n".join(story(found, every)).replace("\N{NO-BREAK SPACE}", " ")

    print_line(emulator.get(f"/explain/{id}"), text, as_json)


def story(found: Any, every: bool) -> Iterator[str]:
    """Yield the name, the sentence, and the episodes, the oldest first."""
    from emulator.insight.explain.explanation_text import episodes

    width = max(NARROWEST, columns())
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
    delivered = {entry.step["subject"] for entry in episode.entries if entry.step["kind"] == "delivery"}
    yield from (_entry(entry, width) for entry in episode.entries if not _is_said(entry.step, delivered))


def _is_said(step: Any, delivered: set[str]) -> bool:
    """Return whether another line says it: an event that was delivered, a transition that leaves all as it was."""
    before, _, after = step["subject"].partition(" → ")
    stayed = step["kind"] == "transition" and before == after and " (" not in step["summary"]
    return stayed or (step["kind"] == "event" and step["subject"] in delivered)


def _entry(entry: Entry, width: int) -> str:
    step, lane = entry.step, click.style(entry.lane.ljust(8), dim=True)
    repeats = f" × {entry.times}" if entry.times > 1 else ""
    room = width - len("  requests  ") - len(repeats)
    return f"  {lane}  {_fitted(step, room)}{repeats}"


def _fitted(step: Any, room: int) -> str:
    """Return the summary of a step, or as much as fits of its subject and outcome."""
    summary = str(step["summary"]).replace(" -> ", " → ")
    if len(summary) <= room:
        return summary
    text = f"{step['subject']}: {step['outcome']}" if step["outcome"] else step["subject"]
    return text if len(text) <= room else f"{text[: room - 1]}…"
