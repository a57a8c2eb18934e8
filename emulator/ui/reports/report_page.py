"""Reports of worlds as HTML: plots as inline SVG, each beside a table with the same facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from emulator.presentation.languages.language import Language
from emulator.ui.base.templates import environment, in_language
from emulator.ui.reports.collection import WorldReport


class TestedWorld(NamedTuple):
    """A test, how it ended (``passed`` or ``failed``), and the charts of its world as HTML."""

    name: str
    outcome: str
    charts: str


def page(report: WorldReport, language: Language) -> str:
    """The file about one world, in a language."""
    return _rendered("report.html", language, **_values(report, prefix=""))


def charts(report: WorldReport, language: Language) -> str:
    """One world as a part of the file of a test run; its App's name begins the ids, which are unique there."""
    return _rendered("world.html", language, **_values(report, prefix=f"{report.app}-"))


def page_of_tests(tests: Iterable[TestedWorld], language: Language) -> str:
    """The file about a test run, in the order of the tests' names, whichever worker ran them."""
    return _rendered("tests.html", language, tests=sorted(tests))


def _values(report: WorldReport, *, prefix: str) -> dict[str, Any]:
    return {"report": report, "prefix": prefix}


def _rendered(template: str, language: Language, **values: Any) -> str:
    return environment("emulator.ui.reports").get_template(template).render({**in_language(language), **values})
