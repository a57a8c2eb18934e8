"""The lines that ``serve`` prints: one for each request that was answered."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import click

from emulator.cli.output import printable

if TYPE_CHECKING:
    from emulator.web.root_app import AnsweredRequest

MAX_WAITING = 10_000
"""Lines that wait for a slow reader of the output; further ones are dropped, since requests must not wait for it."""

MOMENT = 0.05
"""Seconds of requests that are printed together."""

PATIENCE = 1.0
"""Seconds that the end waits for the last lines to be written."""

OWN = ("/_emulator/", "/docs", "/openapi", "/favicon")
"""Paths whose GETs are only shown by ``-v``: the console asks all the time, and so do health checks."""


class RequestLines:
    """Prints requests, in a thread, so that none waits for a terminal or a pipe. For ``verbose`` every one.

    Those of a moment are printed together: to wake the thread for each one halved the rate of requests.
    """

    def __init__(self, form: str, *, verbose: bool) -> None:
        self._line = json_line if form == "json" else text_line
        self._verbose = verbose
        self._waiting: deque[AnsweredRequest] = deque()
        self._some = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, name="request-lines", daemon=True)
        self._thread.start()

    def report(self, request: AnsweredRequest) -> None:
        """Print a request, soon."""
        if self._verbose or request.method != "GET" or not request.path.startswith(OWN):
            if len(self._waiting) < MAX_WAITING:
                self._waiting.append(request)
            if not self._some.is_set():
                self._some.set()

    def close(self) -> None:
        """Write what waits."""
        self._ending.set()
        self._some.set()
        self._thread.join(PATIENCE)

    def _write(self) -> None:
        while self._waiting or not self._ending.is_set():
            self._some.wait()
            self._ending.wait(MOMENT)
            self._some.clear()
            requests = [self._waiting.popleft() for _ in range(len(self._waiting))]
            lines = [self._line(each, verbose=self._verbose) for each in requests]
            try:
                if lines:
                    click.echo("\n".join(lines))
            except OSError:
                # The reader has closed its end; the server goes on.
                return


def text_line(request: AnsweredRequest, *, verbose: bool) -> str:
    """A request as a line to read: App, method, path, status, milliseconds, the events it caused."""
    parts = [
        (request.app or "-").ljust(12),
        f"{request.method:6} {printable(request.path)}",
        _coloured(request.status),
        f"{request.seconds * 1000:.0f} ms",
        _counted(request.events) if request.events else "",
        request.id if verbose else "",
    ]
    return "  ".join(part for part in parts if part)


@cache
def _coloured(status: int) -> str:
    return click.style(str(status), fg="green" if status < 400 else "yellow" if status < 500 else "red")


def _counted(events: Iterable[str]) -> str:
    return ", ".join(kind if n == 1 else f"{n} × {kind}" for kind, n in Counter(events).items())


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
