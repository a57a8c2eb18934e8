"""The example shop in Node: its own test suite passes beside an emulator."""

from __future__ import annotations

from contract_tests.testing.test_examples import beside_an_emulator, run


def test_the_node_shop() -> None:
    told = run("node-shop", *beside_an_emulator("node", "--test", "--test-reporter=tap"))
    assert told.returncode == 0, told.stdout + told.stderr
    assert "# pass 7" in told.stdout
