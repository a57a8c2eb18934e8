"""A world's server: in a thread of this process or elsewhere, and a world's start there.

Clock, seed, settings and fixture files are what a test gives a world. Worlds elsewhere follow
freezegun and time-machine by requests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from emulator.client.api import API_TIMEOUTS, Api
from emulator.client.connections import ConnectionFailed, Connections
from emulator.client.messages import JSON
from emulator.core import calendar
from emulator.engine.clock import FROZEN, RUNNING, parse_start
from emulator.engine.fixtures import Fixtures, InvalidFixture
from emulator.resources.app.settings import merged
from emulator.testing.collector import Receiver
from emulator.testing.time_travel import Travel, innermost

if TYPE_CHECKING:
    from emulator.engine.fixtures import Start
    from emulator.engine.runtime import Runtime
    from emulator.server.server import Server
    from emulator.server.thread import ServerThread


# -- the initial state of a world


@dataclass(frozen=True)
class WorldOptions:
    """``clock``: ``running``, ``frozen`` (now), ``frozen@INSTANT``. Default seed: the server's."""

    clock: str = FROZEN
    seed: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    fixtures: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        clock: str | datetime = FROZEN,
        seed: int | None = None,
        settings: Mapping[str, object] | None = None,
        fixtures: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    ) -> WorldOptions:
        """Validate a test's arguments. Raises ``ValueError`` or ``TypeError`` with the choices."""
        if isinstance(seed, bool) or not isinstance(seed, int | None):
            raise TypeError(f"seed={seed!r}: a whole number")
        if not isinstance(settings, Mapping | None):
            raise TypeError(
                f"settings={settings!r}: a dict of settings, such as {{'tax_rate': 18}}"
            )
        return cls(clock_start(clock), seed, dict(settings or {}), _files(fixtures))

    def own_settings(self, app: str) -> dict[str, Any]:
        """Return an App's settings: the files', then ``settings``. Raises ``ValueError``."""
        try:
            return merged(Fixtures(self.fixtures).origin_of(app), self.settings)
        except InvalidFixture as error:
            raise ValueError(str(error)) from None


def clock_start(clock: str | datetime) -> str:
    """Return a clock's form in :class:`WorldOptions`; instants (UTC if naive) are frozen."""
    if isinstance(clock, datetime):
        clock = (clock if clock.tzinfo else clock.replace(tzinfo=UTC)).isoformat()
    try:
        mode, at = parse_start(
            clock if clock in (RUNNING, FROZEN) else f"{FROZEN}@{clock.removeprefix(FROZEN + '@')}"
        )
    except (ValueError, TypeError, AttributeError):
        raise ValueError(
            f"clock={clock!r}: 'running', 'frozen', or an instant to be frozen at, such as"
            " '2026-01-01T00:00:00Z'"
        ) from None
    return f"{mode}@{at}" if at else mode


def _files(fixtures: Any) -> tuple[Path, ...]:
    try:
        listed = [fixtures] if isinstance(fixtures, str | PathLike) else list(fixtures)
        return tuple(Path(fspath(file)) for file in listed)
    except TypeError:
        raise TypeError(
            f"fixtures={fixtures!r}: a path, or a list of paths, of fixture files"
        ) from None


# -- a server in this process


class StartedServer(NamedTuple):
    """A server that responds, the thread that it runs in, and the connections to it."""

    server: Server
    thread: ServerThread
    connections: Connections


class LocalServer:
    """A server on a free loopback port, in a thread; its worlds follow freezegun and time-machine.

    It starts on its first use; a start that failed, such as in a test that may use no sockets, is
    tried again at the next. ``seed`` is the default seed of worlds. ``options`` are those of
    :class:`emulator.server.sandbox.Options`.
    """

    def __init__(self, seed: int = 0, **options: Any) -> None:
        self._starts: dict[str, Start] = {}
        self._options = {"clock_mode": "frozen", "seed": seed, "starts": self._starts, **options}
        self._starting = threading.Lock()
        self._started: StartedServer | None = None
        self.receiver: Receiver = Receiver()

    @property
    def url(self) -> str:
        return self._start().server.url

    @property
    def connections(self) -> Connections:
        """The connections of all worlds: connecting takes a third of a short test's time."""
        return self._start().connections

    def _start(self) -> StartedServer:
        # Imported on first use: only suites that use a server pay for loading it.
        from emulator.server.sandbox import Options
        from emulator.server.server import Server
        from emulator.server.thread import ServerThread
        from emulator.testing.time_travel import FollowingClock

        with self._starting:
            if self._started is None:
                server = Server(
                    Options(**{"clock": FollowingClock, **self._options}), "127.0.0.1", 0
                )
                try:
                    thread = ServerThread(server)
                except BaseException:
                    server.socket.close()
                    raise
                self._started = StartedServer(server, thread, Connections(server.url, API_TIMEOUTS))
            return self._started

    def begin(self, key: str, options: WorldOptions) -> None:
        """Store the options for the world's first use: a test may freeze time before that."""
        import msgspec

        from emulator.engine.clock import parse_start
        from emulator.engine.fixtures import Fixture, Start

        name = app(key)
        fixture = Fixture(settings=options.own_settings(name))
        try:
            # Validated here, so that the error is raised in the test and not in its first request.
            self._start().server.sandbox.fixtures.settings(name, fixture)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        self.discard(key)
        self._starts[name] = Start(fixture, options.seed, parse_start(options.clock))

    def follow(self, key: str) -> None:
        """Raise if the test set an instant that the world has passed; its clock moves by itself."""
        __tracebackhide__ = True
        if error := self.passed(key):
            raise error

    def passed(self, key: str) -> AssertionError | None:
        """Return the error for a time of the test that the world has already passed, if it has."""
        travel, runtime, lag = innermost(), self._runtime(key), self._lag(key)
        return behind(travel, lag, runtime.world.now) if travel and runtime and lag else None

    def follows(self, key: str) -> bool:
        """Return whether the world has been used and is not ahead of the time the test has set."""
        return self._runtime(key) is not None and not self._lag(key)

    def _lag(self, key: str) -> float:
        from emulator.testing.time_travel import FollowingClock

        runtime = self._runtime(key)
        return runtime.clock.lag() if runtime and isinstance(runtime.clock, FollowingClock) else 0.0

    def _runtime(self, key: str) -> Runtime | None:
        from emulator.resources.app import clients

        world = clients.read_key(f"Bearer {key}")
        return self._started.server.sandbox.engine.runtimes.get(world) if self._started else None

    def discard(self, key: str) -> None:
        self._starts.pop(app(key), None)
        if self._started:
            self._started.server.discard(key)

    def stop(self) -> None:
        self.receiver.close()
        if self._started:
            self._started.connections.disconnect()
            self._started.thread.stop()


def behind(travel: Travel, seconds: float, now: str) -> AssertionError:
    """Return the error for a time of the test that the world has already passed."""
    return AssertionError(
        f"{travel.started_by} is {timedelta(seconds=seconds)} behind this world, which is already"
        f" at {now}; its clock never goes back. Freeze time before the first use of the world, or"
        " set its start: @pytest.mark.payments(clock=...)."
    )


def app(key: str) -> str:
    return key.split("_", 2)[2]


# -- a server elsewhere


RESET = "/_emulator/reset"

LEAST_MOVE_SECONDS = 0.001
"""Seconds: the least that a clock can be moved by."""


@dataclass(frozen=True)
class FollowedTravel:
    """A freeze or travel that moved a world elsewhere, and its extent (seconds since 1970)."""

    travel: Travel
    instant: float


class RemoteServer:
    """A server such as ``payments-emulator serve``. Helpers' calls move the world's clock first."""

    def __init__(self, url: str) -> None:
        self.url: str = url.rstrip("/")
        self.receiver: Receiver = Receiver()
        self.connections: Connections = Connections(self.url, API_TIMEOUTS)
        self._starts: dict[str, WorldOptions] = {}
        self._followed: dict[str, FollowedTravel] = {}

    def begin(self, key: str, options: WorldOptions) -> None:
        travel = innermost()
        self._starts[key] = options
        self._followed.pop(key, None)
        if travel and options.clock == FROZEN:
            self._begin_at(key, travel)
        else:
            self._reset(key, options)

    def follow(self, key: str) -> None:
        """Move the world to the time that the test has set, if it has moved.

        A world that is not in use yet starts there. Raises ``AssertionError`` if the world is
        already past it.
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
        elif (moved := travel.instant - known.instant) >= LEAST_MOVE_SECONDS:
            self._advance(key, {"by": f"PT{moved:.3f}S"})
            self._followed[key] = FollowedTravel(travel, known.instant + moved)

    def passed(self, key: str) -> AssertionError | None:
        """Return the error for a time of the test that the world passed after following it."""
        travel, known = innermost(), self._followed.get(key)
        lag = known.instant - travel.instant if travel and known and known.travel == travel else 0
        return behind(travel, lag, self._now(key)) if travel and lag > 0 else None

    def follows(self, key: str) -> bool:
        """Return whether the world follows the time of the test already, and is not ahead of it."""
        travel, known = innermost(), self._followed.get(key)
        return (
            travel is not None
            and known is not None
            and known.travel == travel
            and travel.instant >= known.instant
        )

    def discard(self, key: str) -> None:
        """Reset the world; the server elsewhere still knows the App."""
        self._starts.pop(key, None)
        self._followed.pop(key, None)
        self._reset(key, WorldOptions())

    def stop(self) -> None:
        """Stop the receiver; the server elsewhere goes on."""
        self.receiver.close()
        self.connections.disconnect()

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
        """Return whether anything was asked of the world since it was reset."""
        requests = self._call(key, "GET", "/_emulator/requests")["data"]
        return any(request["path"] != RESET for request in requests)

    def _begin_at(self, key: str, travel: Travel) -> None:
        instant = travel.instant
        travel.watch()
        self._reset(
            key, replace(self._starts[key], clock=f"{FROZEN}@{calendar.from_epoch(instant)}")
        )
        self._followed[key] = FollowedTravel(travel, instant)

    def _advance(self, key: str, body: Mapping[str, object]) -> None:
        done = self._call(key, "POST", "/_emulator/clock/advance", json=body)
        if done["failures"]:
            raise AssertionError(
                f"jobs of the emulator failed before {done['now']}: {done['failures']}"
            )

    def _now(self, key: str) -> str:
        return str(self._call(key, "GET", "/_emulator/clock")["now"])

    def _reset(self, key: str, options: WorldOptions) -> None:
        body: JSON = {
            "clock": options.clock,
            "fixtures": {"settings": options.own_settings(app(key))},
        }
        try:
            self._call(
                key,
                "POST",
                RESET,
                json=body if options.seed is None else {**body, "seed": options.seed},
            )
        except ConnectionFailed as error:
            raise ValueError(f"no emulator answers at {self.url}: {error}") from None

    def _call(self, key: str, method: str, path: str, **options: Any) -> Any:
        return Api(self.url, key, connections=self.connections).call(method, path, **options)


AnyServer = LocalServer | RemoteServer
"""Both have the methods that a world needs of its server."""
