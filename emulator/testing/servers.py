"""Servers for tests: one in a thread of this process, or one that runs elsewhere."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from emulator.testing.api import JSON, Api
from emulator.testing.collector import Receiver
from emulator.testing.world_options import WorldOptions

if TYPE_CHECKING:
    from emulator.engine.fixtures import Start

TIME_LIMIT = 300
"""Seconds (real time) for a server to start, and to stop; generous because test machines can be busy."""


class AnyServer(Protocol):
    """What a world needs of its server. ``receiver`` receives the webhooks that tests collect."""

    url: str
    receiver: Receiver

    def begin(self, key: str, options: WorldOptions) -> None:
        """Start a new world for this key with these options."""

    def check(self, key: str) -> None:
        """Raise ``AssertionError`` if the world cannot be in the state that the test assumes."""

    def discard(self, key: str) -> None:
        """Discard the world of this key."""

    def stop(self) -> None:
        """Release all resources."""


class LocalServer:
    """A server on a free loopback port, in a thread of this process; its worlds follow freezegun.

    ``seed`` is the default seed of worlds. ``options`` are those of :class:`emulator.sandbox.Options`.
    """

    def __init__(self, seed: int = 0, **options: Any) -> None:
        # Imported on first use: only suites that use a server pay for loading it.
        from emulator.sandbox import Options
        from emulator.server import Server
        from emulator.testing.freezegun_clock import FollowingClock

        self._starts: dict[str, Start] = {}
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

        from emulator.engine.clock import parse_start
        from emulator.engine.fixtures import Fixture, Start

        name = app(key)
        fixture = Fixture(settings=options.own_settings(name))
        try:
            # Validated here, so that the error is raised in the test and not in its first request.
            self._server.sandbox.fixtures.settings(name, fixture)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        self.discard(key)
        self._starts[name] = Start(fixture, options.seed, parse_start(options.clock))

    def check(self, key: str) -> None:
        """Raise if freezegun is at an instant that the world has already passed."""
        from emulator.resources.app import keys
        from emulator.testing.freezegun_clock import FollowingClock

        __tracebackhide__ = True
        runtime = self._server.sandbox.engine.runtimes.get(keys.read(f"Bearer {key}"))
        if runtime is None or not isinstance(runtime.clock, FollowingClock):
            return
        if lag := runtime.clock.lag():
            raise AssertionError(
                f"freeze_time is {timedelta(seconds=lag)} behind this world, which is already at {runtime.world.now}; "
                "its clock never goes back. Freeze time before the first use of the world, or set its start: "
                "@pytest.mark.payments(clock=...)."
            )

    def discard(self, key: str) -> None:
        """Discard the world and wait until that is done."""
        self._starts.pop(app(key), None)
        self._server.discard(key)

    def stop(self) -> None:
        """Stop serving and wait until that is done."""
        self.receiver.close()
        self._server.stop()
        self._thread.join(TIME_LIMIT)
        if self._thread.is_alive():
            raise RuntimeError("the emulator did not stop")


class RemoteServer:
    """A server that runs elsewhere, such as ``payments-emulator serve``; no freezegun of this process reaches it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.receiver = Receiver()

    def begin(self, key: str, options: WorldOptions) -> None:
        """Reset the world of this key with these options."""
        self._reset(key, options)

    def check(self, key: str) -> None:
        """Do nothing: freezegun does not reach a server elsewhere."""

    def discard(self, key: str) -> None:
        """Reset the world; the server elsewhere still knows the App."""
        self._reset(key, WorldOptions())

    def stop(self) -> None:
        """Stop the receiver; the server is not ours."""
        self.receiver.close()

    def _reset(self, key: str, options: WorldOptions) -> None:
        body: JSON = {"clock": options.clock, "fixtures": {"settings": options.own_settings(app(key))}}
        api = Api(self.url, key)
        try:
            api.post("/_emulator/reset", body if options.seed is None else {**body, "seed": options.seed})
        except httpx.TransportError as error:
            raise ValueError(f"no emulator answers at {self.url}: {error}") from None
        finally:
            api.close()


def app(key: str) -> str:
    """The name of a secret key's App."""
    return key.split("_", 2)[2]
