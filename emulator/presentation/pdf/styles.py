"""The colours and text styles of PDFs."""

from __future__ import annotations

from emulator.presentation.pdf.text import Style

INK = (0.09, 0.13, 0.20)
SOFT = (0.38, 0.43, 0.52)
HAIR = (0.86, 0.88, 0.92)
ACCENT = (0.04, 0.33, 0.68)
WHITE = (1.0, 1.0, 1.0)
STAMPS = {
    "open": (0.04, 0.33, 0.68),
    "paid": (0.05, 0.48, 0.30),
    "void": (0.76, 0.13, 0.16),
    "uncollectible": (0.66, 0.36, 0.02),
}

BODY = Style(9.5, colour=INK)
STRONG = Style(9.5, bold=True, colour=INK)
QUIET = Style(9.0, colour=SOFT)
LABEL = Style(8.0, bold=True, colour=SOFT)
NAME = Style(17.0, bold=True, colour=INK, leading=1.25)
TITLE = Style(22.0, bold=True, colour=INK, leading=1.2)
HEADLINE = Style(15.0, bold=True, colour=INK, leading=1.3)
LINK = Style(9.0, colour=ACCENT)
BUTTON = Style(10.0, bold=True, colour=WHITE)
SMALL = Style(8.0, colour=SOFT)
MARK = Style(118.0, bold=True, colour=(0.98, 0.89, 0.89))
"""The word across every page of a void invoice, drawn below the text."""
