"""Plays what passed through the proxy, in its order, in worlds beside the service, and collects what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from emulator.checks.traffic.beside import Compared, WorldBeside, WorldOfApps
from emulator.checks.traffic.comparison import ABSENT, Difference
from emulator.checks.traffic.decided_by import assumptions_of, assumptions_of_event, route_of
from emulator.checks.traffic.grouped_findings import Findings, ProxyFinding
from emulator.checks.traffic.passed import Passed, PassedRequest, PassedWebhook, json_or_text

MAX_WAITING = 50
"""Events that may wait for the request that emits them here; what comes beyond is not compared."""


class SideBySide:
    """The comparison of a run. ``found`` is called with each difference, in the same thread."""

    def __init__(
        self,
        worlds: WorldOfApps,
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
        event = _event(passed.body)
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


def _event(body: str) -> Mapping[str, Any]:
    event = json_or_text(body)
    return event if isinstance(event, dict) else {}
