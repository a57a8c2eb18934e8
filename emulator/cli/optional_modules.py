"""Modules of others that a command's own process does not import, even where they are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OPTIONAL = frozenset(
    (
        *("flask", "httpx2", "httpx._main", "brotli", "brotlicffi", "zstandard", "chardet"),
        *("simplejson", "fqdn", "isoduration", "jsonpointer", "rfc3339_validator", "rfc3987"),
        *("rfc3986_validator", "rfc3987_syntax", "uri_template", "webcolors"),
    )
)
"""Modules that Connexion imports if they are there, itself or through a package that it needs.

It and these packages do without them: they belong to ``connexion[flask]``, Starlette's client for
tests, ``httpx[cli]``, which brings rich and pygments, ``httpx[brotli,zstd]``, two packages that
requests prefers to its own, and ``jsonschema[format]``.
"""


class LeftOut(MetaPathFinder):
    """Answers an import of an optional module as if it were not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Return None for any other module, which the finders after this one look for."""
        if name in OPTIONAL:
            raise ModuleNotFoundError(f"{name} is not imported here", name=name)
        return None


@contextmanager
def left_out() -> Iterator[None]:
    """Leave out the optional modules of what is imported meanwhile.

    A start takes as long as the emulator's own packages take, whatever else is installed. This is
    for processes that are the emulator's alone: in a test's process, others want these modules.
    """
    finder = LeftOut()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
