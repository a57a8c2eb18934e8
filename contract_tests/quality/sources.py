"""The project's sources as Python reads them: each once for all tests, a second for all of them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def parsed(file: Path) -> ast.Module:
    """Return a module's syntax tree, which nobody changes."""
    return ast.parse(file.read_text("utf-8"))
