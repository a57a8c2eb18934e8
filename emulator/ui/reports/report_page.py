"""Reports as one HTML file: what happened in worlds over their time, and what examinations found.

Of a world it shows money, states of subscriptions, renewals and webhooks: plots as inline SVG, each beside a table of
the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from emulator.core.records import N_
from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import Language, language_of
from emulator.ui.base.pages import environment, in_language
from emulator.ui.base.plots import Curve, Lane, Newest, endpoint_lane, instant, merchant_curves, subscription_lane

# -- what a report shows of a world


Get = Callable[..., Any]
"""The JSON at a complete path of an emulator: ``get("/_emulator/events", page=2)``."""

PAGE = 100
"""The most objects on one page of a list."""

MOST = 1000
"""The newest events, postings and deliveries that are shown of each kind."""

LANES = 40
"""The newest subscriptions and webhook endpoints that are shown."""


class WorldReport(NamedTuple):
    """One App's world up to now: ``money`` is what the merchant has received, ``lists`` what all was drawn from."""

    app: str
    now: datetime
    balanced: bool
    money: list[Curve]
    subscriptions: list[Lane]
    webhooks: list[Lane]
    lists: list[Newest]

    @property
    def owing(self) -> int:
        """How many of the subscriptions are past due or unpaid now."""
        return sum(each.stretches[-1].state in ("past_due", "unpaid") for each in self.subscriptions if each.stretches)

    @property
    def failed_attempts(self) -> int:
        """How many attempts of webhook deliveries failed."""
        return sum(mark.outcome == "failed" for each in self.webhooks for mark in each.marks)


def collect(get: Get) -> WorldReport:
    """Read everything from a running emulator."""
    now = instant(get("/_emulator/clock")["now"])
    ledger = get("/_emulator/ledger", page_size=1)
    entries = _newest(
        N_("The last {shown} of {count} ledger entries."),
        lambda page: get("/_emulator/ledger", page=page, page_size=PAGE)["entries"],
    )
    events = _newest(
        N_("The last {shown} of {count} events."), lambda page: get("/_emulator/events", page=page, page_size=PAGE)
    )
    subscriptions = _listed(get, "/v1/subscriptions/", N_("The newest {shown} of {count} subscriptions."))
    endpoints = _listed(get, "/v1/webhooks/", N_("The newest {shown} of {count} webhook endpoints."))
    sent = [_listed(get, f"/v1/webhooks/{each['id']}/deliveries/", "", PAGE) for each in endpoints.rows]
    all_sent = Newest(
        [each for one in sent for each in one.rows],
        sum(one.total for one in sent),
        N_("{shown} of {count} deliveries, the newest of each endpoint."),
    )
    ids = [each["id"] for each in subscriptions.rows]
    names = get("/_emulator/names", ids=",".join(ids)) if ids else {}
    return WorldReport(
        app=get("/_emulator/app")["name"],
        now=now,
        balanced=ledger["balanced"],
        money=merchant_curves(ledger, entries.rows, now),
        subscriptions=[
            _subscription(get, names.get(each["id"], each["id"]), each, events.rows, now) for each in subscriptions.rows
        ],
        webhooks=[
            endpoint_lane(each["name"], deliveries.rows) for each, deliveries in zip(endpoints.rows, sent, strict=True)
        ],
        lists=[entries, events, subscriptions, endpoints, all_sent],
    )


def _newest(said: str, page_of: Callable[[int], Any]) -> Newest:
    """Return the newest ``MOST`` objects of a list, read page by page."""
    rows: list[Any] = []
    for page in range(1, MOST // PAGE + 1):
        found = page_of(page)
        rows += found["data"]
        if page >= found["pagination"]["total_pages"]:
            break
    return Newest(rows[::-1], found["pagination"]["count"], said)


def _listed(get: Get, path: str, said: str, most: int = LANES) -> Newest:
    """Return the newest objects of a list of the service."""
    found = get(path, page_size=most)
    return Newest(found["data"][::-1], found["pagination"]["count"], said)


def _subscription(get: Get, name: str, subscription: Any, events: list[Any], now: datetime) -> Lane:
    chain = get(f"/_emulator/explain/{subscription['id']}")["chain"]
    return subscription_lane(name, subscription, chain, events, now)


# -- the file


class TestedWorld(NamedTuple):
    """A test, how it ended (``passed`` or ``failed``), and the charts of its world as HTML."""

    name: str
    outcome: str
    charts: str


def page(report: WorldReport, language: Language) -> str:
    """Return the file about one world, in a language."""
    return _rendered("report.html", language, **_values(report, prefix=""))


def charts(report: WorldReport, language: Language) -> str:
    """Return one world as a part of the file of a test run; its App's name begins the ids, which are unique there."""
    return _rendered("world.html", language, **_values(report, prefix=f"{report.app}-"))


def page_of_tests(tests: Iterable[TestedWorld], language: Language) -> str:
    """Return the file about a test run, in the order of the tests' names, whichever worker ran them."""
    return _rendered("tests.html", language, tests=sorted(tests))


def page_of_areas(report: Any, guide: Mapping[str, str]) -> str:
    """Return the file about an application and its tests, a part for each area; ``guide`` has a link for each."""
    return _rendered("areas.html", language_of(catalogs.SOURCE), report=report, guide=guide)


def _values(report: WorldReport, *, prefix: str) -> dict[str, Any]:
    return {"report": report, "prefix": prefix}


def _rendered(template: str, language: Language, **values: Any) -> str:
    templates = environment("emulator.ui.reports", static="emulator.ui.console")
    templates.filters["coded"] = _coded
    return templates.get_template(template).render({**in_language(language), **values})


def _coded(text: str) -> Markup:
    """Return a sentence in which what stands in backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escape(text)))  # noqa: S704  # escaped here
