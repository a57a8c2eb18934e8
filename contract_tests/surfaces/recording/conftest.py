"""A world in which the story was played, which the command line is about."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from contract_tests.surfaces.recording.story import START, past_due
from emulator.testing import Emulator, LocalServer


@pytest.fixture(scope="session")
def played(local_server: LocalServer) -> Iterator[Emulator]:
    """The world after the story: tests only read it."""
    with Emulator(key="sk_test_played", clock=START, seed=7, server=local_server) as payments:
        past_due(payments)
        yield payments


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PAYMENTS_EMULATOR_")]:
        monkeypatch.delenv(name)
