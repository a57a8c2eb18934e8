"""The essay at the top of ``core/world.py``: its example runs and prints what it says."""

from __future__ import annotations

import doctest

from emulator.core import world


def test_the_example_of_the_essay_is_true() -> None:
    outcome = doctest.testmod(world)
    assert outcome.attempted >= 10
    assert outcome.failed == 0
