"""The search: shrinks a story that fails to the few steps that it takes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from contract_tests.simulator.simulation import Outcome, Step, Story, play

MOST_PLAYS = 400
"""Plays that shrinking a story may take."""


def shrunk(story: Story, outcome: Outcome) -> tuple[Story, Outcome]:
    """Leave out steps, many, then single ones, while the same rule breaks (delta debugging)."""
    assert outcome.violation
    rule, plays = outcome.violation.rule, 0
    smallest = story._replace(steps=story.steps[: outcome.steps]), outcome
    size = len(smallest[0].steps) // 2
    while size and plays < MOST_PLAYS:
        before, start = smallest, 0
        while start < len(smallest[0].steps) and plays < MOST_PLAYS:
            steps = smallest[0].steps
            plays += 1
            shorter = _tried(story, (*steps[:start], *steps[start + size :]), rule)
            smallest, start = (shorter, start) if shorter else (smallest, start + size)
        if size > 1 or smallest is before:
            size //= 2
    return smallest


def _tried(story: Story, steps: tuple[Step, ...], rule: str) -> tuple[Story, Outcome] | None:
    """Return the story with these steps alone, up to the violation, if it breaks the rule."""
    outcome = play(story._replace(steps=steps))
    if outcome.violation is None or outcome.violation.rule != rule:
        return None
    return story._replace(steps=steps[: outcome.steps]), outcome


def write(path: Path, story: Story) -> None:
    """Write a story, one line for each step."""
    lines = ",\n".join(msgspec.json.encode(step).decode() for step in story.steps)
    head = msgspec.json.encode(
        {"seed": story.seed, "state": story.state, "settings": story.settings}
    ).decode()
    path.write_text(f'{head[:-1]}, "steps": [\n{lines}\n]}}\n', "utf-8")


def read(path: Path) -> Story:
    plain = msgspec.json.decode(path.read_bytes())
    return Story(plain["seed"], plain["state"], plain["settings"], tuple(plain["steps"]))
