"""A judge says what is wrong with a value under a schema of a document, in OpenAPI 3.0 or in 3.1.

``jsonschema_rs`` looks first, and accepts nearly every value in a hundredth of the time. ``jsonschema`` explains what it
does not accept. In a long run ``jsonschema`` judges every value (``Judge.enough``), so that no verdict rests on the
validator that the server itself uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar
from urllib.parse import quote

import jsonschema_rs
from jsonschema import Draft4Validator, Draft202012Validator
from jsonschema.validators import extend
from openapi_schema_validator import OAS30Validator
from referencing import Registry, Specification

from contract_tests.contract.document.formats import FORMATS, format_checker
from contract_tests.contract.document.reader import Document, Pointer
from emulator.document import bundles
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
LENIENT = {name: _or_null(keyword) for name, keyword in Draft4Validator.VALIDATORS.items() if name != "$ref"}
NULLABLE: Any = _extend(Draft4Validator, LENIENT)


def _plain(node: Any, *, of_30: bool, by_the_letter: bool) -> Any:
    """Return a schema as plain JSON Schema, its references absolute.

    By the letter of OpenAPI 3.0 ``nullable`` widens the type alone, so that an enum must still name null.
    """
    if isinstance(node, list):
        return [_plain(each, of_30=of_30, by_the_letter=by_the_letter) for each in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _plain(each, of_30=of_30, by_the_letter=by_the_letter) for name, each in node.items()}
    if isinstance(node.get("$ref"), str):
        plain["$ref"] = BASE + node["$ref"]
    if of_30 and isinstance(node.get("nullable"), bool) and plain.pop("nullable"):
        if not by_the_letter:
            return {"anyOf": [{"enum": [None]}, plain]}
        if "type" in plain:
            plain["type"] = [plain["type"], "null"]
    return plain


def _reference(schema: Pointer) -> dict[str, str]:
    return {"$ref": BASE + quote(fragment(schema), safe="#/~")}


class Judge:
    """Validates values against any schema of one document, named by its pointer."""

    enough = True
    """Whether the verdict of the quick validator is enough; set to False by a long run."""

    by_the_letter: ClassVar[bool] = False

    def __init__(self, document: Document) -> None:
        self.document = document
        of_30 = document["openapi"].startswith("3.0")
        slow: Any = (OAS30Validator if self.by_the_letter else NULLABLE) if of_30 else Draft202012Validator
        explained: Any = {"registry": Registry().with_resource(BASE, OPAQUE.create_resource(document))}
        if not self.by_the_letter:
            explained["format_checker"] = format_checker()
        quick: Any = jsonschema_rs.Draft4Validator if of_30 else jsonschema_rs.Draft202012Validator
        plain = _plain(document, of_30=of_30, by_the_letter=self.by_the_letter)
        draft = jsonschema_rs.Draft4 if of_30 else jsonschema_rs.Draft202012
        accepted = {"registry": jsonschema_rs.Registry([(BASE, plain)], draft=draft)}
        formats = {"formats": FORMATS, "validate_formats": not self.by_the_letter}
        self._slow = cache(lambda schema: slow(_reference(schema), **explained))
        self._quick = cache(lambda schema: quick(_reference(schema), **accepted, **formats))

    def accepts(self, schema: Pointer, value: object) -> bool:
        """Return the verdict of the quick validator."""
        return bool(self._quick(schema).is_valid(value))

    def faults(self, schema: Pointer, value: object) -> list[str]:
        if Judge.enough and self.accepts(schema, value):
            return []
        return [f"{error.json_path}: {error.message}" for error in self._slow(schema).iter_errors(value)]


class StrictJudge(Judge):
    """Validates values against the 3.0 document that is served, as openapi-core does: by the letter of the standard.

    ``judged`` counts the values of the whole run.
    """

    by_the_letter = True
    judged = 0

    def faults(self, schema: Pointer, value: object) -> list[str]:
        StrictJudge.judged += 1
        return [f"by the standard, {fault}" for fault in super().faults(schema, value)]


@cache
def judge_of(name: str) -> Judge:
    """Return the judge of a served document, such as ``service-3.0``: one for the whole process."""
    return (StrictJudge if name.endswith("-3.0") else Judge)(bundles.load(name))
