"""The server in a thread of this process, and what a world needs of any server."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from emulator.testing.collector import Receiver
from emulator.testing.time_travel import Travel, innermost
from emulator.testing.world_options import WorldOptions

if TYPE_CHECKING:
    from httpx import BaseTransport

    from emulator.engine.fixtures import Start
    from emulator.engine.runtime import Runtime

TIME_LIMIT = 300
"""Seconds (real time) for a server to start, and to stop; generous because test machines can be busy."""


class AnyServer(Protocol):
    """What a world needs of its server.

    ``receiver`` receives the webhooks that tests collect. ``connections`` are those that its worlds share, if any.
    """

    url: str
    receiver: Receiver
    connections: BaseTransport | None

    def begin(self, key: str, options: WorldOptions) -> None:
        """Start a new world for this key with these options."""

    def follow(self, key: str) -> None:
        """Let the world follow the time that the test has set; raises ``AssertionError`` if it cannot."""

    def passed(self, key: str) -> AssertionError | None:
        """The error for a time of the test that the world has already passed, if it has."""

    def follows(self, key: str) -> bool:
        """Whether the world is in use and can follow a move of the time that the test has set."""

    def discard(self, key: str) -> None:
        """Discard the world of this key."""

    def stop(self) -> None:
        """Release all resources."""


class LocalServer:
    """A server on a free loopback port, in a thread of this process; its worlds follow freezegun and time-machine.

    ``seed`` is the default seed of worlds. ``options`` are those of :class:`emulator.server.sandbox.Options`.
    """

    def __init__(self, seed: int = 0, **options: Any) -> None:
        # Imported on first use: only suites that use a server pay for loading it.
        from emulator.server.sandbox import Options
        from emulator.server.server import Server
        from emulator.testing.connections import SharedConnections
        from emulator.testing.following_clock import FollowingClock

        self._starts: dict[str, Start] = {}
        chosen = {"clock_mode": "frozen", "seed": seed, "clock": FollowingClock, "starts": self._starts, **options}
        self._server = Server(Options(**chosen), "127.0.0.1", 0)
        self.url = self._server.url
        self.receiver = Receiver()
        self._connections = SharedConnections()
        self.connections: BaseTransport | None = self._connections
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="payments-emulator", daemon=True)
        self._start()

    def _start(self) -> None:
        ready = self._ready = threading.Event()
        self._thread.start()
        if not ready.wait(TIME_LIMIT) or self._failure:
            raise RuntimeError(f"the emulator did not start: {self._failure or 'no answer'}") from self._failure

    def _run(self) -> None:
        try:
            self._server.run(self._ready.set)
        except BaseException as error:  # raised again in the thread that waits for the start
            self._failure = error
        finally:
            self._ready.set()

    def begin(self, key: str, options: WorldOptions) -> None:
        """Store the options: the world opens on its first use, when time may be frozen that is not frozen yet."""
        import msgspec

        from emulator.engine.fixtures import Fixture, Start
        from emulator.engine.world_clock import parse_start

        name = app(key)
        fixture = Fixture(settings=options.own_settings(name))
        try:
            # Validated here, so that the error is raised in the test and not in its first request.
            self._server.sandbox.fixtures.settings(name, fixture)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        self.discard(key)
        self._starts[name] = Start(fixture, options.seed, parse_start(options.clock))

    def follow(self, key: str) -> None:
        """Raise if the test has set an instant that the world has already passed; its clock follows by itself."""
        __tracebackhide__ = True
        if error := self.passed(key):
            raise error

    def passed(self, key: str) -> AssertionError | None:
        """The error for a time of the test that the world has already passed, if it has."""
        travel, runtime, lag = innermost(), self._runtime(key), self._lag(key)
        return behind(travel, lag, runtime.world.now) if travel and runtime and lag else None

    def follows(self, key: str) -> bool:
        """Whether the world has been used and is not ahead of the time that the test has set."""
        return self._runtime(key) is not None and not self._lag(key)

    def _lag(self, key: str) -> float:
        from emulator.testing.following_clock import FollowingClock

        runtime = self._runtime(key)
        return runtime.clock.lag() if runtime and isinstance(runtime.clock, FollowingClock) else 0.0

    def _runtime(self, key: str) -> Runtime | None:
        from emulator.resources.app import keys

        return self._server.sandbox.engine.runtimes.get(keys.read(f"Bearer {key}"))

    def discard(self, key: str) -> None:
        """Discard the world and wait until that is done."""
        self._starts.pop(app(key), None)
        self._server.discard(key)

    def stop(self) -> None:
        """Stop serving and wait until that is done."""
        self.receiver.close()
        self._connections.disconnect()
        self._server.stop()
        self._thread.join(TIME_LIMIT)
        if self._thread.is_alive():
            raise RuntimeError("the emulator did not stop")


def behind(travel: Travel, seconds: float, now: str) -> AssertionError:
    """The error for a time of the test that the world has already passed."""
    return AssertionError(
        f"{travel.started_by} is {timedelta(seconds=seconds)} behind this world, which is already at {now}; its clock "
        "never goes back. Freeze time before the first use of the world, or set its start: "
        "@pytest.mark.payments(clock=...)."
    )


def app(key: str) -> str:
    """The name of a secret key's App."""
    return key.split("_", 2)[2]
