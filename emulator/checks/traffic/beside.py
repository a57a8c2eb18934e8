"""The world beside the service: it plays what passed through the proxy, at the service's time and with its own ids."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from emulator.checks.service.observations import error_of
from emulator.checks.traffic import service_time
from emulator.checks.traffic.comparison import Comparison, Difference
from emulator.checks.traffic.decided_by import Route
from emulator.checks.traffic.id_map import IdMap
from emulator.checks.traffic.outside import OutsideWorld
from emulator.checks.traffic.passed import PassedAnswer, PassedRequest, json_or_text

NOT_PLAYED = frozenset(["listWebhookDeliveries", "retryWebhookDelivery"])
"""Operations about what receivers answered, which only the service knows."""

ELSEWHERE = frozenset(["WEBHOOK_ENDPOINT_UNREACHABLE"])
"""Codes of errors that depend on where the service runs."""

KEYS = ("sk", "pk")
"""The kinds of keys: secret and public."""

EVENTS = "/_emulator/events?page_size=100&type="


class WorldOfApps(Protocol):
    """Worlds, by the key in ``authorization``, that answer requests with bytes."""

    url: str

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer to a request."""


class Compared(NamedTuple):
    """What came of a comparison: the differences, or why there was none."""

    differences: list[Difference]
    skipped: str = ""


class WorldBeside:
    """The world of one App beside the service. It starts at the first instant that the service's answers show.

    ``settings`` are those of the App where they differ from the defaults.
    """

    def __init__(self, worlds: WorldOfApps, app: str, settings: Mapping[str, Any]) -> None:
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
        """Why an answer cannot be compared; empty if it can."""
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
        """Whether an event is about an object that is known here."""
        return self.ids.ours(_object_of(event).get("id")) is not None

    def find_event(self, event: Mapping[str, Any]) -> Compared | None:
        """Compare an event with the same one here; None if this world has not emitted it."""
        self._move_to(max(service_time.normal(str(event.get("created_at"))), default=""))
        self._outside.follow(_object_of(event))
        theirs = _object_of(event)
        for ours in self._events(str(event.get("type"))):
            own = str(_object_of(ours).get("id"))
            known = self.ids.ours(theirs.get("id"))
            if known == own or (known is None and not self.ids.is_known(own)):
                self._emitted.add(ours["id"])
                return Compared(list(self._comparison.values("", event, ours)))
        return None

    def _events(self, type: str) -> list[Any]:
        """The events of a type that none of the service's was compared with, oldest first."""
        found = self.read(f"{EVENTS}{type}") if type.replace(".", "").replace("_", "").isalnum() else None
        return [each for each in (found or {"data": []})["data"][::-1] if each["id"] not in self._emitted]

    # -- time

    def _follow_time(self, passed: PassedRequest, body: Any) -> None:
        shown = service_time.latest(body)
        if shown and passed.date and passed.status == 201:
            self._trusts_dates = service_time.agree(passed.date, shown)
        dated = passed.date if self._trusts_dates or (not self._now and shown is None) else None
        instant = max(filter(None, (shown, dated)), default="")
        if not self._comparison.begun and instant:
            # What the first answer shows was there before, unless the request made it.
            self._comparison.begun = instant if passed.method != "GET" else _after(instant)
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
        """The JSON of a GET; None if it fails."""
        return self._json("GET", path, b"")

    def do(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of a POST; None if it fails."""
        return self._json("POST", path, json.dumps(body).encode())

    def _json(self, method: str, path: str, body: bytes) -> Any:
        headers = {"authorization": self._keys["sk"], "content-type": "application/json"}
        status, answer = self._worlds.exchange(method, path, headers, body)
        return json_or_text(answer.decode()) if status < 300 else None


def _object_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that an event is about; empty if it is none."""
    data = event.get("data")
    found = data.get("object") if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _after(instant: str) -> str:
    later = datetime.fromisoformat(instant) + timedelta(milliseconds=1)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")
