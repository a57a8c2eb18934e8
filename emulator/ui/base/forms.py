"""Posted forms: the bytes of a body up to a limit, and its fields."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request


class BodyTooLong(ValueError):
    """A body has more bytes than its reader accepts."""


async def body(request: Request, limit: int) -> bytearray:
    """The posted bytes. Raises :class:`BodyTooLong` beyond the limit, after which nothing more is read."""
    raw = bytearray()
    async for part in request.stream():
        raw += part
        if len(raw) > limit:
            raise BodyTooLong
    return raw


def fields(raw: bytearray, limit: int) -> dict[str, str]:
    """The fields, empty ones included. Raises ``ValueError`` for what is not UTF-8 and beyond the limit of fields."""
    return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=limit))
