"""Reports as one HTML file: the world of a failed test over its time, and what examinations found.

Of a world it shows money, states of subscriptions, renewals and webhooks: plots as inline SVG, each
beside a table of the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import language_of
from emulator.ui.base.pages import environment, in_language
from emulator.ui.base.plots import PlottedWorld, collect
from emulator.ui.reports.failure_sentences import sentence_of

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
        # The head of the page says how far the clock went.
        if not title.startswith("clock: ")
    ]
    anchored: set[str] = set()
    parts = [(with_links(title, anchored), with_links(lines, anchored)) for title, lines in parts]
    return _rendered(
        "failed_test.html",
        test=test,
        sentence=sentence_of(why),
        why=why,
        parts=parts if story else [],
        world=world,
        reason=reason,
    )


def with_links(text: str, anchored: set[str]) -> Markup:
    """Return a text in which every id leads to its first place; ``anchored`` grows."""

    def link(match: re.Match[str]) -> str:
        id = match[0]
        if id in anchored:
            return f'<a href="#{id}">{id}</a>'
        anchored.add(id)
        return f'<span id="{id}">{id}</span>'

    # As str: a Markup escapes what is put into it; the text is escaped here, and ids need not be.
    return Markup(_ID.sub(link, str(escape(text))))  # noqa: S704


_ID = re.compile(r"\b[a-z]{2,10}_[A-Za-z0-9]{24}\b")

_PART = re.compile(r"\n(?=\S)")
"""The beginning of a part of a story: its lines are indented."""


def page_of_report(report: Any) -> str:
    """Return the file about what an examination found (:class:`emulator.checks.report.Report`)."""
    return _rendered("report.html", report=report)


def _rendered(template: str, **values: Any) -> str:
    templates = environment("emulator.ui.reports", static="emulator.ui.console")
    templates.filters["coded"] = _coded
    templates.filters["linked"] = _linked
    return templates.get_template(template).render(
        {**in_language(language_of(catalogs.SOURCE)), **values}
    )


def _linked(fix: str) -> Markup:
    """Return what to do as a link to the guide, if it is an address.

    A file of this machine is only named: whoever opens the page may be elsewhere.
    """
    address = urlsplit(fix)
    if address.scheme not in ("file", "http", "https"):
        return _coded(fix)
    section = address.fragment.replace("-", " ").capitalize()
    title = f"Guide, {_GUIDE_PAGE.sub('', address.path).rpartition('/')[2]}: {section}"
    if address.scheme == "file":
        return escape(title)
    return Markup('<a href="{}">{}</a>').format(fix, title)


_GUIDE_PAGE = re.compile(r"(/index\.html|\.md|/)$")
"""The end of an address of a page of the guide, which is not part of its name."""


def _coded(text: str) -> Markup:
    """Return a sentence with the parts in backticks as code."""
    # As str: a Markup escapes what is put into it.
    # escaped here
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704
