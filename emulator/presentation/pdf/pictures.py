"""Pictures in PDFs: a logo as the image objects of a document."""

from __future__ import annotations

import zlib
from functools import lru_cache

import pydyf

from emulator.presentation.pdf.font_subset import add
from emulator.resources.app.merchant import CHANNELS, Logo

SPACES = {1: "/DeviceGray", 3: "/DeviceRGB", 4: "/DeviceCMYK"}
"""The name of a colour space, by its number of colours."""


Picture = tuple[pydyf.Stream, pydyf.Stream | None]
"""A picture, and its transparency as a second picture if it has any."""


def embed(pdf: pydyf.PDF, picture: Picture) -> bytes:
    """Add a picture to the document and return its reference."""
    image, mask = picture
    if mask is not None:
        image.extra["SMask"] = add(pdf, mask)
    return add(pdf, image)


def pdf_image(logo: Logo) -> Picture:
    """A logo as a picture."""
    if logo.colour < 0:
        return _image(logo, -logo.colour, logo.data, {"Filter": "/DCTDecode"}), None
    colours, alpha = _pixels(logo)
    mask = _compressed(logo, 1, alpha) if alpha else None
    return _compressed(logo, 1 if logo.colour in (0, 4) else 3, colours), mask


def _compressed(logo: Logo, colours: int, data: bytes) -> pydyf.Stream:
    return _image(logo, colours, zlib.compress(data, 9), {"Filter": "/FlateDecode"})


def _image(logo: Logo, colours: int, data: bytes, more: dict[str, str]) -> pydyf.Stream:
    size = {"Width": logo.width, "Height": logo.height, "BitsPerComponent": 8, "ColorSpace": SPACES[colours]}
    return pydyf.Stream([data], {"Type": "/XObject", "Subtype": "/Image", **size, **more})


@lru_cache(maxsize=16)
def _pixels(logo: Logo) -> tuple[bytes, bytes]:
    """The colours of a PNG's pixels, and their opacities; none if it is opaque."""
    raw = _unfiltered(logo)
    match logo.colour:
        case 3:
            colours = b"".join(logo.palette[3 * each : 3 * each + 3].ljust(3, b"\0") for each in raw)
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
    """The bytes of the pixels: each row of a PNG is stored as differences to its neighbours (PNG, section 9)."""
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
            return min((left, above, corner), key=lambda each: abs(guess - each))
    return 0
