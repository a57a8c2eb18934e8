"""``record ID``: an object of each kind in each state of its life cycle, from a world in which it was reached.

The clock of that world runs.
"""

from __future__ import annotations

import re
import statistics

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.cli.terminal import run
from contract_tests.surfaces.recording.conftest import RATE
from contract_tests.surfaces.recording.stories import STORIES, newest, webhooks
from emulator.resources.registry import STATE_MACHINES

BECAME = re.compile(r"^\d+ steps became (\d+) after \d+ replays$", re.MULTILINE)
"""What the command says when it had time for everything."""

MOST_STEPS = 7


def reproduced(sandbox: Sandbox, id: str) -> int:
    """The number of steps of the story; the command itself compares the object with the one in a fresh world."""
    ended = run("record", id, "--as", "curl", "--seconds", "60", "--url", sandbox.url, "--key", sandbox.key)
    assert ended.status == 0, ended.errors
    became = BECAME.search(ended.errors)
    assert became, ended.errors
    return int(became[1])


def test_every_state_is_in_a_story() -> None:
    reached = {(kind, state) for states in STORIES.values() for kind in states for state in states[kind]}
    assert reached == {(machine.kind.kind, row.target) for machine in STATE_MACHINES for row in machine.rows}


def test_each_state_is_reproduced_in_few_steps(
    server: RunningServer, contracts: tuple[Contract, Contract], world_name: str
) -> None:
    steps: dict[tuple[str, str], int] = {}
    for number, (story, states) in enumerate(STORIES.items()):
        with server.world(f"{world_name}-{number}", *contracts) as sandbox:
            # A delivery takes some milliseconds, of which a fast clock would make seconds.
            sandbox.control.post("/clock/run", {"rate": 1 if story is webhooks else RATE})
            story(sandbox)
            for each in [(kind, state) for kind in states for state in states[kind]]:
                steps[each] = reproduced(sandbox, newest(sandbox, *each)["id"])
    assert statistics.median(steps.values()) <= 4, steps
    assert max(steps.values()) <= MOST_STEPS, steps
