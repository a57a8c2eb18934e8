"""Ids and secrets, computed from a seed and a counter: the same seed, the same ids (B-18, B-93)."""

from __future__ import annotations

import re
from hashlib import shake_256

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# One byte makes one character. 256 is no multiple of 62, so the first eight characters are slightly
# more frequent.
_CHARACTERS = bytes(_DIGITS[byte % len(_DIGITS)] for byte in range(256))

LENGTH = 24
"""Characters of an id after its prefix (B-18)."""

SECRET_LENGTH = 32
"""Characters of a secret after its prefix (B-81)."""

_EACH = re.compile(f".{{{LENGTH}}}")

_POSITIONS = 64
"""Positions of a page, computed at once: one long hash costs far less than many short ones."""

_FEW = 8
"""Positions computed at first: most of perhaps tens of thousands of worlds draw few ids."""


class IdSource(dict[int, str]):
    """A sequence of random-looking ids, each decided by the seed and its position alone.

    So one integer, the last position used, is all that a saved world needs of its random source. As
    a dict it holds the last page for speed only: the characters of each position.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()

    def __missing__(self, position: int) -> str:
        """Compute the page of a position, or the beginning of it."""
        place = position % _POSITIONS
        first, size = position - place, _FEW if place < _FEW else _POSITIONS
        self.clear()
        self.update(
            enumerate(_EACH.findall(self._characters(f"page {first}", LENGTH * size)), first)
        )
        return self[position]

    def id(self, prefix: str, position: int) -> str:
        """Return ``prefix_`` and the 24 characters (``0-9A-Za-z``) of this position."""
        return f"{prefix}_{self[position]}"

    def secret(self, prefix: str, position: int) -> str:
        """Return ``prefix_`` and 32 characters, not computable from the id of the same position."""
        return f"{prefix}_{self._characters(f'secret {position}', SECRET_LENGTH)}"

    def _characters(self, name: str, length: int) -> str:
        return (
            shake_256(f"{name}/".encode() + self._seed)
            .digest(length)
            .translate(_CHARACTERS)
            .decode("ascii")
        )
