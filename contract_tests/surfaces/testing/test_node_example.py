"""The example shop in Node: its own test suite passes beside an emulator."""

from __future__ import annotations

import pytest

from contract_tests.surfaces.testing.test_examples import beside_an_emulator, run

pytestmark = pytest.mark.needs("node")


def test_the_node_shop() -> None:
    output = run("node-shop", *beside_an_emulator("node", "--test", "--test-reporter=tap"))
    assert output.returncode == 0, output.stdout + output.stderr
    assert "# pass 12" in output.stdout
