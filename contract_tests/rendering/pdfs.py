"""PDFs as the tests read them: by pypdf, a reader of its own."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pypdf


def read(pdf: bytes) -> pypdf.PdfReader:
    """The document; strict, so that a fault in its form is an error."""
    return pypdf.PdfReader(BytesIO(pdf), strict=True)


def pages(pdf: bytes) -> list[str]:
    """The text of each page, spaces and line ends as one space."""
    return [" ".join(page.extract_text().split()) for page in read(pdf).pages]


def text(pdf: bytes) -> str:
    """The text of all pages."""
    return " ".join(pages(pdf))


def links(pdf: bytes) -> set[Any]:
    """The URLs its links lead to."""
    return {note.get_object()["/A"]["/URI"] for page in read(pdf).pages for note in page.get("/Annots", ())}
