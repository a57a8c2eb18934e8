"""Fonts: the faces that documents are set in, what each covers, and how text becomes glyphs (by HarfBuzz).

HarfBuzz and three font files do what a whole PDF toolkit would bring forty to eighty megabytes for.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from typing import NamedTuple

import uharfbuzz

from emulator.paths import fixtures_folder

EM = 1000
"""All measures of glyphs are thousandths of the font size, as PDF has them."""

REGULAR, BOLD = "FiraGO-Regular.ttf", "FiraGO-Bold.ttf"

FALLBACKS = ("wqy-microhei.ttc", "Symbola-emoji.ttf")
"""The scripts of East Asia, and emoji: what the first face does not cover, the first of these that does. No bold."""


_KEEPING = (
    uharfbuzz.SubsetFlags.RETAIN_GIDS
    | uharfbuzz.SubsetFlags.NOTDEF_OUTLINE
    | uharfbuzz.SubsetFlags.NO_LAYOUT_CLOSURE
    | uharfbuzz.SubsetFlags.NO_HINTING
)


class Glyph(NamedTuple):
    """One glyph of a shaped run: how far it moves the pen, how far it stands off it, and from which character it is.

    ``text`` is what it stands for; of several glyphs for the same characters the first stands for all of them.
    """

    id: int
    advance: int
    x: int
    y: int
    at: int
    text: str


class Face:
    """One font file."""

    def __init__(self, file: str) -> None:
        self.name = file.partition(".")[0]
        self.fallback = file in FALLBACKS
        self._face = uharfbuzz.Face(uharfbuzz.Blob.from_file_path(str(fixtures_folder() / "fonts" / file)))
        self._font = uharfbuzz.Font(self._face)
        self._font.scale = (EM, EM)

    @cached_property
    def covers(self) -> frozenset[int]:
        """The code points it has glyphs for."""
        return frozenset(self._face.unicodes)

    def shape(self, text: str, rtl: bool) -> list[Glyph]:
        """The glyphs of a run, from left to right."""
        buffer = uharfbuzz.Buffer()
        buffer.add_str(text)
        buffer.guess_segment_properties()
        buffer.direction = "rtl" if rtl else "ltr"
        uharfbuzz.shape(self._font, buffer)
        infos, positions = buffer.glyph_infos, buffer.glyph_positions
        stands_for = _stretches(text, (info.cluster for info in infos))
        return [
            Glyph(
                info.codepoint,
                place.x_advance,
                place.x_offset,
                place.y_offset,
                info.cluster,
                stands_for.pop(info.cluster, ""),
            )
            for info, place in zip(infos, positions, strict=True)
        ]

    def width(self, glyph: int) -> int:
        """How far the glyph moves the pen by itself."""
        return int(self._font.get_glyph_h_advance(glyph))

    def extents(self) -> tuple[int, int]:
        """Ascender and descender."""
        extents = self._font.get_font_extents("ltr")
        return extents.ascender, extents.descender

    def subset(self, glyphs: Iterable[int]) -> bytes:
        """A font file with these glyphs only, under their own numbers."""
        wanted = uharfbuzz.SubsetInput()
        wanted.flags = _KEEPING
        # The glyphs are chosen already: what chooses them need not travel along.
        wanted.drop_table_tag_set.update(int.from_bytes(tag, "big") for tag in (b"GSUB", b"GPOS", b"GDEF"))
        wanted.glyph_set.update(glyphs)
        return bytes(uharfbuzz.subset(self._face, wanted).blob.data)


@cache
def face(file: str) -> Face:
    """The face of a file in the fonts folder, read when first asked for."""
    return Face(file)


def face_for(character: str, bold: bool) -> Face:
    """The first face that covers the character; where none does, the very first shows that it is missing."""
    files = (BOLD if bold else REGULAR, *FALLBACKS)
    return next((face(file) for file in files if ord(character) in face(file).covers), face(files[0]))


def _stretches(text: str, clusters: Iterable[int]) -> dict[int, str]:
    """What the glyphs of each cluster stand for: the text from there to where the next one begins."""
    starts = sorted(set(clusters))
    return {start: text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)}
