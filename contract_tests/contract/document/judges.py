"""A judge says what is wrong with a value under a schema of a document, in OpenAPI 3.0 or in 3.1.

``jsonschema_rs`` looks first, and accepts nearly every value in a hundredth of the time. ``jsonschema`` explains what it
does not accept. In a long run ``jsonschema`` judges every value (``Quick.enough``), so that no verdict rests on the
validator that the server itself uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema import Draft4Validator, Draft202012Validator
from jsonschema.validators import extend
from openapi_schema_validator import OAS30Validator
from referencing import Registry, Specification

from contract_tests.contract.document.formats import FORMATS, format_checker
from contract_tests.contract.document.reader import Document, Pointer, at
from emulator.document.tree import fragment, pointer_of

Keyword = Callable[[Any, Any, Any, dict[str, Any]], Any]
OPAQUE: Specification[Any] = Specification.OPAQUE
"""The document is no schema itself, so an ``id`` in it names no base for the references below."""

BASE = "urn:document"


def _or_null(keyword: Keyword) -> Keyword:
    """``nullable`` admits null beside any other keyword, an enum without null and an ``allOf`` included."""

    def lenient(validator: Any, argument: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
        if instance is not None or schema.get("nullable") is not True:
            yield from keyword(validator, argument, instance, schema) or ()

    return lenient


_extend: Any = extend
Validator30: Any = _extend(
    Draft4Validator,
    {name: _or_null(keyword) for name, keyword in Draft4Validator.VALIDATORS.items() if name != "$ref"},
)
Validator31: Any = Draft202012Validator


class Schemas:
    """The schemas of one document, by pointer, with what their references name in their place.

    Following a reference takes a validator longer than all else. One that leads back to itself stays a reference.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.registry: Registry[Any] = Registry().with_resource(BASE, OPAQUE.create_resource(document))
        self._found: dict[str, Any] = {}

    def at(self, schema: Pointer) -> Any:
        return self._target(fragment(schema), ())

    def _target(self, reference: str, within: tuple[str, ...]) -> Any:
        if reference in within:
            return {"$ref": f"{BASE}{reference}"}
        if reference not in self._found:
            node = at(self.document, pointer_of(reference))
            self._found[reference] = self._inlined(node, (*within, reference))
        return self._found[reference]

    def _inlined(self, node: Any, within: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [self._inlined(each, within) for each in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str) and (len(node) == 1 or self._ignores_siblings):
            return self._target(reference, within)
        if isinstance(reference, str):
            node = {**node, "$ref": f"{BASE}{reference}"}
        return {name: self._inlined(each, within) for name, each in node.items()}

    @property
    def _ignores_siblings(self) -> bool:
        """Whether what stands beside a reference does not count, as in OpenAPI 3.0."""
        return bool(self.document["openapi"].startswith("3.0"))


def _plain(node: Any, null: str | None) -> Any:
    """Return a schema as plain JSON Schema, its references absolute.

    In OpenAPI 3.0 ``null`` says what ``nullable`` means: "anything", that null is taken beside every other keyword, or
    "type", that it widens the type alone, by the letter of the standard, so that an enum must still name null.
    """
    if isinstance(node, list):
        return [_plain(each, null) for each in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _plain(each, null) for name, each in node.items() if not (null and name == "nullable")}
    if isinstance(node.get("$ref"), str):
        plain["$ref"] = BASE + node["$ref"]
    if null and node.get("nullable") is True:
        if null == "anything":
            return {"anyOf": [{"enum": [None]}, plain]}
        if "type" in plain:
            plain["type"] = [plain["type"], "null"]
    return plain


class Quick:
    """Accepts values by ``jsonschema_rs``, against any schema of one document."""

    enough = True
    """Whether its verdict is enough; set to False by a long run."""

    def __init__(self, document: Document, *, by_the_letter: bool = False) -> None:
        is_30 = document["openapi"].startswith("3.0")
        draft = jsonschema_rs.Draft4 if is_30 else jsonschema_rs.Draft202012
        validator = jsonschema_rs.Draft4Validator if is_30 else jsonschema_rs.Draft202012Validator
        null = ("type" if by_the_letter else "anything") if is_30 else None
        registry = jsonschema_rs.Registry([(BASE, _plain(document, null))], draft=draft)
        options = {"registry": registry, "formats": FORMATS, "validate_formats": not by_the_letter}
        self._validator = cache(lambda schema: validator(_plain(at(document, schema), null), **options))

    def accepts(self, schema: Pointer, value: object) -> bool:
        return bool(self._validator(schema).is_valid(value))


class Judge:
    """Validates values against any schema of one document, named by its pointer."""

    def __init__(self, document: Document) -> None:
        validator = Validator30 if document["openapi"].startswith("3.0") else Validator31
        schemas, formats = Schemas(document), format_checker()
        self._validator = cache(
            lambda schema: validator(schemas.at(schema), registry=schemas.registry, format_checker=formats)
        )
        self._quick = Quick(document)

    def faults(self, schema: Pointer, value: object) -> list[str]:
        if Quick.enough and self._quick.accepts(schema, value):
            return []
        return [f"{error.json_path}: {error.message}" for error in self._validator(schema).iter_errors(value)]

    def accepts(self, schema: Pointer, value: object) -> bool:
        if Quick.enough:
            return self._quick.accepts(schema, value)
        return bool(self._validator(schema).is_valid(value))


class StrictJudge:
    """Validates values against the 3.0 document that is served, as openapi-core does: by the letter of the standard.

    ``judged`` counts the values of the whole run.
    """

    judged = 0

    def __init__(self, document: Document) -> None:
        schemas = Schemas(document)
        validator: Any = OAS30Validator
        self._validator = cache(lambda schema: validator(schemas.at(schema), registry=schemas.registry))
        self._quick = Quick(document, by_the_letter=True)

    def faults(self, schema: Pointer, value: object) -> list[str]:
        StrictJudge.judged += 1
        if Quick.enough and self._quick.accepts(schema, value):
            return []
        errors = self._validator(schema).iter_errors(value)
        return [f"by the standard, {error.json_path}: {error.message}" for error in errors]
