"""Ignored failures of schemathesis: the specification differs, or no schema can say the rule.

Rules of state name, by operation, the codes with which a request that the document allows may be
rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from schemathesis import Case, Response
from schemathesis.core.failures import Failure, ServerError
from schemathesis.openapi.checks import (
    RejectedPositiveData,
    UnsupportedMethodResponse,
    UseAfterFree,
)

from emulator.document.paths import fixture

# -- rules of state


TABLES: Any = fixture("document-exceptions")
"""Every table of ``fixtures/document-exceptions.yaml``, which says of each what it is for."""

ANY_OPERATION: Sequence[str] = TABLES["any_operation"]
OF_PATH: Mapping[str, str] = TABLES["of_path"]
OF_OPERATION: Mapping[str, Sequence[str]] = TABLES["of_operation"]
OF_CONTROL_OPERATION: Mapping[str, Sequence[str]] = TABLES["of_control_operation"]
RULES: Mapping[str, Mapping[str, str]] = TABLES["rules"]


def codes(operation: str, path: str) -> tuple[str, ...]:
    """Return the state codes of one operation (id and path), without those that any may return."""
    unknown = (OF_PATH.get(path.split("/")[1], "NOT_FOUND"),) if "{" in path else ()
    return tuple(
        dict.fromkeys((*unknown, *{**OF_OPERATION, **OF_CONTROL_OPERATION}.get(operation, ())))
    )


# -- exceptions


FORM = frozenset(
    [
        "MISSING_FIELD",
        "INVALID_FIELD",
        "INVALID_FILTER_PARAM",
        "INVALID_CURRENCY",
        "VALIDATION_ERROR",
    ]
)
"""The codes of a malformed request. For a well-formed one there are others (:func:`codes`)."""


def is_excused(failure: Failure, response: Response, case: Case[Any]) -> bool:
    """Return whether the failure of a check on this response is ignored."""
    if isinstance(failure, RejectedPositiveData):
        return rejected_by_state(response, case) is not None or rejected_by_rule(response, case)
    if isinstance(failure, UseAfterFree):
        # A DELETE only archives these, by the specification; they can still be read and changed.
        return case.operation.path in ("/products/{id}/", "/subscription-plans/{id}/")
    # The inbox takes every method and responds with a chosen status; only reading it is documented.
    is_of_inbox = case.operation.path == "/inbox/{name}" and response.request.method != "GET"
    return bool(is_of_inbox and isinstance(failure, ServerError | UnsupportedMethodResponse))


def rejected_by_state(response: Response, case: Case[Any]) -> str | None:
    """Return the state rule's code that rejects a request valid by the document, or None."""
    code = str(_error(response)["code"])
    listed = codes(case.operation.definition.raw["operationId"], case.operation.path)
    return code if code in (*listed, *ANY_OPERATION) else None


def rejected_by_rule(response: Response, case: Case[Any]) -> bool:
    """Return whether every field at fault has a rule that no schema can express."""
    if response.status_code not in (400, 422):
        return False
    error = _error(response)
    operation = str(case.operation.definition.raw["operationId"])
    # Rules of money have codes of their own, except among several violations, which share one code
    # (B-12).
    rules = [*RULES.get(operation, {}), "*currency", "*amount"]
    if operation.startswith("update"):
        rules.append(
            "metadata"
        )  # to which it adds: the limit counts what is left after that (B-22)
    fields = error.get("errors") or [error.get("param") or ""]
    ruled = error["code"] in FORM and all(
        any(fnmatchcase(field, rule) for rule in rules) for field in fields
    )
    return ruled or _has_long_number(case.query) or _has_long_number(case.body)


def _error(response: Response) -> dict[str, Any]:
    """Return the error in a response, flat or nested (B-10)."""
    body = response.json()
    return dict(body.get("error", body))


def _has_long_number(value: object) -> bool:
    """Return whether a value contains a number of over 300 digits, valid but not read (B-12)."""
    if isinstance(value, dict | list):
        return any(map(_has_long_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**300
