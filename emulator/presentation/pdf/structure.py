"""The structure of a tagged PDF: what each text is, and the order in which it is read (ISO 32000-1, 14.7; PDF/UA-1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pydyf

from emulator.presentation.pdf.font_subset import add


class MarkedContent(NamedTuple):
    """One marked stretch of a page's drawing: the page's number from 0, and the stretch's number on it."""

    page: int
    number: int


class LinkArea(NamedTuple):
    """A link's area on a page, and its number among the annotations of the document."""

    page: int
    number: int
    annotation: pydyf.Dictionary


class Element:
    """An element, such as a heading, a row or a cell. ``scope`` says what a ``TH`` is the heading of."""

    def __init__(self, role: str, scope: str | None = None) -> None:
        self.role = role
        self.scope = scope
        self.kids: list[Element | MarkedContent | LinkArea] = []


class Structure:
    """The elements of a document. Text drawn outside every element is decoration, which screen readers leave out."""

    def __init__(self) -> None:
        self.document = Element("Document")
        self.current: Element | None = self.document
        self.marks: list[list[Element]] = []
        """Of each page, the elements that its marked stretches belong to, by number."""
        self.areas: list[Element] = []
        """The elements that the links belong to, by number."""

    @contextmanager
    def inside(self, element: Element | None) -> Iterator[None]:
        """What is drawn inside belongs to this element; None makes it decoration."""
        before, self.current = self.current, element
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def element(self, role: str, scope: str | None = None) -> Iterator[None]:
        """What is drawn inside belongs to a new element at the end of the current one."""
        element = self.child(role, scope)
        with self.inside(element):
            yield

    def child(self, role: str, scope: str | None = None) -> Element | None:
        """A new element at the end of the current one; None where that is decoration."""
        if self.current is None:
            return None
        element = Element(role, scope)
        self.current.kids.append(element)
        return element

    def mark(self, page: int) -> int | None:
        """The number of a new stretch of this page in the current element; None for decoration."""
        if self.current is None:
            return None
        numbered = self.marks[page]
        self.current.kids.append(MarkedContent(page, len(numbered)))
        numbered.append(self.current)
        return len(numbered) - 1

    def link(self, page: int, annotation: pydyf.Dictionary) -> None:
        """Make a link's annotation part of the current element."""
        if self.current is not None:
            self.current.kids.append(LinkArea(page, len(self.areas), annotation))
            self.areas.append(self.current)

    def write(self, pdf: pydyf.PDF, pages: Sequence[pydyf.Dictionary]) -> None:
        """Add the structure to a document whose pages and links are in it already."""
        written: dict[int, pydyf.Dictionary] = {}
        root = pydyf.Dictionary({"Type": "/StructTreeRoot"})
        pdf.add_object(root)
        self._write(pdf, self.document, root, pages, written)
        of_pages = [pydyf.Array([written[id(element)].reference for element in page]) for page in self.marks]
        of_links = [written[id(element)].reference for element in self.areas]
        parents = [*(add(pdf, each) for each in of_pages), *of_links]
        numbers = pydyf.Array(part for number, parent in enumerate(parents) for part in (number, parent))
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
        """Add an element and those below it; return its reference."""
        entry = pydyf.Dictionary({"Type": "/StructElem", "S": f"/{element.role}", "P": parent.reference})
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
