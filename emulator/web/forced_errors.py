"""Forced answers: the header ``Emulator-Answer: CODE`` has any error of the model answered, and nothing done (B-94)."""

from __future__ import annotations

from starlette.types import Scope

from emulator.errors import CODES, ERRORS, RATE_LIMIT, ApiError, invalid_field
from emulator.web.authentication import header

HEADER = "Emulator-Answer"

RETRY_AFTER = 1
"""Seconds that a forced 429 asks to wait."""


def forced_answer(scope: Scope) -> ApiError | None:
    """The refusal a request asks for; an unknown code is itself refused with 422 (B-95)."""
    code = header(scope, HEADER.lower().encode())
    if code is None:
        return None
    if code not in CODES:
        return invalid_field(HEADER, f"{code[:60]!r} is no error code")
    return error_for(code)


def error_for(code: str) -> ApiError:
    """Any error of the model, with the headers that go with its status."""
    row = ERRORS[code]
    headers = {"Allow": "GET, POST"} if row.status == 405 else {}
    retry_after = RETRY_AFTER if row.category == RATE_LIMIT else None
    return ApiError(code, headers=headers, retry_after=retry_after)
