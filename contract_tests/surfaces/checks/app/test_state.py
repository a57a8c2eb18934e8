"""How two states of an application differ: the row and the column, the item, and what only grew."""

from __future__ import annotations

import pytest

from emulator.checks.app.state import Change, Row, State, is_same, state_changes, taken_for_paid


def member(name: str, vouchers: int, status: str = "active") -> Row:
    return Row("members", (("id", name), ("status", status), ("vouchers", vouchers)))


BEFORE = (member("m1", 20), member("m2", 20))

GIFTS = [("donor", number, "a long line about a gift") for number in range(9)]


@pytest.mark.parametrize(
    ("rows", "change"),
    [
        (
            (member("m1", 30), member("m2", 20)),
            Change("members m1: vouchers 30 instead of 20", True),
        ),
        ((member("m1", 10), member("m2", 20)), Change("members m1: vouchers 10 instead of 20")),
        (
            (member("m1", 20, "past_due"), member("m2", 20)),
            Change("members m1: status 'past_due' instead of 'active'"),
        ),
        (
            (*BEFORE, member("m2", 20)),
            Change("members: 1 row more: id='m2', status='active', vouchers=20", True),
        ),
        (
            (member("m1", 20),),
            Change("members: 1 row missing: id='m2', status='active', vouchers=20"),
        ),
    ],
    ids=str,
)
def test_the_value_that_differs_is_named_by_its_row(rows: tuple[Row, ...], change: Change) -> None:
    assert [*state_changes(State(None, rows), State(None, BEFORE))] == [change]


@pytest.mark.parametrize(
    ("value", "wanted", "change"),
    [
        (2, 1, Change("2 instead of 1", True)),
        ("2", "1", Change("'2' instead of '1'", True)),
        (True, False, Change("True instead of False")),
        (["a"], ["a", "b"], Change("['a'] instead of ['a', 'b']")),
        (
            [*GIFTS, GIFTS[0]],
            GIFTS,
            Change("10 items instead of 9, more: ('donor', 0, 'a long line about a gift')", True),
        ),
        ({"sum": 3}, {"sum": 2}, Change("sum: 3 instead of 2", True)),
    ],
    ids=str,
)
def test_of_a_long_value_only_the_part_that_differs_is_shown(
    value: object, wanted: object, change: Change
) -> None:
    [found] = state_changes(State(value), State(wanted))
    assert found == change._replace(sentence=f"the check returns {change.sentence}")


def test_the_order_of_the_keys_of_a_json_text_is_no_difference() -> None:
    assert is_same(State('{"a": 1, "b": [2, 3]}'), State('{"b": [2, 3], "a": 1}'))
    assert not is_same(State('{"a": 1, "b": [2, 3]}'), State('{"a": 1, "b": [3, 2]}'))


def test_what_becomes_of_a_paid_thing_may_be_seen_at_another_thing() -> None:
    """A buyer who comes back from a link is nobody whom the application knows."""
    unpaid, paid = {"awa": {"status": "failed"}}, {"awa": {"status": "paid"}}
    for visitor, is_taken in (("paid", True), ("waiting", False)):
        actual = {**unpaid, "": {"status": visitor}}
        assert taken_for_paid(State(paid), State(unpaid), State(actual)) == is_taken
