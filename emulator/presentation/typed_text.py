"""Text as people type or paste it, read as they meant it (B-35).

The API takes none of it: a program sends what it means.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WIDE = {0xFF01 + offset: chr(0x21 + offset) for offset in range(94)}
"""Full-width forms, which keyboards of East Asia write."""

_SEPARATORS = re.compile(r"[\s.()\u2010-\u2015\u2212-]")
"""What stands between the digits of a number: blanks, dots, parentheses and dashes."""

_NUMBER = re.compile(r"\+?[0-9]{6,19}")


def _is_invisible(letter: str) -> bool:
    """Return whether a character only says how others are shown: marks of direction, joiners,
    blanks without width.
    """
    return unicodedata.category(letter) == "Cf"


def _is_blank(letter: str) -> bool:
    return letter.isspace() or _is_invisible(letter)


def stripped(text: str) -> str:
    """Return text without the blanks and invisible marks around it; within a name they may have a
    meaning.
    """
    start, end = 0, len(text)
    while start < end and _is_blank(text[start]):
        start += 1
    while start < end and _is_blank(text[end - 1]):
        end -= 1
    return text[start:end]


def plain(text: str) -> str:
    """Return text that means the same in ASCII: digits of any script, full-width forms, and no
    invisible marks.
    """
    if text.isascii():
        return text.strip()
    visible = (letter for letter in text.translate(_WIDE) if not _is_invisible(letter))
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in visible).strip()


def number(text: str) -> str:
    """Return the number of a card or an account without what separates its digits."""
    return compact(plain(text))


def phone(text: str) -> str:
    """Return a phone number in E.164, where 00 may stand for the plus."""
    digits = number(text)
    return f"+{digits[2:]}" if digits.startswith("00") else digits


def compact(text: str) -> str:
    """Return text in which the digits of a number follow one another, to search for one."""
    return _SEPARATORS.sub("", text)


@lru_cache(64)  # it is asked for each object that is looked through
def sought_number(text: str) -> str | None:
    """Return the digits of a sought phone or card number; None for any other text."""
    digits = phone(text)
    return digits if _NUMBER.fullmatch(digits) else None
