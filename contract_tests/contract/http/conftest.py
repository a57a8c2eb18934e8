"""A line to the server for each test that wants one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import Sandbox


@pytest.fixture
def line(sandbox: Sandbox) -> Iterator[Line]:
    """A connection to the server, with the key of the test's own world."""
    with Line(sandbox.url, sandbox.key) as line:
        yield line
