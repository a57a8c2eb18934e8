"""The fonts of PDFs: the characters each covers, and shaping text into glyphs (by HarfBuzz)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from typing import NamedTuple

import uharfbuzz

from emulator.document.paths import fixtures_folder

EM = 1000
"""Glyphs are measured in thousandths of the font size, as in PDF."""

REGULAR, BOLD = "FiraGO-Regular.ttf", "FiraGO-Bold.ttf"

FALLBACKS = ("wqy-microhei.ttc", "Symbola-emoji.ttf")
"""Fonts for East Asian scripts and emoji, used in this order for what the main font does not cover. None is bold."""


_SUBSET_FLAGS = (
    uharfbuzz.SubsetFlags.RETAIN_GIDS
    | uharfbuzz.SubsetFlags.NOTDEF_OUTLINE
    | uharfbuzz.SubsetFlags.NO_LAYOUT_CLOSURE
    | uharfbuzz.SubsetFlags.NO_HINTING
)


class Glyph(NamedTuple):
    """One glyph of a shaped run: its advance, its offsets ``x`` and ``y``, and the index ``at`` of its first character.

    ``text`` is the text it stands for; where several glyphs share characters, the first has all of them.
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
        """The code points that have a glyph."""
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
        """The advance of a glyph alone, without kerning."""
        return int(self._font.get_glyph_h_advance(glyph))

    def extents(self) -> tuple[int, int]:
        """Ascender and descender."""
        extents = self._font.get_font_extents("ltr")
        return extents.ascender, extents.descender

    def subset(self, glyphs: Iterable[int]) -> bytes:
        """A font file with only these glyphs, which keep their ids."""
        wanted = uharfbuzz.SubsetInput()
        wanted.flags = _SUBSET_FLAGS
        # The text is shaped already, so the tables that shape it are not needed.
        wanted.drop_table_tag_set.update(int.from_bytes(tag, "big") for tag in (b"GSUB", b"GPOS", b"GDEF"))
        wanted.glyph_set.update(glyphs)
        return bytes(uharfbuzz.subset(self._face, wanted).blob.data)


@cache
def face(file: str) -> Face:
    """The font in a file of the fonts folder, read on first use."""
    return Face(file)


def face_for(character: str, bold: bool) -> Face:
    """The first font that covers the character; else the main font, which shows a missing glyph."""
    files = (BOLD if bold else REGULAR, *FALLBACKS)
    return next((face(file) for file in files if ord(character) in face(file).covers), face(files[0]))


def _stretches(text: str, clusters: Iterable[int]) -> dict[int, str]:
    """The text of each cluster of glyphs: from its start to the start of the next one."""
    starts = sorted(set(clusters))
    return {start: text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)}
