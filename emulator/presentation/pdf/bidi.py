"""Bidirectional text: the direction of each character, and the order of the runs of a line on the page.

The Unicode algorithm (UAX #9) without explicit embeddings, which ``text.clean`` removes, and without paired brackets.
The classes of a paragraph are a string with one letter for each character; each rule is a substitution on it that does
not change its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar
from unicodedata import bidirectional

T = TypeVar("T")

_CLASSES = {
    "L": "L", "R": "R", "AL": "A", "EN": "1", "AN": "2", "ES": "+", "ET": "#", "CS": ",", "NSM": "M",
}  # fmt: skip
"""Strong left, right and Arabic; European and Arabic numbers; separators and terminators of numbers; marks.

All other classes are neutral, N.
"""

_Substitution = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _rule(pattern: str, become: Callable[[re.Match[str]], str]) -> _Substitution:
    return re.compile(pattern), become


def _as(letter: str) -> Callable[[re.Match[str]], str]:
    return lambda match: letter * len(match[0])


_RULES: tuple[_Substitution, ...] = (
    _rule(r"(.)M+", lambda match: match[1] * len(match[0])),  # W1: a mark has the class of the character it is on
    _rule(r"A[^LRA]*", lambda match: match[0].replace("1", "2")),  # W2: numbers after Arabic letters
    _rule(r"A", _as("R")),  # W3
    _rule(r"(?<=1)[+,](?=1)", _as("1")),  # W4: one separator between two digits
    _rule(r"(?<=2),(?=2)", _as("2")),
    _rule(r"#+(?=1)|(?<=1)#+", _as("1")),  # W5: signs next to a number
    _rule(r"[+,#]", _as("N")),  # W6
    _rule(r"L[^LR]*", lambda match: match[0].replace("1", "L")),  # W7: numbers after Latin letters
    _rule(r"(?<=[R12])N+(?=[R12])", _as("R")),  # N1: neutrals between two of the same direction
    _rule(r"(?<=L)N+(?=L)", _as("L")),
)

_LEVELS = ({"L": 0, "R": 1, "1": 2, "2": 2}, {"R": 1, "L": 2, "1": 2, "2": 2})
"""Level of each resolved class where the paragraph runs left to right, and where it runs right to left (I1, I2)."""


def is_rtl(text: str) -> bool:
    """Whether a paragraph runs right to left: its first strong character decides (P2, P3)."""
    strong = (kind for kind in map(bidirectional, text) if kind in ("L", "R", "AL"))
    return next(strong, "L") != "L"


def levels(text: str, rtl: bool) -> list[int]:
    """The embedding level of each character of a paragraph; odd levels run right to left."""
    base = "R" if rtl else "L"
    classes = base + "".join(_CLASSES.get(bidirectional(character), "N") for character in text) + base
    for pattern, become in _RULES:
        classes = pattern.sub(become, classes)
    return [_LEVELS[rtl][letter] for letter in classes[1:-1].replace("N", base)]


def visual(items: Sequence[T], level: Callable[[T], int]) -> list[T]:
    """The items of a line, each of one level, in the order they are drawn from left to right (L2)."""
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
