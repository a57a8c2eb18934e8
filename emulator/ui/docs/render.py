"""Reference pages: a template and its values become a response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import HTMLResponse, Response

from emulator.ui.base.headers import content_security_policy, public_headers
from emulator.ui.base.templates import environment

HEADERS = public_headers(content_security_policy(style_src="'unsafe-inline'", img_src="'self' data:"))


def page(template: str, status: int = 200, headers: Mapping[str, str] = HEADERS, **values: Any) -> Response:
    """A page in English."""
    return HTMLResponse(environment("emulator.ui.docs").get_template(template).render(**values), status, headers)
