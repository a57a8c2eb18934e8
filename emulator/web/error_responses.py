"""Error responses: from violations to one API error, and from an error to the bytes of its body (B-10, B-11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from emulator.core.errors import ERRORS, ApiError
from emulator.web.schemas import Violation


def error_of(violations: Sequence[Violation]) -> ApiError:
    """All violations of a request as one error: one field gives its own code, several ``VALIDATION_ERROR`` (B-12)."""
    errors: dict[str, list[str]] = {}
    for violation in violations:
        if violation.path:  # one of the body as a whole is of no field
            errors.setdefault(violation.path, []).append(violation.message)
    first = violations[0]
    codes = {violation.code for violation in violations}
    if len({violation.path for violation in violations}) > 1 and codes != {"INVALID_FILTER_PARAM"}:
        return ApiError("VALIDATION_ERROR", errors=errors)
    code = first.code if len(codes) == 1 else "INVALID_FIELD"
    return ApiError(code, param=first.path or None, errors=errors, message=f"{first.path}: {first.message}".strip(": "))


def body_of(error: ApiError, *, request_id: str, docs_url: str, shape: str) -> bytes:
    """The JSON of an error. ``shape`` is the setting ``error_shape``: documented, flat or nested (B-10)."""
    documented_nested = ERRORS[error.code].flat is not None
    nested = documented_nested if shape == "documented" else shape == "nested"
    return msgspec.json.encode(_nested(error) if nested else _flat(error, request_id, docs_url))


def _nested(error: ApiError) -> dict[str, Any]:
    inner = {"type": error.category.lower(), "code": error.code.lower(), "message": error.message}
    if error.param:
        inner["param"] = error.param
    elif error.errors:  # this shape has no field for them
        inner["message"] = "; ".join(f"{field}: {', '.join(messages)}" for field, messages in error.errors.items())
    return {"error": inner}


def _flat(error: ApiError, request_id: str, docs_url: str) -> dict[str, Any]:
    code = ERRORS[error.code].flat or error.code
    optional = {"param": error.param, "errors": error.errors, "retry_after": error.retry_after}
    return {
        "type": error.category,
        "code": code,
        "message": error.message,
        "status": error.status,
        "doc_url": f"{docs_url}/errors#{code}",
        "request_id": request_id,
        **{name: value for name, value in optional.items() if value is not None},
    }
