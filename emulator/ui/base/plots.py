"""Plots over time as inline SVG, and a world's plotted values; ``templates/plots.html`` draws.

Timelines of states and curves of money are made of responses of the control API.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from math import inf
from typing import Any, NamedTuple

from emulator.core.records import N_
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import status_name

# -- plots


ROW, HEIGHT = 46, 96
"""Pixels: heights of a timeline's row and a currency's curve. Times are percents of the width."""

TICKS = 4

NARROW, DESK = 330, 900
"""Pixels of a plot on a phone and at a desk, to decide whether the name of a state fits."""


class Mark(NamedTuple):
    """An event at an instant.

    ``outcome``: ``succeeded``, ``failed``, ``ended``, ``announced``, ``waiting`` without one yet.
    """

    at: datetime
    outcome: str
    text: str


class Stretch(NamedTuple):
    start: datetime
    end: datetime
    state: str


class Lane(NamedTuple):
    name: str
    stretches: list[Stretch]
    marks: list[Mark]


class Curve(NamedTuple):
    """A currency's amount after each change (minor units); ``start`` is that before the first."""

    currency: str
    points: list[tuple[datetime, int]]
    start: int = 0


class Axis(NamedTuple):
    """Time as percents of the width."""

    began: datetime
    ended: datetime

    def x(self, at: datetime) -> float:
        whole = (self.ended - self.began) / timedelta(seconds=1)
        return round(100 * ((at - self.began) / timedelta(seconds=1)) / whole, 2) if whole else 0

    def ticks(self, language: Language) -> Iterator[tuple[float, str]]:
        """Yield the instants to name, with their percents."""
        whole = self.ended - self.began
        form = (
            "d MMM y"
            if whole > timedelta(days=300)
            else "d MMM"
            if whole > timedelta(days=4)
            else "d MMM, HH:mm"
        )
        for number in range(TICKS + 1 if whole else 1):
            at = self.began + whole * number / TICKS
            yield self.x(at), language.instant(at.isoformat(), form)

    def room(self, stretch: Stretch, name: str) -> str:
        """Return where a state's name fits: ``always``, ``desk`` (there only) or ``never``."""
        share = (self.x(stretch.end) - self.x(stretch.start)) / 100
        needed = len(name) * 7 + 16
        return "always" if share * NARROW > needed else "desk" if share * DESK > needed else "never"

    def steps(self, curve: Curve) -> Iterator[tuple[float, float, float, float]]:
        """Yield a curve's lines: an amount stands until the next change. Percents and pixels."""
        low, high = bounds(curve)

        def y(amount: int) -> float:
            return round(HEIGHT - HEIGHT * (amount - low) / (high - low), 1)

        x, last = self.x(curve.points[0][0]), y(curve.start)
        for at, amount in curve.points:
            yield x, last, self.x(at), last
            yield self.x(at), last, self.x(at), y(amount)
            x, last = self.x(at), y(amount)
        yield x, last, self.x(self.ended), last


def bounds(curve: Curve) -> tuple[int, int]:
    """Return the least and the greatest amount on the scale of a curve, 0 included."""
    amounts = [curve.start, *(amount for _, amount in curve.points)]
    return min(0, *amounts), max(1, *amounts)


def axis_of(drawn: Iterable[Lane | Curve], now: datetime) -> Axis:
    times = [now]
    for plot in drawn:
        if isinstance(plot, Curve):
            times += [at for at, _ in plot.points]
        else:
            times += [stretch.start for stretch in plot.stretches] + [
                mark.at for mark in plot.marks
            ]
    return Axis(min(times), max(times))


def instant_text(at: datetime, language: Language) -> str:
    return language.instant(at.isoformat(), "d MMM y, HH:mm:ss")


SHARED = {
    "bounds": bounds,
    "plot_height": HEIGHT,
    "plot_row": ROW,
    "state_name": lambda language, state: status_name(language, "subscription", state),
    "instant_text": instant_text,
}
"""The names that the macros find in the environment of templates."""


# -- what is plotted of a world


RENEWALS = {
    "invoice.paid": "succeeded",
    "subscription.payment_failed": "failed",
    "subscription.canceled": "ended",
    "subscription.trial_will_end": "announced",
}
"""The events of subscriptions that are marked, and what each means for a renewal."""

OUTCOMES = {
    "failed": "failed",
    "disputed": "failed",
    "overdue": "failed",
    "canceled": "ended",
    "deleted": "ended",
    "expired": "ended",
    "voided": "ended",
    "end": "announced",
    "created": "announced",
}
"""What an event means, by the last word of its type; the others report a success."""


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


MOST_POINTS = 400
"""The most amounts of a curve; of more it has every second or third one, and the last."""

DELIVERY_PAGES = 3
"""How many pages of an endpoint's deliveries are plotted: more marks of a lane cover each other."""

SENTENCES_OF_CUT: Mapping[str, str] = {
    "events": N_("The last {shown} of {count} events."),
    "subscription": N_("The newest {shown} of {count} subscriptions."),
    "webhook_endpoint": N_("The newest {shown} of {count} webhook endpoints."),
    "webhook_delivery": N_(
        "{shown} of {count} deliveries, the newest of each endpoint; earlier ones are not drawn."
    ),
}
"""The sentences for a list that is not plotted whole."""

Get = Callable[..., Awaitable[Any]]
"""The JSON at a path of the control API: ``await get("events", page=2)``."""


class Newest(NamedTuple):
    """The newest objects of a list, oldest first, of ``total``; ``message`` says that it is cut."""

    rows: list[Any]
    total: int
    message: str

    @property
    def is_cut(self) -> bool:
        return len(self.rows) < self.total


class PlottedWorld(NamedTuple):
    """One App's world up to now; ``money``: received by the merchant; ``lists``: the sources."""

    app: str
    now: datetime
    balanced: bool
    money: list[Curve]
    subscriptions: list[Lane]
    events: list[Lane]
    webhooks: list[Lane]
    lists: dict[str, Newest]

    @property
    def axis(self) -> Axis:
        """The time that all plots of the page have in common."""
        return axis_of([*self.money, *self.subscriptions, *self.events, *self.webhooks], self.now)

    @property
    def owing(self) -> int:
        return sum(
            lane.stretches[-1].state in FAILING for lane in self.subscriptions if lane.stretches
        )

    @property
    def failed_attempts(self) -> int:
        return sum(mark.outcome == "failed" for lane in self.webhooks for mark in lane.marks)


async def collect(get: Get, language: Language, *, pages: int, lanes: int) -> PlottedWorld:
    """Read postings, the newest ``pages`` of events, ``lanes`` subscriptions, and the endpoints."""
    now = instant((await get("clock"))["now"])
    ledger = await get("ledger", page_size=1)
    entries, events = (
        await newest(get, "ledger", account="merchant"),
        await newest(get, "events", pages),
    )
    subscriptions = await newest(get, "objects", 1, lanes, kind="subscription")
    endpoints = await newest(get, "objects", 1, lanes, kind="webhook_endpoint")
    sent = [
        await newest(
            get,
            "objects",
            min(pages, DELIVERY_PAGES),
            kind="webhook_delivery",
            related=endpoint["id"],
        )
        for endpoint in endpoints.rows
    ]
    deliveries = [delivery for newest_sent in sent for delivery in newest_sent.rows]
    ids = [subscription["id"] for subscription in subscriptions.rows]
    chains = [(await get(f"explain/{id}"))["chain"] for id in ids]
    names = await get("names", ids=",".join(ids), language=language.code) if ids else {}
    return PlottedWorld(
        app=(await get("app"))["name"],
        now=now,
        balanced=ledger["balanced"],
        money=merchant_curves(ledger, entries.rows, now),
        subscriptions=[
            subscription_lane(names.get(id, id), subscription, chain, events.rows, now)
            for id, subscription, chain in zip(ids, subscriptions.rows, chains, strict=True)
        ],
        events=event_lanes(events.rows),
        webhooks=[
            endpoint_lane(endpoint["name"] or endpoint["url"], own.rows)
            for endpoint, own in zip(endpoints.rows, sent, strict=True)
        ],
        lists={
            "events": events,
            "subscriptions": subscriptions,
            "endpoints": endpoints,
            "deliveries": Newest(
                deliveries, sum(one.total for one in sent), SENTENCES_OF_CUT["webhook_delivery"]
            ),
        },
    )


async def newest(
    get: Get, path: str, pages: float = inf, size: int = 100, **filters: Any
) -> Newest:
    """Return a list's newest objects, read page by page; all unless ``pages`` are enough."""
    rows: list[Any] = []
    number: int | None = 1
    while number and number <= pages:
        response = await get(path, page=number, page_size=size, **filters)
        page = response.get("entries", response)
        rows += page["data"]
        number = number + 1 if page["pagination"]["next"] else None
    return Newest(
        rows[::-1], page["pagination"]["count"], SENTENCES_OF_CUT.get(filters.get("kind", path), "")
    )


def merchant_curves(ledger: Any, entries: Iterable[Any], now: datetime) -> list[Curve]:
    """Return the merchant's account over time, by currency: entries lead to the ledger's totals."""
    curves = []
    for total in ledger["totals"]:
        if total["account"] != "merchant":
            continue
        own = [entry for entry in entries if entry["currency"] == total["currency"]]
        so_far = start = total["amount"] - sum(entry["amount"] for entry in own)
        every = [(instant(entry["at"]), so_far := so_far + entry["amount"]) for entry in own]
        points = every[:: -(len(every) // MOST_POINTS + 1)][::-1]
        if points or start:
            curves.append(Curve(total["currency"], points or [(now, start)], start))
    return curves


def subscription_lane(
    name: str, subscription: Any, chain: Sequence[Any], events: Sequence[Any], now: datetime
) -> Lane:
    """Return a subscription's states, from its explanation, and the events of its renewals."""
    changes = [step for step in chain if step["kind"] == "transition"]
    moves = [
        (instant(step["at"]), state)
        for step in changes
        if (state := step["subject"].partition("→ ")[2])
    ]
    ends = [*(at for at, _ in moves[1:]), now]
    # Nothing is known of moves before a world was restored or imported, so there may be none to end
    # now.
    stretches = [Stretch(at, end, state) for (at, state), end in zip(moves, ends, strict=False)]
    marks = [
        Mark(instant(event["created_at"]), RENEWALS[event["type"]], event["type"])
        for event in events
        if event["type"] in RENEWALS
        and subscription["id"]
        in (event["data"]["object"]["id"], event["data"]["object"].get("subscription"))
    ]
    return Lane(name, stretches or [Stretch(now, now, subscription["status"])], marks)


FAILING = ("past_due", "unpaid")


def attempts_lane(
    name: str, subscription: Any, intents: Sequence[Any], planned: Iterable[str]
) -> Lane | None:
    """Return a failing subscription's charges since its success (newest first), and its retries."""
    unpaid = [*takewhile(lambda intent: intent["status"] != "succeeded", intents)][::-1]
    if subscription["status"] not in FAILING or not unpaid:
        return None
    marks = [
        Mark(
            instant(intent["created_at"]),
            "failed" if intent["status"] == "canceled" else "waiting",
            (intent["last_error"] or {}).get("code") or intent["status"].replace("_", " "),
        )
        for intent in unpaid
    ]
    retries = [Mark(instant(at), "announced", "subscription.retry") for at in planned]
    return Lane(name, [], [*marks, *retries])


def endpoint_lane(name: str, deliveries: Iterable[Any]) -> Lane:
    marks = [
        Mark(
            instant(attempt["at"]),
            "succeeded" if 200 <= (attempt["status_code"] or 0) < 300 else "failed",
            f"{delivery['event_type']}: {attempt['status_code'] or attempt['error']}",
        )
        for delivery in deliveries
        for attempt in delivery["attempts"]
    ]
    return Lane(name, [], sorted(marks))


def event_lanes(events: Sequence[Any]) -> list[Lane]:
    """Return a row for each type of event, in the order of their first."""
    marks: dict[str, list[Mark]] = defaultdict(list)
    for event in events:
        outcome = OUTCOMES.get(event["type"].split(".")[-1].split("_")[-1], "succeeded")
        marks[event["type"]].append(
            Mark(instant(event["created_at"]), outcome, event["data"]["object"]["id"])
        )
    return [Lane(type, [], own) for type, own in marks.items()]
