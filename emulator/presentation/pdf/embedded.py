"""A PDF's contents beside its pages: subsets of fonts, pictures, and the structure for readers.

A subset has the text that its glyphs stand for. The structure is that of a tagged PDF (ISO 32000-1,
14.7; PDF/UA-1).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from typing import NamedTuple

import pydyf

from emulator.presentation.pdf.typesetting import EM, Face, Glyph
from emulator.presentation.pictures import Logo, pixels

# -- subsets of fonts


class FontSubset:
    """One font in one document: the glyphs in use and the text each stands for."""

    def __init__(self, face: Face, number: int) -> None:
        self.face = face
        self.name = f"F{number}"
        self.texts: dict[int, str] = {}

    def use(self, glyphs: list[Glyph]) -> None:
        for glyph in glyphs:
            self.texts[glyph.id] = self.texts.get(glyph.id) or glyph.text

    def embed(self, pdf: pydyf.PDF) -> bytes:
        file = self.face.subset(self.texts)
        tag = "".join(chr(65 + byte % 26) for byte in sha256(file).digest()[:6])
        name = f"/{tag}+{self.face.name}"
        ascent, descent = self.face.extents()
        descriptor = {
            "Type": "/FontDescriptor",
            "FontName": name,
            "Flags": 4,
            "FontBBox": pydyf.Array([0, descent, EM, ascent]),
            "ItalicAngle": 0,
            "Ascent": ascent,
            "Descent": descent,
            "CapHeight": 690,
            "StemV": 80,
            "FontFile2": add(pdf, pydyf.Stream([file], {"Length1": len(file)}, compress=True)),
        }
        descendant = {
            "Type": "/Font",
            "Subtype": "/CIDFontType2",
            "BaseFont": name,
            "CIDSystemInfo": pydyf.Dictionary(
                {
                    "Registry": pydyf.String("Adobe"),
                    "Ordering": pydyf.String("Identity"),
                    "Supplement": 0,
                }
            ),
            "CIDToGIDMap": "/Identity",
            "DW": EM,
            "W": pydyf.Array(
                part
                for glyph in sorted(self.texts)
                for part in (glyph, pydyf.Array([self.face.width(glyph)]))
            ),
            "FontDescriptor": add(pdf, pydyf.Dictionary(descriptor)),
        }
        font = {
            "Type": "/Font",
            "Subtype": "/Type0",
            "BaseFont": name,
            "Encoding": "/Identity-H",
            "DescendantFonts": pydyf.Array([add(pdf, pydyf.Dictionary(descendant))]),
            "ToUnicode": add(pdf, pydyf.Stream([self._to_unicode()], compress=True)),
        }
        return add(pdf, pydyf.Dictionary(font))

    def _to_unicode(self) -> str:
        """Return the text of each glyph, which viewers need to search and copy."""
        pairs = [
            f"<{glyph:04x}> <{text.encode('utf-16-be').hex()}>"
            for glyph, text in sorted(self.texts.items())
            if text
        ]
        blocks = [
            pairs[at : at + 100] for at in range(0, len(pairs), 100)
        ]  # the format's limit for a block
        entries = [
            "\n".join([f"{len(block)} beginbfchar", *block, "endbfchar"]) for block in blocks
        ]
        return _CMAP.format(entries="\n".join(entries))


_CMAP = """/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
{entries}
endcmap
CMapName currentdict /CMap defineresource pop
end
end"""


def add(pdf: pydyf.PDF, part: pydyf.Object) -> bytes:
    pdf.add_object(part)
    return bytes(part.reference)


# -- pictures


SPACES = {1: "/DeviceGray", 3: "/DeviceRGB", 4: "/DeviceCMYK"}
"""The name of a colour space, by its number of colours."""


Picture = tuple[pydyf.Stream, pydyf.Stream | None]
"""A picture, and its transparency as a second picture if it has any."""


def embed(pdf: pydyf.PDF, picture: Picture) -> bytes:
    image, mask = picture
    if mask is not None:
        image.extra["SMask"] = add(pdf, mask)
    return add(pdf, image)


def pdf_image(logo: Logo) -> Picture:
    def image(colours: int, data: bytes, filter: str = "/FlateDecode") -> pydyf.Stream:
        size = {
            "Width": logo.width,
            "Height": logo.height,
            "BitsPerComponent": 8,
            "ColorSpace": SPACES[colours],
        }
        return pydyf.Stream(
            [data], {"Type": "/XObject", "Subtype": "/Image", **size, "Filter": filter}
        )

    if logo.colour < 0:
        return image(-logo.colour, logo.data, "/DCTDecode"), None
    colours, alpha = pixels(logo)
    mask = image(1, zlib.compress(alpha, 9)) if alpha else None
    return image(1 if logo.colour in (0, 4) else 3, zlib.compress(colours, 9)), mask


# -- structure


class MarkedContent(NamedTuple):
    """A marked stretch of a page's drawing: the page's number from 0, and the stretch's on it."""

    page: int
    number: int


class LinkArea(NamedTuple):
    """A link's area on a page, and its number among the annotations of the document."""

    page: int
    number: int
    annotation: pydyf.Dictionary


class Element:
    """An element, such as a heading, row or cell. ``scope``: the cells that a ``TH`` heads."""

    def __init__(self, role: str, scope: str | None = None) -> None:
        self.role = role
        self.scope = scope
        self.kids: list[Element | MarkedContent | LinkArea] = []


class Structure:
    """A document's elements. Text outside all elements is decoration: screen readers skip it."""

    def __init__(self) -> None:
        self.document = Element("Document")
        self.current: Element | None = self.document
        self.marks: list[list[Element]] = []
        """Of each page, the elements that its marked stretches belong to, by number."""
        self.areas: list[Element] = []
        """The elements that the links belong to, by number."""

    @contextmanager
    def inside(self, element: Element | None) -> Iterator[None]:
        """Draw inside this element; None makes it decoration."""
        before, self.current = self.current, element
        try:
            yield
        finally:
            self.current = before

    def element(self, role: str, scope: str | None = None) -> AbstractContextManager[None]:
        """Draw inside a new element at the end of the current one."""
        return self.inside(self.child(role, scope))

    def child(self, role: str, scope: str | None = None) -> Element | None:
        if self.current is None:
            return None
        element = Element(role, scope)
        self.current.kids.append(element)
        return element

    def mark(self, page: int) -> int:
        """Return the number of a new stretch of this page in the current element."""
        assert self.current is not None
        numbered = self.marks[page]
        self.current.kids.append(MarkedContent(page, len(numbered)))
        numbered.append(self.current)
        return len(numbered) - 1

    def link(self, page: int, annotation: pydyf.Dictionary) -> None:
        if self.current is not None:
            self.current.kids.append(LinkArea(page, len(self.areas), annotation))
            self.areas.append(self.current)

    def write(self, pdf: pydyf.PDF, pages: Sequence[pydyf.Dictionary]) -> None:
        written: dict[int, pydyf.Dictionary] = {}
        root = pydyf.Dictionary({"Type": "/StructTreeRoot"})
        pdf.add_object(root)
        self._write(pdf, self.document, root, pages, written)
        of_pages = [
            pydyf.Array([written[id(element)].reference for element in page]) for page in self.marks
        ]
        of_links = [written[id(element)].reference for element in self.areas]
        parents = [*(add(pdf, page) for page in of_pages), *of_links]
        numbers = pydyf.Array(
            part for number, parent in enumerate(parents) for part in (number, parent)
        )
        root["K"] = written[id(self.document)].reference
        root["ParentTree"] = add(pdf, pydyf.Dictionary({"Nums": numbers}))
        root["ParentTreeNextKey"] = len(parents)
        pdf.catalog["StructTreeRoot"] = root.reference
        pdf.catalog["MarkInfo"] = pydyf.Dictionary({"Marked": "true"})

    def _write(
        self,
        pdf: pydyf.PDF,
        element: Element,
        parent: pydyf.Dictionary,
        pages: Sequence[pydyf.Dictionary],
        written: dict[int, pydyf.Dictionary],
    ) -> bytes:
        entry = pydyf.Dictionary(
            {"Type": "/StructElem", "S": f"/{element.role}", "P": parent.reference}
        )
        written[id(element)] = entry
        reference = add(pdf, entry)
        if element.scope is not None:
            entry["A"] = pydyf.Dictionary({"O": "/Table", "Scope": f"/{element.scope}"})
        kids = pydyf.Array()
        for kid in element.kids:
            if isinstance(kid, Element):
                kids.append(self._write(pdf, kid, entry, pages, written))
            elif isinstance(kid, MarkedContent):
                page = pages[kid.page].reference
                kids.append(pydyf.Dictionary({"Type": "/MCR", "Pg": page, "MCID": kid.number}))
            else:
                # A page is known in the tree of parents by its place; the links follow the pages.
                kid.annotation["StructParent"] = len(pages) + kid.number
                page, area = pages[kid.page].reference, kid.annotation.reference
                kids.append(pydyf.Dictionary({"Type": "/OBJR", "Pg": page, "Obj": area}))
        entry["K"] = kids
        return reference
