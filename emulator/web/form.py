"""Forms that pages post: reads their bytes, up to a bound, and their fields."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request


class TooLong(ValueError):
    """A body is longer than allowed."""


async def body(request: Request, most: int) -> bytearray:
    """The body. Raises :class:`TooLong` once it has more than ``most`` bytes, and reads no further."""
    raw = bytearray()
    async for part in request.stream():
        raw += part
        if len(raw) > most:
            raise TooLong
    return raw


def fields(raw: bytearray, most: int) -> dict[str, str]:
    """The fields, empty ones too. Raises ``ValueError`` if they are not UTF-8 or more than ``most``."""
    return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=most))
