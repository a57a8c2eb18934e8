"""``explain``: say why an object is as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID, as_json, with_client
from emulator.cli.output import clock_time, columns, names_of, print_line

if TYPE_CHECKING:
    from emulator.insight.explain.explanation_text import Entry, Episode


LATEST = 8
"""The episodes that are shown without ``--all``."""

INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)T[\d:.]+Z")


@click.command()
@click.argument("id", type=ID, metavar="ID")
@click.option(
    "--all", "every", is_flag=True, help="Show everything that led to it, not only the latest."
)
@as_json
@with_client
def explain(emulator: ControlClient, id: str, *, every: bool, as_json: bool) -> None:
    """Explain the state of an object.

    \b
    payments-emulator explain sub_6Fd4sA7gH2jK9lQ1wE5rT8yU
    payments-emulator explain inv_3Hj6kL9pQ2rS5tU8vW1xY4zA --all
    payments-emulator explain whd_2Lp7wQ9xR4tY6uN1mB3vC8zK --json | jq -r .summary

    Print the current state and the next step, then every request and job that led to it, with what
    each caused in columns: clock, money, webhooks, emails. Repeats are counted.
    """

    def text(explanation: Any) -> str:
        # With ordinary spaces, once its lines are wrapped: amounts have others, and a terminal is
        # searched.
        return "\n".join(story(explanation, every, names)).replace("\N{NO-BREAK SPACE}", " ")

    explanation = emulator.get(f"/explain/{emulator.whole_id(id)}")
    names = {} if as_json else names_of(emulator, (step["object"] for step in explanation["chain"]))
    print_line(explanation, text, as_json)


def story(explanation: Any, every: bool, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the name, the sentence, and the episodes, the oldest first."""
    from emulator.insight.explain.explanation_text import episodes

    width = max(40, columns())
    status = f", {explanation['status'].replace('_', ' ')}" if explanation["status"] else ""
    yield click.style(explanation["name"] or explanation["id"], bold=True)
    yield f"{explanation['kind'].replace('_', ' ')} {explanation['id']}{status}"
    if explanation["summary"]:
        yield ""
        yield click.wrap_text(explanation["summary"], min(width, 100))
    steps = episodes(explanation["chain"], explanation["id"])
    last_steps = steps if every else steps[-LATEST:]
    yield ""
    if len(last_steps) < len(steps):
        yield f"{len(steps) - len(last_steps)} earlier; --all shows them"
    before = ""
    for episode in last_steps:
        head = heading(episode)
        if head != before:
            yield head
        before = head
        yield from entries(episode, names, width)
    if not explanation["complete"]:
        yield "The journal no longer covers the start; this is reconstructed from what remains."


def heading(episode: Episode) -> str:
    start, end = (f"{at[:10]} {clock_time(at)}" for at in (episode.first, episode.last))
    if episode.times == 1:
        return start
    until = f" to {end}" if end != start else ""
    return f"{start}{until}{click.style(f'  × {episode.times}', bold=True)}"


def entries(episode: Episode, names: Mapping[str, str], width: int) -> Iterator[str]:
    """Yield an episode's steps, each after its lane, without events whose deliveries name them."""
    delivered = {
        entry.step["subject"] for entry in episode.entries if entry.step["kind"] == "delivery"
    }
    for entry in episode.entries:
        text = words(entry, names)
        if text and not (entry.step["kind"] == "event" and entry.step["subject"] in delivered):
            lane = f"  {entry.lane:8}  "
            lines = click.wrap_text(
                text + (f" × {entry.times}" if entry.times > 1 else ""), width - len(lane) - 2
            )
            yield "\n".join(
                (click.style(lane, dim=True) if number == 0 else " " * (len(lane) + 2)) + line
                for number, line in enumerate(lines.splitlines())
            )


def words(entry: Entry, names: Mapping[str, str]) -> str:
    """Return a step in the console's words; empty for a transition that changes nothing."""
    from emulator.document.paths import fixture
    from emulator.insight.names import job_texts

    step = entry.step
    subject, outcome, name = (
        step["subject"],
        step["outcome"] or "",
        names.get(step["object"], step["object"]),
    )
    text = INSTANT.sub(lambda at: f"{at[1]} {clock_time(at[0])}", step["summary"])
    text = text.replace(" null -> ", " → ").replace(" -> ", " → ")
    match step["kind"]:
        case "request" if subject:
            text = f"{subject}  {outcome if outcome >= '4' else ''}".rstrip()
        case "job":
            text = ": ".join(
                filter(None, [job_texts().get(subject, {}).get("label", subject), outcome])
            )
        case "transition" if "→" in subject:
            text = transition(step, text.partition(" (")[2][:-1])
        case "email":
            text = fixture("console")["emails"][subject]
        case "delivery":
            text = f"{subject} → {name}  {outcome}"
        case "event":
            text = f"{subject}  {name}" if entry.lane == "money" else str(subject)
    return text


def transition(step: Any, details: str) -> str:
    """Return a status change, its name if the statuses do not say it, and the other changes."""
    from emulator.insight.explain.explanation_text import TRANSITIONS
    from emulator.presentation.languages.catalogs import SOURCE
    from emulator.presentation.languages.language import language_of
    from emulator.presentation.languages.wording import status_name, transition_name

    before, _, after = step["subject"].partition(" → ")
    if before == after and not details:
        return ""
    kinds = {kind.prefix: kind.kind for kind in TRANSITIONS}
    language = language_of(SOURCE)
    change = status_name(language, kinds.get(step["object"].partition("_")[0], ""), step["subject"])
    name = transition_name(language, step["outcome"], step["subject"]) if step["outcome"] else ""
    return "; ".join(filter(None, [change, name, details]))
