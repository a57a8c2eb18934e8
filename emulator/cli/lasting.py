"""Processes that play one case after another, so that a program starts once for many of them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

CASES = "PAYMENTS_EMULATOR_CASES"
"""The variable that tells a program to read a line with the variables of each case."""

DONE = re.compile(rb'\{ *"done" *: *true *\}\s*$')
"""The end of the line with which a program says that its case has ended well."""


class LastingProcess:
    """A program that reads a line of JSON for each case, the variables, and writes one at its end.

    It ends where a case fails, as any program does; and if it ends well without a word, it was
    one that plays a single case.
    """

    def __init__(self, process: Popen[bytes]) -> None:
        self.process = process
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(b"")

    def play(self, variables: Mapping[str, str], seconds: float | None) -> tuple[int, bytes]:
        """Play a case; return its exit status and output. Raises ``TimeoutExpired``."""
        from subprocess import TimeoutExpired

        assert self.process.stdin
        until = None if seconds is None else time.monotonic() + seconds
        with suppress(OSError):  # it has ended already, and says why
            self.process.stdin.write(json.dumps(variables).encode() + b"\n")
            self.process.stdin.flush()
        output = b""
        try:
            while line := self._lines.get(timeout=until and max(0, until - time.monotonic())):
                if done := DONE.search(line):
                    return 0, output + line[: done.start()]
                output += line
        except Empty:
            raise TimeoutExpired(self.process.args, seconds or 0, output) from None
        return self.process.wait(), output

    def close(self) -> None:
        """Wait for the end of the process, which has begun."""
        assert self.process.stdin
        with suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


class LastingProcesses:
    """Lasting processes by their command; those that play nothing now wait for another case.

    ``end`` ends one at once.
    """

    def __init__(self, end: Callable[[Popen[bytes]], None]) -> None:
        self._end = end
        self._idle: defaultdict[tuple[str, ...], list[LastingProcess]] = defaultdict(list)
        self._lock = threading.Lock()

    def taken(self, command: Sequence[str], start: Callable[[], Popen[bytes]]) -> LastingProcess:
        """Return a process of this command that is still alive, or one that ``start`` makes."""
        with self._lock:
            idle = self._idle[tuple(command)]
            while idle:
                player = idle.pop()
                if player.process.poll() is None:
                    return player
                player.close()
        return LastingProcess(start())

    def add(self, command: Sequence[str], player: LastingProcess) -> None:
        """Keep a process for the next case, unless it has ended."""
        if player.process.returncode is not None:
            player.close()
            return
        with self._lock:
            self._idle[tuple(command)].append(player)

    def close(self) -> None:
        """End those that wait for another case."""
        for player in [player for idle in self._idle.values() for player in idle]:
            self._end(player.process)
            player.close()
