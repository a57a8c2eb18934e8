"""A server in a thread of a command's process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from emulator.server import Server


@contextmanager
def serving(server: Server) -> Iterator[None]:
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
