"""Extraction of messages from YAML files and from the table of errors, for ``pybabel extract`` (see ``babel.toml``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from io import BufferedIOBase
from typing import Any

ExtractedMessage = tuple[int, str, str, list[str]]


def texts(
    file: BufferedIOBase, keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Iterator[ExtractedMessage]:
    """The texts of a YAML file that stand in the fields which the option ``fields`` names, or anywhere below them."""
    # Loaded on first use, as in the rest of the emulator.
    import yaml

    root = yaml.compose(file.read().decode())
    for text in _texts(root, options["fields"].split()) if root else ():
        yield text.start_mark.line + 1, "gettext", text.value, []


def errors(
    file: BufferedIOBase, keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Iterator[ExtractedMessage]:
    """The messages of the rows of ``emulator.core.errors``, which imports nothing that could mark them."""
    from babel.messages.extract import extract_python

    for line, _, (_, _, message, *_), _ in extract_python(file, ["ErrorSpec"], comment_tags, options):
        yield line, "gettext", message, []


def _texts(node: Any, fields: Collection[str], is_named: bool = False) -> Iterator[Any]:
    if node.id == "mapping":
        for name, value in node.value:
            yield from _texts(value, fields, is_named or name.value in fields)
    elif node.id == "sequence":
        for each in node.value:
            yield from _texts(each, fields, is_named)
    elif is_named:
        yield node
