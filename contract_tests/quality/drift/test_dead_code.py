"""Constants, functions and fields that nothing uses: vulture finds them, except what others use by name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vulture import Vulture  # type: ignore[import-untyped]  # it has no types

import emulator
from emulator.document import bundles

FOLDER = Path(emulator.__path__[0])

COMMANDS = ["@click.*", "@*.command", "@*.group", "@pytest.*", "@mcp.*"]
"""Decorators that make something used: commands, fixtures and resources."""

CALLED_BY_OTHERS = [
    *("do_POST", "log_message", "daemon_threads", "request_queue_size", "wbufsize"),  # http.server
    *("list_commands", "get_missing_message", "shell_complete"),  # click
    *("format_commands",),  # click
    *("make_operation", "api_cls"),  # Connexion
    *("on_header", "eof_received", "main_loop"),  # httptools, uvicorn
    *("redirect_slashes", "globals"),  # Starlette and Jinja
    *("WRITE_CACHE_SIZE",),  # TinyDB
    *("direction",),  # HarfBuzz
    *("check_config",),  # MkDocs
    *("prec",),  # decimal
    *("pytest_*", "keywords"),  # hooks of pytest, and Babel
    *("__getattr__", "trace"),  # Python: of a module, and the third argument of __exit__
]

FOR_TESTS = ["component_name"]
"""What only the tests use, of a module that the emulator uses."""


def names() -> Iterator[str]:
    """Names that are used outside of Python: the fields of the documents, and every word of a template."""
    for document in ("service", "control"):
        yield from _properties(bundles.load(document))
    for file in FOLDER.rglob("templates/*"):
        yield from re.findall(r"[A-Za-z_]\w+", file.read_text("utf-8"))


def _properties(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _properties(each)
    elif isinstance(node, dict):
        yield from node["properties"] if isinstance(node.get("properties"), dict) else ()
        for each in node.values():
            yield from _properties(each)


def unused(*paths: Path, excused: Sequence[str] = (*CALLED_BY_OTHERS, *FOR_TESTS)) -> dict[str, str]:
    """What is used neither in these modules nor by others: by name, a sentence each."""
    vulture = Vulture(ignore_names=[*excused], ignore_decorators=COMMANDS)
    vulture.scavenge([str(path) for path in paths])
    used = set(names())
    return {
        item.name: f"{item.filename}:{item.first_lineno}: {item.message}"
        for item in vulture.get_unused_code(60)
        if item.name not in used
    }


def test_nothing_is_unused() -> None:
    assert [*unused(FOLDER).values()] == []


def test_each_exception_is_needed() -> None:
    found = unused(FOLDER, excused=())
    assert [name for name in (*CALLED_BY_OTHERS, *FOR_TESTS) if not fnmatch.filter(found, name)] == []


def test_what_is_unused_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("LIMIT = 1\n\n\ndef helper():\n    return 2\n")
    assert [each.rpartition(": ")[2] for each in unused(module).values()] == [
        "unused variable 'LIMIT'",
        "unused function 'helper'",
    ]
