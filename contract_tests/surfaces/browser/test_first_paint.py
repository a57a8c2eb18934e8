"""The benchmark of the first paint gives its figure; no time is judged."""

from __future__ import annotations

from contract_tests.quality.benchmarks import __main__ as command
from contract_tests.quality.benchmarks.measures import Size


def test_the_first_paint_is_measured() -> None:
    [row] = command.rows(["paint"], Size(rounds=1, few=20, objects_on_overview=20))
    assert row.measure == "overview with 20 objects: first paint"
    assert row.emulator > 0
