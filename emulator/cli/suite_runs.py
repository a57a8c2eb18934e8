"""The runs of ``test suite``: the command with the right service, then with each mutant.

Most of a short run of pytest is its start. So where a mutant needs only some tests, pytest starts once for many mutants: it
loads all tests, then forks for each mutant, and the copy runs its tests as pytest would.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from emulator.cli.runs import CapturedCommands, sandbox

if TYPE_CHECKING:
    from emulator.checks.suite.mutants import Mutant
    from emulator.checks.suite.search import MutantRun
    from emulator.checks.suite.usage import WorldRecorder
    from emulator.checks.suite.wrong_service import WrongService
    from emulator.server.server import Server

TESTS = "PAYMENTS_EMULATOR_TESTS"
"""The variable with the tests that the pytest plugin is to run, all if it is empty; with it their keys are the same in each
run."""

FORKS = "PAYMENTS_EMULATOR_FORKS"
"""The variable with the loopback port at which the pytest plugin learns for which tests it is to fork."""

PATIENCE = 10.0
"""Seconds (real time) that each run may take at least, and a pytest that has nothing more to do."""


class LoadedTests(NamedTuple):
    """A pytest that has loaded its tests and forks for some of them, with a sandbox of its own, wrong in changing ways."""

    connection: socket.socket
    service: WrongService
    servers: Sequence[Server]
    ends: Sequence[Callable[[], None]]


class SuiteRuns:
    """Runs of a command, each with a wrong service or with the right one, at whose worlds ``recorder`` looks."""

    def __init__(self, command: Sequence[str], key: str, chosen: Mapping[str, Any], recorder: WorldRecorder) -> None:
        self._command = command
        self._key = key
        self._chosen = chosen
        self._recorder = recorder
        self._idle: list[LoadedTests] = []
        self._can_fork = True
        self._open = ExitStack()
        self.commands = CapturedCommands(PATIENCE)

    def play(self, row: Mutant | None) -> MutantRun:
        """Run the command, or those of its tests that a mutant needs; called by several threads."""
        if row and row.tests and self._can_fork:
            if run := self._fork(row):
                return run
            self._can_fork = False
        return self._play_command(row)

    def close(self) -> None:
        """Let each pytest end by itself: its plugins may have something to clear away."""
        self._open.close()

    def _play_command(self, row: Mutant | None) -> MutantRun:
        from emulator.checks.suite.mutants import MUTANTS
        from emulator.checks.suite.search import MutantRun
        from emulator.checks.suite.wrong_service import WrongService

        service = WrongService([row], row) if row else WrongService(MUTANTS.values())
        servers: list[Server] = []

        def built(server: Server) -> None:
            servers.append(server)
            if row is None:
                self._recorder.attach(server.sandbox.engine)

        with sandbox(self.commands, self._key, self._chosen, service.parts(), built) as (_, variables):
            failure, _ = self.commands.attempt(self._command, {**variables, TESTS: _listed(row)})
        if row is None:
            self._recorder.collect(servers[0].sandbox.engine)
        return MutantRun(failure, service.reached, service.apps)

    def _fork(self, row: Mutant) -> MutantRun | None:
        """Run the tests of a mutant in a copy of a loaded pytest; None where the command has none that forks."""
        from emulator.checks.suite.search import MutantRun

        try:
            loaded = self._idle.pop()
        except IndexError:
            try:
                loaded = self._load()
            except TimeoutError:  # while it loads its tests; a run of its own has this limit too
                return None
        loaded.service.become([row], row)
        loaded.connection.settimeout(self.commands.time_limit)
        try:
            loaded.connection.sendall(f"{_listed(row)}\n".encode())
            status = loaded.connection.recv(16).decode()
        except TimeoutError:
            _end(loaded.ends)
            return MutantRun("it does not end", loaded.service.reached)
        except OSError:
            return None
        if not status:
            return None
        run = MutantRun(None if status == "0" else f"exit status {status}", loaded.service.reached)
        loaded.servers[0].discard()
        self._idle.append(loaded)
        return run

    def _load(self) -> LoadedTests:
        """Start the command; if it connects to nothing and ends, so does the connection."""
        from emulator.checks.suite.wrong_service import WrongService

        service = WrongService(())
        servers: list[Server] = []
        ends: list[Callable[[], None]] = []
        opened = sandbox(self.commands, self._key, self._chosen, service.parts(), servers.append)
        _, variables = self._open.enter_context(opened)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = listening.getsockname()
            listening.settimeout(self.commands.time_limit)

            def run() -> None:
                own = {TESTS: "", FORKS: str(address[1])}
                with suppress(OSError, KeyboardInterrupt):
                    self.commands.run(self._command, {**variables, **own}, ends.append, is_limited=False)
                with suppress(OSError):
                    socket.create_connection(address).close()

            running = threading.Thread(target=run, daemon=True)
            running.start()
            self._open.callback(lambda: _end(ends) if running.is_alive() else None)
            self._open.callback(running.join, PATIENCE)
            connection = self._open.enter_context(listening.accept()[0])
        return LoadedTests(connection, service, servers, ends)


def _listed(row: Mutant | None) -> str:
    return ",".join(sorted(row.tests)) if row and row.tests else ""


def _end(ends: Sequence[Callable[[], None]]) -> None:
    for end in ends:
        end()
