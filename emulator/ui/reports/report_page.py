"""Reports as one HTML file: the world of a failed test over its time, and what examinations found.

Of a world it shows money, states of subscriptions, renewals and webhooks: plots as inline SVG, each
beside a table of the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from markupsafe import Markup, escape

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import language_of
from emulator.ui.base.pages import environment, in_language
from emulator.ui.base.plots import PlottedWorld, collect

PAGES, LANES = 10, 40
"""How many pages of newest events and postings, subscriptions, and endpoints are shown."""


def read(get: Callable[..., Any]) -> PlottedWorld:
    """Read all from a running emulator: ``get("/_emulator/events", page=2)`` returns JSON."""

    async def at_once(path: str, **query: Any) -> Any:
        return get(f"/_emulator/{path}", **query)

    try:
        collect(at_once, language_of(catalogs.SOURCE), pages=PAGES, lanes=LANES).send(None)
    except StopIteration as done:  # it never waits, so that no event loop is needed
        world: PlottedWorld = done.value
        return world
    raise AssertionError("it waits for something")


def page_of_failed_test(
    test: str, why: str, story: str, world: PlottedWorld | None, reason: str = ""
) -> str:
    """Return a failed test's file: ``why``, its ``story``, and its world or the reason for none."""
    # Beside plots a second is exact enough.
    story = re.sub(r"(:\d\d)\.\d{3}Z", r"\1Z", story)
    parts = [
        (title.rstrip(":"), dedent(lines))
        for title, _, lines in (part.partition("\n") for part in _PART.split(story))
    ]
    return _rendered(
        "failed_test.html",
        test=test,
        why=why,
        parts=parts if story else [],
        world=world,
        reason=reason,
    )


_PART = re.compile(r"\n(?=\S)")
"""The beginning of a part of a story: its lines are indented."""


def page_of_report(report: Any) -> str:
    """Return the file about what an examination found (:class:`emulator.checks.report.Report`)."""
    return _rendered("report.html", report=report)


def _rendered(template: str, **values: Any) -> str:
    templates = environment("emulator.ui.reports", static="emulator.ui.console")
    templates.filters["coded"] = _coded
    return templates.get_template(template).render(
        {**in_language(language_of(catalogs.SOURCE)), **values}
    )


def _coded(text: str) -> Markup:
    """Return a sentence with the parts in backticks as code."""
    # As str: a Markup escapes what is put into it.
    # escaped here
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704
