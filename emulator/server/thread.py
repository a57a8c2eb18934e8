"""A server in a thread of this process: how commands, tests and examinations start one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

START_OR_STOP_SECONDS = 300
"""Seconds (real time) for a server to start or stop; generous, since test machines are busy."""


class DidNotStart(RuntimeError):
    """The server does not respond; the message says why."""


class Runnable(Protocol):
    """A server that ``run`` serves until ``stop``; ``ready`` is called once it accepts requests."""

    def run(self, ready: Callable[[], None]) -> None: ...
    def stop(self) -> None: ...


class ServerThread:
    """Runs a server from construction to ``stop``; calls ``failed``, which :meth:`wait` awaits."""

    def __init__(self, server: Runnable, failed: Callable[[], None] | None = None) -> None:
        # The wait below would never end: it is in the thread whose turn the server takes.
        if not threads_are_real():
            raise DidNotStart(
                "threads of this process are greenlets (gevent.monkey.patch_all(),"
                " eventlet.monkey_patch()), in which no server runs beside the tests. Give them a"
                " server process: payments-emulator exec -- pytest"
            )
        self._server = server
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._failed = failed
        self._thread = threading.Thread(target=self._run, name="payments-emulator", daemon=True)
        self._thread.start()
        if failed is None:
            self.wait()

    def wait(self) -> None:
        """Wait until the server serves requests. Raises :class:`DidNotStart`."""
        if not self._ready.wait(START_OR_STOP_SECONDS) or self._failure:
            raise DidNotStart(
                f"the emulator did not start: {self._failure or 'no response'}"
            ) from self._failure

    def _run(self) -> None:
        try:
            self._server.run(self._ready.set)
        except BaseException as error:  # raised again in the thread that waits for the start
            self._failure = error
            if self._failed:
                self._failed()
        finally:
            self._ready.set()

    def stop(self) -> None:
        """Stop serving and wait until that is done."""
        self._server.stop()
        self._thread.join(START_OR_STOP_SECONDS)
        if self._thread.is_alive():
            raise RuntimeError("the emulator did not stop")


def threads_are_real() -> bool:
    """Return whether a new thread is one of the system's, and not a greenlet in this one."""
    runs_in: list[int] = []
    thread = threading.Thread(target=lambda: runs_in.append(threading.get_native_id()))
    thread.start()
    thread.join()
    return runs_in != [threading.get_native_id()]
