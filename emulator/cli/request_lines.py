"""The lines that ``serve`` prints: one for each finished request."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter, deque
from functools import lru_cache
from typing import TYPE_CHECKING

import click

from emulator.cli.output import advance_lines, printable

if TYPE_CHECKING:
    from emulator.core.world import World
    from emulator.web.root_app import FinishedRequest

MAX_WAITING_LINES = 10_000
"""Waiting lines for a slow reader; further ones are dropped, since requests must not wait."""

PRINT_INTERVAL = 0.05
"""Seconds of requests that are printed together."""

TOGETHER = 32
"""The number of lines made and written in one go; meanwhile the requests' thread waits."""

LAST_LINES_SECONDS = 1.0
"""Seconds that the end waits for the last lines to be written."""

INBOXES = "/_emulator/inbox/"
"""Paths whose requests, deliveries above all, are not shown."""

OWN = ("/_emulator/", "/docs", "/openapi", "/favicon")
"""Paths whose GETs are not shown: the console asks all the time, and so do health checks."""

ADVANCE = "/_emulator/clock/advance"


class RequestLines:
    """Prints requests, in a thread, so that none waits for a terminal or a pipe.

    Those of a moment are printed together: to wake the thread for each one halved the rate of
    requests.
    """

    def __init__(self, interval: float = PRINT_INTERVAL) -> None:
        # A person reads names, and no more than a hundred lines at once; names take longer than
        # many a request.
        self._is_terminal = sys.stdout.isatty()
        self._interval = interval
        self._waiting: deque[tuple[FinishedRequest, str]] = deque()
        self._some = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, name="request-lines", daemon=True)
        self._thread.start()

    def report(self, request: FinishedRequest, response: bytes, world: World | None) -> None:
        """Print a request, soon; ``response`` and ``world`` are those of one that is recorded."""
        hidden = OWN if request.method == "GET" else INBOXES
        waiting = self._waiting
        if request.path.startswith(hidden) or len(waiting) >= MAX_WAITING_LINES:
            return
        subject = ""
        if request.path == ADVANCE:
            subject = result_of(request, response)
        elif self._is_terminal and world is not None and len(waiting) < 100:
            subject = subject_of(request, response, world)
        waiting.append((request, subject))
        if not self._some.is_set():
            self._some.set()

    def close(self, seconds: float = LAST_LINES_SECONDS) -> None:
        """End once all lines are written, or ``seconds`` have passed."""
        self._ending.set()
        self._some.set()
        self._thread.join(seconds)

    def _write(self) -> None:
        while self._waiting or not self._ending.is_set():
            self._some.wait()
            self._ending.wait(self._interval)
            self._some.clear()
            for _ in range(0, len(self._waiting), TOGETHER):
                requests = [
                    self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))
                ]
                try:
                    click.echo(
                        "\n".join(
                            text_line(*request, styled=self._is_terminal) for request in requests
                        )
                    )
                except OSError:
                    # The reader has closed its end; the server goes on.
                    return
                self._ending.wait(0.001)


def result_of(request: FinishedRequest, response: bytes) -> str:
    """Return an advance's result; no text, if it was refused."""
    if request.status != 200:
        return ""
    return advance_lines(json.loads(response)).partition("\n")[0]


def subject_of(request: FinishedRequest, response: bytes, world: World) -> str:
    """Return the name in a world of the object that a request is about."""
    from emulator.control import requests
    from emulator.engine.redaction import redact
    from emulator.insight.names import name_of
    from emulator.presentation.languages.catalogs import SOURCE
    from emulator.presentation.languages.language import language_of

    name = name_of(world, requests.about(request.path, response), language_of(SOURCE))
    return redact(name.encode()).decode()


def text_line(request: FinishedRequest, subject: str = "", *, styled: bool = False) -> str:
    """Return a request's line: App, status, method, path, subject or result, events, real time."""
    path, about = request.path, ""
    if not (path.isascii() and path.isprintable()):
        path = printable(path)
    if subject:
        about = f"  {printable(subject)}"
    if request.events and not subject.startswith("→"):
        about += f"  {_counted(request.events)}"
    beginning = _beginning(request.app, request.status, request.method, styled)
    return f"{beginning}{path}{about}  {round(request.seconds * 1000)} ms"


# Most requests begin alike and cause the same few events.


@lru_cache(maxsize=256)
def _beginning(app: str | None, status: int, method: str, styled: bool) -> str:
    text = str(status)
    if styled:
        color = "green" if status < 400 else "yellow" if status < 500 else "red"
        text = click.style(text, fg=color)
    return f"{app or '-':<12}  {text}  {method} "


@lru_cache(maxsize=256)
def _counted(events: tuple[str, ...]) -> str:
    return ", ".join(kind if n == 1 else f"{n} × {kind}" for kind, n in Counter(events).items())
