"""A request to an emulator and its response, whichever way they go."""

from __future__ import annotations

import json as json_text
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

JSON = dict[str, Any]
"""An object of the service, as its document describes it."""

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")

_TO_QUOTE = re.compile(r"[^!-~]|[\"<>`{}#]|%(?![0-9A-Fa-f]{2})")
"""The characters that a target cannot have; what is quoted already stays as it is."""


class InvalidRequest(ValueError):
    """A path or a header that would end the line of the request in which it stands."""


class ApiRequest(NamedTuple):
    """``target`` is a path with its query. Names of headers are in lower case."""

    method: str
    target: str
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytes = b""

    @classmethod
    def of(
        cls,
        method: str,
        target: str,
        *,
        query: Mapping[str, object] = {},
        json: object = None,
        content: bytes = b"",
        headers: Mapping[str, str | bytes] = {},
    ) -> ApiRequest:
        """Return a request whose body is ``json``, or ``content``.

        ``query`` is added to the target's own; a list in it is a parameter for each of its values.
        Raises :class:`InvalidRequest` for control characters.
        """
        sent = {name.lower(): value for name, value in headers.items()}
        if json is not None:
            content = json_text.dumps(
                json, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            ).encode()
            sent = {"content-type": "application/json", **sent}
        lines = [
            (name.encode(), value if isinstance(value, bytes) else value.encode())
            for name, value in sent.items()
        ]
        if unfit := next(
            filter(_CONTROL.search, [target.encode(errors="surrogateescape"), *chain(*lines)]), None
        ):
            raise InvalidRequest(f"{unfit.decode(errors='replace')!r} has control characters")
        target = _TO_QUOTE.sub(lambda match: quote(match[0], errors="surrogateescape"), target)
        if query:
            target += ("&" if "?" in target else "?") + urlencode(
                [*map(_parameter, query.items())], doseq=True
            )
        return cls(method, target, lines, content)


def _parameter(parameter: tuple[str, object]) -> tuple[str, object]:
    name, value = parameter
    return name, str(value).lower() if isinstance(value, bool) else value


class ApiResponse(NamedTuple):
    """The emulator's response; names of ``headers`` are in lower case."""

    request: ApiRequest
    status_code: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status_code < 300

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        """Return the value in the body. Raises ``ValueError`` if it is not JSON."""
        return json_text.loads(self.content)

    def error(self) -> JSON:
        """Return the body's error, nested or flat (the App's settings); empty without one."""
        try:
            body = self.json()
        except ValueError:
            return {}
        error = body.get("error", body) if isinstance(body, dict) else {}
        return error if isinstance(error, dict) else {}
