"""Every way in which a value can break its schema: the path of the field, the rule, and values broken so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from hypothesis import strategies as st

from emulator.document.tree import Node
from emulator.strategies import format_texts
from emulator.strategies.schema_values import Overrides, Values, values

LONGEST = 5001
"""Texts of at least one character more than any bound of the document."""


class Broken(NamedTuple):
    """Values of which the part at ``path`` breaks ``rule``, a keyword of its schema."""

    path: tuple[str, ...]
    rule: str
    values: Values

    def under(self, name: str, whole: Values) -> Broken:
        """The same within a larger value."""
        return Broken((name, *self.path), self.rule, whole)


def broken(schema: Node, overrides: Overrides, name: str = "") -> Iterator[Broken]:
    """Each breakage of the values of a schema, and of what is in them."""
    for rule, wrong in _wrong(schema, overrides, name).items():
        yield Broken((), rule, wrong)
    if "properties" in schema:
        yield from _in_object(schema, overrides, name)
    elif schema.get("type") == "object":
        yield from _in_free_object(schema, overrides)
    elif schema.get("type") == "array":
        yield from _in_list(schema, overrides, name)


def _in_object(schema: Node, overrides: Overrides, name: str) -> Iterator[Broken]:
    valid = values(schema, overrides, name)
    yield Broken(("unknown_field",), "additionalProperties", _with(valid, "unknown_field", st.integers()))
    for field in schema.get("required", ()):
        yield Broken((field,), "required", valid.map(partial(without, field)))
    for field, part in schema["properties"].items():
        for each in broken(part, overrides, field):
            yield each.under(field, _with(valid, field, each.values))


def _in_free_object(schema: Node, overrides: Overrides) -> Iterator[Broken]:
    """An object whose keys are the client's own, such as metadata."""
    for each in broken(schema["additionalProperties"], overrides):
        yield each.under("key", st.builds(lambda value: {"key": value}, each.values))
    if "x-key-minLength" in schema:
        yield Broken(("",), "x-key-minLength", st.just({"": "value"}))
        # An error names a key by its first 60 characters.
        yield Broken(("k" * 60,), "x-key-maxLength", st.just({"k" * (schema["x-key-maxLength"] + 1): "value"}))


def _in_list(schema: Node, overrides: Overrides, name: str) -> Iterator[Broken]:
    """A list of which the first entry is broken."""
    for each in broken(schema["items"], overrides, f"{name}[]"):
        yield each.under("0", st.builds(lambda entry: [entry], each.values))


def _with(valid: Values, field: str, wrong: Values) -> Values:
    return st.builds(lambda whole, value: {**whole, field: value}, valid, wrong)


def without(field: str, whole: dict[str, Any]) -> dict[str, Any]:
    """An object without one of its fields."""
    return {name: value for name, value in whole.items() if name != field}


def _wrong(schema: Node, overrides: Overrides, name: str) -> dict[str, Values]:
    """Values that break one keyword of the schema itself, by keyword."""
    found = {"type": _of_other_types(schema)}
    if not schema.get("nullable"):
        found["nullable"] = st.none()
    for keyword, wrong in _WRONG.items():
        if keyword in schema:
            found[keyword] = wrong(schema[keyword])
    if schema.get("type") == "array":
        found |= _wrong_lists(schema, values(schema["items"], overrides, f"{name}[]"))
    if "maxProperties" in schema:
        found["maxProperties"] = st.just({f"key_{number}": number for number in range(schema["maxProperties"] + 1)})
    return found


def _of_other_types(schema: Node) -> Values:
    allowed = {part["type"] for part in schema.get("anyOf", [schema]) if "type" in part}
    if "number" in allowed:
        allowed.add("integer")
    return st.one_of([other for type, other in _SAMPLES.items() if type not in allowed])


_SAMPLES: dict[str, Values] = {
    "array": st.just([[]]),
    "boolean": st.booleans(),
    "integer": st.integers(2, 1000),
    "object": st.just({"any": {}}),
    "string": st.sampled_from(["", "12", "true", "null"]),
}
"""Values by their type. Those of arrays and objects are not valid metadata either."""

_WRONG: Mapping[str, Callable[[Any], Values]] = {
    "enum": lambda allowed: format_texts.LABEL.filter(lambda text: text not in allowed),
    "format": lambda name: format_texts.INVALID[name],
    "pattern": lambda _: st.sampled_from(["", "-", "one two"]),
    "minLength": lambda least: st.just("x" * (least - 1)),
    "maxLength": lambda most: st.integers(most + 1, max(most + 1, LONGEST)).map(lambda length: "x" * length),
    "minimum": lambda least: st.integers(least - 1000, least - 1),
    "maximum": lambda most: st.integers(most + 1, most + 1000),
}
"""Values that break a keyword, by the keyword and what it says."""


def _wrong_lists(schema: Node, entries: Values) -> dict[str, Values]:
    found: dict[str, Values] = {}
    if schema.get("minItems"):
        found["minItems"] = st.just([])
    if "maxItems" in schema:
        found["maxItems"] = entries.map(lambda entry: [entry] * (schema["maxItems"] + 1))
    if schema.get("uniqueItems"):
        found["uniqueItems"] = entries.map(lambda entry: [entry, entry])
    return found
