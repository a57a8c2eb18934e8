"""Makes the served documents from a written one: only what every OpenAPI reader can use.

OpenAPI 3.0 is strict: null and bounds as every reader understands them. In 3.1 schemas are JSON
Schema, and webhooks have a key of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from emulator.document.event_schemas import camel
from emulator.document.iso_codes import countries, currencies
from emulator.document.tree import (
    SCHEMA_LISTS,
    WEBHOOKS,
    Document,
    Schema,
    map_schemas,
    operations,
    resolve,
    without,
)

# -- for every reader


ANY_EVENT = "AnyEvent"
INSTEAD = "x-use-instead"
"""Beside ``x-sandbox-only``: what a client of the real service uses instead of the operation."""


def published(document: Document) -> Document:
    """Return the document as it is served, still in the form of 3.0 that the YAML files have."""
    whole = map_schemas(document, lambda schema: _default(_shown_instant(schema)))
    whole["info"] = {**whole["info"], "contact": {"name": "payments-emulator"}}
    _mark(whole)
    if WEBHOOKS in whole:
        _add_any_event(whole)
    return whole


def _default(schema: Schema) -> Schema:
    """Leave a field's object default to its schema: openapi-python-client rejects such a field."""
    is_field = isinstance(schema.get("default"), dict) and "allOf" in schema
    return without(schema, "default") if is_field else schema


def _shown_instant(schema: Schema) -> Schema:
    """Leave out the pattern of an instant that is shown: the PHP client holds the object that it
    made of the text against it. One that is taken has a format of our own, since a ``date-time``
    has an offset (B-17).
    """
    return without(schema, "pattern") if schema.get("format") == "date-time" else schema


def _mark(document: Document) -> None:
    """Put the mark of a sandbox extension on each operation, not only on its tag, in place."""
    marks = {tag["name"]: tag for tag in document.get("tags", ()) if tag.get("x-sandbox-only")}
    for _, _, operation in operations(document):
        for tag in (marks[name] for name in operation.get("tags", ()) if name in marks):
            sentence = f"For sandbox keys only. {tag.get(INSTEAD, '')}".strip()
            about = f"{operation.get('description', '').strip()}\n\n{sentence}".strip()
            operation.update({"description": about, "x-sandbox-only": True})
            operation.update({INSTEAD: tag[INSTEAD]} if INSTEAD in tag else {})


def _add_any_event(document: Document) -> None:
    """Add in place: a schema for any event, ids for webhooks, the callback of createWebhook."""
    hooks, components = document[WEBHOOKS], document["components"]
    for type, item in hooks.items():
        item["post"] = {"operationId": "on" + camel(type.replace(".", "_"))} | item["post"]
    refs = {
        type: item["post"]["requestBody"]["content"]["application/json"]["schema"]
        for type, item in hooks.items()
    }
    any_event = {
        "description": "Any event, as it is delivered; `type` says which.",
        "oneOf": list(refs.values()),
        "discriminator": {
            "propertyName": "type",
            "mapping": {type: ref["$ref"] for type, ref in refs.items()},
        },
    }
    components["schemas"] = dict(sorted((components["schemas"] | {ANY_EVENT: any_event}).items()))
    model = next(iter(hooks.values()))["post"]
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{ANY_EVENT}"}}}
    receive = model | {
        "operationId": "receiveEvent",
        "summary": "An event is delivered",
        "description": "Sent to the endpoint for each event that it subscribes to.",
        "requestBody": {"required": True, "content": content},
        "responses": model["responses"] | {"4XX": {"description": "The delivery failed."}},
    }
    receive.pop("x-assumption", None)
    document["paths"]["/webhooks/"]["post"]["callbacks"] = {
        "event": {"{$request.body#/url}": {"post": receive}}
    }


# -- formats of our own, and of emails and URLs, in keywords that every validator knows


_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_OCTET = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_HOST = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_PORT = (
    "(:([0-9][0-9]?[0-9]?[0-9]?|[1-5][0-9]{4}|6[0-4][0-9]{3}"
    "|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
)
_LOOPBACK = (
    rf"(([A-Za-z0-9_-]+\.)*[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|127(\.{_OCTET}){{3}}|\[[0:]*:0*1\])"
)
_AFTER_HOST = rf"{_PORT}([/?#][^\s\x00-\x1f\x7f]*)?$"
_AFTER_SCHEME = f"://{_HOST}{_AFTER_HOST}"
"""A host in ASCII without user information, as a Content-Security-Policy can name it.

Generated Go clients validate errors by it: Go knows ``\\x00`` but no ``\\u0000``, and their
validator parts a rule at commas.
"""

_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
_OFFSET = "([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"

URL = {"pattern": f"^https?{_AFTER_SCHEME}"}

LIMITS: dict[str, Schema] = {
    "domain": {"pattern": rf"^{_LABEL}(\.{_LABEL})*$", "maxLength": 253},
    "e164": {"pattern": r"^\+[1-9][0-9]{6,14}$"},
    "email": {"maxLength": 254},
    "instant": {"pattern": f"^{_DAY}({_TIME}{_OFFSET}?)?$"},
    "https-uri": {"pattern": f"^https{_AFTER_SCHEME}"},
    "ipv4-network": {"pattern": rf"^{_OCTET}(\.{_OCTET}){{3}}(/(3[0-2]|[12]?[0-9]))?$"},
    "not-blank": {"pattern": r"^\s*\S[\s\S]*$"},
    "uri": URL,
    "page-url": {"pattern": f"^(https://{_HOST}|http://{_LOOPBACK}){_AFTER_HOST}"},
    "app-url": {"pattern": f"^[a-z][a-z0-9+.-]*{_AFTER_SCHEME}"},
}
"""The rules of formats. An ``app-url`` may have ``{CHECKOUT_SESSION_ID}`` in it, a ``uri`` not."""


CODES: dict[str, Callable[[], Iterable[str]]] = {"country": countries, "currency": currencies}
"""The formats that are one of a list of codes."""


def limited(schema: Schema) -> Schema:
    format = schema.get("format", "")
    # Their tables are read where documents are made: a server that finds them made reads no YAML.
    limits = {"enum": sorted(CODES[format]())} if format in CODES else LIMITS.get(format, {})
    return limits | schema


# -- OpenAPI 3.1


ANNOTATIONS = frozenset(
    {"title", "description", "default", "example", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that validate nothing; they stay outside when null becomes one of two alternatives."""

EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
"""The flags of exclusive bounds, each with the bound that it is about."""

SPDX = re.compile(r"[A-Za-z0-9.+-]+")


def to_openapi_3_1(document: Document) -> Document:
    """Return the OpenAPI 3.1 version of a 3.0 document. The 3.0 document is not changed."""
    changed = map_schemas(document, _schema).items()
    twin = {"webhooks" if key == WEBHOOKS else key: value for key, value in changed}
    return twin | {"openapi": "3.1.0", "info": _info(document["info"])}


def _info(info: Document) -> Document:
    """Name the licence by its SPDX identifier, for which 3.1 has a field that excludes the URL."""
    licence = info.get("license") or {}
    name = licence.get("name", "")
    return info | {"license": {"name": name, "identifier": name}} if SPDX.fullmatch(name) else info


def _schema(schema: Schema) -> Schema:
    for step in (_nullable, _bounds, _binary, _keys, _example):
        schema = step(schema)
    return schema


def _nullable(schema: Schema) -> Schema:
    """Make null a type or an alternative: ``nullable`` allows null whatever the schema says."""
    rest = without(schema, "nullable")
    if not schema.get("nullable"):
        return rest
    return (
        _alternative(rest)
        if any(key in rest for key in (*SCHEMA_LISTS, "not"))
        else _with_null(rest)
    )


def _with_null(schema: Schema) -> Schema:
    whole = _with_null_in_enum(schema)
    return whole | {"type": [schema["type"], "null"]} if "type" in schema else whole


def _with_null_in_enum(schema: Schema) -> Schema:
    if "enum" not in schema or None in schema["enum"]:
        return schema
    return schema | {"enum": [*schema["enum"], None]}


def _alternative(schema: Schema) -> Schema:
    about, rule = _parted(schema)
    return about | {"anyOf": [*_choices(rule), {"type": "null"}]}


def _parted(schema: Schema) -> tuple[Schema, Schema]:
    """Return the part of a schema that describes and the part that validates."""
    about = {
        key: value for key, value in schema.items() if key in ANNOTATIONS or key.startswith("x-")
    }
    return about, without(schema, "nullable", *about)


def _choices(rule: Schema) -> list[Schema]:
    """Return the alternatives beside null; ``allOf`` of one reference serves only ``nullable``."""
    match rule:
        case {"anyOf": choices, **others} if not others:
            return list(choices)
        case {"allOf": [lone], **others} if not others:
            return [lone]
    return [rule]


def _bounds(schema: Schema) -> Schema:
    """Make an exclusive bound a number of its own, as in 3.1, not a flag on the inclusive bound."""
    changed = without(schema, *EXCLUSIVE)
    for exclusive, bound in EXCLUSIVE.items():
        if schema.get(exclusive) and bound in changed:
            changed[exclusive] = changed.pop(bound)
    return changed


def _binary(schema: Schema) -> Schema:
    """Describe binary content by its media type, as 3.1 does."""
    if schema.get("format") != "binary":
        return schema
    return without(schema, "type", "format") | {"contentMediaType": "application/octet-stream"}


def _keys(schema: Schema) -> Schema:
    """Write limits on the keys of a free object, an extension in 3.0, as ``propertyNames``."""
    names = {
        key.removeprefix("x-key-"): value
        for key, value in schema.items()
        if key.startswith("x-key-")
    }
    rest = {key: value for key, value in schema.items() if not key.startswith("x-key-")}
    return rest | {"propertyNames": names} if names else rest


def _example(schema: Schema) -> Schema:
    return {
        "examples" if key == "example" else key: [value] if key == "example" else value
        for key, value in schema.items()
    }


# -- OpenAPI 3.0


NULL: Schema = {"type": "object", "nullable": True, "enum": [None]}
"""Null and no other value. 3.0 has no type for it."""


def to_openapi_3_0(document: Document) -> Document:
    """Return the document with nulls and exclusive bounds in a form that strict readers allow."""

    def change(schema: Schema) -> Schema:
        if target := _nullable_target(document, schema):
            whole = target | without(schema, "allOf")
            strict: Schema = map_schemas({"schemas": {"": whole}}, change)["schemas"][""]
            return strict
        schema = _strict_bounds(schema)
        return _strict(schema) if schema.get("nullable") else schema

    return _without_written_out(map_schemas(document, change), _referred(document))


def _without_written_out(document: Document, referred: set[str]) -> Document:
    """Return the document without the schemas that now only stand in place of references."""
    components = document["components"]
    while gone := (referred & components["schemas"].keys()) - _referred(document):
        schemas = {
            name: schema for name, schema in components["schemas"].items() if name not in gone
        }
        components = components | {"schemas": schemas}
        document = document | {"components": components}
    return document


def _referred(document: Document) -> set[str]:
    """Return the names of the schemas that references and discriminators' mappings lead to."""
    return set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))


def _strict_bounds(schema: Schema) -> Schema:
    """Return an exclusive bound by ``not``: Redocly's Respect reads the flag of 3.0 as a number."""
    excluded = [schema[bound] for exclusive, bound in EXCLUSIVE.items() if schema.get(exclusive)]
    rest = without(schema, *EXCLUSIVE)
    return rest | {"not": {"enum": excluded}} if excluded else rest


def _nullable_target(document: Document, schema: Schema) -> Schema | None:
    """Return the schema to write in place of a reference that null stands beside.

    Beside a reference strict readers allow no null, and of two alternatives, of which one is null,
    orval and datamodel-code-generator make code that does not compile or rejects null.
    """
    match schema:
        case {"nullable": True, "allOf": [{"$ref": _} as lone]}:
            target: Schema = resolve(document, lone)
            return None if any(key in target for key in SCHEMA_LISTS) else target
    return None


def _strict(schema: Schema) -> Schema:
    if not any(key in schema for key in SCHEMA_LISTS):
        return _with_null_in_enum(schema)
    about, valid = _parted(schema)
    match valid:
        case {"anyOf": [first, *others]} if "type" in first:
            return about | {"anyOf": [_with_null_in_enum(first | {"nullable": True}), *others]}
        case rule:
            return about | {"anyOf": [rule, NULL]}


# -- names for generators


ALL = "*"
"""Selects events of every type."""


def named(document: Document) -> Document:
    """Give, in place, each field's schema of values or fields a title, such as ``CustomerObject``.

    Generators that make a type of it and go by the field alone have to number the types. Where a
    value has no letters, its schema names the constants: of ``*`` Ruby's generator makes none.
    """
    schemas = document.get("components", {}).get("schemas", {})
    for schema in schemas.values():
        if ALL in schema.get("enum", ()):
            schema["x-enum-varnames"] = [
                "ALL" if value == ALL else value.replace(".", "_").upper()
                for value in schema["enum"]
            ]

    def name_fields(schema: Schema, before: str) -> None:
        for field, part in schema.get("properties", {}).items():
            name(part, before + camel(field))
        for part in (choice for word in SCHEMA_LISTS for choice in schema.get(word, ())):
            name_fields(part, before)

    def name(schema: Schema, title: str) -> None:
        if title not in schemas and ("enum" in schema or "properties" in schema):
            schema["title"] = title
        name_fields(schema, title)
        if "items" in schema:
            name(schema["items"], f"{title}Item")

    for title, schema in schemas.items():
        name_fields(schema, title)
    return document
