"""The document's constraints and their sources: a place of the specification, or an assumption.

A constraint is a limit, form, list of values, null or default of a field or parameter, or a status
of an operation. One at a place that cites assumptions (``x-assumption``) comes from those; the
others stand in ``sources.yaml`` beside this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from emulator.core.limits import ITEMS, STRING
from emulator.document import bundles
from emulator.document.published import CODES, LIMITS
from emulator.document.tree import Document, Node, resolve
from emulator.engine.reference_data import read_yaml

KEYWORDS = (
    *(
        "enum",
        "format",
        "pattern",
        "nullable",
        "default",
        "uniqueItems",
        "x-key-minLength",
        "x-required-unless",
    ),
    *(
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ),
)
"""The keywords of a schema that are constraints."""

BOUNDS = {"maxLength": STRING.most, "maxItems": ITEMS.most}
"""The bounds of texts and lists for which no source names a smaller one."""

EVERY_INPUT_IS_BOUNDED = "B-26"
"""The assumption behind them."""


class Constraint(NamedTuple):
    """``place``: ``Product.name``, ``listProducts?ordering``, operationId. ``sources``: origins."""

    place: str
    keyword: str
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.place} {self.keyword}"


@cache
def constraints() -> tuple[Constraint, ...]:
    """Return every constraint of the service's document, once, in its order."""
    every = dict.fromkeys(declared(bundles.load("service")))
    return tuple(
        constraint
        if constraint.sources
        else constraint._replace(sources=_listed_sources(constraint))
        for constraint in every
    )


@cache
def source_table() -> Mapping[str, list[str]]:
    """The sources in ``sources.yaml`` with the constraints that they give, ``*`` for anything."""
    table: dict[str, list[str]] = read_yaml(Path(__file__).with_name("sources.yaml"))
    return table


def _listed_sources(constraint: Constraint) -> tuple[str, ...]:
    rows = source_table().items()
    return next(
        (
            (source,)
            for source, patterns in rows
            if any(fnmatchcase(str(constraint), pattern) for pattern in patterns)
        ),
        (),
    )


def declared(document: Document) -> Iterator[Constraint]:
    """Yield every constraint at its place in a document, with the assumptions cited there."""
    components = document["components"]
    for name, schema in components["schemas"].items():
        yield from _of_schema(schema, name, ())
    for name, parameter in components["parameters"].items():
        yield from _of_schema(parameter["schema"], name, _cited(parameter))
    for name, header in components["headers"].items():
        yield from _of_schema(header["schema"], name, _cited(header))
    for item in document["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                yield from _of_operation(document, operation)


def _of_operation(document: Document, operation: Node) -> Iterator[Constraint]:
    name = operation["operationId"]
    for parameter in operation.get("parameters", ()):
        if "$ref" not in parameter:
            yield from _of_schema(
                parameter["schema"], f"{name}?{parameter['name']}", _cited(parameter)
            )
    for status, reference in operation["responses"].items():
        response = resolve(document, reference)
        yield Constraint(name, f"status {status}", _cited(response) or _cited(operation))
        for media in response.get("content", {}).values():
            yield from _of_schema(
                media["schema"], f"{name} {status}", _cited(response) or _cited(operation)
            )


def _of_schema(schema: Node, place: str, cited: tuple[str, ...]) -> Iterator[Constraint]:
    """Yield the constraints of a schema and its inner ones, by its citations or by their own."""
    if "$ref" in schema:
        return
    cited = _cited(schema) or cited
    for keyword in KEYWORDS:
        if keyword == "enum" and schema.get("format") in CODES:
            continue
        if (
            keyword in schema
            and LIMITS.get(schema.get("format", ""), {}).get(keyword) != schema[keyword]
        ):
            yield Constraint(place, keyword, cited or _of_bound(keyword, schema[keyword]))
    for name, part in schema.get("properties", {}).items():
        yield from _of_schema(part, f"{place}.{name}", cited)
    for part in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _of_schema(part, place, cited)
    for name, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(name), dict):
            yield from _of_schema(schema[name], place + suffix, cited)


def _of_bound(keyword: str, value: Any) -> tuple[str, ...]:
    """Return the source of a bound for an unbounded input (:mod:`emulator.document.bundle`)."""
    return (EVERY_INPUT_IS_BOUNDED,) if BOUNDS.get(keyword) == value else ()


def _cited(node: Node) -> tuple[str, ...]:
    numbers = node.get("x-assumption", ())
    return (numbers,) if isinstance(numbers, str) else tuple(numbers)
