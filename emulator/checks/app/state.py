"""An application's own state: the result of its check and its tables; how two states differ."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import NamedTuple, TypeGuard

from emulator.checks.runs import counted

ID_PLACEHOLDER = "{id}"
"""What stands in rows for an id of the service, which may differ from run to run."""

LONGEST_VALUE = 100
"""Characters of a value that are shown."""

SHOWN_ITEMS = 3
"""How many items of a list are shown that another list does not have."""


class Row(NamedTuple):
    """A row of a table without the columns that are left out: pairs of a name and a value."""

    table: str
    fields: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return f"{self.table}: {_written(self.fields)}"


class State(NamedTuple):
    """The value of a check, None without one, and the sorted rows of the tables."""

    value: object = None
    rows: tuple[Row, ...] | None = None

    @property
    def is_known(self) -> bool:
        return self.value is not None or self.rows is not None

    def without(self, left_out: Collection[tuple[str, str]]) -> State:
        """Return the state without these columns, given by table and name."""
        if self.rows is None or not left_out:
            return self
        kept = [
            Row(table, tuple(field for field in fields if (table, field[0]) not in left_out))
            for table, fields in self.rows
        ]
        return self._replace(rows=tuple(sorted(kept, key=str)))


class Change(NamedTuple):
    """One difference of two states. ``grows``: there is only more of something than there was."""

    sentence: str
    grows: bool = False


def state_changes(state: State, wanted: State) -> Iterator[Change]:
    """Yield how a state differs from the wanted one; nothing if they are equal."""
    for change in value_changes(state.value, wanted.value):
        yield change._replace(sentence=f"the check returns {change.sentence}")
    yield from _row_changes(state.rows or (), wanted.rows or ())


def is_same(state: State | None, wanted: State | None) -> bool:
    """Return whether two states are equal but for the order of the keys of a JSON text."""
    if state is None or wanted is None or state == wanted:
        return state == wanted
    return next(state_changes(state, wanted), None) is None


# -- values of a check


def value_changes(value: object, wanted: object, at: str = "") -> Iterator[Change]:
    """Yield each part of a value that differs from the wanted one; nothing if equal."""
    if value == wanted:
        return
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key in {**wanted, **value}:
            inner = f"{at}.{key}" if at else str(key)
            yield from value_changes(value.get(key, MISSING), wanted.get(key, MISSING), inner)
    elif isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        if len(value) == len(wanted):
            for number, (one, other) in enumerate(zip(value, wanted, strict=True)):
                yield from value_changes(one, other, f"{at}[{number}]")
        else:
            yield _list_change(value, wanted, at)
    elif isinstance(value, str) and isinstance(wanted, str) and not at and "\n" in value + wanted:
        lines = [
            line
            for line in difflib.ndiff(wanted.splitlines(), value.splitlines())
            if line[0] in "+-"
        ]
        sentence = "other lines: " + ", ".join(f"{line[0]} {line[2:]!r}" for line in lines)
        yield Change(sentence, all(line[0] == "+" for line in lines))
    elif _is_json(value) and _is_json(wanted) and not at:
        yield from value_changes(json.loads(value), json.loads(wanted))
    else:
        sentence = f"{_place(at)}{_short(value)} instead of {_short(wanted)}"
        yield Change(sentence, _is_more(value, wanted))


def _place(at: str) -> str:
    return f"{at}: " if at else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _is_more(value: object, wanted: object) -> bool:
    if wanted is MISSING:
        return True
    numbers = [
        part
        for part in (value, wanted)
        if isinstance(part, int | float) and not isinstance(part, bool)
    ]
    if len(numbers) == 2:
        return numbers[0] > numbers[1]
    # What a check prints may be a number.
    return _is_number(value) and _is_number(wanted) and float(value) > float(wanted)


def _is_number(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.lstrip("-").isdecimal()


def _list_change(value: Sequence[object], wanted: Sequence[object], at: str) -> Change:
    """Return the difference of two lists: whole where they are short, else what is only in one."""
    counts, wanted_counts = (Counter(map(repr, part)) for part in (value, wanted))
    more, less = counts - wanted_counts, wanted_counts - counts
    if max(len(repr(value)), len(repr(wanted))) <= LONGEST_VALUE:
        text = f"{value!r} instead of {wanted!r}"
    else:
        parts = [
            f"{title} {_items(items)}"
            for title, items in (("more:", more), ("missing:", less))
            if items
        ]
        text = f"{counted(len(value), 'item')} instead of {len(wanted)}, {'; '.join(parts)}"
    return Change(f"{_place(at)}{text}", not less)


def _items(counts: Counter[str]) -> str:
    items = sorted(counts.elements())
    more = f" and {len(items) - SHOWN_ITEMS} others" if len(items) > SHOWN_ITEMS else ""
    return f"{', '.join(items[:SHOWN_ITEMS])}{more}"


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""The value of a key that only the other dictionary has."""


def _is_json(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that holds a JSON object or array."""
    with suppress(ValueError):
        return (
            isinstance(value, str)
            and value.startswith(("{", "["))
            and json.loads(value) is not None
        )
    return False


# -- rows of tables


def _row_changes(rows: Sequence[Row], wanted: Sequence[Row]) -> Iterator[Change]:
    """Yield the rows that differ in some columns, then those that only one state has."""
    more, less = Counter(rows) - Counter(wanted), Counter(wanted) - Counter(rows)
    for row, other in _pairs([*more.elements()], [*less.elements()]):
        more[row] -= 1
        less[other] -= 1
        changed = [
            (name, new, old)
            for (name, new), (_, old) in zip(row.fields, other.fields, strict=True)
            if new != old
        ]
        values = ", ".join(
            f"{name} {_short(new)} instead of {_short(old)}" for name, new, old in changed
        )
        name = _name(row, {name for name, _, _ in changed}, wanted)
        yield Change(
            f"{row.table} {name}: {values}", all(_is_more(new, old) for _, new, old in changed)
        )
    for counts, title in ((more, "more"), (less, "missing")):
        for row, number in sorted((+counts).items(), key=lambda item: str(item[0])):
            yield Change(
                f"{row.table}: {counted(number, 'row')} {title}: {_written(row.fields)}",
                title == "more",
            )


def _pairs(more: list[Row], less: list[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield rows of one state beside those of the other that they most resemble."""

    def alike(pair: tuple[int, int]) -> int:
        return len({*more[pair[0]].fields} & {*less[pair[1]].fields})

    candidates = [
        pair
        for pair in product(range(len(more)), range(len(less)))
        if _columns(more[pair[0]]) == _columns(less[pair[1]]) and alike(pair)
    ]
    left, right = set[int](), set[int]()
    for one, other in sorted(candidates, key=lambda pair: -alike(pair)):
        if one not in left and other not in right:
            left.add(one)
            right.add(other)
            yield more[one], less[other]


def _columns(row: Row) -> tuple[str, ...]:
    return (row.table, *(name for name, _ in row.fields))


def _name(row: Row, changed: set[str], rows: Sequence[Row]) -> str:
    """Return a row's name: the first unchanged value that no other row of its table has."""
    unchanged = [field for field in row.fields if field[0] not in changed]
    for name, value in unchanged:
        is_id = isinstance(value, str) and ID_PLACEHOLDER in value
        same = sum(other.table == row.table and (name, value) in other.fields for other in rows)
        if value is not None and not is_id and same == 1:
            return str(value)[:LONGEST_VALUE]
    return f"with {_written(unchanged[:2])}"


def _written(fields: Sequence[tuple[str, object]]) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in fields)


# -- what is paid


def taken_for_paid(paid: State, refused: State, actual: State) -> bool:
    """Return whether a part belongs to a buyer's payment, not to the operator's immediate no.

    It may also be another thing that is now what the paid one became, such as ``status: 'paid'``.
    """
    became, is_now = (_texts(state) - _texts(refused) for state in (paid, actual))
    return keeps(paid, refused, actual) or bool(became & is_now)


def keeps(made: State, unmade: State, actual: State) -> bool:
    """Return whether there is a part that only what was made has."""
    return bool(_parts(actual) & _parts(made) - _parts(unmade))


def _texts(state: State) -> Counter[tuple[str, str]]:
    """Count a state's texts with the names that they have there, whatever thing they belong to."""
    value = json.loads(state.value) if _is_json(state.value) else state.value
    fields = [field for row in state.rows or () for field in row.fields]
    return Counter(
        (name, text)
        for name, text in (*fields, *_named("", value))
        if isinstance(text, str) and name and ID_PLACEHOLDER not in text
    )


def _named(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _named(str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _named(name, part)
    else:
        yield name, value


def _parts(state: State) -> set[str]:
    """Return a state's parts with their places; a text's parts are its lines, unless it is JSON."""
    rows = {str(row) for row in state.rows or ()}
    value = json.loads(state.value) if _is_json(state.value) else state.value
    if isinstance(value, str):
        return rows | {*value.splitlines()}
    return rows | {change.sentence for change in value_changes(value, _emptied(value))}


def _emptied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _emptied(part) for key, part in value.items()}
    return [_emptied(part) for part in value] if isinstance(value, list | tuple) else MISSING
