"""Valid values of a schema, for the keywords that the document uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from emulator.document.tree import Node
from emulator.strategies import format_texts

Values = st.SearchStrategy[Any]
Overrides = Mapping[str, Values]
"""Valid values by the name of a field, ``name[]`` for the entries of a list, where rules ask more than the schema."""

TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=40)

SHORT = 3
"""Lists and free objects have at most so many entries."""

KEYS = st.from_regex("[a-z_]{1,12}", fullmatch=True).filter(lambda key: key != "sku")
"""Keys of metadata. A product's ``sku`` is left out: no two products may have the same (B-34)."""


def values(schema: Node, overrides: Overrides, name: str = "") -> Values:
    """Valid values of the field with this name; the schema has no references and no ``allOf``."""
    if name in overrides:
        return overrides[name]
    if "enum" in schema:
        plain: Values = st.sampled_from([each for each in schema["enum"] if each is not None])
    elif "anyOf" in schema:
        plain = st.one_of([values(part, overrides) for part in schema["anyOf"]])
    else:
        plain = _typed(schema, overrides, name)
    return plain | st.none() if schema.get("nullable") else plain


def _typed(schema: Node, overrides: Overrides, name: str) -> Values:
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum", 0), schema.get("maximum", 1000))
        case "number":
            return st.integers(-1000, 1000) | st.floats(-1000, 1000).map(lambda value: round(value, 2))
        case "string":
            return _texts(schema)
        case "array":
            return _lists(schema, values(schema["items"], overrides, f"{name}[]"))
    return _objects(schema, overrides)


def _texts(schema: Node) -> st.SearchStrategy[str]:
    if "pattern" in schema:
        return st.from_regex(str(schema["pattern"]), fullmatch=True)
    return (format_texts.VALID | format_texts.DATES).get(schema.get("format", ""), TEXT)


def _lists(schema: Node, entries: Values) -> Values:
    most = min(schema.get("maxItems", SHORT), SHORT)
    return st.lists(entries, min_size=schema.get("minItems", 0), max_size=most, unique=schema.get("uniqueItems", False))


def _objects(schema: Node, overrides: Overrides) -> Values:
    if "properties" not in schema:
        return st.dictionaries(KEYS, values(schema["additionalProperties"], overrides), max_size=SHORT)
    fields = {name: values(part, overrides, name) for name, part in schema["properties"].items()}
    required = {name: fields.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=fields)
