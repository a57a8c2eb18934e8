"""Extraction of messages from fixtures, for ``pybabel extract`` (see ``babel.toml``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from io import BufferedIOBase
from typing import Any

ExtractedMessage = tuple[int, str, str, list[str]]


def magic_values(
    file: BufferedIOBase, keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Iterator[ExtractedMessage]:
    """What each magic value of ``fixtures/magic.yaml`` means, one value a line."""
    # Loaded on first use, as in the rest of the emulator.
    import yaml

    root = yaml.compose(file.read().decode())
    for _, values in root.value if root else ():
        for value in values.value:
            for field, text in value.value:
                if field.value == "meaning":
                    yield text.start_mark.line + 1, "gettext", text.value, []
