"""Text layout: text is cleaned, split into runs of one font and direction, and broken into lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from unicodedata import category, normalize

from emulator.presentation.pdf import bidi
from emulator.presentation.pdf.fonts import EM, Face, Glyph, face_for

Colour = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""


class Style(NamedTuple):
    """How text looks: ``size`` in points, ``leading`` (the distance of base lines) in font sizes."""

    size: float = 9.5
    bold: bool = False
    colour: Colour = (0.09, 0.13, 0.20)
    leading: float = 1.42

    @property
    def height(self) -> float:
        """The height of one line, in points."""
        return self.size * self.leading


class GlyphRun(NamedTuple):
    """Characters ``start`` to ``end`` of a paragraph, which share one font and one level."""

    face: Face
    level: int
    start: int
    end: int


class Line(NamedTuple):
    """One shaped line: its runs of glyphs from left to right."""

    runs: list[tuple[Face, list[Glyph]]]
    style: Style
    rtl: bool

    @property
    def width(self) -> float:
        """Its width in points."""
        return sum(glyph.advance for _, glyphs in self.runs for glyph in glyphs) * self.style.size / EM


def wrap(text: str, style: Style, width: float) -> list[Line]:
    """The lines of a text, none wider than ``width`` points. Each paragraph has the direction of its first letter."""
    return [line for paragraph in clean(text).split("\n") for line in _paragraph(paragraph, style).lines(width)]


def clean(text: str) -> str:
    """Normalize a text: composed characters (NFC), ``\\n`` as the only line end, spaces in place of control characters.

    Explicit directions and variation selectors are dropped, so that a name cannot reverse the text around it.
    """
    text = normalize("NFC", re.sub(r"\r\n?|[\u2028\u2029\u0085\v\f]", "\n", text))
    return _CONTROL.sub(" ", _DROPPED.sub("", text)).translate(_SPACES)


_DROPPED = re.compile("[\u200b\u200e\u200f\u061c\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACES = str.maketrans(
    dict.fromkeys("\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f", "\u00a0")
)
"""Spaces of other widths, for which the fonts have no glyph, become no-break spaces."""

_EAST_ASIA = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_WORD = re.compile(rf"(?:[{_EAST_ASIA}]|[^ \-/{_EAST_ASIA}]+[-/]*|[-/]+) *| +")
"""The units that lines do not break: a word with its hyphens and spaces, or one character of an East Asian script."""


class _Paragraph(NamedTuple):
    """A text without line ends, split into runs."""

    text: str
    style: Style
    rtl: bool
    runs: list[GlyphRun]

    def lines(self, width: float) -> Iterator[Line]:
        """Its lines, none wider than ``width`` points."""
        for start, end in _breaks(self.text, self._advances(), width * EM / self.style.size):
            yield self._line(start, start + len(self.text[start:end].rstrip(" ")))

    def _advances(self) -> list[int]:
        """The advance of each character; 0 for a character without a glyph of its own."""
        advances = [0] * len(self.text)
        for run in self.runs:
            for glyph in self._shape(run):
                advances[run.start + glyph.at] += glyph.advance
        return advances

    def _shape(self, run: GlyphRun) -> list[Glyph]:
        return run.face.shape(self.text[run.start : run.end], rtl=run.level % 2 == 1)

    def _line(self, start: int, end: int) -> Line:
        inside = [
            run._replace(start=max(run.start, start), end=min(run.end, end))
            for run in self.runs
            if run.start < end and run.end > start
        ]
        ordered = bidi.visual(inside, lambda run: run.level)
        return Line([(run.face, self._shape(run)) for run in ordered], self.style, self.rtl)


def _paragraph(text: str, style: Style) -> _Paragraph:
    rtl = bidi.is_rtl(text)
    return _Paragraph(text, style, rtl, _runs(text, style.bold, bidi.levels(text, rtl)))


def _runs(text: str, bold: bool, levels: Sequence[int]) -> list[GlyphRun]:
    """Split into runs. Marks, joiners and spaces always use the font of the character before them."""
    faces: list[Face] = []
    for character in text:
        attached = faces and (category(character) in ("Mn", "Mc", "Me", "Cf") or character in " \u00a0")
        faces.append(faces[-1] if attached else face_for(character, bold))
    places = groupby(range(len(text)), key=lambda at: (faces[at].name, levels[at]))
    stretches = [list(stretch) for _, stretch in places]
    return [GlyphRun(faces[part[0]], levels[part[0]], part[0], part[-1] + 1) for part in stretches]


def _breaks(text: str, advances: Sequence[int], room: float) -> Iterator[tuple[int, int]]:
    """The start and end of each line. Spaces at its end take no room; a word too long for a line is split.

    A line never starts with a character of no advance, which is a mark on the character before it.
    """
    start, used = 0, 0
    for word in _WORD.finditer(text):
        needed = sum(advances[word.start() : word.start() + len(word[0].rstrip(" "))])
        if used + needed > room and word.start() > start and advances[word.start()]:
            yield start, word.start()
            start, used = word.start(), 0
        for at in range(word.start(), word.end()):
            if used + advances[at] > room and at > start and text[at] != " ":
                yield start, at
                start, used = at, 0
            used += advances[at]
    yield start, len(text)
