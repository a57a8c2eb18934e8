"""Form errors on demand: what validation says of a request, or of the same request with a field made invalid (B-94)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.core.errors import ApiError
from emulator.web.connexion_app import Definition
from emulator.web.error_responses import error_of
from emulator.web.query import cast, explain, fields, unknown_parameter
from emulator.web.schemas import CompiledSchema, Violation

INVALID_CURRENCY = "franc"
"""A currency that is none."""

INVALID_VALUES: tuple[Any, ...] = ([], "", {})
"""One of these is invalid for any field of a body."""

UNKNOWN = ("unknown", "unknown_too")
"""Fields or parameters that no operation has, for an operation that has too few of its own."""


class FormErrors:
    """The form errors of one operation."""

    def __init__(self, definition: Definition) -> None:
        content = definition.get("requestBody", {}).get("content", {})
        self._body = CompiledSchema(content.get("application/json", {}).get("schema", {}))
        self._query = {
            each["name"]: CompiledSchema(each["schema"]) for each in definition["parameters"] if each["in"] == "query"
        }
        self.fields: Sequence[str] = tuple(self._body.source.get("properties", ()))
        """The fields of the body."""

    def error(self, code: str, body: Mapping[str, Any], query: bytes) -> ApiError | None:
        """The error with this code, of the request as it is or with a field made invalid; None for other codes."""
        if code not in FORM_CODES:
            return None
        if code == "INVALID_FILTER_PARAM":
            return error_of([next(self._query_violations(query))])
        found = self._body.violations(body) if self.fields else []
        if found and (own := error_of(found)).code == code:
            return own
        return error_of(list(self._provoked(code, body)))

    def _provoked(self, code: str, body: Mapping[str, Any]) -> Iterator[Violation]:
        """The violations of the request with one field made invalid or left out, or with two of them made invalid."""
        if code == "MISSING_FIELD":
            name = next(iter([*self._body.source.get("required", ()), *self.fields, *UNKNOWN]))
            yield Violation(name, "required", "is required", code)
        elif code == "INVALID_CURRENCY":
            yield next(self._violations_of(body, "currency", [INVALID_CURRENCY]), NO_CURRENCY)
        else:
            number = 2 if code == "VALIDATION_ERROR" else 1
            for name in [*self.fields, *UNKNOWN][:number]:
                yield next(self._violations_of(body, name, INVALID_VALUES), Violation(name, "unknown", "unknown field"))

    def _violations_of(self, body: Mapping[str, Any], name: str, values: Sequence[Any]) -> Iterator[Violation]:
        """What is wrong with a field that has one of these values."""
        for value in values if name in self.fields else ():
            yield from (each for each in self._body.violations({**body, name: value}) if each.path == name)

    def _query_violations(self, query: bytes) -> Iterator[Violation]:
        """What is wrong with the query, with a parameter made invalid, or with a parameter that is unknown."""
        for name, text in [*fields(query), *((name, "?") for name in self._query), (UNKNOWN[0], "")]:
            schema = self._query.get(name)
            if schema is None:
                yield Violation(name, "query", unknown_parameter(self._query), "INVALID_FILTER_PARAM")
            else:
                for each in schema.violations(cast(text, schema.source)):
                    yield Violation(name, "query", explain(each.message, text, schema.source), "INVALID_FILTER_PARAM")


FORM_CODES = frozenset(
    ["MISSING_FIELD", "INVALID_FIELD", "VALIDATION_ERROR", "INVALID_FILTER_PARAM", "INVALID_CURRENCY"]
)
"""The codes that validation by the document alone can lead to."""

NO_CURRENCY = Violation("currency", "format", "must be an ISO 4217 code in upper case", "INVALID_CURRENCY")
"""For an operation without a currency."""
