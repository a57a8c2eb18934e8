"""What tests of the test helpers ask for: worlds of one server, as the plugin makes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.support.sandbox import START
from emulator.testing import Emulator, LocalServer


@pytest.fixture
def world(local_server: LocalServer, world_name: str) -> Iterator[Emulator]:
    """A world that stands still at the start of 2026."""
    with Emulator(key=f"sk_test_{world_name}", clock=START, server=local_server) as emulator:
        yield emulator
