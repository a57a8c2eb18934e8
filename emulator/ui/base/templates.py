"""Templates: Jinja's environment for the pages of a package, and a page in the reader's language."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import Language, language_of
from emulator.ui.base import plots

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment(package: str) -> Environment:
    """The templates of a package and of this one; every value is escaped, and an undefined one is an error."""
    # Loaded on first use: most servers never show a page.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("emulator.ui.base")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= plots.SHARED
    return environment


def in_language(language: Language) -> dict[str, Any]:
    """What templates translate and format with."""
    return {
        "_": language.gettext,
        "ngettext": language.ngettext,
        "pgettext": language.pgettext,
        "language": language,
        "languages": [language_of(code) for code in catalogs.languages()],
    }
