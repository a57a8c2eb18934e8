"""Message catalogs: one ``locales/LANGUAGE/LC_MESSAGES/messages.po`` for each language but English.

English is the language of the messages in the code, so it has no catalog. A folder that is added is one more language;
what its catalog does not translate is shown in English.
"""

from __future__ import annotations

from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from emulator.core.vendored import library

SOURCE = "en"
"""The language of the messages in the code."""

LOCALES = Path(__file__).parent / "locales"


@cache
def languages() -> tuple[str, ...]:
    """The codes of all languages (``en``, ``fr``), English first."""
    return (SOURCE, *sorted(folder.name for folder in LOCALES.iterdir() if folder.is_dir()))


@cache
def translations(language: str) -> NullTranslations:
    """The translations into a language. The ``.po`` file is read on first use: nothing has to be compiled before."""
    if language == SOURCE:
        return NullTranslations()
    # Loaded on first use: most servers never show a page in another language.
    write_mo, read_po = library("babel.messages.mofile").write_mo, library("babel.messages.pofile").read_po
    compiled = BytesIO()
    with (LOCALES / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)
