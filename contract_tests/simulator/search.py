"""The search: plays the stories of many seeds, and shrinks one that fails to the few steps that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from contract_tests.simulator.simulation import Outcome, Step, Story, play
from contract_tests.simulator.steps import ACTIONS_BY_NAME, draw_story

MOST_PLAYS = 400
"""Plays that shrinking a story may take."""


class Failure(NamedTuple):
    """A story that ends in a violation, as short as it could be made."""

    story: Story
    outcome: Outcome


def played(story: Story) -> Outcome:
    """Play a story."""
    return play(story, ACTIONS_BY_NAME)


def search(seeds: Iterator[int], steps: int) -> Iterator[tuple[int, Outcome, Failure | None]]:
    """For each seed how its story ended and, where that was a violation, the shrunk story."""
    for seed in seeds:
        story = draw_story(seed, steps)
        outcome = played(story)
        yield seed, outcome, shrunk(story, outcome) if outcome.violation else None


def shrunk(story: Story, outcome: Outcome) -> Failure:
    """Leave out steps, many at once and then single ones, as long as the same rule stays broken (delta debugging).

    What a step holds inside is shrunk as well: two steps at the same time become one of them.
    """
    assert outcome.violation
    rule, plays = outcome.violation.rule, 0
    found = Failure(story._replace(steps=story.steps[: outcome.steps]), outcome)
    size = len(found.story.steps) // 2
    while size and plays < MOST_PLAYS:
        before, start = found, 0
        while start < len(found.story.steps) and plays < MOST_PLAYS:
            steps = found.story.steps
            plays += 1
            shorter = _tried(story, (*steps[:start], *steps[start + size :]), rule)
            found, start = (shorter, start) if shorter else (found, start + size)
        if size > 1 or found is before:
            size //= 2
    for position, step in enumerate(found.story.steps):
        for part in ("first", "second", "then"):
            if "do" in step.get(part, {}):
                simpler: Step = {**step[part], **({"key": step["key"]} if "key" in step else {})}
                steps = found.story.steps
                found = _tried(story, (*steps[:position], simpler, *steps[position + 1 :]), rule) or found
    return found


def _tried(story: Story, steps: tuple[Step, ...], rule: str) -> Failure | None:
    """Return the story with these steps alone, up to the violation, if it breaks the rule."""
    tried = story._replace(steps=steps)
    outcome = played(tried)
    if outcome.violation is None or outcome.violation.rule != rule:
        return None
    return Failure(tried._replace(steps=steps[: outcome.steps]), outcome)


def write(path: Path, story: Story) -> None:
    """A story as a file: one line for each step."""
    lines = ",\n".join(msgspec.json.encode(step).decode() for step in story.steps)
    head = msgspec.json.encode({"seed": story.seed, "state": story.state, "settings": story.settings}).decode()
    path.write_text(f'{head[:-1]}, "steps": [\n{lines}\n]}}\n', "utf-8")


def read(path: Path) -> Story:
    """Return a story from a file."""
    plain = msgspec.json.decode(path.read_bytes())
    return Story(plain["seed"], plain["state"], plain["settings"], tuple(plain["steps"]))
