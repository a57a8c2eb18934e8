"""Forced errors: the header ``Emulator-Answer: CODE`` makes the service respond with that error only (B-94)."""

from __future__ import annotations

from emulator.errors import CODES, ERRORS, RATE_LIMIT, ApiError, invalid_field
from emulator.web.context import RequestContext

HEADER = "Emulator-Answer"

RETRY_AFTER = 1
"""Seconds that a forced 429 asks the client to wait."""


def forced_error(context: RequestContext) -> ApiError | None:
    """The error a request asks for; an unknown code gives 422 (B-95)."""
    code = context.header(HEADER.lower().encode())
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
