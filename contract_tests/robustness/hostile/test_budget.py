"""Every row of the budget: what a limit allows is accepted, more is answered as the table says; others are served."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.robustness.hostile.budget import ROWS, Row, Target
from contract_tests.robustness.hostile.crowd import allow_open_files
from contract_tests.support.sandbox import RunningServer
from emulator.core import limits
from emulator.core.limits import Limit

SHORTER = {"CONNECTIONS": 60, "HEAD_SECONDS": 1, "BODY_SECONDS": 1, "WORLDS": 60}
"""Limits that take long to reach, and what they are for these tests. The command measures the real ones."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    allow_open_files(8192)
    server = RunningServer(strict=False, max_worlds=SHORTER["WORLDS"])
    yield server
    server.stop()


@pytest.fixture
def target(server: RunningServer, row: Row) -> Iterator[Target]:
    with Target(server.url, f"sk_test_budget{ROWS.index(row)}") as target:
        yield target


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_row_of_the_budget(row: Row, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    most = row.limit.most
    for name, shorter in SHORTER.items():
        if getattr(limits, name) is row.limit:
            most = shorter
            monkeypatch.setattr(limits, name, row.limit._replace(most=shorter))
    assert row.play(target, most).split(",")[0] == row.within
    assert target.http.get("/_emulator/health").status_code == 200
    assert row.play(target, 2 * most).split(",")[0] == row.beyond
    assert target.http.get("/_emulator/health").status_code == 200


def test_every_limit_has_a_row() -> None:
    every = {value for value in vars(limits).values() if isinstance(value, Limit)}
    assert {row.limit for row in ROWS} == every
    assert len({row.name for row in ROWS}) == len(ROWS)
