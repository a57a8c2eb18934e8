"""The door of a console whose emulator demands a token: a person shows it once, and then a cookie stands for it.

The cookie is made from the token and does not tell it; scripts cannot read it and other sites' requests go without.
"""

from __future__ import annotations

import hashlib
import hmac

from starlette.requests import Request
from starlette.responses import Response

from emulator.web.origin_guard import TOKEN_HEADER


class Login:
    """Open to everybody if there is no token."""

    def __init__(self, token: str | None) -> None:
        self._token = None if token is None else token.encode()
        self._pass = hmac.new(self._token or b"", b"console", hashlib.sha256).hexdigest()
        # Cookies know no ports: emulators side by side, each with a token of its own, keep theirs apart by name.
        self._cookie = f"emulator_pass_{hashlib.sha256(self._pass.encode()).hexdigest()[:8]}"

    def open_to(self, request: Request) -> bool:
        """Whether a browser may come in, or a program that shows the token as it does to the control API."""
        shown = request.cookies.get(self._cookie, "").encode()
        carried = request.headers.get(TOKEN_HEADER, "").encode("latin-1")
        return self._token is None or hmac.compare_digest(shown, self._pass.encode()) or self._is_token(carried)

    def fits(self, token: str) -> bool:
        """Whether this is the token."""
        return self._is_token(token.encode())

    def _is_token(self, shown: bytes) -> bool:
        return self._token is not None and hmac.compare_digest(shown, self._token)

    def let_in(self, response: Response) -> None:
        """Have the browser remember that the token was shown; until it is closed."""
        response.set_cookie(self._cookie, self._pass, path="/_emulator/", httponly=True, samesite="strict")
