"""Commands that the user names, run many times: captured, counted, and repeated alone."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import subprocess


WITHOUT_PAGES = "PAYMENTS_EMULATOR_WITHOUT_PAGES"
"""The environment variable that keeps the pytest plugin from drawing failed tests: here they fail again and again."""

OWN_GROUP = 0 if os.name == "posix" else None
"""A command leads a process group, so that its own children are ended with it, and not by a terminal's Ctrl-C."""

ERROR = re.compile(r"FAILED |not ok |(Uncaught )?[\w.]*(Error|Exception)\b.*: ")
"""How programs begin the line that names an error or a failed test; the last line may be Node's version, or a count."""

LONGEST_LINE = 300

SLOWER = 10
"""How many times longer than the first run of a command another one may take."""


def limit_after(started: float, least: float) -> float:
    """Return the seconds that a run may take after one that began at ``started`` (``time.monotonic``) has ended."""
    return max(least, SLOWER * (time.monotonic() - started))


def failure_of(status: int, output: str) -> str | None:
    """Return why a command failed, in one line: its last one that names an error, else its last one; None for status 0."""
    if status == 0:
        return None
    lines = [line.strip() for line in output.strip().splitlines()]
    errors = [line for line in lines if ERROR.match(line)]
    last = [line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…" for line in (errors or lines)[-1:]]
    return ", ".join([f"exit status {status}", *last])


class CapturedCommands:
    """Commands that run at the same time, each in a thread of the caller, and that are ended together."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        time_limit: float | None = None,
        begun: Callable[[Callable[[], None]], None] | None = None,
    ) -> tuple[int, str]:
        """Run a command to its end; its exit status and its output, errors included. ``variables`` join the environment.

        A command that takes longer than ``time_limit`` seconds is killed, and ``subprocess.TimeoutExpired`` raised.
        ``begun`` is given what ends it at once. Raises ``OSError`` if it cannot be run, ``KeyboardInterrupt`` where Ctrl-C
        ended it.
        """
        import subprocess

        # As in exec itself: on Windows npm, for example, is npm.cmd.
        found = (shutil.which(command[0]) or command[0], *command[1:])
        with self._lock:
            # Running what the user names is the purpose of its callers.
            process = subprocess.Popen(  # noqa: S603  # see above
                found,
                env={**os.environ, WITHOUT_PAGES: "1", **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                process_group=OWN_GROUP,
            )
            self._running.add(process)
            if begun:
                begun(partial(_end, process))
            if self._stopped:
                _end(process)
        with process:
            try:
                output, _ = process.communicate(timeout=time_limit)
            except BaseException:
                _end(process)
                raise
            finally:
                with self._lock:
                    self._running.discard(process)
        if process.returncode == -signal.SIGINT:
            raise KeyboardInterrupt  # from a terminal, before the command led a group of its own
        return process.returncode, output.decode(errors="replace")

    def attempt(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        time_limit: float | None = None,
        begun: Callable[[Callable[[], None]], None] | None = None,
    ) -> tuple[str | None, str]:
        """Run a command as :meth:`run` does; why it failed, if it did, and its output.

        Raises ``ClickException`` if it cannot be run.
        """
        try:
            status, output = self.run(command, variables, time_limit, begun)
        except OSError as error:
            raise click.ClickException(f"{command[0]}: cannot be run: {error.strerror}") from None
        return failure_of(status, output), output.strip()

    def stop(self) -> None:
        """End every command that runs, and each that is started from now on."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        if OWN_GROUP is None:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class ProgressLine:
    """The line on a terminal that says how many runs are done. ``quiet``: none; ``title`` stands before the numbers."""

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
        if self._is_shown and self._started is not None:
            click.echo("\r\033[K", nl=False, err=True)


def estimate(done: int, of: int, first: int, seconds: float) -> str:
    """Return how far the runs are, ``seconds`` after the run with the number ``first``."""
    left = f", about {seconds / (done - first) * (of - done):.0f} s left" if done > first else ""
    return f"{done} of {of} runs{left}"
