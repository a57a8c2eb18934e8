"""The simulator: a seed decides everything, no invariant is broken, and each seeded defect is found and shrunk."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract_tests.simulator import search, world_rules
from contract_tests.simulator.defects import DEFECTS, Defect
from contract_tests.simulator.invariants import LEGAL
from contract_tests.simulator.population import OPERATIONS, VARIANTS
from contract_tests.simulator.steps import draw_story
from contract_tests.simulator.surroundings import KINDS
from emulator.testing import Emulator

SEEDS = range(100, 124)
"""Seeds that each run of the tests plays; ``python -m contract_tests.simulator stories --minutes 5`` plays new ones."""

PARTS = 4
"""Tests that share them, so that a broken rule fails a few and not one for each seed."""


@pytest.mark.parametrize("state", KINDS)
def test_a_seed_decides_everything(state: str) -> None:
    """Every byte of every answer is the same when a story is played again."""
    story = draw_story(3, 80, state)
    first, second = search.played(story), search.played(story)
    assert first == second
    assert first != search.played(draw_story(4, 80, state))


@pytest.mark.parametrize("part", range(PARTS))
def test_no_invariant_is_broken(part: int) -> None:
    for seed in SEEDS[part::PARTS]:
        outcome = search.played(draw_story(seed, 80))
        assert outcome.violation is None, f"python -m contract_tests.simulator stories --seed {seed} --steps 80"


EVENTFUL = {
    1: "reviewed refunds",
    2: "paid by transaction",
    3: "slow operator",
    4: "no retries",
    6: "reviewed refunds",
    7: "very slow operator",
    8: "defaults",
    12: "defaults",
}
"""Seeds and settings of worlds in which, together, all happens that a life cycle allows."""

WALKED = {("subscription", "paused", "trialing")}
"""Transitions that :mod:`contract_tests.simulator.walks` seeks and these stories miss."""


def test_stories_make_every_transition() -> None:
    """What no story reaches, no invariant says anything of."""
    names = [*OPERATIONS, "advance", "receiver", "deliver_again", "outcome"]
    outcomes = [
        search.played(draw_story(seed, 400, "memory", names)._replace(settings=VARIANTS[variant]))
        for seed, variant in EVENTFUL.items()
    ]
    assert [outcome.violation for outcome in outcomes if outcome.violation] == []
    every = {(kind.kind, *step) for kind, steps in LEGAL.items() for step in steps if step[0] != step[1]}
    assert every - WALKED - frozenset().union(*(outcome.reached for outcome in outcomes)) == set()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_seeded_defect_is_found_and_shrunk(defect: Defect, tmp_path: Path) -> None:
    """The file of the shrunk story breaks the same invariant in the same way, and nothing once the defect is gone."""
    story = defect.story
    with defect.seeded():
        outcome = search.played(story)
        assert outcome.violation is not None
        assert outcome.violation.rule in defect.rules
        shrunk, outcome = search.shrunk(story, outcome)
        assert len(shrunk.steps) <= 8
        search.write(tmp_path / "story.json", shrunk)
        again = search.read(tmp_path / "story.json")
        assert search.played(again) == outcome
    assert search.played(again).violation is None


def test_the_rules_of_a_world_notice_a_total_without_a_transaction() -> None:
    with Emulator() as emulator:
        customer = emulator.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        emulator.api.patch(f"/_emulator/objects/{customer['id']}", {"total_spent": 700})
        emulator.api.post("/_emulator/snapshots", {"name": "wrong"})
        rows = world_rules.exported(emulator.api.get("/_emulator/snapshots/wrong"))
    assert [flag.startswith(f"{customer['id']}: spent 700") for flag in world_rules.flags(rows)] == [True]


STORIES = sorted(Path(__file__).with_name("stories").glob("*.json"))


@pytest.mark.parametrize("file", STORIES, ids=lambda file: file.stem)
def test_what_once_broke_an_invariant_breaks_none(file: Path) -> None:
    """Shrunk stories that ended in a violation before the emulator was fixed."""
    assert search.played(search.read(file)).violation is None
