"""Login to the console of an emulator with a control token: it is entered once and then replaced by a cookie.

The cookie is derived from the token and does not reveal it. Scripts cannot read it, and requests of other sites are
sent without it.
"""

from __future__ import annotations

import hashlib
import hmac

from starlette.requests import Request
from starlette.responses import Response

from emulator.web.origin_guard import TOKEN_HEADER


class Login:
    """The check of the token; without a token everybody may use the console."""

    def __init__(self, token: str | None) -> None:
        self._token = None if token is None else token.encode()
        self._cookie_value = hmac.new(self._token or b"", b"console", hashlib.sha256).hexdigest()
        # Cookies are shared by all ports of a host: the name keeps those of several emulators apart.
        self._cookie_name = f"emulator_pass_{hashlib.sha256(self._cookie_value.encode()).hexdigest()[:8]}"

    def allows(self, request: Request) -> bool:
        """Whether a request has the cookie, or the header with which programs send the token to the control API."""
        cookie = request.cookies.get(self._cookie_name, "").encode()
        token = request.headers.get(TOKEN_HEADER, "").encode("latin-1")
        return self._token is None or hmac.compare_digest(cookie, self._cookie_value.encode()) or self._is_token(token)

    def accepts(self, token: str) -> bool:
        """Whether this is the token."""
        return self._is_token(token.encode())

    def _is_token(self, candidate: bytes) -> bool:
        return self._token is not None and hmac.compare_digest(candidate, self._token)

    def remember(self, response: Response) -> None:
        """Set the cookie, which lasts until the browser is closed."""
        response.set_cookie(self._cookie_name, self._cookie_value, path="/_emulator/", httponly=True, samesite="strict")
