"""What happened in a world: its events, oldest first, and the expectation that just these come about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import TracebackType
from typing import Any

from emulator.testing import failure_report
from emulator.testing.api import JSON, Api
from emulator.testing.clock import Clock

PATH = "/_emulator/events"


class Events:
    """The event log; each look at it asks the emulator anew."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock

    def __iter__(self) -> Iterator[JSON]:
        return iter(self.of())

    def __len__(self) -> int:
        return int(self._api.get(PATH, page_size=1)["pagination"]["count"])

    def __getitem__(self, index: int) -> JSON:
        return self.of()[index]

    def of(self, type: str | None = None, object: str | Mapping[str, Any] | None = None) -> list[JSON]:
        """Every event so far, or those of a type, or about an object (it or its id); oldest first."""
        return self._api.oldest(PATH, type=type, object=identity(object))

    @property
    def types(self) -> list[str]:
        """The types of all events so far, oldest first."""
        return [event["type"] for event in self.of()]

    def wait_for(self, type: str, object: str | Mapping[str, Any] | None = None, timeout: int = 10) -> JSON:
        """The newest event of a type, as soon as there is one; ``timeout`` in real seconds, at most 30.

        Raises ``AssertionError``, telling what did happen.
        """
        __tracebackhide__ = True
        found = self._api.get(PATH, type=type, object=identity(object), wait=timeout, page_size=1)["data"]
        if not found:
            raise AssertionError(f"{type} did not happen within {timeout} s.\n{self.told()}")
        event: JSON = found[0]
        return event

    def expect(self, *types: str) -> Expectation:
        """What happens inside brings about just these events: neither one less nor one more, in any order."""
        return Expectation(self._api, self._clock, types)

    def told(self) -> str:
        """The events so far and what is still to come, for a message."""
        return f"{failure_report.happened(self.of())}\n{failure_report.still_to_come(self._clock)}"


def identity(object: str | Mapping[str, Any] | None) -> str | None:
    """The id of an object, or an id itself."""
    return object["id"] if isinstance(object, Mapping) else object


class Expectation:
    """That just these types of event come about in a block, deliveries under way at its end included."""

    def __init__(self, api: Api, clock: Clock, types: Sequence[str]) -> None:
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
            told = [f"did not happen: {_counted(missing)}"] if missing else []
            told += [f"happened, but was not expected: {_counted(extra)}"] if extra else []
            told += [failure_report.happened(happened, "inside"), failure_report.still_to_come(self._clock)]
            raise AssertionError("\n".join(told))


def _counted(types: Counter[str]) -> str:
    return ", ".join(type if times == 1 else f"{times} × {type}" for type, times in types.items())
