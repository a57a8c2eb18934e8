"""Servers of emulators for tests: one in a thread of this process, or one that runs elsewhere."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from emulator.testing.api import JSON, Api
from emulator.testing.collector import Receiver
from emulator.testing.options import WorldOptions

if TYPE_CHECKING:
    from emulator.engine.fixtures import Start as Opening

LIFTOFF = 300
"""Seconds (real time) a server has to start, and to stop; on a busy machine that takes what it takes."""


class AnyServer(Protocol):
    """What a world needs of its server. ``receiver`` gets the webhooks that tests collect."""

    url: str
    receiver: Receiver

    def begin(self, key: str, start: WorldOptions) -> None:
        """Have the world of this key start so, as a new one."""

    def check(self, key: str) -> None:
        """Raise ``AssertionError`` if the world cannot be what the test believes."""

    def discard(self, key: str) -> None:
        """Throw the world of this key away."""

    def stop(self) -> None:
        """Release what is held."""


class LocalServer:
    """A server on a free loopback port, in a thread of this process; its worlds follow freezegun.

    ``seed`` is for worlds that are given none. ``options`` are those of :class:`emulator.sandbox.Options`.
    """

    def __init__(self, seed: int = 0, **options: Any) -> None:
        # Imported on first use: only who asks for a server pays for its start.
        from emulator.sandbox import Options
        from emulator.server import Server
        from emulator.testing.freezegun_clock import FollowingClock

        self._starts: dict[str, Opening] = {}
        chosen = {"clock_mode": "frozen", "seed": seed, "clock": FollowingClock, "starts": self._starts, **options}
        self._server = Server(Options(**chosen), "127.0.0.1", 0)
        self.url = self._server.url
        self.receiver = Receiver()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="payments-emulator", daemon=True)
        self._start()

    def _start(self) -> None:
        ready = self._ready = threading.Event()
        self._thread.start()
        if not ready.wait(LIFTOFF) or self._failure:
            raise RuntimeError(f"the emulator did not start: {self._failure or 'no answer'}") from self._failure

    def _run(self) -> None:
        try:
            self._server.run(self._ready.set)
        except BaseException as failure:  # told to whoever waits for the start, in a thread of their own
            self._failure = failure
        finally:
            self._ready.set()

    def begin(self, key: str, start: WorldOptions) -> None:
        """The world opens so on its first use, which may be under a freeze of time that begins only then."""
        import msgspec

        from emulator.engine.clock import parse_start
        from emulator.engine.fixtures import Fixture
        from emulator.engine.fixtures import Start as Opening

        name = app(key)
        fixture = Fixture(settings=start.own_settings(name))
        try:
            # Tried here, so that what is wrong is told to who says it and not to the first request.
            self._server.sandbox.fixtures.settings(name, fixture)
        except msgspec.ValidationError as fault:
            raise ValueError(str(fault)) from None
        self.discard(key)
        self._starts[name] = Opening(fixture, start.seed, parse_start(start.clock))

    def check(self, key: str) -> None:
        """Raise if freezegun is at a time that the world has already passed."""
        from emulator.resources.app import keys
        from emulator.testing.freezegun_clock import FollowingClock

        __tracebackhide__ = True
        runtime = self._server.sandbox.engine.runtimes.get(keys.read(f"Bearer {key}"))
        if runtime is None or not isinstance(runtime.clock, FollowingClock):
            return
        if lag := runtime.clock.lag():
            raise AssertionError(
                f"freeze_time is {timedelta(seconds=lag)} behind this world, which is at {runtime.world.now} already; "
                "its clock never goes back. Freeze time before the world is first used, or say when it starts: "
                "@pytest.mark.payments(clock=...)."
            )

    def discard(self, key: str) -> None:
        """Throw the world away and wait until that is done."""
        self._starts.pop(app(key), None)
        self._server.discard(key)

    def stop(self) -> None:
        """Stop serving and wait until that is done."""
        self.receiver.close()
        self._server.stop()
        self._thread.join(LIFTOFF)
        if self._thread.is_alive():
            raise RuntimeError("the emulator did not stop")


class RemoteServer:
    """A server that runs elsewhere, such as ``payments-emulator serve``; no freezegun of this process reaches it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.receiver = Receiver()

    def begin(self, key: str, start: WorldOptions) -> None:
        """Reset the world of this key to such a start."""
        self._reset(key, start)

    def check(self, key: str) -> None:
        """Nothing is known to be wrong."""

    def discard(self, key: str) -> None:
        """Empty the world; a server elsewhere keeps its name."""
        self._reset(key, WorldOptions())

    def stop(self) -> None:
        """Only the receiver is ours to stop."""
        self.receiver.close()

    def _reset(self, key: str, start: WorldOptions) -> None:
        body: JSON = {"clock": start.clock, "fixtures": {"settings": start.own_settings(app(key))}}
        api = Api(self.url, key)
        try:
            api.post("/_emulator/reset", body if start.seed is None else {**body, "seed": start.seed})
        except httpx.TransportError as fault:
            raise ValueError(f"no emulator answers at {self.url}: {fault}") from None
        finally:
            api.close()


def app(key: str) -> str:
    """The name of a secret key's App."""
    return key.split("_", 2)[2]
