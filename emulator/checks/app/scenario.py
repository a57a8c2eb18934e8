"""A scenario: what an application does, played once with the faults of a case or without any.

``arrange`` prepares a world for the case, then the application does what it does, a command or a
function of a test, and ``finish`` ends the faults, lets time move on and reads how the world ended
and where in it something could have gone wrong. ``cases`` makes the cases of these places,
``driver`` plays them all, ``endings`` compares how they end, and ``report`` says what was found.
``try_scenario`` does all of it for a function of a test.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from inspect import isgenerator
from queue import SimpleQueue
from typing import Protocol, Self, TypeVar
from urllib.parse import urlsplit

from emulator.checks.app.cases import (
    DELIVERY,
    PAYMENT,
    REFUND,
    REQUEST,
    SCENARIO,
    SESSION,
    Case,
    Place,
    PlaceMatch,
    title_of,
)
from emulator.checks.app.driver import examine
from emulator.checks.app.endings import Ending, SentRequest, digest
from emulator.checks.app.report import AppReport
from emulator.checks.app.state import State
from emulator.checks.app.steps import Expected, StepRecorder
from emulator.checks.runs import RunLimits
from emulator.client.api import HELPER, Api
from emulator.client.messages import JSON
from emulator.core import calendar
from emulator.presentation.languages.language import plain_money

SNAPSHOT = "scenario"


class UnfinishedTestApp(UserWarning):
    """A budget ended before every case of a scenario was tried."""


class MovedClock(Protocol):
    """A world's clock. ``around`` makes each move that it is given, if there is one."""

    around: Callable[[Callable[[], JSON]], JSON] | None


class TestWorld(Protocol):
    """A test's world: the clients of its service and control API, and others of the same start."""

    @property
    def api(self) -> Api: ...
    @property
    def clock(self) -> MovedClock: ...
    def another(self, name: str, *, start: str = "") -> AbstractContextManager[Self]: ...


E = TypeVar("E", bound=TestWorld)


def try_scenario(
    emulator: E,
    scenario: Callable[[E], object],
    *,
    only: Sequence[str],
    ignore: Sequence[str],
    budget: float | None,
    jobs: int,
    whole: bool,
    every: bool,
    afterwards: str,
) -> AppReport:
    """Return a scenario's report, in worlds with the start of ``emulator``, ``jobs`` at a time.

    ``scenario`` is what the application does in a world. It may return a function, which is called
    when time has moved on, or yield it, so that it is called around each later step, too. Raises
    ``AssertionError`` for problems, and where ``budget`` (seconds, real time) ended before one case
    of each kind was tried. That it ended before all were tried is an error with ``whole``, else a
    warning.
    """
    __tracebackhide__ = True
    expected = Expected(afterwards)
    free: SimpleQueue[str] = SimpleQueue()
    for number in range(jobs):
        free.put(f"scenario-{number + 1}")

    def play(case: Case | None) -> Ending:
        name = free.get()
        try:
            start = case.kind.start if case else ""
            with emulator.another(name, start=start) as world:
                return _played(world, scenario, case, expected)
        finally:
            free.put(name)

    report = examine(
        play,
        RunLimits(jobs, budget),
        only=only,
        ignore=ignore,
        in_test=True,
        expected=expected,
        zones=False,
        every=every,
    )
    report = report._replace(repeat='payments.test_app(scenario, only=["{case}"])')
    if report.interrupted:
        raise KeyboardInterrupt(report.text())
    if not report.passed or (report.remaining and whole):
        raise AssertionError(report.text())
    if report.remaining:
        warnings.warn(f"payments.test_app: {report.unfinished}", UnfinishedTestApp, stacklevel=3)
    return report


def _played(
    world: E, scenario: Callable[[E], object], case: Case | None, expected: Expected
) -> Ending:
    """Return how a scenario ends in a world, with the faults of a case or without any."""
    arrange(world.api, case)
    failure, check, recorder = None, None, None
    try:
        check = scenario(world)
        if isgenerator(check):
            story, check = check, next(check, None)
            recorder = _recorder(world, check, case, expected)
            deque(story, maxlen=0)
    except (Exception, AssertionError) as error:
        failure = one_line(error)
    world.clock.around = None
    return finish(world.api, case, failure, check, expected.then, recorder=recorder)


def _recorder(
    world: TestWorld, check: object, case: Case | None, expected: Expected
) -> StepRecorder | None:
    """Return the recorder of a test's steps, each of which its check looks at from now on."""
    if not callable(check) or not expected.concerns(case):
        return None

    def look() -> State:
        try:
            return State(check())
        except (Exception, AssertionError) as error:
            return State(one_line(error))

    recorder = StepRecorder(world.api, look, case, expected)
    world.clock.around = recorder.around
    return recorder


def arrange(api: Api, case: Case | None) -> None:
    # One that never strikes is gone after a run that reset its world.
    sentinel = {"match": {"webhook": "wh_none"}, "then": {"lose": True}}
    for fault in (case.faults() if case else []) or [sentinel]:
        api.post("/_emulator/faults", fault)


def finish(
    api: Api,
    case: Case | None,
    failure: str | None,
    check: object,
    afterwards: str,
    *,
    recorder: StepRecorder | None = None,
) -> Ending:
    """End the faults, move time on, and look at the world. A callable ``check`` is called last.

    ``recorder`` has looked at the scenario's steps, and looks at its end.
    """
    api.post("/_emulator/clock/advance", {"by": "0s"})
    if recorder:
        recorder.before()
    # What strikes with a probability is not used up.
    is_arranged = any(
        fault["probability"] is None for fault in api.get("/_emulator/faults")["data"]
    )
    api.delete("/_emulator/faults")
    before = {} if case else _export(api)
    requests = [
        request
        for request in api.oldest("/_emulator/requests")
        if request["path"].startswith("/v1/")
    ]
    # With their bodies: all of the baseline, of a case those among which the failed one may be.
    struck = case.place.match.get("operation") if case and case.kind.advice == "again" else None
    ids = [
        request["id"]
        for request in requests
        if request["operation"] and (case is None or request["operation"] == struck)
    ]
    whole = [api.get(f"/_emulator/requests/{id}") for id in ids]
    api.post("/_emulator/clock/advance", {"by": afterwards})
    value = None
    if callable(check):
        try:
            value = check()
        except (Exception, AssertionError) as error:
            failure = failure or one_line(error)
    # A slow response only shows how fast this machine is.
    audit = [
        finding
        for finding in api.get("/_emulator/audit")["findings"]
        if finding["rule"] != "slow-webhook-response"
    ]
    after = _export(api)
    return Ending(
        failure=failure,
        value=value,
        digest=digest(after),
        balanced=api.get("/_emulator/ledger")["balanced"],
        places=() if case else _places(before, after, requests, whole),
        sent=_sent(whole),
        reached=case is None or case.kind.is_dated or not is_arranged,
        audit=[
            {name: finding[name] for name in ("rule", "severity", "title", "advice")}
            for finding in audit
        ],
        was_reset=case is None and not is_arranged,
        looks=recorder.looks if recorder else (),
    )


LONGEST_ERROR = 500
"""Characters of an error that are shown."""


def one_line(error: BaseException) -> str:
    """Return an error, whole, as a line of a report."""
    text = " ".join(str(error).split())
    text = text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _export(api: Api) -> JSON:
    api.post("/_emulator/snapshots", {"name": SNAPSHOT})
    exported: JSON = api.get(f"/_emulator/snapshots/{SNAPSHOT}")
    return exported


def _places(
    exported: JSON, after: JSON, requests: Sequence[JSON], whole: Sequence[JSON]
) -> list[Place]:
    """Return the places of a baseline; none if nothing passed between service and application."""
    places = [
        *_request_places(requests, whole),
        *_delivery_places(exported, after),
        *_payment_places(exported),
        *_session_places(exported),
        *_refund_places(exported, whole),
    ]
    return [*places, _whole_scenario(whole)] if places else []


def _request_places(requests: Iterable[JSON], whole: Sequence[JSON]) -> list[Place]:
    by_id = {request["id"]: request for request in whole}
    # The helpers for tests wait for each response, however long it takes.
    helped = {
        request["id"] for request in whole if request["request_headers"].get("user-agent") == HELPER
    }
    seen: Counter[str] = Counter()
    places = []
    for number, request in enumerate(requests, 1):
        operation = request["operation"]
        # What is no operation of the service, or not permitted, gets its response before any fault.
        # Endpoints are made by the test, not by the application.
        if operation is None or request["path"].startswith("/v1/webhooks/"):
            continue
        seen[operation] += 1
        match: PlaceMatch = {"operation": operation, "nth": seen[operation]}
        effects: dict[str, None] = {"hung": None} if request["id"] in helped else {}
        title = title_of(request["method"], request["path"])
        alike = likeness(by_id[request["id"]], is_helped=request["id"] in helped)
        at = request["created_at"]
        places.append(Place(REQUEST, number, title, match, effects, at=at, alike=alike))
    return places


def likeness(request: JSON, *, is_helped: bool) -> str:
    """Return the same text for requests with the same fields and outcome: status and changes."""
    fields = request["request_body"]
    names = sorted(fields) if isinstance(fields, dict) else []
    kinds = sorted({change["kind"] for change in request["changes"]})
    return f"{request['operation']} {names} {request['status']} {kinds} {is_helped}"


HOUR, REPLAYS = 3600, 3 * 86400
"""Seconds that a late webhook is late, and in which most retries and replays have ended."""


def _delivery_places(exported: JSON, after: JSON) -> list[Place]:
    """Return the deliveries of a scenario. ``after`` shows how they have ended."""
    rows, events = [*_rows(exported, "webhook_delivery").values()], _rows(exported, "event")
    ends = _rows(after, "webhook_delivery")
    seen: Counter[str] = Counter()
    latest: dict[str | None, str] = {}
    places = []
    for number, row in enumerate(rows, 1):
        type, subject = row["event_type"], _subject(events.get(row["event"]))
        seen[type] += 1
        later = [
            (calendar.seconds_between(row["created_at"], other["created_at"]), other)
            for other in rows[number:]
            if other["webhook"] == row["webhook"]
        ]
        gaps = [gap for gap, other in later if _subject(events.get(other["event"])) == subject]
        longest = max((gap for gap in gaps if gap < REPLAYS), default=0)
        near = [(gap, other["event_type"]) for gap, other in later if gap < HOUR]
        pair_gap, pair = next(
            (
                (gap, other["event_type"])
                for gap, other in later
                if gap < HOUR
                and other["event_type"] != type
                and _subject(events.get(other["event"])) == subject
            ),
            (0, None),
        )
        same = [gap for gap, other in near if other == type]
        overlap = "same_type" if same else "next"
        # Where it comes with the next one anyway, that may be the pair already.
        is_paired = pair is not None and (overlap == "same_type" or near[0][1] != pair)
        effects: dict[str, Mapping[str, object] | None] = {
            # It comes after the last one about its customer, if that is over an hour later.
            "stale": {"delay": f"{int(longest) + 60}s"} if longest >= HOUR else None,
            # The next one to the same endpoint within an hour comes with it, of its type if there
            # is one.
            "overlapping": {"overlap": overlap} if near else None,
            # So does the next one about its customer that reports something else.
            "paired": {"overlap": pair} if is_paired else None,
            **({} if later else {"swapped": None}),
        }
        match: PlaceMatch = {"event": type, "nth": seen[type]}
        # What came before about its customer is the state that it meets.
        before = latest.get(subject, "")
        latest[subject] = type
        status = _object(events.get(row["event"])).get("status")
        alike = f"{type} {status} after {before} {sorted(effects)} {bool(gaps)}"
        takes = max((attempt["duration_ms"] for attempt in row["attempts"]), default=0) / 1000
        next_gap = later[0][0] if later else 0.0
        overlap_gap = same[0] if same else next_gap
        waits = {"swapped": next_gap, "overlapping": overlap_gap, "paired": pair_gap}
        places.append(
            Place(
                DELIVERY,
                number,
                type,
                match,
                effects,
                takes,
                row["created_at"],
                waits,
                _is_rejected(ends.get(row["id"], row)),
                alike=alike,
            )
        )
    return places


def _is_rejected(delivery: JSON) -> bool:
    statuses = [attempt["status_code"] for attempt in delivery["attempts"]]
    return delivery["status"] != "succeeded" and any((status or 0) >= 300 for status in statuses)


def _rows(exported: JSON, kind: str) -> dict[str, JSON]:
    """Return the records of a kind in an exported world, by id."""
    rows: dict[str, JSON] = next(
        (rows for name, rows in exported.items() if name.endswith(f"/{kind}")), {}
    )
    return {row["id"]: row for row in rows.values()}


def _object(event: JSON | None) -> JSON:
    return event["data"]["object"] if event else {}


def _subject(event: JSON | None) -> str | None:
    subject = _object(event)
    return subject.get("customer") or subject.get("id")


def _payment_places(exported: JSON) -> list[Place]:
    """Return the buyers' payments that can succeed: buyers repeat failing ones at once anyway."""
    sessions, links = _rows(exported, "checkout_session"), _rows(exported, "payment_link")
    intents = _rows(exported, "payment_intent").values()
    transactions = _rows(exported, "transaction")
    made = [intent for intent in intents if intent["transaction"] or intent["last_error"]]
    places = []
    for number, intent in enumerate(
        (intent for intent in made if intent["checkout_session"] or not intent["invoice"]), 1
    ):
        link = links.get(intent["payment_link"], {})
        page = (link.get("redirect_url") or {}).get("success")
        url = sessions.get(intent["checkout_session"], {}).get("success_url", page)
        effects: dict[str, None] = {} if _is_here(url) else {"redirected-unpaid": None}
        title = plain_money(intent["amount"], intent["currency"])
        # An attempt after a failed one at the same session meets another state.
        failed = any(
            other["last_error"] and other["checkout_session"] == intent["checkout_session"]
            for other in made
        )
        if intent["status"] == "succeeded":
            at = transactions.get(intent["transaction"], intent)["created_at"]
            session = sessions.get(intent["checkout_session"], {}).get("mode", "")
            alike = f"{session} {intent['payment_method_type']} {sorted(effects)} {failed}"
            match: PlaceMatch = {"nth": number}
            places.append(Place(PAYMENT, number, title, match, effects, at=at, alike=alike))
    return places


def _is_here(url: str | None) -> bool:
    """Return whether a page is on this machine: a buyer comes back to no other one."""
    return urlsplit(url or "").hostname in ("127.0.0.1", "::1", "localhost")


def _session_places(exported: JSON) -> list[Place]:
    """Return the checkout sessions, also those that nobody pays, to which a buyer can come back."""
    return [
        Place(
            SESSION,
            number,
            f"{plain_money(row['amount_total'] or 0, row['currency'])}, {row['status']}"
            if row["currency"]
            else row["status"],
            PlaceMatch(nth=number),
            at=row["created_at"],
            alike=f"{row['mode']} {row['status']} {bool(row['amount_total'])}",
        )
        for number, row in enumerate(_rows(exported, "checkout_session").values(), 1)
        if _is_here(row.get("success_url"))
    ]


def _refund_places(exported: JSON, whole: Iterable[JSON]) -> list[Place]:
    """Return the refunds that succeed; a number for each that is sent to the operator."""
    made: dict[str, int] = {}
    for number, request in enumerate(
        (request for request in whole if request["operation"] == "createRefund"), 1
    ):
        body = request["response_body"]
        if isinstance(body, dict) and "id" in body:
            made.setdefault(body["id"], number)
    refunds = enumerate(_rows(exported, "refund").values(), 1)
    return [
        Place(
            REFUND,
            number,
            plain_money(row["amount"], row["currency"]),
            PlaceMatch(nth=number),
            at=row["created_at"],
            made_by=made[row["id"]],
            alike=row["payment_method_type"],
        )
        for number, row in refunds
        if row["status"] in ("processing", "succeeded") and row["id"] in made
    ]


def _whole_scenario(whole: Sequence[JSON]) -> Place:
    """Return the place of the faults that concern all of it: only long lists have pages."""
    bodies = (
        request["response_body"]
        for request in whole
        if request["request_headers"].get("user-agent") != HELPER
    )
    is_listing = any(
        isinstance(body, dict) and body.get("pagination", {}).get("count", 0) > 1 for body in bodies
    )
    effects: dict[str, None] = {} if is_listing else {"paged": None}
    began_at = min((request["created_at"] for request in whole), default="")
    return Place(SCENARIO, 1, "the whole scenario", effects=effects, at=began_at)


def _sent(whole: Iterable[JSON]) -> dict[str, list[SentRequest]]:
    sent: defaultdict[str, list[SentRequest]] = defaultdict(list)
    for request in whole:
        key = request["request_headers"].get("idempotency-key")
        content = f"{request['path']} {json.dumps(request['request_body'])}"
        sent[request["operation"]].append(
            SentRequest(
                request["method"], key, content, len(request["changes"]), request["status"] or 0
            )
        )
    return sent
