"""The document's coverage: ``--spec-coverage=FILE`` writes, ``--spec-coverage-complete`` minds it.

With the second option a run of the whole suite fails where a row of the table is empty; parts of
the suite run as ever without it. It works with xdist: each worker hands on what it saw. Without the
first this module is not loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.contract.document.judges import StrictJudge
from contract_tests.surfaces.coverage.points import Point, Points
from contract_tests.surfaces.coverage.watch import WATCH
from emulator.core.records import Record
from emulator.core.state_machine import StateMachine, Transition
from emulator.core.unit_of_work import Event
from emulator.core.world import World

OPTION, COMPLETE = "--spec-coverage", "--spec-coverage-complete"

NEVER = frozenset({Point("field answered", "NextAction.url")})
"""Without a response so far: no step of the emulator's has a page. This should stay empty."""


def pytest_configure() -> None:
    WATCH.notes_points = True
    _listen_to_the_rules()


def _listen_to_the_rules() -> None:
    emit, event = StateMachine._emit, World.event

    def emitting(self: Any, world: World, row: Transition, record: Record) -> Any:
        WATCH.note_move(self.kind.kind, row.source, row.trigger, row.target)
        return emit(self, world, row, record)

    def noting(self: World, type: str, data: dict[str, Any]) -> Event:
        WATCH.note(Point("event", type))
        return event(self, type, data)

    StateMachine._emit, World.event = emitting, noting  # type: ignore[assignment, method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    WATCH.test = item.nodeid.split("[")[0].removeprefix("contract_tests/")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})  # A worker that died has none.
    for kind, name, test in output.get("exercised", ()):
        WATCH.exercised.setdefault(Point(kind, name), test)
    StrictJudge.judged += output.get("judged", 0)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["exercised"] = [
            [*point, test] for point, test in WATCH.exercised.items()
        ]
        config.workeroutput["judged"] = StrictJudge.judged
    else:
        file = config.getoption(OPTION)
        points = WATCH.points
        Path(file).write_text("".join(_table(points)), "utf-8")
        missing = sorted(points.documented() - WATCH.exercised.keys() - NEVER)
        if missing and config.getoption(COMPLETE) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(
            f"\n{len(missing)} of {len(points.documented())} documented points without a test;"
            f" table in {file}"
        )
        reporter.write_line(
            f"{StrictJudge.judged} bodies were validated by the letter of OpenAPI 3.0; a rejected"
            " one fails its test"
        )
        for point in missing:
            reporter.write_line(f"no test exercises {point.kind}: {point.name}")


def _table(points: Points) -> Iterator[str]:
    documented = sorted(points.documented())
    yield (
        "# Coverage of the specification\n\nWhich test exercises each part of the document"
        " first.\n\n"
    )
    yield "| parts | exercised |\n|---|---|\n"
    exercised = Counter(point.kind for point in documented if point in WATCH.exercised)
    for kind, number in Counter(point.kind for point in documented).items():
        yield f"| {kind} | {exercised[kind]} of {number} |\n"
    yield "\n| kind | part | test |\n|---|---|---|\n"
    for point in documented:
        yield f"| {point.kind} | `{point.name}` | {WATCH.exercised.get(point, '')} |\n"
