"""The worlds beside the service: they play what passed through the proxy, in its order, and what differs is collected.

A world has the service's time and ids of its own. What happens at the service without a request is done there too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from emulator.checks.service.service import error_of
from emulator.checks.traffic import traffic_log
from emulator.checks.traffic.comparison import (
    ABSENT,
    Comparison,
    Difference,
    IdMap,
    Route,
    assumptions_of,
    assumptions_of_event,
    route_of,
)
from emulator.checks.traffic.findings import Findings, ProxyFinding
from emulator.checks.traffic.traffic_log import Passed, PassedAnswer, PassedRequest, PassedWebhook
from emulator.checks.webhook_receiver import event_object
from emulator.control.payments import WORKING
from emulator.control.recording.reproduction import PlayedWorld
from emulator.core import calendar
from emulator.core.world import json_object, json_or_text

# -- what happens at the service without a request of the application


PAYABLE = ("open", "uncollectible", "payment_failed")
"""Statuses of what a buyer can pay."""

PENDING = ("processing", "requires_action", "pending")

ANSWERED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "payment_intent": ("payment-intents", {"succeeded": "succeeded", "failed": "failed", "canceled": "failed"}),
    "refund": ("refunds", {"succeeded": "succeeded", "failed": "failed"}),
}
"""The objects that an operator decides about: the segment of their path, and the answer behind each status."""

PAID: Mapping[str, tuple[str, str]] = {
    "checkout_session": ("checkout-sessions", "complete"),
    "invoice": ("invoices", "paid"),
}
"""The objects that a buyer pays on a page: the segment of their path, and the status that shows it."""


class Payment(NamedTuple):
    """How a page was paid: the type of the method, and the code with which the payment failed, if it did."""

    type: str | None
    code: str | None = None


class OutsideWorld:
    """Does in a world what an object of the service shows to have happened outside the proxy.

    ``paid`` has the world's payment intents, and their transactions, whose payment method a buyer chose on a page.
    """

    def __init__(self, control: WorldBeside, ids: IdMap) -> None:
        self.paid: set[str] = set()
        self._control = control
        self._ids = ids
        self._seen: set[str] = set()
        self._methods: dict[str, str] = {}

    def follow(self, body: Any) -> None:
        """Follow every object in an answer or an event."""
        for each in _objects(body):
            self._follow(each)

    def _follow(self, theirs: Mapping[str, Any]) -> None:
        kind, id, ours = theirs.get("object"), theirs.get("id"), self._ids.ours(theirs.get("id"))
        if kind == "payment_intent" and ours is None and isinstance(id, str):
            self._attempt(id, theirs)
        if ours is None:
            return
        if kind in ANSWERED:
            segment, results = ANSWERED[str(kind)]
            if (result := results.get(str(theirs.get("status")))) and self._status(segment, ours) in PENDING:
                self._answer(segment, ours, result, _code(theirs))
        elif kind in PAID and theirs.get("status") == PAID[str(kind)][1]:
            self._pay(PAID[str(kind)][0], ours, Payment(self._methods.get(str(id))))

    def _attempt(self, id: str, intent: Mapping[str, Any]) -> None:
        """Adopt an unknown payment intent: a buyer's attempt on a page that is known."""
        page = intent.get("checkout_session") or intent.get("invoice")
        segment = "checkout-sessions" if intent.get("checkout_session") else "invoices"
        if not isinstance(page, str) or id in self._seen or (ours := self._ids.ours(page)) is None:
            return
        self._seen.add(id)
        type, code = intent.get("payment_method_type"), _code(intent)
        if isinstance(type, str):
            self._methods[page] = type
        if code is not None:
            self._pay(segment, ours, Payment(self._methods.get(page), code))

    def _pay(self, segment: str, ours: str, payment: Payment) -> None:
        if self._status(segment, ours) not in PAYABLE:
            return
        if payment.code is not None:
            self._control.do("/_emulator/outcomes", {"operation": "payment", "result": "failed", "code": payment.code})
        fields = WORKING.get(payment.type or "")
        known = {} if fields is None else {"method": {"type": payment.type, **fields}}
        intent = self._control.do(f"/_emulator/{segment}/{ours}/pay", known)
        if not isinstance(intent, dict):
            return
        if intent.get("status") in PENDING:
            result = "failed" if payment.code else "succeeded"
            intent = self._answer("payment-intents", intent["id"], result, payment.code) or intent
        self.paid |= {str(intent["id"]), str(intent.get("transaction"))}

    def _answer(self, segment: str, ours: str, result: str, code: str | None) -> Any:
        coded = {"code": code} if code and result == "failed" else {}
        return self._control.do(f"/_emulator/{segment}/{ours}/answer", {"result": result, **coded})

    def _status(self, segment: str, ours: str) -> Any:
        found = self._control.read(f"/v1/{segment}/{ours}/")
        return found.get("status") if isinstance(found, dict) else None


def _code(intent: Mapping[str, Any]) -> str | None:
    error = intent.get("last_error")
    code = error.get("code") if isinstance(error, dict) else None
    return str(code).upper() if code else None


def _objects(body: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a body: itself, the items of a list."""
    if isinstance(body, dict) and body.get("object") == "list" and isinstance(body.get("data"), list):
        yield from (each for each in body["data"] if isinstance(each, dict))
    elif isinstance(body, dict):
        yield body


# -- one world


NOT_PLAYED = frozenset(["listWebhookDeliveries", "retryWebhookDelivery"])
"""Operations about what receivers answered, which only the service knows."""

ELSEWHERE = frozenset(["WEBHOOK_ENDPOINT_UNREACHABLE"])
"""Codes of errors that depend on where the service runs."""

KEYS = ("sk", "pk")
"""The kinds of keys: secret and public."""

EVENTS = "/_emulator/events?page_size=100&type="


class Compared(NamedTuple):
    """What came of a comparison: the differences, or why there was none."""

    differences: list[Difference]
    skipped: str = ""


class WorldBeside:
    """The world of one App beside the service. It starts at the first instant that the service's answers show.

    ``settings`` are those of the App where they differ from the defaults.
    """

    def __init__(self, worlds: PlayedWorld, app: str, settings: Mapping[str, Any]) -> None:
        self.ids = IdMap()
        self._worlds = worlds
        self._keys = {kind: f"Bearer {kind}_test_{app}" for kind in KEYS}
        self._settings = settings
        self._outside = OutsideWorld(self, self.ids)
        self._comparison = Comparison(self.ids, worlds.url, self._outside.paid)
        self._now = ""
        self._trusts_dates = False
        self._emitted: set[str] = set()
        self._start("frozen")

    # -- requests

    def play(self, passed: PassedRequest, route: Route | None) -> Compared:
        """Play a request and compare the answers."""
        theirs = PassedAnswer(passed.status, json_or_text(passed.answer))
        if why := self._not_compared(passed, theirs, route):
            return Compared([], why)
        self._follow_time(passed, theirs.body)
        if passed.method == "GET":
            self._outside.follow(theirs.body)
        ours = self._sent(passed)
        return Compared(list(self._comparison.differences(theirs, ours, is_change=passed.method != "GET")))

    def _not_compared(self, passed: PassedRequest, theirs: PassedAnswer, route: Route | None) -> str:
        """Return why an answer cannot be compared; empty if it can."""
        code = (error_of(*theirs) or {}).get("code")
        if passed.status == 429 or passed.status >= 500:
            return f"the service was busy or failed ({passed.status})"
        if passed.status == 401 and passed.authorization in KEYS:
            return "which keys are valid is known to the service alone"
        if code in ELSEWHERE:
            return f"{code} depends on the service's own data"
        if route is not None and route.id in NOT_PLAYED:
            return "what receivers answered is known to the service alone"
        if passed.status != 404 and (unknown := self.ids.unknown(f"{passed.target} {passed.body}")):
            return f"{unknown[0]} is an object that only the service has"
        return ""

    def _sent(self, passed: PassedRequest) -> PassedAnswer:
        given = passed.authorization or ""
        status, body = self._worlds.exchange(
            passed.method,
            self.ids.translated(passed.target),
            {**passed.headers, "authorization": self._keys.get(given, given)},
            self.ids.translated(passed.body).encode("utf-8", "surrogateescape"),
        )
        return PassedAnswer(status, json_or_text(body.decode("utf-8", "replace")))

    # -- events

    def knows(self, event: Mapping[str, Any]) -> bool:
        """Return whether an event is about an object that is known here."""
        return self.ids.ours(event_object(event).get("id")) is not None

    def find_event(self, event: Mapping[str, Any]) -> Compared | None:
        """Compare an event with the same one here; None if this world has not emitted it."""
        self._move_to(max(traffic_log.normal(str(event.get("created_at"))), default=""))
        self._outside.follow(event_object(event))
        theirs = event_object(event)
        for ours in self._events(str(event.get("type"))):
            own = str(event_object(ours).get("id"))
            known = self.ids.ours(theirs.get("id"))
            if known == own or (known is None and not self.ids.is_known(own)):
                self._emitted.add(ours["id"])
                return Compared(list(self._comparison.values("", event, ours)))
        return None

    def _events(self, type: str) -> list[Any]:
        """Return the events of a type that none of the service's was compared with, oldest first."""
        found = self.read(f"{EVENTS}{type}") if type.replace(".", "").replace("_", "").isalnum() else None
        return [each for each in (found or {"data": []})["data"][::-1] if each["id"] not in self._emitted]

    # -- time

    def _follow_time(self, passed: PassedRequest, body: Any) -> None:
        shown = traffic_log.latest(body)
        if shown and passed.date and passed.status == 201:
            self._trusts_dates = traffic_log.agree(passed.date, shown)
        dated = passed.date if self._trusts_dates or (not self._now and shown is None) else None
        instant = max(filter(None, (shown, dated)), default="")
        if not self._comparison.begun and instant:
            # What the first answer shows was there before, unless the request made it.
            self._comparison.begun = instant if passed.method != "GET" else calendar.plus(instant, seconds=0.001)
        self._move_to(instant)

    def _move_to(self, instant: str) -> None:
        """Let the world come to an instant; it starts there if nothing was made yet."""
        if instant and not self.ids and (not self._now or instant != self._now):
            self._start(f"frozen@{instant}")
            self._now = instant
        elif instant > self._now:
            self.do("/_emulator/clock/advance", {"to": instant})
            self._now = instant

    def _start(self, clock: str) -> None:
        self.do("/_emulator/reset", {"clock": clock, "fixtures": {"settings": self._settings}})

    # -- the world, as it is read and steered

    def read(self, path: str) -> Any:
        """Return the JSON of a GET; None if it fails."""
        return self._json("GET", path, b"")

    def do(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON of a POST; None if it fails."""
        return self._json("POST", path, json.dumps(body).encode())

    def _json(self, method: str, path: str, body: bytes) -> Any:
        headers = {"authorization": self._keys["sk"], "content-type": "application/json"}
        status, answer = self._worlds.exchange(method, path, headers, body)
        return json_or_text(answer.decode()) if status < 300 else None


# -- all worlds


MAX_WAITING = 50
"""Events that may wait for the request that emits them here; what comes beyond is not compared."""


class SideBySide:
    """The comparison of a run. ``found`` is called with each difference, in the same thread."""

    def __init__(
        self,
        worlds: PlayedWorld,
        settings: Mapping[str, Any],
        found: Callable[[ProxyFinding], None] = lambda finding: None,
    ) -> None:
        self.findings = Findings()
        self._worlds = worlds
        self._settings = settings
        self._found = found
        self._apps: dict[str, WorldBeside] = {}
        self._waiting: list[tuple[int, Mapping[str, Any]]] = []
        self._events: set[str] = set()

    def take(self, passed: Passed) -> None:
        """Play and compare one request or webhook."""
        try:
            if isinstance(passed, PassedRequest):
                self._request(passed)
                self._waiting = [each for each in self._waiting if not self._compared_event(*each)]
            else:
                self._webhook(passed)
        except Exception as error:  # whatever a service answers: the proxy goes on, and the report says so
            self.findings.skip(f"the comparison failed: {type(error).__name__}: {error}"[:200])

    def finish(self) -> None:
        """At the end: events that were not emitted here are differences."""
        for number, event in self._waiting:
            self._add_event(number, str(event.get("type")), [Difference("event", event.get("id"), ABSENT)])
        self._waiting = []

    def _request(self, passed: PassedRequest) -> None:
        route = route_of(passed.method, passed.target)
        operation = route.id if route else "no operation"
        path = passed.target.partition("?")[0]
        if passed.app not in self._apps:
            self._apps[passed.app] = WorldBeside(self._worlds, passed.app, self._settings)
        compared = self._apps[passed.app].play(passed, route)
        if compared.skipped:
            self.findings.skip(compared.skipped)
            return
        self.findings.compared += 1
        self._add(
            passed.number,
            f"{passed.method} {path}",
            operation,
            compared.differences,
            partial(assumptions_of, route, passed),
        )

    def _webhook(self, passed: PassedWebhook) -> None:
        event = json_object(passed.body)
        if event.get("type") in (None, "webhook.ping") or event.get("id") in self._events:
            return
        self._events.add(str(event.get("id")))
        if self._compared_event(passed.number, event):
            return
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append((passed.number, event))
        else:
            self.findings.skip("more events wait for what causes them than there is room for")

    def _compared_event(self, number: int, event: Mapping[str, Any]) -> bool:
        """Compare an event, if a world has emitted it."""
        worlds = [*self._apps.values()]
        compared: Compared | None = None
        for world in [each for each in worlds if each.knows(event)] or worlds[:1]:
            compared = compared or world.find_event(event)
        if compared is None:
            return False
        self.findings.events += 1
        self._add_event(number, str(event["type"]), compared.differences)
        return True

    def _add_event(self, number: int, type: str, differences: Iterable[Difference]) -> None:
        self._add(number, f"webhook {type}", type, differences, partial(assumptions_of_event, type))

    def _add(
        self,
        number: int,
        request: str,
        operation: str,
        differences: Iterable[Difference],
        cited: Callable[[str], tuple[str, ...]],
    ) -> None:
        for each in differences:
            finding = ProxyFinding.of(number, request, operation, each, cited(each.place))
            self.findings.add(finding)
            self._found(finding)
