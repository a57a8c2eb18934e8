"""Constants, functions and fields that nothing uses: vulture finds them, except what others use by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vulture import Vulture  # type: ignore[import-untyped]  # it has no types

import emulator
from emulator.document import bundles

FOLDER = Path(emulator.__path__[0])

COMMANDS = ["@click.*", "@*.command", "@*.group", "@pytest.*", "@sa.event.*", "@mcp.*"]
"""Decorators that make something used: commands, fixtures, listeners and resources."""

CALLED_BY_OTHERS = [
    *("do_POST", "log_message", "daemon_threads", "request_queue_size", "wbufsize"),  # http.server
    *("list_commands", "get_missing_message", "shell_complete"),  # click
    *("write_usage", "write_text", "write_dl", "make_formatter"),  # click as well
    *("format_commands", "format_options", "context_class", "get_command"),  # click as well
    *("make_operation", "api_cls"),  # Connexion
    *("on_header", "eof_received", "keep_alive", "main_loop"),  # httptools, uvicorn
    *("redirect_slashes", "globals"),  # Starlette and Jinja
    *("isolation_level", "WRITE_CACHE_SIZE"),  # sqlite3 and TinyDB
    *("scale", "direction", "flags"),  # HarfBuzz
    *("check_config",),  # MkDocs
    *("prec",),  # decimal
    *("ignore_aliases",),  # PyYAML
    *("pytest_*", "keywords", "comment_tags"),  # hooks of pytest and Babel
    *("__getattr__", "trace"),  # Python: of a module, and the third argument of __exit__
]

FOR_TESTS = ["component_name"]
"""What only the tests use, of a module that the emulator uses."""

OF_EARLIER_VERSIONS = ["told"]
"""Names that test suites of users may still call."""


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


def unused(*paths: Path) -> list[str]:
    """What is used neither in these modules nor by others."""
    vulture = Vulture(ignore_names=[*CALLED_BY_OTHERS, *FOR_TESTS, *OF_EARLIER_VERSIONS], ignore_decorators=COMMANDS)
    vulture.scavenge([str(path) for path in paths])
    used = set(names())
    return [
        f"{item.filename}:{item.first_lineno}: {item.message}"
        for item in vulture.get_unused_code(60)
        if item.name not in used
    ]


def test_nothing_is_unused() -> None:
    assert unused(FOLDER) == []


def test_what_is_unused_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("LIMIT = 1\n\n\ndef helper():\n    return 2\n")
    assert [each.rpartition(": ")[2] for each in unused(module)] == [
        "unused variable 'LIMIT'",
        "unused function 'helper'",
    ]
