"""A canvas: pages of A4 on which lines of text, rules, boxes and links are put, and the PDF that comes of them.

Places are in points from the upper left corner of a page. The same document always gives the same bytes.
"""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from math import cos, radians, sin
from typing import Any, NamedTuple

import pydyf

from emulator.core.calendar import Timestamp
from emulator.rendering.font_subset import FontSubset, add
from emulator.rendering.fonts import EM, Face, Glyph
from emulator.rendering.text import Colour, Line

WIDTH, HEIGHT = 595.28, 841.89
"""A4."""


class Box(NamedTuple):
    """A place on a page."""

    left: float
    top: float
    width: float
    height: float


BOLDER = 0.028
"""Stroke, in parts of the font size, that makes a face without a bold sister look bold."""


class Page:
    """One page: its drawing and its links."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self.drawing = pydyf.Stream(compress=True)
        self.links: list[pydyf.Dictionary] = []

    def text(self, line: Line, x: float, base: float) -> None:
        """A line that begins at x, standing on its base line."""
        draw = self.drawing
        draw.begin_text()
        draw.set_color_rgb(*line.style.colour)
        pen = x
        for face, glyphs in line.runs:
            ink = self._canvas.ink(face)
            ink.use(glyphs)
            draw.set_font_size(ink.name, line.style.size)
            self._embolden(line, face)
            draw.set_text_matrix(1, 0, 0, 1, pen, HEIGHT - base)
            self._show(glyphs, face, line.style.size)
            pen += sum(glyph.advance for glyph in glyphs) * line.style.size / EM
        draw.end_text()

    def _embolden(self, line: Line, face: Face) -> None:
        bolder = line.style.bold and face.fallback
        self.drawing.set_text_rendering(2 if bolder else 0)
        if bolder:
            self.drawing.set_color_rgb(*line.style.colour, stroke=True)
            self.drawing.set_line_width(line.style.size * BOLDER)

    def _show(self, glyphs: list[Glyph], face: Face, size: float) -> None:
        """One TJ for each stretch on the same height. The pen moves by glyph widths; the rest is made good between."""
        pen, target, height = 0, 0, 0
        parts: list[str] = []
        for glyph in glyphs:
            if glyph.y != height:
                self._flush(parts)
                self.drawing.set_text_rise(glyph.y * size / EM)
                height = glyph.y
            if target + glyph.x != pen:
                parts.append(str(pen - target - glyph.x))
                pen = target + glyph.x
            parts.append(f"<{glyph.id:04x}>")
            pen += face.width(glyph.id)
            target += glyph.advance
        self._flush(parts)
        if height:
            self.drawing.set_text_rise(0)

    def _flush(self, parts: list[str]) -> None:
        if parts:
            self.drawing.show_text("".join(parts))
            parts.clear()

    def fill(self, box: Box, colour: Colour, radius: float = 0) -> None:
        """A box of one colour, its corners rounded."""
        self.drawing.set_color_rgb(*colour)
        self._outline(box, radius)
        self.drawing.fill()

    def frame(self, box: Box, colour: Colour, radius: float = 0) -> None:
        """The outline of a box."""
        self.drawing.set_color_rgb(*colour, stroke=True)
        self.drawing.set_line_width(1)
        self._outline(box, radius)
        self.drawing.stroke()

    def _outline(self, box: Box, radius: float) -> None:
        left, right = box.left, box.left + box.width
        low, high = HEIGHT - box.top - box.height, HEIGHT - box.top
        bend = radius * 0.4477  # a quarter circle as a Bézier curve
        draw = self.drawing
        draw.move_to(left + radius, low)
        draw.line_to(right - radius, low)
        draw.curve_to(right - bend, low, right, low + bend, right, low + radius)
        draw.line_to(right, high - radius)
        draw.curve_to(right, high - bend, right - bend, high, right - radius, high)
        draw.line_to(left + radius, high)
        draw.curve_to(left + bend, high, left, high - bend, left, high - radius)
        draw.line_to(left, low + radius)
        draw.curve_to(left, low + bend, left + bend, low, left + radius, low)
        draw.close()

    def link(self, box: Box, url: str) -> None:
        """A place that leads to a URL."""
        action = pydyf.Dictionary({"S": "/URI", "URI": pydyf.String(url)})
        low, high = HEIGHT - box.top - box.height, HEIGHT - box.top
        annotation = {
            "Type": "/Annot",
            "Subtype": "/Link",
            "Rect": pydyf.Array([box.left, low, box.left + box.width, high]),
            "Border": pydyf.Array([0, 0, 0]),
            "A": action,
        }
        self.links.append(pydyf.Dictionary(annotation))

    def turned(self, line: Line, x: float, y: float, degrees: float) -> None:
        """A line turned about its middle, which is at (x, y)."""
        angle = radians(degrees)
        self.drawing.push_state()
        self.drawing.set_matrix(cos(angle), sin(angle), -sin(angle), cos(angle), x, HEIGHT - y)
        self.text(line, -line.width / 2, HEIGHT + line.style.size * 0.35)
        self.drawing.pop_state()


class Canvas:
    """A document in the making."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._inks: dict[str, FontSubset] = {}

    def page(self) -> Page:
        """A new page."""
        self.pages.append(Page(self))
        return self.pages[-1]

    def ink(self, face: Face) -> FontSubset:
        """The face as this document uses it."""
        return self._inks.setdefault(face.name, FontSubset(face, len(self._inks) + 1))

    def pdf(self, *, title: str, author: str, language: str, created: Timestamp) -> bytes:
        """The finished document."""
        pdf = pydyf.PDF()
        date = pydyf.String(f"D:{created[:19].translate(_DIGITS)}Z")
        pdf.info.update({"Title": pydyf.String(title), "Author": pydyf.String(author)})
        pdf.info.update({"Producer": pydyf.String("payments-emulator"), "CreationDate": date, "ModDate": date})
        pdf.catalog["Lang"] = pydyf.String(language)
        pdf.catalog["ViewerPreferences"] = pydyf.Dictionary({"DisplayDocTitle": "true"})
        fonts = pydyf.Dictionary({ink.name: ink.embed(pdf) for ink in self._inks.values()})
        resources = add(pdf, pydyf.Dictionary({"Font": fonts}))
        for page in self.pages:
            self._finish(pdf, page, resources)
        output = BytesIO()
        pdf.write(output, identifier=sha256(f"{title} {created}".encode()).hexdigest()[:32].encode(), compress=True)
        return output.getvalue()

    def _finish(self, pdf: pydyf.PDF, page: Page, resources: bytes) -> None:
        entries: dict[str, Any] = {
            "Type": "/Page",
            "Parent": pdf.pages.reference,
            "MediaBox": pydyf.Array([0, 0, WIDTH, HEIGHT]),
            "Resources": resources,
            "Contents": add(pdf, page.drawing),
            "Annots": pydyf.Array([add(pdf, link) for link in page.links]),
        }
        pdf.add_page(pydyf.Dictionary(entries))


_DIGITS = str.maketrans("", "", "-:T")
