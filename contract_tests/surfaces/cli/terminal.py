"""The command line as a program: in this process where possible, or in one of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import IO, Any, NamedTuple

from emulator.cli.main import main

COMMAND = [sys.executable, "-m", "emulator.cli.main"]
"""The command line in a process of its own."""

PROCESS_SECONDS = 120
"""Seconds that a process may take in all; only one that hangs does."""

Begin = Callable[..., "subprocess.Popen[str]"]


class Ended(NamedTuple):
    """How a command ended, and what it said on both outputs."""

    status: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        """The lines of a success that had nothing to complain about."""
        assert (self.status, self.errors) == (0, ""), self
        return self.output.splitlines()

    @property
    def objects(self) -> list[Any]:
        """The JSON objects of such a success, one a line."""
        return [json.loads(line) for line in self.lines]

    @property
    def usage_error(self) -> str:
        """The one line of a command that could not be; exit status 2."""
        assert (self.status, self.output, self.errors.count("\n")) == (2, "", 1), self
        assert self.errors.startswith("payments-emulator: ")
        return self.errors


def run(*arguments: str) -> Ended:
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code
    printed, complained = (stream.buffer.getvalue().decode() for stream in (output, errors))  # type: ignore[attr-defined]
    assert isinstance(status, int)
    return Ended(status, printed, complained)


SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
"""Runs a program on a terminal of its own, as that terminal's other end; both end together."""


class Screen:
    """A terminal on which the command line runs: what is typed there, and what is written to it."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SPAWN, *COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean(**{"TERM": "xterm-256color", "COLUMNS": "80", **variables}),
        )
        self._end = ended_at_last(self._process)
        self.text = ""

    def type(self, keys: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(keys.encode())
        self._process.stdin.flush()

    def until(self, text: str) -> None:
        """Read on until this was written."""
        while text not in self.text:
            assert self._read(), f"it ended before it said {text!r}: {self.text!r}"

    def status(self) -> int:
        while self._read():
            pass
        return self._process.wait(60)

    def close(self) -> None:
        self._end.cancel()
        self._process.kill()
        self._process.communicate()

    def _read(self) -> bool:
        assert self._process.stdout
        part = os.read(self._process.stdout.fileno(), 4096)
        self.text += part.decode(errors="replace")
        return bool(part)


@contextmanager
def processes() -> Iterator[Begin]:
    """Start the command line without a terminal in own processes, which end with the block."""
    with ExitStack() as cleanup:

        def begin(*arguments: str, **variables: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=clean(**variables),
                start_new_session=True,
                # it takes no lock
                preexec_fn=_hear_hang_ups if sys.platform != "win32" else None,  # noqa: PLW1509
            )
            # Not read to their end: what the command line left behind, if it did, still holds them.
            for output in (process.stdout, process.stderr):
                assert output
                cleanup.callback(output.close)
            cleanup.callback(process.wait)
            cleanup.callback(process.kill)
            cleanup.callback(ended_at_last(process).cancel)
            return process

        yield begin


def until(output: IO[str] | None, text: str) -> str:
    assert output
    line = next((line for line in output if text in line), "")
    assert line, f"it ended before it said {text!r}"
    return line


def ended(process: subprocess.Popen[str], by: signal.Signals | None = None) -> Ended:
    if by is not None:
        process.send_signal(by)
    output, errors = process.communicate(timeout=60)
    return Ended(process.returncode, output, errors)


def _hear_hang_ups() -> None:
    """Tests may run under ``nohup``, which has every process ignore SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ended_at_last(process: subprocess.Popen[Any]) -> threading.Timer:
    end = threading.Timer(PROCESS_SECONDS, process.kill)
    end.daemon = True
    end.start()
    return end


def clean(**variables: str) -> Mapping[str, str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PAYMENTS_EMULATOR_")
    }
    return {**own, **variables}
