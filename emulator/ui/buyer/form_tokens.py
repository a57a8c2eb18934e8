"""Form tokens: each form of a page pays at most once, and only for the object it was made for."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

_FORM = re.compile(r"[A-Za-z0-9_-]{22}\.[0-9a-f]{64}")


class FormTokens:
    """Makes and checks tokens: a random number with its signature for one object, by a secret of this process."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def new(self, id: str) -> str:
        """A token for the form of an object."""
        return self._signed(id, secrets.token_urlsafe(16))

    def valid(self, id: str, token: str) -> bool:
        """Whether this token was made here, for this object."""
        if not _FORM.fullmatch(token):
            return False
        return hmac.compare_digest(token, self._signed(id, token.partition(".")[0]))

    def _signed(self, id: str, number: str) -> str:
        signature = hmac.new(self._secret, f"{id} {number}".encode(), hashlib.sha256).hexdigest()
        return f"{number}.{signature}"
