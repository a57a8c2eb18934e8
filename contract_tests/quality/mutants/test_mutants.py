"""The mutation runner itself: what it changes, which mutants it finds noticed, and its list of equivalents."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from contract_tests.quality.mutants import together
from contract_tests.quality.mutants.__main__ import sample
from contract_tests.quality.mutants.coverage_map import ROOT
from contract_tests.quality.mutants.equivalent import Equivalent, Equivalents, read
from contract_tests.quality.mutants.mutations import Mutant, mutants
from contract_tests.quality.mutants.relevance import Relevance, words
from contract_tests.quality.mutants.report import Report
from contract_tests.quality.mutants.runner import NOT_COVERED, Judged, run, workers
from contract_tests.quality.mutants.together import try_together

SOURCE = '''
"""Not changed."""
LIMIT: "int" = 10
class Row(Base, frozen=True, gc=False):
    pass
def find(names: list[str], least):
    """Not changed either."""
    for name in names:
        if name and len(name) >= least:
            print(f"{name}")
            return name
    raise KeyError("none")
'''


def changes(source: str) -> set[str]:
    """The changed lines of a module's mutants."""
    return {mutant.change(source)[1] for mutant in mutants("example.py", source)}


def test_what_a_mutant_changes():
    assert changes(SOURCE) == {
        'LIMIT: "int" = 11',
        "if name or len(name) >= least:",
        "if name and len(name) > least:",
        "if (not (name and len(name) >= least)):",
        "pass",
        "return None",
        "raise KeyError('noneXX')",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a is not b", "a is b"),
        ("a in b", "a not in b"),
        ("not a", "(a)"),
        ("a // b", "a * b"),
        ("[a for a in b if a]", "[a for a in b if (not (a))]"),
        ("b if a else c", "b if (not (a)) else c"),
        ("é + a", "é - a"),
    ],
)
def test_each_kind_of_expression_has_a_mutant(before: str, after: str):
    assert f"print({after})" in changes(f"print({before})\n")


def test_a_seed_always_chooses_the_same_mutants():
    every = mutants("emulator/core/ids.py", (ROOT / "emulator/core/ids.py").read_text("utf-8"))
    assert sample(every, 5, 1) == sample(list(every), 5, 1) != sample(every, 5, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="mutants are tried in forks")
def test_a_mutant_is_noticed_by_the_test_that_looks_and_by_no_other():
    path = "emulator/core/calendar.py"
    source = (ROOT / path).read_text("utf-8")
    mutant = mutant_of(path, "if year > MAXYEAR:", "if (not (year > MAXYEAR)):")
    looks, does_not = (
        f"contract_tests/contract/core/test_calendar.py::test_{name}"
        for name in ("the_example_of_the_assumption", "days_and_midnights")
    )
    with workers(1) as idle:
        found = [next(run([mutant], lambda _, tests=[test]: tests, 1, idle, 1)) for test in (looks, does_not)]
    assert [(each.outcome, each.test) for each in found] == [("killed", looks), ("survived", None)]
    assert (ROOT / path).read_text("utf-8") == source, "only the copy is changed"


DIGITS = '_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"'


@pytest.mark.skipif(sys.platform == "win32", reason="mutants are tried in forks")
def test_survivors_are_tried_at_once_and_then_each_by_what_failed(monkeypatch: pytest.MonkeyPatch):
    noticed, useless = (
        mutant_of("emulator/core/calendar.py", "if year > MAXYEAR:", "if (not (year > MAXYEAR)):"),
        mutant_of("emulator/core/ids.py", DIGITS, "_DIGITS = None"),
    )
    monkeypatch.setattr(together, "FOLDERS", ("contract/core/test_calendar.py",))
    recorded = SimpleNamespace(seconds={}, tests=lambda mutant: [])
    with workers(1) as idle:
        (found,) = try_together([noticed], recorded, idle, 1)
    assert (found.outcome, found.test.partition("::")[0]) == ("killed", "contract_tests/contract/core/test_calendar.py")
    assert together.broken([useless]) == [useless]


def mutant_of(path: str, before: str, after: str) -> Mutant:
    source = (ROOT / path).read_text("utf-8")
    return next(each for each in mutants(path, source) if each.change(source) == (before, after))


def test_mutants_of_one_statement_are_never_tried_at_once():
    every = mutants("emulator/core/ids.py", (ROOT / "emulator/core/ids.py").read_text("utf-8"))
    made = together.groups(every)
    assert sorted(mutant for group in made for mutant in group) == sorted(every)
    assert all(len({each.statement for each in group}) == len(group) for group in made)


def test_the_nearest_test_is_the_one_that_has_a_rare_word_of_the_line(tmp_path: Path):
    (tmp_path / "test_a.py").write_text(
        "def test_first():\n    assert create(customer) == created\n\n"
        "@parametrize('code', ['CUSTOMER_BLACKLISTED'])\ndef test_second(code):\n    assert create() == code\n"
    )
    first, second = tests = ["test_a.py::test_first", "test_a.py::test_second[x]"]
    relevance = Relevance(tmp_path, tests)
    near = words('raise ApiError("CUSTOMER_BLACKLISTED")')
    assert max(tests, key=lambda test: relevance.of(test, near)) == second
    assert relevance.of(first, near) > relevance.of(first, {"nothing"}) == 0


def test_what_is_equivalent_does_not_count(monkeypatch: pytest.MonkeyPatch):
    first, second, third = mutants("emulator/core/ids.py", (ROOT / "emulator/core/ids.py").read_text("utf-8"))[:3]
    code, mutant = first.change((ROOT / first.path).read_text("utf-8"))
    judged = [Judged(first, "survived", None, 1, 0), Judged(second, NOT_COVERED, None, 0, 0), killed(third)]
    report = Report(judged, Equivalents([Equivalent(first.path, code, mutant, "for the test")]))
    assert (report.score, [each.mutant for each in report.survivors]) == (50, [second])
    lines = list(report.lines())
    assert lines[0] == f"emulator/core/ids.py:{second.line}  not covered, 0 tests execute it"
    assert lines[-1] == "50.0 of 100: 1 equivalent, 1 killed, 1 not covered"


def killed(mutant: Mutant) -> Judged:
    return Judged(mutant, "killed", "contract_tests/contract/core/test_ids.py::test_ids", 1, 0.5)


def test_each_equivalent_mutant_is_one_of_its_module():
    """What was changed since is taken out of the list, or its reason read again."""
    for path in sorted({each.path for each in read()}):
        source = (ROOT / path).read_text("utf-8")
        listed = {(each.code, each.mutant) for each in read() if each.path == path and each.because.strip()}
        lines = {line.strip() for code, _ in listed for line in code.splitlines()}
        near = (each for each in mutants(path, source) if source.splitlines()[each.line - 1].strip() in lines)
        assert listed <= {each.change(source) for each in near}, path
