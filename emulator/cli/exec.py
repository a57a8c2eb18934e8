"""``exec``: a command with a sandbox of its own, which lives as long as the command does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from emulator.cli.options import DEFAULT_KEY, option, variable
from emulator.cli.serve import make_server, serve
from emulator.cli.server_thread import serving

GRACE = 5.0
"""Seconds (real time) that a command which is told to end has for it."""

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What ends a command; not every system has all of them."""

# The port is a free one even where the environment names that of a server, and nobody waits for a file with it.
PARAMETERS = [parameter for parameter in serve.params if parameter.name not in ("port", "port_file")]


@click.command("exec", params=PARAMETERS, context_settings={"allow_interspersed_args": False})
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 picks a free port.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="The key that the command is given.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(command: tuple[str, ...], key: str, **chosen: Any) -> int:
    """Run COMMAND with a sandbox of its own.

    \b
    payments-emulator exec -- npm test
    payments-emulator exec --clock frozen@2026-01-01T00:00:00Z --seed 7 -- pytest -x
    payments-emulator exec -- node checkout.test.js

    COMMAND finds the sandbox by PAYMENTS_EMULATOR_URL and PAYMENTS_EMULATOR_KEY in its environment, and so do the
    commands of payments-emulator that it runs. The exit status is that of COMMAND. Ctrl-C and SIGTERM end both.
    """
    # What comes before the command runs is to be undone as well.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    server = make_server(**chosen)
    environment = {"--url": server.url, "--key": key, "--control-token": chosen["control_token"]}
    given = {variable(name): value for name, value in environment.items() if value}
    with serving(server):
        return Child().run(command, {**os.environ, **given})


class Child:
    """The command at work. It leads a process group, so that what it started hears each signal too.

    On a terminal it stays in the group of this process, to be able to read from it and to be stopped together; there
    the terminal itself tells both of Ctrl-C.
    """

    def __init__(self) -> None:
        self._shares_terminal = on_terminal()
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._interrupted = False

    def run(self, command: tuple[str, ...], environment: dict[str, str]) -> int:
        """Its exit status; 128 and the signal's number if it ended by one, as in a shell."""
        with handling(self._hear):
            self._process = self._start(command, environment)
            for number in self._early:
                self._pass_on(number)
            status = self._process.wait()
            if self._interrupted and not self._shares_terminal:
                self._wait_for_group()
        return status if status >= 0 else 128 - status

    def _start(self, command: tuple[str, ...], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        try:
            # Running what the user names is what this is for.
            group = None if self._shares_terminal else 0
            return subprocess.Popen(command, env=environment, process_group=group)  # noqa: S603  # see above
        except OSError as fault:
            raise click.ClickException(f"{command[0]}: cannot be run: {fault.strerror}") from None

    def _hear(self, number: int, _: Any) -> None:
        if number == signal.SIGINT and self._shares_terminal:
            return
        self._interrupted = True
        if self._process:
            self._pass_on(number)
        else:
            self._early.append(number)

    def _pass_on(self, number: int) -> None:
        self._send(number)
        patience = threading.Timer(GRACE, self._send, [signal.SIGKILL])
        patience.daemon = True
        patience.start()

    def _send(self, number: int) -> None:
        assert self._process
        if self._shares_terminal:
            self._process.send_signal(number)
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _wait_for_group(self) -> None:
        """Until all that the command started has ended, by itself or at the end of its patience."""
        assert self._process
        deadline = time.monotonic() + GRACE + 1
        with suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.killpg(self._process.pid, 0)
                time.sleep(0.02)


def on_terminal() -> bool:
    """Whether a terminal sends what is typed there, Ctrl-C too, to the group of this process."""
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


@contextmanager
def handling(handler: Any) -> Iterator[None]:
    """The signals are handled so for as long as the block lasts, but for those that this process was told to ignore."""
    heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
