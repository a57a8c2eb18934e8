"""The merchant as invoices, emails and buyers' pages show it: address, contact, tax number and logo (B-90)."""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

ShortText = Annotated[str, Meta(min_length=1, max_length=200)]
LARGEST = 250_000
"""Pixels of the largest logo."""

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""How many bytes a pixel of a PNG has, by its type of colour: grey, RGB, palette, grey and RGB with transparency."""


class Merchant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``address`` are lines as on an envelope; ``logo`` is a PNG or JPEG as a ``data:`` URI."""

    address: Annotated[tuple[ShortText, ...], Meta(max_length=8)] = ()
    tax_number: ShortText | None = None
    email: ShortText | None = None
    phone: ShortText | None = None
    logo: Annotated[str, Meta(max_length=32_768)] | None = None

    @property
    def contact(self) -> tuple[str, ...]:
        """The ways to reach the merchant that are known."""
        return tuple(each for each in (self.email, self.phone) if each)


class Logo(NamedTuple):
    """A picture. ``colour`` is the type of a PNG (see ``CHANNELS``), or -1, -3 or -4 for a JPEG of so many colours.

    ``data`` are a PNG's filtered rows, or a whole JPEG; ``alpha`` are the opacities of a palette's colours.
    """

    width: int
    height: int
    colour: int
    data: bytes
    palette: bytes = b""
    alpha: bytes = b""


@lru_cache(maxsize=64)
def read_logo(uri: str) -> Logo:
    """The picture of a ``data:`` URI. Raises ``ValueError`` with a sentence if it cannot be shown."""
    head, _, text = uri.partition(",")
    readers = {"data:image/png;base64": _png, "data:image/jpeg;base64": _jpeg}
    if head not in readers:
        raise ValueError("must begin with data:image/png;base64, or data:image/jpeg;base64,")
    try:
        logo = readers[head](b64decode(text, validate=True))
    except (ValueError, IndexError, KeyError, zlib.error) as error:
        raise ValueError("is not a PNG (8 bits a channel, not interlaced) or JPEG that can be read") from error
    if not 0 < logo.width * logo.height <= LARGEST:
        raise ValueError(f"has more than {LARGEST} pixels")
    return logo


def _png(content: bytes) -> Logo:
    parts = dict[bytes, bytes]()
    for name, part in _chunks(content):
        parts[name] = parts.get(name, b"") + part
    head = parts[b"IHDR"]
    width, height = int.from_bytes(head[:4]), int.from_bytes(head[4:8])
    if content[:8] != b"\x89PNG\r\n\x1a\n" or head[8] != 8 or head[12] or width * height > LARGEST:
        raise ValueError("another kind of PNG")
    size = height * (1 + width * CHANNELS[head[9]])
    rows = zlib.decompressobj().decompress(parts[b"IDAT"], size)
    if len(rows) != size or (head[9] == 3 and not parts.get(b"PLTE")):
        raise ValueError("incomplete")
    alpha = parts.get(b"tRNS", b"") if head[9] == 3 else b""
    return Logo(width, height, head[9], rows, parts.get(b"PLTE", b""), alpha)


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at + 8 <= len(content):
        length = int.from_bytes(content[at : at + 4])
        yield content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        at += 12 + length


def _jpeg(content: bytes) -> Logo:
    if content[:2] != b"\xff\xd8":
        raise ValueError("no JPEG")
    at = 2
    # The frame header, of which there is one of several kinds, has the size; tables come before it.
    while content[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(content[at + 2 : at + 4])
    frame = content[at : at + 10]
    if frame[9] not in (1, 3, 4):
        raise ValueError("another kind of JPEG")
    return Logo(int.from_bytes(frame[7:9]), int.from_bytes(frame[5:7]), -frame[9], content)
