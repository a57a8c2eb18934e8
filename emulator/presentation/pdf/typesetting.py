"""Text of PDFs: cleaned, split into runs of one font and direction, shaped (HarfBuzz), wrapped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import NamedTuple, TypeVar
from unicodedata import bidirectional, category, normalize

import uharfbuzz

from emulator.document.paths import FIXTURES

# -- fonts: the characters each covers, and text as glyphs


EM = 1000
"""Glyphs are measured in thousandths of the font size, as in PDF."""

REGULAR, BOLD = "FiraGO-Regular.ttf", "FiraGO-Bold.ttf"

FALLBACKS = ("wqy-microhei.ttc", "Symbola-emoji.ttf")
"""Fonts for East Asian scripts and emoji, tried in this order after the main font. None is bold."""


_SUBSET_FLAGS = (
    uharfbuzz.SubsetFlags.RETAIN_GIDS
    | uharfbuzz.SubsetFlags.NOTDEF_OUTLINE
    | uharfbuzz.SubsetFlags.NO_LAYOUT_CLOSURE
    | uharfbuzz.SubsetFlags.NO_HINTING
)


class Glyph(NamedTuple):
    """A glyph of a shaped run: advance, offsets ``x``, ``y``, index ``at`` of its first character.

    ``text`` is the text it stands for; where several glyphs share characters, the first has all of
    them.
    """

    id: int
    advance: int
    x: int
    y: int
    at: int
    text: str


class Face:
    def __init__(self, file: str) -> None:
        self.name = file.partition(".")[0]
        self.fallback = file in FALLBACKS
        self._face = uharfbuzz.Face(uharfbuzz.Blob.from_file_path(str(FIXTURES / "fonts" / file)))
        self._font = uharfbuzz.Font(self._face)
        self._font.scale = (EM, EM)

    @cached_property
    def covers(self) -> frozenset[int]:
        return frozenset(self._face.unicodes)

    def shape(self, text: str, rtl: bool) -> list[Glyph]:
        buffer = uharfbuzz.Buffer()
        buffer.add_str(text)
        buffer.guess_segment_properties()
        buffer.direction = "rtl" if rtl else "ltr"
        uharfbuzz.shape(self._font, buffer)
        infos, positions = buffer.glyph_infos, buffer.glyph_positions
        # The text of a cluster of glyphs reaches from its start to the start of the next one.
        starts = sorted({info.cluster for info in infos})
        texts = {
            start: text[start:end]
            for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
        }
        return [
            Glyph(
                info.codepoint,
                at.x_advance,
                at.x_offset,
                at.y_offset,
                info.cluster,
                texts.pop(info.cluster, ""),
            )
            for info, at in zip(infos, positions, strict=True)
        ]

    def width(self, glyph: int) -> int:
        return int(self._font.get_glyph_h_advance(glyph))

    def extents(self) -> tuple[int, int]:
        extents = self._font.get_font_extents("ltr")
        return extents.ascender, extents.descender

    def subset(self, glyphs: Iterable[int]) -> bytes:
        """Return a font file with only these glyphs, which keep their ids."""
        wanted = uharfbuzz.SubsetInput()
        wanted.flags = _SUBSET_FLAGS
        # The text is shaped already, so the tables that shape it are not needed.
        wanted.drop_table_tag_set.update(
            int.from_bytes(tag, "big") for tag in (b"GSUB", b"GPOS", b"GDEF")
        )
        wanted.glyph_set.update(glyphs)
        return bytes(uharfbuzz.subset(self._face, wanted).blob.data)


@cache
def face(file: str) -> Face:
    """Return the font in a file of the fonts folder, read on first use."""
    return Face(file)


def face_for(character: str, bold: bool) -> Face:
    """Return the first font with the character; else the main font, with its missing glyph."""
    files = (BOLD if bold else REGULAR, *FALLBACKS)
    return next(
        (face(file) for file in files if ord(character) in face(file).covers), face(files[0])
    )


def is_legible(text: str) -> bool:
    """Return whether a font covers a letter or digit, or there is none: no row of empty boxes."""
    letters = [character for character in text if character.isalnum()]
    return not letters or any(
        ord(letter) in face(file).covers for letter in letters for file in (REGULAR, *FALLBACKS)
    )


# -- bidirectional text: the direction of each character, and the order of the runs of a line


T = TypeVar("T")

_CLASSES = {
    "L": "L", "R": "R", "AL": "A", "EN": "1", "AN": "2",
    "ES": "+", "ET": "#", "CS": ",", "NSM": "M",
}  # fmt: skip
"""Strong left, right and Arabic; European and Arabic numbers; their separators, ends; marks.

All other classes are neutral, N.
"""

_RULES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (
        r"(.)M+",
        lambda match: match[1] * len(match[0]),
    ),  # W1: a mark has the class of the character it is on
    (r"A[^LRA]*", lambda match: match[0].replace("1", "2")),  # W2: numbers after Arabic letters
    (r"A", lambda _: "R"),  # W3
    (r"(?<=1)[+,](?=1)", lambda _: "1"),  # W4: one separator between two digits
    (r"(?<=2),(?=2)", lambda _: "2"),
    (r"#+(?=1)|(?<=1)#+", lambda match: "1" * len(match[0])),  # W5: signs next to a number
    (r"[+,#]", lambda _: "N"),  # W6
    (r"L[^LR]*", lambda match: match[0].replace("1", "L")),  # W7: numbers after Latin letters
    (
        r"(?<=[R12])N+(?=[R12])",
        lambda match: "R" * len(match[0]),
    ),  # N1: neutrals between two of one direction
    (r"(?<=L)N+(?=L)", lambda match: "L" * len(match[0])),
)

_LEVELS = ({"L": 0, "R": 1, "1": 2, "2": 2}, {"R": 1, "L": 2, "1": 2, "2": 2})
"""The level of each resolved class in a left-to-right and a right-to-left paragraph (I1, I2)."""


def is_rtl(text: str) -> bool:
    """Return whether a paragraph runs right to left, by its first strong character (P2, P3)."""
    strong = (kind for kind in map(bidirectional, text) if kind in ("L", "R", "AL"))
    return next(strong, "L") != "L"


def levels(text: str, rtl: bool) -> list[int]:
    """Return the embedding level of each character of a paragraph; odd levels run right to left."""
    base = "R" if rtl else "L"
    classes = (
        base + "".join(_CLASSES.get(bidirectional(character), "N") for character in text) + base
    )
    for pattern, become in _RULES:
        classes = re.sub(pattern, become, classes)
    return [_LEVELS[rtl][letter] for letter in classes[1:-1].replace("N", base)]


def visual(items: Sequence[T], level: Callable[[T], int]) -> list[T]:
    """Return a line's items, each of one level, in the order of drawing, left to right (L2)."""
    order = list(items)
    for depth in range(max(map(level, order), default=0), 0, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and level(order[end]) >= depth:
                end += 1
            order[start:end] = reversed(order[start:end])
            start = max(end, start + 1)
    return order


# -- layout


Colour = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""


class Style(NamedTuple):
    """The look of a text: ``size`` in points, ``leading`` (between base lines) in font sizes."""

    size: float = 9.5
    bold: bool = False
    colour: Colour = (0.09, 0.13, 0.20)
    leading: float = 1.42

    @property
    def height(self) -> float:
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
        return (
            sum(glyph.advance for _, glyphs in self.runs for glyph in glyphs) * self.style.size / EM
        )


def wrap(text: str, style: Style, width: float) -> list[Line]:
    """Return lines of at most ``width`` points. A paragraph's first letter sets its direction."""
    lines: list[Line] = []
    for paragraph in clean(text).split("\n"):
        rtl = is_rtl(paragraph)
        runs = _runs(paragraph, style.bold, levels(paragraph, rtl))
        lines += _Paragraph(paragraph, style, rtl, runs).lines(width)
    return lines


def clean(text: str) -> str:
    """Normalize a text: composed characters (NFC), only ``\\\\n`` as line end, spaces for controls.

    Explicit directions and variation selectors are dropped, so that a name cannot reverse the text
    around it.
    """
    text = normalize("NFC", re.sub(r"\r\n?|[\u2028\u2029\u0085\v\f]", "\n", text))
    return _CONTROL.sub(" ", _DROPPED.sub("", text)).translate(_SPACES)


_DROPPED = re.compile(
    "[\u200b\u200e\u200f\u061c\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff]"
)
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACES = str.maketrans(
    dict.fromkeys(
        "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f", "\u00a0"
    )
)
"""Spaces of other widths, for which the fonts have no glyph, become no-break spaces."""

_EAST_ASIA = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_WORD = re.compile(rf"(?:[{_EAST_ASIA}]|[^ \-/{_EAST_ASIA}]+[-/]*|[-/]+) *| +")
"""The units that lines do not break: a word (hyphens, spaces), or one East Asian character."""


class _Paragraph(NamedTuple):
    """A text without line ends, split into runs."""

    text: str
    style: Style
    rtl: bool
    runs: list[GlyphRun]

    def lines(self, width: float) -> Iterator[Line]:
        for start, end in _breaks(self.text, self._advances(), width * EM / self.style.size):
            yield self._line(start, start + len(self.text[start:end].rstrip(" ")))

    def _advances(self) -> list[int]:
        """Return the advance of each character; 0 for a character without a glyph of its own."""
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
        ordered = visual(inside, lambda run: run.level)
        return Line([(run.face, self._shape(run)) for run in ordered], self.style, self.rtl)


def _runs(text: str, bold: bool, levels: Sequence[int]) -> list[GlyphRun]:
    """Split into runs. Marks, joiners and spaces keep the font of the character before them."""
    faces: list[Face] = []
    for character in text:
        attached = faces and (
            category(character) in ("Mn", "Mc", "Me", "Cf") or character in " \u00a0"
        )
        faces.append(faces[-1] if attached else face_for(character, bold))
    places = groupby(range(len(text)), key=lambda at: (faces[at].name, levels[at]))
    stretches = [list(stretch) for _, stretch in places]
    return [GlyphRun(faces[part[0]], levels[part[0]], part[0], part[-1] + 1) for part in stretches]


def _breaks(text: str, advances: Sequence[int], room: float) -> Iterator[tuple[int, int]]:
    """Yield lines' starts and ends. Spaces at the end take no room; a line splits a longer word.

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
