"""PDFs as the tests read them: by pypdf, a reader of its own."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pypdf


def read(pdf: bytes) -> pypdf.PdfReader:
    """Return the document; strict, so that a fault in its form is an error."""
    return pypdf.PdfReader(BytesIO(pdf), strict=True)


def pages(pdf: bytes) -> list[str]:
    return [" ".join(page.extract_text().split()) for page in read(pdf).pages]


def text(pdf: bytes) -> str:
    return " ".join(pages(pdf))


def links(pdf: bytes) -> set[Any]:
    return {
        note.get_object()["/A"]["/URI"]
        for page in read(pdf).pages
        for note in page.get("/Annots", ())
    }


class Tagged:
    """A tagged PDF's structure: elements' roles, and the text below in reading order."""

    def __init__(self, pdf: bytes) -> None:
        self.reader = read(pdf)
        self.root: Any = self.reader.root_object["/StructTreeRoot"].get_object()
        self.roles: list[str] = []
        self._pages = [page.indirect_reference for page in self.reader.pages]
        self._texts = [self._marked(page) for page in self.reader.pages]
        self.decoration = [texts.pop(None, "") for texts in self._texts]
        self.reading = " ".join(" ".join(self._read(self.root["/K"].get_object())).split())

    def _marked(self, page: Any) -> dict[int | None, str]:
        """Return a page's glyph codes by the marked stretch's number; decoration under None."""
        codes: dict[int | None, str] = {}
        open_stretches: list[int | None] = []
        for operands, operator in page.get_contents().operations:
            if operator in (b"BDC", b"BMC"):
                open_stretches.append(operands[1]["/MCID"] if operator == b"BDC" else None)
            elif operator == b"EMC":
                open_stretches.pop()
            elif operator in (b"TJ", b"Tj"):
                assert open_stretches, "text that is neither in the structure nor decoration"
                number = open_stretches[-1]
                codes[number] = codes.get(number, "") + "#"
        return codes

    def _read(self, element: Any) -> list[str]:
        self.roles.append(element["/S"])
        parts: list[str] = []
        for kid in element.get("/K", ()):
            child = kid.get_object()
            if child.get("/Type") == "/MCR":
                page = next(
                    n
                    for n, one in enumerate(self.reader.pages)
                    if one.indirect_reference == child.raw_get("/Pg")
                )
                parts.append(self._texts[page].pop(child["/MCID"]))
            elif child.get("/Type") == "/OBJR":
                assert child["/Obj"].get_object()["/Subtype"] == "/Link"
            else:
                assert child["/P"].get_object() == element
                parts += self._read(child)
        return parts

    @property
    def unread(self) -> list[dict[int | None, str]]:
        """Marked stretches that no element has."""
        return [texts for texts in self._texts if texts]
