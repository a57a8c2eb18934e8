"""One server for all mutants: only one of them is active at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from contract_tests.surfaces.checks.suite.stories import Story
from emulator.checks.suite.table import MUTANTS
from emulator.checks.suite.wrong_service import WrongService
from emulator.testing import Emulator, LocalServer

Play = Callable[[Story, str], set[str]]


@pytest.fixture(scope="package")
def service() -> WrongService:
    return WrongService(MUTANTS.values())


@pytest.fixture(scope="package")
def server(service: WrongService) -> Iterator[LocalServer]:
    server = LocalServer(7, parts=service.parts())
    yield server
    server.stop()


@pytest.fixture
def play(service: WrongService, server: LocalServer) -> Iterator[Play]:
    """Plays a test in a new world, with a service that is wrong in one way or, with "", in none; what was reached."""

    def run(story: Story, row: str) -> set[str]:
        service.active, service.reached = [MUTANTS[row]] if row in MUTANTS else [], set()
        with Emulator(key=f"sk_test_{row or story.__name__}", clock="2026-01-01T00:00:00Z", server=server) as payments:
            story(payments)
        return service.reached

    yield run
    service.active = []
