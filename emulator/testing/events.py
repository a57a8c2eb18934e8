"""The events of a world, oldest first, and the expectation that a block causes exactly some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import TracebackType
from typing import Any

from emulator.testing import failure_report
from emulator.testing.api import JSON, Api
from emulator.testing.clock import WorldClock

PATH = "/_emulator/events"


class Events:
    """The event log, read from the emulator on each use."""

    def __init__(self, api: Api, clock: WorldClock) -> None:
        self._api = api
        self._clock = clock

    def __iter__(self) -> Iterator[JSON]:
        return iter(self.of())

    def __len__(self) -> int:
        return int(self._api.get(PATH, page_size=1)["pagination"]["count"])

    def __getitem__(self, index: int) -> JSON:
        return self.of()[index]

    def of(self, type: str | None = None, object: str | Mapping[str, Any] | None = None) -> list[JSON]:
        """All events so far, or those of a type, or about an object (object or id); oldest first."""
        return self._api.oldest(PATH, type=type, object=identity(object))

    @property
    def types(self) -> list[str]:
        """The types of all events so far, oldest first."""
        return [event["type"] for event in self.of()]

    def wait_for(self, type: str, object: str | Mapping[str, Any] | None = None, timeout: int = 10) -> JSON:
        """Wait for an event of a type and return the newest; ``timeout`` in real seconds, at most 30.

        Raises ``AssertionError`` with the events so far.
        """
        __tracebackhide__ = True
        found = self._api.get(PATH, type=type, object=identity(object), wait=timeout, page_size=1)["data"]
        if not found:
            raise AssertionError(f"{type} did not happen within {timeout} s.\n{self.summary()}")
        event: JSON = found[0]
        return event

    def expect(self, *types: str) -> Expectation:
        """Assert that a block causes exactly these events, in any order."""
        return Expectation(self._api, self._clock, types)

    def summary(self) -> str:
        """The events so far and the next job, as text for error messages."""
        return f"{failure_report.happened(self.of())}\n{failure_report.next_job(self._clock)}"

    told = summary  # its name in 0.1.0, which test suites may call


def identity(object: str | Mapping[str, Any] | None) -> str | None:
    """The id of an object given as object or id."""
    return object["id"] if isinstance(object, Mapping) else object


class Expectation:
    """The assertion that a block causes exactly these types of event, including those of pending deliveries."""

    def __init__(self, api: Api, clock: WorldClock, types: Sequence[str]) -> None:
        self._api = api
        self._clock = clock
        self._types = Counter(types)
        self._last: str | None = None

    def __enter__(self) -> None:
        newest = next(self._api.newest(PATH), None)
        self._last = newest["id"] if newest else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if kind is None:
            self._clock.settle()
            since = takewhile(lambda event: event["id"] != self._last, self._api.newest(PATH))
            self._compare(list(since)[::-1])

    def _compare(self, happened: Sequence[JSON]) -> None:
        __tracebackhide__ = True
        found = Counter(event["type"] for event in happened)
        missing, extra = self._types - found, found - self._types
        if missing or extra:
            parts = [f"did not happen: {_counted(missing)}"] if missing else []
            parts += [f"happened, but was not expected: {_counted(extra)}"] if extra else []
            parts += [failure_report.happened(happened, "inside"), failure_report.next_job(self._clock)]
            raise AssertionError("\n".join(parts))


def _counted(types: Counter[str]) -> str:
    return ", ".join(type if times == 1 else f"{times} × {type}" for type, times in types.items())
