"""The guards are well-formed, and their places and tests are still there; none is tried here."""

from __future__ import annotations

import re
from collections import Counter

from contract_tests.quality import guards
from emulator.engine.reference_data import numbered_assumptions

GUARDS = guards.guards()


def test_every_guard_has_its_place_and_its_test() -> None:
    problems = [(str(guard), problem) for guard in GUARDS if (problem := guards.problem_of(guard))]
    assert problems == []


def test_no_slip_is_guarded_twice() -> None:
    slips = Counter((guard.file, guard.text, guard.slip) for guard in GUARDS)
    assert [slip for slip, times in slips.items() if times > 1] == []


def test_a_number_that_is_kept_is_an_assumption() -> None:
    numbers = {guard.keeps for guard in GUARDS if guard.keeps.startswith("B-")}
    assert numbers - numbered_assumptions().keys() == set()


def test_a_slip_is_one_of_the_product() -> None:
    assert [guard.file for guard in GUARDS if not re.match("emulator/|fixtures/", guard.file)] == []
