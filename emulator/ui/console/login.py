"""Login to the console of an emulator with a control token: it is entered once and then replaced by a cookie.

The cookie is signed with the token and does not reveal it. It is valid for twelve hours. Scripts cannot read it, and
requests of other sites are sent without it.
"""

from __future__ import annotations

import hashlib
import hmac
import time

from starlette.requests import Request
from starlette.responses import Response

from emulator.web.origins import TOKEN_HEADER

LIFETIME = 12 * 3600
"""Seconds (real time) after which the token must be entered again."""


class Login:
    """The check of the token; without a token everybody may use the console."""

    def __init__(self, token: str | None) -> None:
        self._token = None if token is None else token.encode()
        # Cookies are shared by all ports of a host: the name keeps those of several emulators apart.
        self._cookie_name = f"emulator_pass_{self._signed('name')[:8]}"

    def allows(self, request: Request) -> bool:
        """Whether a request has the cookie, or the header with which programs send the token to the control API."""
        cookie = request.cookies.get(self._cookie_name, "")
        token = request.headers.get(TOKEN_HEADER, "").encode("latin-1")
        return self._token is None or self._is_valid(cookie) or self._is_token(token)

    def accepts(self, token: str) -> bool:
        """Whether this is the token."""
        return self._is_token(token.encode())

    def remember(self, response: Response) -> None:
        """Set the cookie, which lasts until the browser is closed, and at most :data:`LIFETIME`."""
        until = str(int(time.time()) + LIFETIME)
        value = f"{until}.{self._signed(until)}"
        response.set_cookie(self._cookie_name, value, path="/_emulator/", httponly=True, samesite="strict")

    def _is_token(self, candidate: bytes) -> bool:
        return self._token is not None and hmac.compare_digest(candidate, self._token)

    def _is_valid(self, cookie: str) -> bool:
        until, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signed(until).encode()):
            return False
        return int(until) > time.time()

    def _signed(self, text: str) -> str:
        return hmac.new(self._token or b"", f"console {text}".encode(), hashlib.sha256).hexdigest()
