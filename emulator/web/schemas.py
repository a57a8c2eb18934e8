"""Compiled schemas of the document: a quick check of validity, and the list of all violations of an invalid value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, cast

from emulator.core.limits import METADATA_KEY
from emulator.web.formats import EXPLAINED, EXPLAINED_PATTERNS, FORMATS

MAX_VIOLATIONS = 100
"""Violations reported at most; a body of a megabyte can have very many."""


class Violation(NamedTuple):
    """One thing that is wrong: the dotted path of the field, the violated keyword, a sentence and the error code."""

    path: str
    keyword: str
    message: str
    code: str = "INVALID_FIELD"


class CompiledSchema:
    """One schema of the document, compiled on first use."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.source = source

    @cached_property
    def _validator(self) -> Any:
        # Loaded on first use: a start validates nothing.
        import jsonschema_rs

        return jsonschema_rs.Draft4Validator(to_draft4(self.source), validate_formats=True, formats=FORMATS)

    def accepts(self, value: object) -> bool:
        """Whether a value is valid; quicker than :meth:`violations`."""
        return bool(self._validator.is_valid(value))

    def violations(self, value: object, prefix: str = "") -> list[Violation]:
        """All violations of a value; paths begin with ``prefix``."""
        errors = self._validator.iter_errors(_cut(value, self.source))
        found = islice((each for error in errors for each in _violations(error, prefix)), MAX_VIOLATIONS)
        return list({(each.path, each.message): each for each in found}.values())

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of missing fields of an object."""
        properties = self.source.get("properties", {})
        return {name: part["default"] for name, part in properties.items() if "default" in part}

    @cached_property
    def _nested(self) -> list[tuple[str, bool, CompiledSchema]]:
        """The properties whose objects have defaults: name, whether it is a list, schema of the objects."""
        nested = []
        for name, part in self.source.get("properties", {}).items():
            many = part.get("type") == "array"
            inner = CompiledSchema(part.get("items", {}) if many else part)
            if inner.defaults or inner._nested:
                nested.append((name, many, inner))
        return nested

    def complete(self, value: dict[str, Any]) -> dict[str, Any]:
        """The object with every default of the document filled in; parts of a wrong type stay as they are."""
        completed = {**self.defaults, **value}
        for name, many, inner in self._nested:
            part = completed.get(name)
            if many and isinstance(part, list):
                completed[name] = [inner.complete(item) if isinstance(item, dict) else item for item in part]
            elif isinstance(part, dict):
                completed[name] = inner.complete(part)
        return completed

    def known(self, value: dict[str, Any]) -> dict[str, Any]:
        """The object without the fields that no schema names, on every level (B-13)."""
        return cast("dict[str, Any]", _known(value, self.source))

    def without_nulls(self, value: dict[str, Any], *, in_lists_only: bool) -> dict[str, Any]:
        """The object without the fields that are null and that an object of this schema can show as null.

        On every level, or in the entries of lists only.
        """
        return cast("dict[str, Any]", _without_nulls(value, self.source, in_lists_only))

    def has(self, name: str) -> bool:
        """Whether objects of this schema have a property of this name."""
        return name in self.names()

    def names(self) -> frozenset[str]:
        """The properties of objects of this schema."""
        return frozenset(_properties(self.source))


def _known(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_known(item, schema.get("items", {})) for item in value]
    properties = _properties(schema)
    if not isinstance(value, dict) or not properties:
        return value
    return {name: _known(part, properties[name]) for name, part in value.items() if name in properties}


def _without_nulls(value: Any, schema: Mapping[str, Any], in_lists_only: bool) -> Any:
    if isinstance(value, list):
        return [_without_nulls(item, schema.get("items", {}), False) for item in value]
    properties = _properties(schema)
    if not isinstance(value, dict) or not properties:
        return value
    parts = ((name, part, properties.get(name, {})) for name, part in value.items())
    return {
        name: _without_nulls(part, shown, in_lists_only)
        for name, part, shown in parts
        if in_lists_only or part is not None or not shown.get("nullable")
    }


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The declared properties of an object schema, including those of its ``allOf``."""
    own = dict(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        own |= _properties(part)
    return own


def _cut(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value cut down to one entry more than a bound allows: one too many is as invalid as a million."""
    if isinstance(value, list):
        items = value[: schema.get("maxItems", len(value)) + 1]
        return [_cut(item, schema.get("items", {})) for item in items]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        entries = islice(value.items(), schema.get("maxProperties", len(value)) + 1)
        return {name: _cut(part, properties.get(name, {})) for name, part in entries}
    return value


def to_draft4(node: Any) -> Any:
    """A schema of OpenAPI 3.0 as JSON Schema draft 4.

    ``nullable`` becomes a type, ``x-key-minLength`` a pattern, ``x-required-unless`` an ``anyOf`` for each field.
    """
    if isinstance(node, list):
        return [to_draft4(part) for part in node]
    if not isinstance(node, dict):
        return node
    schema = {key: to_draft4(value) for key, value in node.items() if key not in _ANNOTATIONS and key != "properties"}
    if "properties" in node:
        schema["properties"] = {name: to_draft4(part) for name, part in node["properties"].items()}
    if "x-key-minLength" in schema:
        values = schema.pop("additionalProperties")
        least, most = schema.pop("x-key-minLength"), schema.pop("x-key-maxLength", "")
        schema["patternProperties"] = {f"^[\\s\\S]{{{least},{most}}}$": values}
        schema["additionalProperties"] = False
    if "x-required-unless" in node:
        exceptions = schema.pop("x-required-unless").items()
        schema["allOf"] = [{"anyOf": [{"required": [name]}, exception]} for name, exception in exceptions]
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


def _violations(error: Any, prefix: str) -> Iterator[Violation]:
    kind = error.kind
    path = ".".join([*([prefix] if prefix else []), *map(str, error.instance_path)])
    if kind.name == "required":
        yield Violation(_under(path, kind.property), "required", "is required", "MISSING_FIELD")
    elif kind.name == "additionalProperties":
        keys = path.endswith("metadata")  # the one object whose keys are the client's own
        for name in kind.unexpected:
            yield Violation(
                _under(path, name[:60]), "key" if keys else "unknown", _key(name) if keys else "unknown field"
            )
    elif kind.name == "oneOf" and _differ_by_fields(kind.context):
        yield _choice(error, path)
    elif kind.name in ("anyOf", "oneOf") and kind.context:
        yield from _closest(kind.context, path, prefix)
    else:
        sentence = _sentence(kind, error.message)
        code = "INVALID_CURRENCY" if sentence == EXPLAINED["currency"] else "INVALID_FIELD"
        yield Violation(path, kind.name, sentence, code)


def _key(name: str) -> str:
    return f"keys have at most {METADATA_KEY.most} characters" if name else "keys have at least 1 character"


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _differ_by_fields(branches: list[list[Any]]) -> bool:
    """Whether the alternatives differ only in which field is given."""
    return all(error.kind.name in ("required", "not") for branch in branches for error in branch)


def _choice(error: Any, path: str) -> Violation:
    """The violation of a choice of fields: none, or more than one, is given."""
    errors = [error for branch in error.kind.context for error in branch]
    absent = [error.kind.property for error in errors if error.kind.name == "required"]
    given = [name for name in error.instance if name not in absent]
    sentence = f"only one of {', '.join(given)} can be given" if given else f"one of {', '.join(absent)} is required"
    return Violation(path, "oneOf", sentence, "VALIDATION_ERROR")


def _closest(branches: list[list[Any]], path: str, prefix: str) -> Iterator[Violation]:
    """The violations of the alternative whose type fits; in the document alternatives differ in type."""
    for branch in branches:
        if all(error.kind.name != "type" for error in branch):
            for error in branch:
                yield from _violations(error, prefix)
            return
    types = [name for branch in branches for error in branch if error.kind.name == "type" for name in error.kind.types]
    yield Violation(path, "type", _one_of(types))


def _one_of(types: list[str]) -> str:
    return "must be " + " or ".join(_TYPES[name] for name in dict.fromkeys(types))


_TYPES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _sentence(kind: Any, message: str) -> str:
    """What a keyword requires, in our words: those of the library change with its versions."""
    if kind.name == "format":
        return EXPLAINED.get(kind.format, f"must be a {kind.format}")
    if kind.name == "pattern" and kind.pattern in EXPLAINED_PATTERNS:
        return EXPLAINED_PATTERNS[kind.pattern]
    if kind.name == "type":
        return _one_of(kind.types)
    if kind.name == "enum":
        return "must be one of " + ", ".join(str(option) for option in kind.options if option is not None)
    sentence = _SENTENCES.get(kind.name)
    return sentence.format(kind.value) if sentence else message


_SENTENCES = {
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "minItems": "must have at least {} entries",
    "maxItems": "must have at most {} entries",
    "minProperties": "must have at least {} keys",
    "maxProperties": "must have at most {} keys",
    "pattern": "must match {}",
    "uniqueItems": "must not repeat an entry",
}
