"""A judge says what is wrong with a value under a schema of a document, in OpenAPI 3.0 or in 3.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jsonschema import Draft4Validator, Draft202012Validator
from jsonschema.validators import extend
from openapi_schema_validator import OAS30Validator
from referencing import Registry, Specification

from contract_tests.document.formats import format_checker
from contract_tests.document.reader import Document, Pointer
from emulator.document.tree import fragment

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


class Judge:
    """Validates values against any schema of one document, named by its pointer."""

    def __init__(self, document: Document) -> None:
        resource = OPAQUE.create_resource(document)
        self.registry: Registry[Any] = Registry().with_resource(BASE, resource)
        self.validator = Validator30 if document["openapi"].startswith("3.0") else Validator31
        self.formats = format_checker()

    def faults(self, schema: Pointer, value: object) -> list[str]:
        return [f"{error.json_path}: {error.message}" for error in self._validator(schema).iter_errors(value)]

    def accepts(self, schema: Pointer, value: object) -> bool:
        return bool(self._validator(schema).is_valid(value))

    def _validator(self, schema: Pointer) -> Any:
        reference = {"$ref": f"{BASE}{fragment(schema)}"}
        return self.validator(reference, registry=self.registry, format_checker=self.formats)


class StrictJudge:
    """Validates values against the 3.0 document that is served, as openapi-core does: by the letter of the standard.

    ``judged`` counts the values of the whole run.
    """

    judged = 0

    def __init__(self, document: Document) -> None:
        self.registry: Registry[Any] = Registry().with_resource(BASE, OPAQUE.create_resource(document))

    def faults(self, schema: Pointer, value: object) -> list[str]:
        StrictJudge.judged += 1
        validator: Any = OAS30Validator({"$ref": f"{BASE}{fragment(schema)}"}, registry=self.registry)
        return [f"by the standard, {error.json_path}: {error.message}" for error in validator.iter_errors(value)]
