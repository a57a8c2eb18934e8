"""Page flow: pages filled from top to bottom, paragraph by paragraph, with a new page when one is full."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from emulator.presentation.pdf.canvas import HEIGHT, WIDTH, Box, Canvas, PdfPage
from emulator.presentation.pdf.text import Colour, Line, Style, wrap

LEFT, RIGHT = 56.0, WIDTH - 56.0
TOP, BOTTOM = 64.0, HEIGHT - 72.0
"""The area for content, in points; the footer is below it."""


class PageFlow:
    """The current page and the height ``y`` down to which it is filled. ``begin`` draws on each new page first."""

    def __init__(self, begin: Callable[[PdfPage], None]) -> None:
        self.canvas = Canvas()
        self.structure = self.canvas.structure
        self._begin = begin
        self.page: PdfPage
        self.y: float
        self.next_page()

    def next_page(self) -> None:
        """Continue at the top of the next page, which exists already if a part beside this one went there."""
        number = self.canvas.pages.index(self.page) + 1 if self.canvas.pages else 0
        if number == len(self.canvas.pages):
            self._begin(self.canvas.page())
        self.page, self.y = self.canvas.pages[number], TOP

    def beside(self, *parts: Callable[[], None]) -> None:
        """Put parts side by side: each begins at the current height, and what follows is below all of them."""
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
        """Put paragraphs, over as many pages as they need. A right-to-left paragraph is aligned right.

        They become an element of this role and scope; without a role they belong to the current element.
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
        """Draw a horizontal rule to the right margin."""
        self.page.fill(Box(left, self.y, RIGHT - left, thickness), colour)
