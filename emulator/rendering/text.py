"""Text on its way to paper: cleaned, cut into runs of one face and direction, broken into lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from unicodedata import category, normalize

from emulator.rendering import bidi
from emulator.rendering.fonts import EM, Face, Glyph, face_for

Colour = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""


class Style(NamedTuple):
    """How text looks: ``size`` in points, ``leading`` (from one base line to the next) in sizes."""

    size: float = 9.5
    bold: bool = False
    colour: Colour = (0.09, 0.13, 0.20)
    leading: float = 1.42

    @property
    def height(self) -> float:
        """What one line takes, in points."""
        return self.size * self.leading


class Run(NamedTuple):
    """Characters ``start`` to ``end`` of a paragraph: of one face and one level."""

    face: Face
    level: int
    start: int
    end: int


class Line(NamedTuple):
    """One line, shaped: its runs of glyphs from left to right; ``width`` in points."""

    runs: list[tuple[Face, list[Glyph]]]
    style: Style
    rtl: bool

    @property
    def width(self) -> float:
        return sum(glyph.advance for _, glyphs in self.runs for glyph in glyphs) * self.style.size / EM


def wrap(text: str, style: Style, width: float) -> list[Line]:
    """The lines of a text, none wider than ``width`` points. Each paragraph runs the way its first letter does."""
    return [line for paragraph in clean(text).split("\n") for line in _paragraph(paragraph, style).lines(width)]


def clean(text: str) -> str:
    """Composed characters, spaces for what is none, no line ends but ``\\n``.

    Explicit directions and variation selectors are dropped: nobody turns round the page by what he is called.
    """
    text = normalize("NFC", re.sub(r"\r\n?|[\u2028\u2029\u0085\v\f]", "\n", text))
    return _CONTROL.sub(" ", _DROPPED.sub("", text)).translate(_SPACES)


_DROPPED = re.compile("[\u200b\u200e\u200f\u061c\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACES = str.maketrans(
    dict.fromkeys("\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f", "\u00a0")
)
"""Spaces of other widths, for which faces have no glyph. They keep together what they stand between."""

_EAST_ASIA = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_WORD = re.compile(rf"(?:[{_EAST_ASIA}]|[^ \-/{_EAST_ASIA}]+[-/]*|[-/]+) *| +")
"""What a line may not break within: a word with what follows it, or one character of the scripts without spaces."""


class _Paragraph(NamedTuple):
    """A text without line ends, cut into runs."""

    text: str
    style: Style
    rtl: bool
    runs: list[Run]

    def lines(self, width: float) -> Iterator[Line]:
        """Its lines, none wider than so many points."""
        for start, end in _breaks(self.text, self._advances(), width * EM / self.style.size):
            yield self._line(start, start + len(self.text[start:end].rstrip(" ")))

    def _advances(self) -> list[int]:
        """How far each character moves the pen; what has no glyph of its own moves it not at all."""
        advances = [0] * len(self.text)
        for run in self.runs:
            for glyph in self._shape(run):
                advances[run.start + glyph.at] += glyph.advance
        return advances

    def _shape(self, run: Run) -> list[Glyph]:
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


def _runs(text: str, bold: bool, levels: Sequence[int]) -> list[Run]:
    """Marks, joiners and spaces stay in the run of what they belong to, whatever face covers them."""
    faces: list[Face] = []
    for character in text:
        belongs = faces and (category(character) in ("Mn", "Mc", "Me", "Cf") or character in " \u00a0")
        faces.append(faces[-1] if belongs else face_for(character, bold))
    places = groupby(range(len(text)), key=lambda at: (faces[at].name, levels[at]))
    stretches = [list(stretch) for _, stretch in places]
    return [Run(faces[part[0]], levels[part[0]], part[0], part[-1] + 1) for part in stretches]


def _breaks(text: str, advances: Sequence[int], room: float) -> Iterator[tuple[int, int]]:
    """Where each line starts and ends. Spaces at its end take no room; a word too long for a line is cut.

    A line never starts with what moves the pen not at all: it belongs to the character before.
    """
    start, used = 0, 0
    for word in _WORD.finditer(text):
        ink = sum(advances[word.start() : word.start() + len(word[0].rstrip(" "))])
        if used + ink > room and word.start() > start and advances[word.start()]:
            yield start, word.start()
            start, used = word.start(), 0
        for at in range(word.start(), word.end()):
            if used + advances[at] > room and at > start and text[at] != " ":
                yield start, at
                start, used = at, 0
            used += advances[at]
    yield start, len(text)
