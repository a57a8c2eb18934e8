"""The exam: its tasks fit the example shops, and a grader distinguishes a solved folder from an unsolved one."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.exam.__main__ import EXAMPLES, Task, tasks, verified

TASKS = tasks()


def test_there_are_twelve_tasks() -> None:
    assert len(TASKS) == 12


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_solution_leads_to_the_example_shop(task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    task.start(folder)
    shop = EXAMPLES / task.shop
    (changed,) = {
        line[6:] for line in (task.folder / "solution.patch").read_text("utf-8").splitlines() if line.startswith("+++ ")
    }
    assert (folder / changed).read_text("utf-8") != (shop / changed).read_text("utf-8")
    task.apply(folder)
    assert (folder / changed).read_text("utf-8") == (shop / changed).read_text("utf-8")
    assert (folder / "TASK.md").read_text("utf-8").startswith("# ")


@pytest.mark.parametrize("name", ["refund-once"])
@pytest.mark.long
def test_its_grader_fails_unsolved_and_passes_solved(name: str) -> None:
    """Of one task; ``python -m docs.exam verify`` tries all twelve."""
    assert [*verified(TASKS[name])] == []
