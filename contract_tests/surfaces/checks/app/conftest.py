"""The world that a test gives to ``payments.test_app``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.support.sandbox import START
from emulator.testing import Emulator, LocalServer


@pytest.fixture
def payments(local_server: LocalServer, world_name: str) -> Iterator[Emulator]:
    with Emulator(
        key=f"sk_test_{world_name}", clock=START, seed=7, server=local_server
    ) as emulator:
        yield emulator
