"""A server in a thread of a command's process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import click


class RunnableServer(Protocol):
    """A server that one thread runs and another one ends."""

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until :meth:`stop`; ``ready`` is called once requests are answered."""

    def stop(self) -> None:
        """End :meth:`run`, from any thread."""


@contextmanager
def serving(server: RunnableServer) -> Iterator[None]:
    """Run the server during the block. Raises ``ClickException`` if it does not start."""
    settled = threading.Event()
    ready = threading.Event()

    def announce() -> None:
        ready.set()
        settled.set()

    def run() -> None:
        try:
            server.run(announce)
        finally:
            settled.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    settled.wait()
    if not ready.is_set():
        raise click.ClickException("the sandbox did not start")
    try:
        yield
    finally:
        server.stop()
        thread.join()
