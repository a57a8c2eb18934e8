"""A sheet: paper filled from top to bottom, paragraph by paragraph, with a new page where one is full."""

from __future__ import annotations

from collections.abc import Callable

from emulator.rendering.canvas import HEIGHT, WIDTH, Box, Canvas, Page
from emulator.rendering.text import Colour, Line, Style, wrap

LEFT, RIGHT = 56.0, WIDTH - 56.0
TOP, BOTTOM = 64.0, HEIGHT - 72.0
"""What is filled; the foot of a page is below."""


class PageFlow:
    """The page it is at, and how far down (``y``) that page is used. ``begin`` adorns each new page."""

    def __init__(self, begin: Callable[[Page], None]) -> None:
        self.canvas = Canvas()
        self._begin = begin
        self.page: Page
        self.y: float
        self.turn_page()

    def turn_page(self) -> None:
        """Go on at the top of the next page, a new one unless something beside this went there before."""
        number = self.canvas.pages.index(self.page) + 1 if self.canvas.pages else 0
        if number == len(self.canvas.pages):
            self._begin(self.canvas.page())
        self.page, self.y = self.canvas.pages[number], TOP

    def beside(self, *parts: Callable[[], None]) -> None:
        """Parts next to one another: each begins at the present height, and what follows is below all of them."""
        start, ends = (self.page, self.y), []
        for part in parts:
            self.page, self.y = start
            part()
            ends.append((self.canvas.pages.index(self.page), self.y))
        number, self.y = max(ends)
        self.page = self.canvas.pages[number]

    def room(self, height: float) -> bool:
        """Go to a new page if this one has not so much left; whether that was so."""
        short = self.y + height > BOTTOM
        if short:
            self.turn_page()
        return short

    def put(
        self, text: str, style: Style, left: float, width: float, *, to_right: bool = False, to_left: bool = False
    ) -> None:
        """Paragraphs, over as many pages as they take. One that runs from right to left begins at the right."""
        for line in wrap(text, style, width):
            self.room(style.height)
            self.line(line, left, width, to_right or (line.rtl and not to_left))
            self.y += style.height

    def line(self, line: Line, left: float, width: float, to_right: bool = False) -> None:
        """One line at the present height; the height stays."""
        x = left + width - line.width if to_right else left
        self.page.text(line, x, self.y + line.style.height * 0.5 + line.style.size * 0.35)

    def rule(self, colour: Colour, thickness: float, left: float = LEFT) -> None:
        """A line across, to the right margin."""
        self.page.fill(Box(left, self.y, RIGHT - left, thickness), colour)
