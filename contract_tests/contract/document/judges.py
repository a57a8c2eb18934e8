"""A judge says what is wrong with a value under a schema of a document, in OpenAPI 3.0 or in 3.1.

``jsonschema_rs`` looks first, and accepts nearly every value in a hundredth of the time.
``jsonschema`` explains what it does not accept. In a long run ``jsonschema`` judges every value
(``Judge.enough``), so that no verdict rests on the validator that the server itself uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import cache, lru_cache
from ipaddress import IPv4Network
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import jsonschema_rs
from babel import Locale
from babel.numbers import list_currencies
from jsonschema import Draft4Validator, Draft202012Validator, FormatChecker
from jsonschema.validators import extend
from referencing import Registry, Specification

from contract_tests.contract.document.reader import Document, Pointer
from emulator.document import bundles
from emulator.document.tree import fragment

# -- the formats the document uses, judged by the tests' own means and not by the server's


CURRENCIES = frozenset(list_currencies())
COUNTRIES = frozenset(
    filter(re.compile("[A-Z]{2}").fullmatch, map(str, Locale("en").territories))
) - {"EU", "UN", "ZZ"}

Format = Callable[[str], bool]


def _parses(parse: Callable[[str], object], form: str = ".*") -> Format:
    compiled = re.compile(form)

    @lru_cache(1024)  # most instants and networks of an answer stand in the next one, too
    def is_one(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return compiled.fullmatch(text) is not None

    return is_one


def _matches(pattern: str) -> Format:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


@lru_cache(1024)
def is_uri(text: str) -> bool:
    """Return whether a text is an absolute URI, also with a ``{PLACEHOLDER}`` (not RFC 3986)."""
    return (
        re.search(r"\s", text) is None
        and bool(urlsplit(text).scheme)
        and bool(urlsplit(text).netloc)
    )


LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"

FORMATS: dict[str, Format] = {
    "date-time": _parses(
        datetime.fromisoformat, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    ),
    "date": _parses(date.fromisoformat, r"\d{4}-\d\d-\d\d"),
    "instant": _parses(
        datetime.fromisoformat,
        r"\d{4}-\d\d-\d\d([Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?)?",
    ),
    "email": _matches(r"[!-?A-~]+@[A-Za-z0-9.-]+"),
    "uri": is_uri,
    "page-url": _matches(
        r"https://\S+|http://(\S+\.)?(localhost|127(\.\d+){3}|\[::1\])([:/?#]\S*)?"
    ),
    "app-url": _matches(r"(?!javascript|data|vbscript|file|blob|about|ftp)[a-z][a-z0-9+.-]*://\S+"),
    "https-uri": lambda text: is_uri(text) and text.startswith("https://"),
    "currency": CURRENCIES.__contains__,
    "country": COUNTRIES.__contains__,
    "e164": _matches(r"\+[1-9]\d{6,14}"),
    "ipv4-network": _parses(IPv4Network),
    "domain": _matches(rf"(?=.{{1,253}}$){LABEL}(\.{LABEL})*"),
    "not-blank": lambda text: text.strip() != "",
    "binary": lambda _: True,
}
"""Every format that may stand in the document, and what it asks of a string."""


def _of_strings(is_one: Format) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or is_one(value)


def format_checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, is_one in FORMATS.items():
        checker.checks(name)(_of_strings(is_one))
    return checker


# -- the judges


Keyword = Callable[[Any, Any, Any, dict[str, Any]], Any]
OPAQUE: Specification[Any] = Specification.OPAQUE
"""The document is no schema itself, so an ``id`` in it names no base for the references below."""

BASE = "urn:document"


def _or_null(keyword: Keyword) -> Keyword:
    """Let ``nullable`` admit null beside other keywords, also an enum without null or ``allOf``."""

    def lenient(
        validator: Any, argument: Any, instance: Any, schema: dict[str, Any]
    ) -> Iterator[Any]:
        if instance is not None or schema.get("nullable") is not True:
            yield from keyword(validator, argument, instance, schema) or ()

    return lenient


_extend: Any = extend
LENIENT = {
    name: _or_null(keyword)
    for name, keyword in Draft4Validator.VALIDATORS.items()
    if name != "$ref"
}
NULLABLE: Any = _extend(Draft4Validator, LENIENT)


def _plain(node: Any, *, of_30: bool, by_the_letter: bool) -> Any:
    """Return a schema as plain JSON Schema, its references absolute.

    By the letter of OpenAPI 3.0 ``nullable`` widens the type alone, so that an enum must still name
    null.
    """
    if isinstance(node, list):
        return [_plain(element, of_30=of_30, by_the_letter=by_the_letter) for element in node]
    if not isinstance(node, dict):
        return node
    plain = {
        name: _plain(member, of_30=of_30, by_the_letter=by_the_letter)
        for name, member in node.items()
    }
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
        explained: Any = {
            "registry": Registry().with_resource(BASE, OPAQUE.create_resource(document))
        }
        if not self.by_the_letter:
            explained["format_checker"] = format_checker()
        quick: Any = jsonschema_rs.Draft4Validator if of_30 else jsonschema_rs.Draft202012Validator
        plain = _plain(document, of_30=of_30, by_the_letter=self.by_the_letter)
        draft = jsonschema_rs.Draft4 if of_30 else jsonschema_rs.Draft202012
        accepted = {"registry": jsonschema_rs.Registry([(BASE, plain)], draft=draft)}
        formats = {"formats": FORMATS, "validate_formats": not self.by_the_letter}
        self._slow = cache(lambda schema: self._explainer(of_30)(_reference(schema), **explained))
        self._quick = cache(lambda schema: quick(_reference(schema), **accepted, **formats))

    def _explainer(self, of_30: bool) -> Any:
        return NULLABLE if of_30 else Draft202012Validator

    def accepts(self, schema: Pointer, value: object) -> bool:
        """Return the verdict of the quick validator."""
        return bool(self._quick(schema).is_valid(value))

    def faults(self, schema: Pointer, value: object) -> list[str]:
        if Judge.enough and self.accepts(schema, value):
            return []
        return [
            f"{error.json_path}: {error.message}" for error in self._slow(schema).iter_errors(value)
        ]


class StrictJudge(Judge):
    """Validates values against the served 3.0 document as openapi-core does, by the letter.

    ``judged`` counts the values of the whole run.
    """

    by_the_letter = True
    judged = 0

    def _explainer(self, of_30: bool) -> Any:
        # It takes a fifth of a second, and in most runs nothing is left to explain.
        from openapi_schema_validator import OAS30Validator

        return OAS30Validator if of_30 else super()._explainer(of_30)

    def faults(self, schema: Pointer, value: object) -> list[str]:
        StrictJudge.judged += 1
        return [f"by the standard, {fault}" for fault in super().faults(schema, value)]


@cache
def judge_of(name: str) -> Judge:
    """Return the judge of a served document, such as ``service-3.0``: one for the whole process."""
    return (StrictJudge if name.endswith("-3.0") else Judge)(bundles.load(name))
