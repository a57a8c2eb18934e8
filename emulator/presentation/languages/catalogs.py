"""Message catalogs: one ``locales/LANGUAGE/LC_MESSAGES/messages.po`` for each language but English.

Messages of YAML files and of the table of errors are extracted here, for ``pybabel extract`` (see
``babel.toml``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Any

from emulator.core.vendored import library

# -- catalogs


SOURCE = "en"
"""The language of the messages in the code."""

LOCALES = Path(__file__).parent / "locales"


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of all languages (``en``, ``fr``), English first."""
    return (SOURCE, *sorted(folder.name for folder in LOCALES.iterdir() if folder.is_dir()))


@cache
def translations(language: str) -> NullTranslations:
    """Return a language's translations, read from ``.po`` on first use: nothing is compiled."""
    if language == SOURCE:
        return NullTranslations()
    # Loaded on first use: most servers never show a page in another language.
    write_mo, read_po = (
        library("babel.messages.mofile").write_mo,
        library("babel.messages.pofile").read_po,
    )
    compiled = BytesIO()
    with (LOCALES / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)


# -- extraction


ExtractedMessage = tuple[int, str, str | tuple[str, ...], list[str]]


def messages(
    file: BufferedIOBase,
    keywords: Collection[str],
    comment_tags: Collection[str],
    options: Mapping[str, Any],
) -> Iterator[ExtractedMessage]:
    """Yield a Python file's messages as Babel does, which is slow to see that most have none."""
    from babel.messages.extract import extract_python

    source = file.read()
    if re.search(rf"\b({'|'.join(keywords)})\(".encode(), source):
        file.seek(0)
        yield from extract_python(file, keywords, comment_tags, options)


def texts(
    file: BufferedIOBase,
    keywords: Collection[str],
    comment_tags: Collection[str],
    options: Mapping[str, Any],
) -> Iterator[ExtractedMessage]:
    """Yield a YAML file's texts in and below the fields that the option ``fields`` names.

    In a field of the option ``contexts`` stand lists of words, each under the context in which they
    are translated. The fields ``one`` and ``many`` beside each other are forms of one message.
    """
    # Loaded on first use, as in the rest of the emulator.
    import yaml

    root: Any = yaml.compose(file.read().decode())
    for text in _texts(root, options["fields"].split()) if root else ():
        yield text.start_mark.line + 1, "gettext", text.value, []
    for one, many in _plurals(root) if root else ():
        yield one.start_mark.line + 1, "ngettext", (one.value, many.value), []
    contexts = options.get("contexts", "").split()
    fields_with_contexts = (
        [value for name, value in root.value if name.value in contexts] if contexts else []
    )
    for context, words in (pair for field in fields_with_contexts for pair in field.value):
        for word in words.value:
            yield (
                word.start_mark.line + 1,
                "pgettext",
                (context.value, word.value.replace("_", " ")),
                [],
            )


def errors(
    file: BufferedIOBase,
    keywords: Collection[str],
    comment_tags: Collection[str],
    options: Mapping[str, Any],
) -> Iterator[ExtractedMessage]:
    """Yield the messages of ``emulator.core.errors``, which imports nothing to mark them."""
    from babel.messages.extract import extract_python

    for line, _, (_, *texts), _ in extract_python(file, ["ErrorSpec"], comment_tags, options):
        # Codes stand beside the messages; only messages are sentences.
        for message in texts:
            if message and message.endswith("."):
                yield line, "gettext", message, []


def _plurals(node: Any) -> Iterator[tuple[Any, Any]]:
    pairs = node.value if node.id == "mapping" else ()
    fields = {name.value: value for name, value in pairs}
    if {"one", "many"} <= fields.keys():
        yield fields["one"], fields["many"]
    for part in fields.values() if pairs else node.value if node.id == "sequence" else ():
        yield from _plurals(part)


def _texts(node: Any, fields: Collection[str], is_named: bool = False) -> Iterator[Any]:
    if node.id == "mapping":
        for name, value in node.value:
            yield from _texts(value, fields, is_named or name.value in fields)
    elif node.id == "sequence":
        for part in node.value:
            yield from _texts(part, fields, is_named)
    elif is_named:
        yield node
