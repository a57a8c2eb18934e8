"""A world in which the story was played, which the command line is about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from contract_tests.surfaces.cli.terminal import Ended, run
from contract_tests.surfaces.recording.story import START, PastDue, past_due
from emulator.testing import Emulator, LocalServer

RATE = 60
"""Seconds of a world in a real one: as on a plain ``serve``, time passes between two requests."""


class Played(NamedTuple):
    """The world after the story."""

    payments: Emulator
    story: PastDue

    def cli(self, *arguments: str) -> Ended:
        """Calls the command line for this world."""
        return run(*arguments, "--url", self.payments.url, "--key", self.payments.key)


@pytest.fixture(scope="session")
def local_server() -> Iterator[LocalServer]:
    server = LocalServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def played(local_server: LocalServer) -> Iterator[Played]:
    """Tests only read it."""
    with Emulator(key="sk_test_played", clock=START, seed=7, server=local_server) as payments:
        yield Played(payments, past_due(payments))


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PAYMENTS_EMULATOR_")]:
        monkeypatch.delenv(name)
