"""A canvas: A4 pages with lines of text, rules, boxes and links, written as a PDF.

Pages are filled from top to bottom, paragraph by paragraph, with a new page when one is full.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from hashlib import sha256
from io import BytesIO
from itertools import groupby
from math import cos, radians, sin
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import pydyf

from emulator.core.calendar import Timestamp
from emulator.presentation.pdf.embedded import FontSubset, Picture, Structure, add, embed
from emulator.presentation.pdf.typesetting import EM, Colour, Face, Glyph, Line, Style, wrap

# -- the canvas


WIDTH, HEIGHT = 595.28, 841.89
"""A4."""


class Box(NamedTuple):
    """A rectangle on a page."""

    left: float
    top: float
    width: float
    height: float


BOLDER = 0.028
"""Width of the outline, in font sizes, that makes a font without a bold version look bold."""


class PdfPage:
    """One page: its drawing and its links. Text belongs to the document's current element."""

    def __init__(self, canvas: Canvas, number: int) -> None:
        self._canvas = canvas
        self._number = number
        self.drawing = pydyf.Stream(compress=True)
        self.links: list[pydyf.Dictionary] = []

    def text(self, line: Line, x: float, base: float) -> None:
        draw = self.drawing
        structure = self._canvas.structure
        if structure.current is None:
            draw.begin_marked_content("Artifact")
        else:
            draw.begin_marked_content(
                structure.current.role, f"<</MCID {structure.mark(self._number)}>>"
            )
        draw.begin_text()
        draw.set_color_rgb(*line.style.colour)
        position = x
        for face, glyphs in line.runs:
            font = self._canvas.font(face)
            font.use(glyphs)
            draw.set_font_size(font.name, line.style.size)
            bolder = line.style.bold and face.fallback
            draw.set_text_rendering(2 if bolder else 0)
            if bolder:
                draw.set_color_rgb(*line.style.colour, stroke=True)
                draw.set_line_width(line.style.size * BOLDER)
            draw.set_text_matrix(1, 0, 0, 1, position, HEIGHT - base)
            self._show(glyphs, face, line.style.size)
            position += sum(glyph.advance for glyph in glyphs) * line.style.size / EM
        draw.end_text()
        draw.end_marked_content()

    def decoration(self, picture: Picture, box: Box) -> None:
        """Draw a picture that screen readers leave out."""
        self.drawing.begin_marked_content("Artifact")
        self.drawing.push_state()
        self.drawing.set_matrix(
            box.width, 0, 0, box.height, box.left, HEIGHT - box.top - box.height
        )
        self.drawing.draw_x_object(self._canvas.picture(picture))
        self.drawing.pop_state()
        self.drawing.end_marked_content()

    def _show(self, glyphs: list[Glyph], face: Face, size: float) -> None:
        """Write one TJ operator for each stretch of glyphs at the same height.

        The viewer moves by the width of each glyph; where the shaped position differs, the
        difference goes in between.
        """
        drawn, target, last = 0, 0, 0
        for height, stretch in groupby(glyphs, key=lambda glyph: glyph.y):
            if height != last:
                self.drawing.set_text_rise(height * size / EM)
            parts: list[str] = []
            for glyph in stretch:
                if target + glyph.x != drawn:
                    parts.append(str(drawn - target - glyph.x))
                    drawn = target + glyph.x
                parts.append(f"<{glyph.id:04x}>")
                drawn += face.width(glyph.id)
                target += glyph.advance
            self.drawing.show_text("".join(parts))
            last = height
        if last:
            self.drawing.set_text_rise(0)

    def fill(self, box: Box, colour: Colour, radius: float = 0) -> None:
        """Fill a box with one colour; ``radius`` rounds its corners."""
        self.drawing.begin_marked_content("Artifact")
        self.drawing.set_color_rgb(*colour)
        self._outline(box, radius)
        self.drawing.fill()
        self.drawing.end_marked_content()

    def frame(self, box: Box, colour: Colour, radius: float = 0) -> None:
        self.drawing.begin_marked_content("Artifact")
        self.drawing.set_color_rgb(*colour, stroke=True)
        self.drawing.set_line_width(1)
        self._outline(box, radius)
        self.drawing.stroke()
        self.drawing.end_marked_content()

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
        low, high = HEIGHT - box.top - box.height, HEIGHT - box.top
        annotation = {
            "Type": "/Annot",
            "Subtype": "/Link",
            "Rect": pydyf.Array([box.left, low, box.left + box.width, high]),
            "Border": pydyf.Array([0, 0, 0]),
            "A": pydyf.Dictionary({"S": "/URI", "URI": pydyf.String(url)}),
            "F": 4,  # it is there in print as well
            "Contents": pydyf.String(url),
        }
        self.links.append(pydyf.Dictionary(annotation))
        self._canvas.structure.link(self._number, self.links[-1])

    def stamp(self, line: Line, x: float, y: float, degrees: float) -> None:
        """Draw a line of text across the page, rotated about its middle (x, y), as decoration."""
        angle = radians(degrees)
        self.drawing.push_state()
        self.drawing.set_matrix(cos(angle), sin(angle), -sin(angle), cos(angle), x, HEIGHT - y)
        with self._canvas.structure.inside(None):
            self.text(line, -line.width / 2, HEIGHT + line.style.size * 0.35)
        self.drawing.pop_state()

    def finish(self, pdf: pydyf.PDF, resources: bytes) -> pydyf.Dictionary:
        entries: dict[str, Any] = {
            "Type": "/Page",
            "Parent": pdf.pages.reference,
            "MediaBox": pydyf.Array([0, 0, WIDTH, HEIGHT]),
            "Resources": resources,
            "Contents": add(pdf, self.drawing),
            "Annots": pydyf.Array([add(pdf, link) for link in self.links]),
            "Tabs": "/S",  # the keyboard follows the structure
            "StructParents": self._number,
        }
        finished = pydyf.Dictionary(entries)
        pdf.add_page(finished)
        return finished


class Canvas:
    def __init__(self) -> None:
        self.pages: list[PdfPage] = []
        self.structure = Structure()
        self._fonts: dict[str, FontSubset] = {}
        self._pictures: list[Picture] = []

    def page(self) -> PdfPage:
        self.pages.append(PdfPage(self, len(self.pages)))
        self.structure.marks.append([])
        return self.pages[-1]

    def font(self, face: Face) -> FontSubset:
        return self._fonts.setdefault(face.name, FontSubset(face, len(self._fonts) + 1))

    def picture(self, picture: Picture) -> str:
        self._pictures.append(picture)
        return f"I{len(self._pictures)}"

    def pdf(self, *, title: str, author: str, language: str, created: Timestamp) -> bytes:
        pdf = pydyf.PDF()
        date = pydyf.String(f"D:{created[:19].translate(_DIGITS)}Z")
        pdf.info.update({"Title": pydyf.String(title), "Author": pydyf.String(author)})
        pdf.info.update(
            {"Producer": pydyf.String("payments-emulator"), "CreationDate": date, "ModDate": date}
        )
        pdf.catalog["Lang"] = pydyf.String(language)
        pdf.catalog["ViewerPreferences"] = pydyf.Dictionary({"DisplayDocTitle": "true"})
        fonts = pydyf.Dictionary({font.name: font.embed(pdf) for font in self._fonts.values()})
        pictures = {
            f"I{number}": embed(pdf, picture) for number, picture in enumerate(self._pictures, 1)
        }
        resources = add(
            pdf, pydyf.Dictionary({"Font": fonts, "XObject": pydyf.Dictionary(pictures)})
        )
        pages = [page.finish(pdf, resources) for page in self.pages]
        self.structure.write(pdf, pages)
        metadata = _XMP.format(title=escape(title)).encode()
        pdf.catalog["Metadata"] = add(
            pdf, pydyf.Stream([metadata], {"Type": "/Metadata", "Subtype": "/XML"})
        )
        output = BytesIO()
        pdf.write(
            output,
            identifier=sha256(f"{title} {created}".encode()).hexdigest()[:32].encode(),
            compress=True,
        )
        return output.getvalue()


_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:title>
<pdfuaid:part>1</pdfuaid:part>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="r"?>"""
"""The metadata that mark the document as accessible (PDF/UA-1)."""

_DIGITS = str.maketrans("", "", "-:T")


# -- page flow


LEFT, RIGHT = 56.0, WIDTH - 56.0
TOP, BOTTOM = 64.0, HEIGHT - 72.0
"""The area for content, in points; the footer is below it."""


class PageFlow:
    """The current page and the height ``y`` of its filled part. ``begin`` starts each new page."""

    def __init__(self, begin: Callable[[PdfPage], None]) -> None:
        self.canvas = Canvas()
        self.structure = self.canvas.structure
        self._begin = begin
        self.page: PdfPage
        self.y: float
        self.next_page()

    def next_page(self) -> None:
        """Continue on the next page, which exists already if a part beside this one went there."""
        number = self.canvas.pages.index(self.page) + 1 if self.canvas.pages else 0
        if number == len(self.canvas.pages):
            self._begin(self.canvas.page())
        self.page, self.y = self.canvas.pages[number], TOP

    def beside(self, *parts: Callable[[], None]) -> None:
        """Put parts side by side, from the current height on; later content goes below all."""
        start, ends = (self.page, self.y), []
        for part in parts:
            self.page, self.y = start
            part()
            ends.append((self.canvas.pages.index(self.page), self.y))
        number, self.y = max(ends)
        self.page = self.canvas.pages[number]

    def room(self, height: float) -> bool:
        """Go to the next page if this one has less room than ``height``; return whether it did."""
        short = self.y + height > BOTTOM
        if short:
            self.next_page()
        return short

    def put(
        self,
        text: str,
        style: Style,
        left: float,
        width: float,
        *,
        to_right: bool = False,
        to_left: bool = False,
        role: str | None = "P",
        scope: str | None = None,
    ) -> None:
        """Put paragraphs, over as many pages as they need. A right-to-left one is aligned right.

        They become an element of this role and scope; without a role they belong to the current
        element.
        """
        with self.structure.element(role, scope) if role else nullcontext():
            for line in wrap(text, style, width):
                self.room(style.height)
                self.line(line, left, width, to_right or (line.rtl and not to_left))
                self.y += style.height

    def line(self, line: Line, left: float, width: float, to_right: bool = False) -> None:
        """Draw one line at the current height, which does not change."""
        x = left + width - line.width if to_right else left
        self.page.text(line, x, self.y + line.style.height * 0.5 + line.style.size * 0.35)

    def rule(self, colour: Colour, thickness: float, left: float = LEFT) -> None:
        self.page.fill(Box(left, self.y, RIGHT - left, thickness), colour)
