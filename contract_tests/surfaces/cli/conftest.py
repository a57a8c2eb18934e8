"""The command line in this process, in one of its own, and on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import Begin, Ended, Screen, processes, run

Cli = Callable[..., Ended]
OnScreen = Callable[..., Screen]


@pytest.fixture
def cli(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Call the command line for the sandbox's world, as ``exec``'s environment names it."""
    for name in [name for name in os.environ if name.startswith("PAYMENTS_EMULATOR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PAYMENTS_EMULATOR_URL", sandbox.url)
    monkeypatch.setenv("PAYMENTS_EMULATOR_KEY", sandbox.key)
    return run


@pytest.fixture
def begin() -> Iterator[Begin]:
    with processes() as begin:
        yield begin


@pytest.fixture
def screen() -> Iterator[OnScreen]:
    started: list[Screen] = []

    def start(*arguments: str, **variables: str) -> Screen:
        started.append(Screen(*arguments, **variables))
        return started[-1]

    yield start
    for process in started:
        process.close()
