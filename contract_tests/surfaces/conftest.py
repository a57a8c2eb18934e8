"""Several surfaces' needs: the server that test helpers start, with worlds of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.testing import LocalServer


@pytest.fixture(scope="session")
def local_server() -> Iterator[LocalServer]:
    server = LocalServer(strict=True)
    yield server
    server.stop()
