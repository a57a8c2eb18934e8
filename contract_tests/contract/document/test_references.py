"""References in requests that are data: ``{name.field}`` is what an earlier answer has."""

from __future__ import annotations

import pytest

from emulator.document.references import MISSING, filled, names, value_at

ANSWERS = {
    "customer": {"id": "cust_1", "tags": [{"n": 7}]},
    "paid intent": {"transaction": "trans_1"},
    "currency": "XAF",
}


def look_up(path: str) -> object:
    value = value_at(ANSWERS, path)
    if value is MISSING:
        raise LookupError(path)
    return value


def test_references_are_filled_and_nothing_is_made_up() -> None:
    """A text that is one reference becomes the value, others its text; a value may be computed."""
    body = {"n": "{customer.tags.0.n}", "path": ["/{customer.id}/{paid intent.transaction}/{currency}"], "other": 1}
    assert filled(body, look_up) == {"n": 7, "path": ["/cust_1/trans_1/XAF"], "other": 1}
    assert filled("{} {A} {1} {a.} {{", look_up) == "{} {A} {1} {a.} {{", "no references"
    computed = {"double": lambda given, look_up: 2 * filled(given, look_up)}
    assert filled({"a": {"double": "{customer.tags.0.n}"}}, look_up, computed) == {"a": 14}
    with pytest.raises(LookupError):
        filled("{customer.email}", look_up)
    assert {*names([{"a": "{customer.id}"}, "x{paid intent.transaction}", 1])} == {"customer", "paid intent"}
