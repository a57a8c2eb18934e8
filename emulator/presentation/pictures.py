"""Logos: pictures of ``data:`` URIs, PNG and JPEG, read and as pixels (B-90)."""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LARGEST = 250_000
"""Pixels of the largest logo."""

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Bytes a pixel by PNG color type: gray, RGB, palette, gray and RGB with transparency."""


class Logo(NamedTuple):
    """A picture. ``colour`` is a PNG's type (``CHANNELS``), or -1, -3, -4 for a JPEG's colors.

    ``data`` are a PNG's filtered rows, or a whole JPEG; ``alpha`` are the opacities of a palette's
    colours.
    """

    width: int
    height: int
    colour: int
    data: bytes
    palette: bytes = b""
    alpha: bytes = b""


@lru_cache(maxsize=64)
def read_logo(uri: str) -> Logo:
    """Return a ``data:`` URI's picture. Raises ``ValueError`` with a sentence if it is unusable."""
    head, _, text = uri.partition(",")
    readers = {"data:image/png;base64": _png, "data:image/jpeg;base64": _jpeg}
    if head not in readers:
        raise ValueError("must begin with data:image/png;base64, or data:image/jpeg;base64,")
    try:
        logo = readers[head](b64decode(text, validate=True))
    except (ValueError, IndexError, KeyError, zlib.error) as error:
        raise ValueError(
            "is not a PNG (8 bits a channel, not interlaced) or JPEG that can be read"
        ) from error
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


# -- the pixels of a PNG


@lru_cache(maxsize=16)
def pixels(logo: Logo) -> tuple[bytes, bytes]:
    """Return the colors of a PNG's pixels and their opacities, which an opaque picture lacks."""
    raw = _unfiltered(logo)
    match logo.colour:
        case 3:
            entries = (logo.palette[3 * index : 3 * index + 3] for index in raw)
            colours = b"".join(entry.ljust(3, b"\0") for entry in entries)
            opaque = logo.alpha.ljust(256, b"\xff")
            return colours, raw.translate(opaque) if logo.alpha else b""
        case 4:
            return raw[::2], raw[1::2]
        case 6:
            mixed = bytearray(len(raw) // 4 * 3)
            for channel in range(3):
                mixed[channel::3] = raw[channel::4]
            return bytes(mixed), raw[3::4]
    return raw, b""


def _unfiltered(logo: Logo) -> bytes:
    """Return the pixels' bytes: a PNG row stores differences to its neighbors (PNG, section 9)."""
    step = CHANNELS[logo.colour]
    length = logo.width * step
    above, rows = bytearray(length), bytearray()
    for start in range(0, len(logo.data), length + 1):
        kind, row = logo.data[start], bytearray(logo.data[start + 1 : start + 1 + length])
        for at in range(length):
            left = row[at - step] if at >= step else 0
            corner = above[at - step] if at >= step else 0
            row[at] = (row[at] + _predicted(kind, left, above[at], corner)) & 0xFF
        rows += row
        above = row
    return bytes(rows)


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    match kind:
        case 1:
            return left
        case 2:
            return above
        case 3:
            return (left + above) // 2
        case 4:
            guess = left + above - corner
            return min((left, above, corner), key=lambda byte: abs(guess - byte))
    return 0
