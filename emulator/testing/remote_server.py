"""A server that runs elsewhere, whose worlds follow freezegun and time-machine by requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from emulator.core import calendar
from emulator.engine.world_clock import FROZEN
from emulator.testing.api import JSON, Api
from emulator.testing.collector import Receiver
from emulator.testing.servers import app, behind
from emulator.testing.time_travel import Travel, innermost
from emulator.testing.world_options import WorldOptions

RESET = "/_emulator/reset"

MOMENT = 0.001
"""Seconds: the least that a clock can be moved by."""


@dataclass(frozen=True)
class FollowedTravel:
    """The freeze or travel that a world elsewhere was moved to, and how far that had come (seconds since 1970)."""

    travel: Travel
    instant: float


class RemoteServer:
    """A server such as ``payments-emulator serve``. Each call of the helpers moves the world's clock first."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.receiver = Receiver()
        self.connections: httpx.BaseTransport | None = None
        self._starts: dict[str, WorldOptions] = {}
        self._followed: dict[str, FollowedTravel] = {}

    def begin(self, key: str, options: WorldOptions) -> None:
        """Reset the world of this key with these options."""
        travel = innermost()
        self._starts[key] = options
        self._followed.pop(key, None)
        if travel and options.clock == FROZEN:
            self._begin_at(key, travel)
        else:
            self._reset(key, options)

    def follow(self, key: str) -> None:
        """Move the world to the time that the test has set, if it has moved.

        A world that is not in use yet starts there. Raises ``AssertionError`` if the world is already past it.
        """
        __tracebackhide__ = True
        travel = innermost()
        if travel is None:
            self._followed.pop(key, None)
            return
        known = self._followed.get(key)
        if known is None or known.travel != travel:
            self._enter(key, travel)
        elif error := self.passed(key):
            raise error
        elif (moved := travel.instant - known.instant) >= MOMENT:
            self._advance(key, {"by": f"PT{moved:.3f}S"})
            self._followed[key] = FollowedTravel(travel, known.instant + moved)

    def passed(self, key: str) -> AssertionError | None:
        """The error for a time of the test that the world has already passed, if it followed that time before."""
        travel, known = innermost(), self._followed.get(key)
        if travel is None or known is None or known.travel != travel or travel.instant >= known.instant:
            return None
        return behind(travel, known.instant - travel.instant, self._now(key))

    def follows(self, key: str) -> bool:
        """Whether the world follows the time of the test already, and is not ahead of it."""
        travel, known = innermost(), self._followed.get(key)
        return travel is not None and known is not None and known.travel == travel and travel.instant >= known.instant

    def discard(self, key: str) -> None:
        """Reset the world; the server elsewhere still knows the App."""
        self._starts.pop(key, None)
        self._followed.pop(key, None)
        self._reset(key, WorldOptions())

    def stop(self) -> None:
        """Stop the receiver; the server is not ours."""
        self.receiver.close()

    def _enter(self, key: str, travel: Travel) -> None:
        __tracebackhide__ = True
        travel.watch()
        start = self._starts.get(key)
        if start and start.clock == FROZEN and not self._is_used(key):
            self._begin_at(key, travel)
            return
        now, instant = self._now(key), travel.instant
        if (lag := calendar.parse(now).timestamp() - instant) > 0:
            raise behind(travel, lag, now)
        self._advance(key, {"to": calendar.from_epoch(instant)})
        self._followed[key] = FollowedTravel(travel, instant)

    def _is_used(self, key: str) -> bool:
        """Whether anything was asked of the world since it was reset."""
        requests = self._call(key, "GET", "/_emulator/requests")["data"]
        return any(each["path"] != RESET for each in requests)

    def _begin_at(self, key: str, travel: Travel) -> None:
        instant = travel.instant
        travel.watch()
        self._reset(key, replace(self._starts[key], clock=f"{FROZEN}@{calendar.from_epoch(instant)}"))
        self._followed[key] = FollowedTravel(travel, instant)

    def _advance(self, key: str, body: Mapping[str, Any]) -> None:
        done = self._call(key, "POST", "/_emulator/clock/advance", json=body)
        if done["failures"]:
            raise AssertionError(f"jobs of the emulator failed before {done['now']}: {done['failures']}")

    def _now(self, key: str) -> str:
        return str(self._call(key, "GET", "/_emulator/clock")["now"])

    def _reset(self, key: str, options: WorldOptions) -> None:
        body: JSON = {"clock": options.clock, "fixtures": {"settings": options.own_settings(app(key))}}
        try:
            self._call(
                key,
                "POST",
                RESET,
                json=body if options.seed is None else {**body, "seed": options.seed},
            )
        except httpx.TransportError as error:
            raise ValueError(f"no emulator answers at {self.url}: {error}") from None

    def _call(self, key: str, method: str, path: str, **options: Any) -> Any:
        api = Api(self.url, key)
        try:
            return api.call(method, path, **options)
        finally:
            api.close()
