"""Reports as one HTML file: what happened in worlds over their time, and what examinations found.

Of a world it shows money, states of subscriptions, renewals and webhooks: plots as inline SVG, each beside a table of
the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import Language, language_of
from emulator.ui.base.pages import environment, in_language
from emulator.ui.base.plots import PlottedWorld, collect

# -- what a report shows of a world


PAGES, LANES = 10, 40
"""How many pages of the newest events and postings, and how many subscriptions and webhook endpoints, are shown."""


def read(get: Callable[..., Any], language: Language) -> PlottedWorld:
    """Read everything from a running emulator: ``get("/_emulator/events", page=2)`` returns JSON."""

    async def at_once(path: str, **query: Any) -> Any:
        return get(f"/_emulator/{path}", **query)

    try:
        collect(at_once, language, pages=PAGES, lanes=LANES).send(None)
    except StopIteration as done:  # it never waits, so that no event loop is needed
        found: PlottedWorld = done.value
        return found
    raise AssertionError("it waits for something")


# -- the file


class TestedWorld(NamedTuple):
    """A test, how it ended (``passed`` or ``failed``), and the charts of its world as HTML."""

    name: str
    outcome: str
    charts: str


def page(report: PlottedWorld, language: Language) -> str:
    """Return the file about one world, in a language."""
    return _rendered("report.html", language, report=report, prefix="")


def charts(report: PlottedWorld, language: Language) -> str:
    """Return one world as a part of the file of a test run; its App's name begins the ids, which are unique there."""
    return _rendered("world.html", language, report=report, prefix=f"{report.app}-")


def page_of_tests(tests: Iterable[TestedWorld], language: Language) -> str:
    """Return the file about a test run, in the order of the tests' names, whichever worker ran them."""
    return _rendered("tests.html", language, tests=sorted(tests))


def page_of_areas(report: Any, guide: Mapping[str, str]) -> str:
    """Return the file about an application and its tests, a part for each area; ``guide`` has a link for each."""
    return _rendered("areas.html", language_of(catalogs.SOURCE), report=report, guide=guide)


def _rendered(template: str, language: Language, **values: Any) -> str:
    templates = environment("emulator.ui.reports", static="emulator.ui.console")
    templates.filters["coded"] = _coded
    return templates.get_template(template).render({**in_language(language), **values})


def _coded(text: str) -> Markup:
    """Return a sentence in which what stands in backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escape(text)))  # noqa: S704  # escaped here
