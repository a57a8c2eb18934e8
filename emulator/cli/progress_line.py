"""How far a command is that makes many runs: one line on a terminal, with about how long the others take."""

from __future__ import annotations

import os
import time

import click


class ProgressLine:
    """The line. ``quiet``: nothing is shown; ``title`` stands before the numbers."""

    def __init__(self, *, quiet: bool, title: str = "") -> None:
        self._is_shown = not quiet and os.isatty(2)
        self._title = title
        self._started: float | None = None
        self._first = 0

    def show(self, done: int, of: int) -> None:
        """After each run; called from several threads."""
        now = time.monotonic()
        if self._started is None:
            self._started, self._first = now, done
        if self._is_shown:
            line = self._title + estimate(done, of, self._first, now - self._started)
            click.echo(f"\r\033[K{line}", nl=False, err=True)

    def end(self) -> None:
        """Remove the line."""
        if self._is_shown and self._started is not None:
            click.echo("\r\033[K", nl=False, err=True)


def estimate(done: int, of: int, first: int, seconds: float) -> str:
    """How far the runs are, ``seconds`` after the run with the number ``first``."""
    left = f", about {seconds / (done - first) * (of - done):.0f} s left" if done > first else ""
    return f"{done} of {of} runs{left}"
