"""The lines that ``serve`` prints: one for each request that was answered."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING

import click

from emulator.cli.output import printable

if TYPE_CHECKING:
    from emulator.web.request_log import AnsweredRequest

MAX_WAITING = 10_000
"""Lines that wait for a slow reader of the output; further ones are dropped, since requests must not wait for it."""

PATIENCE = 1.0
"""Seconds that the end waits for the last lines to be written."""

OWN = ("/_emulator/", "/docs", "/openapi", "/favicon")
"""Paths whose GETs are only shown by ``-v``: the console asks all the time, and so do health checks."""


class RequestLines:
    """Prints requests, in a thread, so that none waits for a terminal or a pipe. For ``verbose`` every one."""

    def __init__(self, form: str, *, verbose: bool) -> None:
        self._line = json_line if form == "json" else text_line
        self._verbose = verbose
        self._waiting: queue.Queue[str | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._write, name="request-lines", daemon=True)
        self._thread.start()

    def report(self, request: AnsweredRequest) -> None:
        """Print a request, soon."""
        if self._verbose or request.method != "GET" or not request.path.startswith(OWN):
            self._put(self._line(request, verbose=self._verbose))

    def close(self) -> None:
        """Write what waits."""
        self._put(None)
        self._thread.join(PATIENCE)

    def _put(self, line: str | None) -> None:
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            return

    def _write(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                click.echo(line)
            except OSError:
                # The reader has closed its end; the server goes on.
                return
            if self._waiting.empty():
                sys.stdout.flush()


def text_line(request: AnsweredRequest, *, verbose: bool) -> str:
    """A request as a line to read: App, method, path, status, milliseconds, the events it caused."""
    colour = "green" if request.status < 400 else "yellow" if request.status < 500 else "red"
    happened = ", ".join(kind if n == 1 else f"{n} × {kind}" for kind, n in Counter(request.events).items())
    parts = [
        (request.app or "-").ljust(12),
        f"{request.method:6} {printable(request.path)}",
        click.style(str(request.status), fg=colour),
        f"{request.seconds * 1000:.0f} ms",
        happened,
        request.id if verbose else "",
    ]
    return "  ".join(part for part in parts if part)


def json_line(request: AnsweredRequest, *, verbose: bool) -> str:
    """A request as a JSON object."""
    return json.dumps(
        {
            "request": request.id,
            "app": request.app,
            "method": request.method,
            "path": request.path,
            "status": request.status,
            "duration_ms": round(request.seconds * 1000, 1),
            "events": request.events,
        }
    )
