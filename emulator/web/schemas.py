"""The schemas of the document, compiled: a quick check, all violations, defaults (B-05, B-13)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import chain, islice
from typing import Any

from emulator.document.tree import map_parts
from emulator.web.formats import FORMATS
from emulator.web.violations import MAX_VIOLATIONS, Violation, violations_of


class CompiledSchema:
    """One schema of the document, compiled on first use."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.source = source

    @cached_property
    def _validator(self) -> Any:
        # Loaded on first use: a start validates nothing.
        import jsonschema_rs

        return jsonschema_rs.Draft4Validator(self._draft4, validate_formats=True, formats=FORMATS)

    @cached_property
    def _draft4(self) -> Any:
        return to_draft4(self.source)

    def accepts(self, value: object) -> bool:
        """Return whether a value is valid; quicker than :meth:`violations`."""
        return bool(self._validator.is_valid(value))

    def violations(self, value: object) -> list[Violation]:
        errors = self._validator.iter_errors(_cut(value, self.source))
        by_error = chain.from_iterable(violations_of(error, self._draft4) for error in errors)
        violations = [*islice(by_error, MAX_VIOLATIONS)]
        # The check of a format includes its pattern, and says more.
        formats = {violation.path for violation in violations if violation.keyword == "format"}
        by_text = {
            (violation.path, violation.message): violation
            for violation in violations
            if violation.keyword != "pattern" or violation.path not in formats
        }
        return list(by_text.values())

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of missing fields of an object."""
        properties = self.source.get("properties", {})
        return {name: part["default"] for name, part in properties.items() if "default" in part}

    @cached_property
    def _nested(self) -> list[tuple[str, bool, CompiledSchema]]:
        """Properties with object defaults: name, whether a list, the objects' schema."""
        nested = []
        for name, part in self.source.get("properties", {}).items():
            many = part.get("type") == "array"
            inner = CompiledSchema(part.get("items", {}) if many else part)
            if inner.defaults or inner._nested:
                nested.append((name, many, inner))
        return nested

    def complete(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the object with the document's defaults; parts of a wrong type stay as is."""
        completed = {**self.defaults, **value}
        for name, many, inner in self._nested:
            part = completed.get(name)
            if many and isinstance(part, list):
                completed[name] = [
                    inner.complete(item) if isinstance(item, dict) else item for item in part
                ]
            elif isinstance(part, dict):
                completed[name] = inner.complete(part)
        return completed

    def names(self) -> frozenset[str]:
        return frozenset(_properties(self.source))


def known(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the object without the fields that no schema names, on every level (B-13)."""
    if isinstance(value, list):
        return [known(item, schema.get("items", {})) for item in value]
    properties = _properties(schema)
    if not isinstance(value, dict) or not properties:
        return value
    return {
        name: known(part, properties[name]) for name, part in value.items() if name in properties
    }


def without_nulls(value: Any, schema: Mapping[str, Any], in_lists_only: bool) -> Any:
    """Return an object without null fields that its schema can show as null.

    On every level, or in the entries of lists only.
    """
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items", {}), False) for item in value]
    properties = _properties(schema)
    if not isinstance(value, dict) or not properties:
        return value
    parts = ((name, part, properties.get(name, {})) for name, part in value.items())
    return {
        name: without_nulls(part, declared, in_lists_only)
        for name, part, declared in parts
        if in_lists_only or part is not None or not declared.get("nullable")
    }


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declared properties of an object schema, including those of its ``allOf``."""
    own = dict(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        own |= _properties(part)
    return own


def _cut(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value cut to a bound's length plus one: one too many is as invalid as a million."""
    if isinstance(value, list):
        items = value[: schema.get("maxItems", len(value)) + 1]
        return [_cut(item, schema.get("items", {})) for item in items]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        entries = islice(value.items(), schema.get("maxProperties", len(value)) + 1)
        return {name: _cut(part, properties.get(name, {})) for name, part in entries}
    return value


# -- as JSON Schema


def to_draft4(node: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema draft 4.

    ``nullable`` becomes a type, ``x-key-minLength`` a pattern, ``x-required-unless`` an ``anyOf``
    for each field. A ``minimum`` with a code of its own is left to the rule, which knows the App's
    (B-23).
    """
    if not isinstance(node, dict):
        return map_parts(node, to_draft4)
    schema = {
        key: to_draft4(value)
        for key, value in node.items()
        if key not in _ANNOTATIONS and key != "properties"
    }
    if "properties" in node:
        schema["properties"] = {name: to_draft4(part) for name, part in node["properties"].items()}
    if "x-key-minLength" in schema:
        values = schema.pop("additionalProperties")
        least, most = schema.pop("x-key-minLength"), schema.pop("x-key-maxLength", "")
        schema["patternProperties"] = {f"^[\\s\\S]{{{least},{most}}}$": values}
        schema["additionalProperties"] = False
    if schema.pop("x-minimum-code", None):
        del schema["minimum"]
    if "x-required-unless" in node:
        exceptions = schema.pop("x-required-unless").items()
        schema["allOf"] = [
            {"anyOf": [{"required": [name]}, exception]} for name, exception in exceptions
        ]
    return _with_null(schema) if schema.pop("nullable", False) else schema


_ANNOTATIONS = frozenset(["description", "example", "examples", "title", "x-assumption", "default"])
"""Keywords that do not affect validity."""


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(schema.get("type"), str):
        return {"anyOf": [{"type": "null"}, schema]}
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema
