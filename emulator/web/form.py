"""A form that a page posts: its bytes up to a bound, and its fields."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request


class TooLong(ValueError):
    """A body is longer than its reader wants."""


async def body(request: Request, most: int) -> bytearray:
    """What was posted. Raises :class:`TooLong` for more bytes than ``most``, of which no more are read."""
    raw = bytearray()
    async for part in request.stream():
        raw += part
        if len(raw) > most:
            raise TooLong
    return raw


def fields(raw: bytearray, most: int) -> dict[str, str]:
    """The fields, empty ones too. Raises ``ValueError`` for what is no UTF-8 and for more fields than ``most``."""
    return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=most))
