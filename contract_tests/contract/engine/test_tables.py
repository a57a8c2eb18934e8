"""A table against the simplest thing that could do its work: a list that is sorted and searched each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contract_tests.contract.engine.toys import FIELDS, LABELS, Toy
from emulator.core import tables
from emulator.core.tables import PartedDict, Table


def contents(held: Any) -> Any:
    """What a part of a table holds, however it is divided."""
    match held:
        case PartedDict():
            return dict(zip(held.all_keys(), held.all_values(), strict=True))
        case dict():
            return {field: contents(each) for field, each in held.items()}
    return held


def divide(patch: pytest.MonkeyPatch, size: int) -> None:
    """Let a part have so many entries at most."""
    patch.setattr(tables, "PART", size)


class TableMachine(RuleBasedStateMachine):
    """Adds, replaces, removes and takes back in any order; ``model`` holds (number, record) and nothing clever."""

    kind: type[Toy] = Toy

    @initialize()
    def start(self) -> None:
        self.table = Table(self.kind)
        self.model: dict[str, tuple[int, Toy]] = {}
        self.number = 0
        self.back: list[Callable[[], None]] = []

    def taken(self, label: str | None, by: str | None = None) -> bool:
        return any(label is not None and toy.label == label and toy.id != by for _, toy in self.model.values())

    def put(self, number: int, toy: Toy) -> None:
        self.table.add(toy, number)
        self.model[toy.id] = (number, toy)

    def change(self, old: Toy, new: Toy) -> None:
        self.table.replace(old, new)
        self.model[new.id] = (self.model[new.id][0], new)

    def drop(self, toy: Toy) -> None:
        number, _ = self.model.pop(toy.id)
        assert self.table.remove(toy) == number

    @rule(fields=FIELDS, label=LABELS)
    def add(self, fields: dict[str, object], label: str | None) -> None:
        self.number += 1
        toy = Toy(id=f"toy_{self.number}", label=label, **fields)
        if self.taken(label):
            with pytest.raises(ValueError, match="label"):
                self.table.add(toy, self.number)
            return
        self.put(self.number, toy)
        self.back.append(lambda: self.drop(toy))

    @precondition(lambda self: self.model)
    @rule(data=st.data(), fields=FIELDS, label=LABELS)
    def replace(self, data: st.DataObject, fields: dict[str, object], label: str | None) -> None:
        _, old = data.draw(st.sampled_from(list(self.model.values())))
        new = old.replace(label=label, **fields)
        if self.taken(label, by=old.id):
            with pytest.raises(ValueError, match="label"):
                self.table.replace(old, new)
            return
        self.change(old, new)
        self.back.append(lambda: self.change(new, old))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        number, toy = data.draw(st.sampled_from(list(self.model.values())))
        self.drop(toy)
        self.back.append(lambda: self.put(number, toy))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def add_again(self, data: st.DataObject) -> None:
        number, toy = data.draw(st.sampled_from(list(self.model.values())))
        with pytest.raises(ValueError, match=toy.id):
            self.table.add(toy, number)

    @precondition(lambda self: self.back)
    @rule(count=st.integers(1, 5))
    def take_back(self, count: int) -> None:
        for _ in range(min(count, len(self.back))):
            self.back.pop()()

    def expected(self) -> list[Toy]:
        return [toy for _, toy in sorted(self.model.values(), key=lambda entry: (entry[1].created_at, entry[0]))]

    @invariant()
    def reads_like_the_model(self) -> None:
        expected = self.expected()
        assert list(self.table) == expected
        assert len(self.table) == len(expected)
        assert all(self.table.get(toy.id) is toy for toy in expected)

    @invariant()
    def indexes_like_the_model(self) -> None:
        expected = self.expected()
        for field, values in (("colour", ["red", "green", "blue", "none"]), ("status", ["new", "used"])):
            for value in values:
                assert self.table.where(field, value) == [toy for toy in expected if getattr(toy, field) == value]
        for label in "abc":
            assert self.table.find("label", label) == next((toy for toy in expected if toy.label == label), None)
        assert self.table.find("label", None) is None

    @invariant()
    def holds_what_a_new_table_would_hold(self) -> None:
        """Nothing stays behind of what was: no empty index entry, no slot, no unique value."""
        fresh = Table(self.kind)
        for number, toy in self.model.values():
            fresh.add(toy, number)
        for name in ({*Table.__slots__} | {"order"}) - {"_order", "indexes"}:
            assert contents(getattr(self.table, name)) == contents(getattr(fresh, name))
        for field in self.kind.indexes:
            assert contents(self.table.indexes[field]) == contents(fresh.indexes[field])


class Marble(Toy, frozen=True, kw_only=True):
    """A kind that no list shows page by page, as jobs are."""

    paged: ClassVar[bool] = False


class UnpagedMachine(TableMachine):
    """It reads the same without an order of its own."""

    kind = Marble


class DividedMachine(TableMachine):
    """It reads the same when its mappings are in many parts."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        divide(self.patch, 2)

    def teardown(self) -> None:
        self.patch.undo()

    @rule()
    def copy(self) -> None:
        """From here on the copy is used."""
        self.table = self.table.copy()


def test_growth_moves_no_more_than_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in full parts stays where it is, and parts that nothing is left of are given up."""
    divide(monkeypatch, 10)
    table = Table(Marble)
    colours = table.indexes["colour"]
    toys = [Marble(id=f"toy_{number}", label=str(number)) for number in range(95)]
    for number, toy in enumerate(toys):
        table.add(toy, number)
    held = [table.slots, colours, table.unique["label"]]
    assert [len(each) for each in held] == [5, 1, 5]
    assert [{len(part) for part in each.older} for each in held] == [{10}, set(), {10}]
    assert len(table) == 95
    for toy in toys[:93]:
        table.remove(toy)
    assert list(table) == toys[93:]
    assert [len(each.older) for each in held] == [0, 0, 0]


TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=40)
TestDivided = DividedMachine.TestCase
TestDivided.settings = settings(max_examples=40)
TestUnpaged = UnpagedMachine.TestCase
TestUnpaged.settings = settings(max_examples=20)
