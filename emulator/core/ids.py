"""Ids and secrets: drawn from a seed and a counter, so that a world with a seed always gives the same (B-18, B-93)."""

from __future__ import annotations

from hashlib import blake2b

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# One byte makes one character. The first eight digits come a little more often, which no id minds: this is the
# quickest way from a hash to text, and a renewal draws eight ids.
_CHARACTERS = bytes(_DIGITS[byte % len(_DIGITS)] for byte in range(256))


class Source:
    """An endless row of unpredictable looking values that only the seed and the position decide.

    There is no hidden state: whoever knows ``seed`` and the position of the last draw can go on from there, so a
    saved world needs one integer for its random source.
    """

    def __init__(self, seed: str) -> None:
        self._key = blake2b(seed.encode(), digest_size=32).digest()

    def text(self, position: int, length: int = 24) -> str:
        """``length`` characters (at most 64) of ``0-9A-Za-z`` for this position."""
        drawn = blake2b(position.to_bytes(8, "big"), key=self._key, digest_size=length).digest()
        return drawn.translate(_CHARACTERS).decode("ascii")

    def id(self, prefix: str, position: int, length: int = 24) -> str:
        """``prefix_`` and that text."""
        return f"{prefix}_{self.text(position, length)}"
