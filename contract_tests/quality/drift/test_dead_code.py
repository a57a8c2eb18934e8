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

COMMANDS = ["@examination", "@resource", "@click.*", "@*.command", "@*.group", "@pytest.*", "@mcp.*"]
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
    *("pytest_*", "tbstyle", "keywords"),  # hooks and options of pytest, and Babel
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


def test_nothing_is_unused() -> None:
    vulture = Vulture(ignore_names=[*CALLED_BY_OTHERS, *FOR_TESTS], ignore_decorators=COMMANDS)
    vulture.scavenge([str(FOLDER)])
    found = {each.name: f"{each.filename}:{each.first_lineno}: {each.message}" for each in vulture.get_unused_code(60)}
    assert [found[name] for name in found.keys() - set(names())] == []
