"""The user's commands, run many times in sandboxes of their own: captured, counted, repeatable."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import click

from emulator.checks.runs import counted
from emulator.cli.groups import RepeatableCommand
from emulator.cli.lasting import CASES, DONE, LastingProcesses
from emulator.cli.options import DEFAULT_KEY, Integer, Number, option, variable, with_options
from emulator.cli.output import ReportOutput, TerminalLine, with_report
from emulator.cli.reasons import failure_of
from emulator.cli.serve import StartingServer, serve

if TYPE_CHECKING:
    from subprocess import Popen

    from emulator.checks.runs import RunLimits
    from emulator.server.server import Server


# -- the options of a command that runs another one many times


WORLD_OPTIONS = (
    "clock",
    "seed",
    "keys",
    "fixtures",
    "chosen_assumptions",
    "profile",
    "trust_network",
)
"""The options of ``serve`` about a run's worlds; its server is for this machine alone."""

key = option("--key", default=DEFAULT_KEY, metavar="KEY", help="API key for COMMAND.")
budget = click.option(
    "--budget", type=Number(min=0), metavar="SECONDS", help="Start no run after this time."
)
command_line = click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)


jobs = click.option("--jobs", type=Integer(1, 64), help="Runs at a time.")


class CommandLine(NamedTuple):
    """An examination's line: COMMAND, key, worlds' options, the report's place, and the runs."""

    command: tuple[str, ...]
    key: str
    worlds: Mapping[str, Any]
    output: ReportOutput
    jobs: int | None
    budget: float | None = None

    @contextmanager
    def limits(
        self, commands: CapturedCommands, title: str = "", *, a_core: int = 1
    ) -> Iterator[RunLimits]:
        """Yield the runs' limits. SIGTERM ends running commands too; a terminal counts the runs.

        ``a_core``: how many runs at a time keep a core busy, unless ``--jobs`` says how many.
        """
        from emulator.checks.runs import RunLimits

        progress = ProgressLine(quiet=self.output.as_json, title=title)
        try:
            with handling(signal.default_int_handler):
                yield RunLimits(
                    self.jobs or a_core * (os.cpu_count() or 1),
                    self.budget,
                    progress.show,
                    commands.stop,
                    progress.planned,
                    progress.named,
                )
        finally:
            progress.end()


def examination(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator for commands that run COMMAND many times; worlds' options come first."""
    own = [parameter for parameter in serve.params if parameter.name in WORLD_OPTIONS]
    settings = {"allow_interspersed_args": False}

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def examine(
            *,
            command: tuple[str, ...],
            key: str,
            output: ReportOutput,
            jobs: int | None,
            **chosen: Any,
        ) -> Any:
            worlds = {name: chosen.pop(name) for name in WORLD_OPTIONS}
            line = CommandLine(command, key, worlds, output, jobs, chosen.pop("budget", None))
            return function(line, **chosen)

        command = with_options([key, *options])(with_report(command_line(examine)))
        return click.command(cls=RepeatableCommand, params=own, context_settings=settings)(command)

    return decorate


# -- a command and its sandbox


@contextmanager
def sandbox(
    commands: CapturedCommands,
    key: str,
    chosen: Mapping[str, Any],
    parts: Any = None,
    built: Callable[[Server], None] = lambda _: None,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the URL of one run's server, always of the same seed, and a command's variables.

    ``built`` is called with the server before it serves. If it cannot start, the ``commands`` end.
    """
    own = {**chosen, "seed": chosen["seed"] or 0, "state": "memory", "port": 0}
    with StartingServer(own, commands.stop, built, **({"parts": parts} if parts else {})) as server:
        server.start()
        yield server.url, environment(server.url, key, chosen.get("control_token"))


def environment(url: str, key: str, token: str | None = None) -> dict[str, str]:
    values = {"--url": url, "--key": key, "--control-token": token}
    before = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    hosts = ",".join(
        dict.fromkeys([*filter(None, before.split(",")), urlsplit(url).hostname or ""])
    )
    # Programs use no proxy for the sandbox; both spellings are in use.
    return {variable(name): value for name, value in values.items() if value} | {
        "NO_PROXY": hosts,
        "no_proxy": hosts,
    }


SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""The signals that end a command; some systems lack some."""


@contextmanager
def handling(handler: Any) -> Iterator[None]:
    """Handle the signals in the block, except those that this process ignores."""
    handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


WITHOUT_PAGES = "PAYMENTS_EMULATOR_WITHOUT_PAGES"
"""The variable that keeps the pytest plugin from drawing failed tests, which are many here."""

OWN_GROUP = 0 if os.name == "posix" else None
"""A command leads a process group: its children end with it, not by a terminal's Ctrl-C."""


def begin(
    command: Sequence[str], environment: Mapping[str, str], group: int | None, **streams: Any
) -> Popen[bytes]:
    """Start a command that leads a process group of its own, or stays in this process's (None)."""
    import subprocess  # not needed by the help of a command line

    # Windows starts only programs ending in .exe by their bare name; npm, for example, is npm.cmd.
    arguments = (shutil.which(command[0]) or command[0], *command[1:])
    # Running what the user names is the purpose of the callers.
    # see above
    process: Popen[bytes] = subprocess.Popen(  # noqa: S603
        arguments, env=environment, process_group=group, **streams
    )
    return process


class CapturedCommands:
    """Commands that run at the same time, in threads of the caller, and end together.

    One that takes ten times as long as the first one did, and longer than ``patience`` seconds
    (real time), is killed.
    """

    def __init__(self, patience: float = 0.0) -> None:
        self._patience = patience
        self.time_limit: float | None = None
        self._running: set[Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        begun: Callable[[Callable[[], None]], None] | None = None,
        *,
        is_limited: bool = True,
        lasting: LastingProcesses | None = None,
    ) -> tuple[int, str]:
        """Run a command with ``variables``; return its exit status and output, errors included.

        ``begun`` is given what ends it at once. ``lasting``: processes that play many cases. Raises
        ``OSError`` if it cannot be run, ``subprocess.TimeoutExpired`` if it took too long,
        ``KeyboardInterrupt`` where Ctrl-C ended it.
        """
        if lasting is not None:
            return self._run_lasting(command, variables, lasting)
        process = self._begun(command, variables, begun)
        with process:
            try:
                output, _ = process.communicate(timeout=self.time_limit if is_limited else None)
            except BaseException:
                end(process)
                raise
            finally:
                with self._lock:
                    self._running.discard(process)
        if process.returncode == -signal.SIGINT:
            raise KeyboardInterrupt  # from a terminal, before the command led a group of its own
        # A program that could play another case says so also where it plays a single one.
        return process.returncode, DONE.sub(b"", output).decode(errors="replace")

    def _begun(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        begun: Callable[[Callable[[], None]], None] | None = None,
        *,
        lasts: bool = False,
    ) -> Popen[bytes]:
        from subprocess import DEVNULL, PIPE, STDOUT

        whole = {**os.environ, WITHOUT_PAGES: "1", **variables}
        stdin = PIPE if lasts else DEVNULL
        with self._lock:
            process = begin(command, whole, OWN_GROUP, stdin=stdin, stdout=PIPE, stderr=STDOUT)
            self._running.add(process)
            if begun:
                begun(partial(end, process))
            if self._stopped:
                end(process)
        return process

    def _run_lasting(
        self, command: Sequence[str], variables: Mapping[str, str], lasting: LastingProcesses
    ) -> tuple[int, str]:
        """Run a command in a process that may have played other cases, and may play more."""
        first = {**variables, CASES: "stdin"}
        player = lasting.taken(command, lambda: self._begun(command, first, lasts=True))
        with self._lock:
            self._running.add(player.process)
            if self._stopped:
                end(player.process)
        try:
            status, output = player.play(variables, self.time_limit)
        except BaseException:
            end(player.process)
            player.process.wait()
            raise
        finally:
            with self._lock:
                self._running.discard(player.process)
            lasting.add(command, player)
        return status, output.decode(errors="replace")

    def attempt(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        begun: Callable[[Callable[[], None]], None] | None = None,
        *,
        lasting: LastingProcesses | None = None,
    ) -> tuple[str | None, str]:
        """Run like :meth:`run`; return the cause of failure, output. Raises ``ClickException``."""
        from subprocess import TimeoutExpired

        started = time.monotonic()
        try:
            status, output = self.run(command, variables, begun, lasting=lasting)
        except OSError as error:
            raise click.ClickException(f"{command[0]}: cannot be run: {error.strerror}") from None
        except TimeoutExpired as error:
            output = (error.output or b"").decode(errors="replace")
            return f"it does not end: after {self.time_limit:.0f} s it was killed", output
        if self.time_limit is None:
            self.time_limit = max(self._patience, 10 * (time.monotonic() - started))
        return failure_of(status, output), output.strip()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                end(process)


def end(process: Popen[bytes]) -> None:
    """End a command at once, with all that it has started."""
    with suppress(ProcessLookupError):
        if OWN_GROUP is None:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class ProgressLine:
    """Says how many runs are done: on a terminal in one line, elsewhere in one every ten seconds.

    ``quiet``: none; ``title`` stands before the numbers.
    """

    def __init__(self, *, quiet: bool, title: str = "") -> None:
        self._is_quiet = quiet
        self._line = TerminalLine()
        self._title = title
        self._began = time.monotonic()
        self._started: float | None = None
        self._first = 0
        self._shown = time.monotonic()

    def planned(self, cases: int, seconds: float) -> None:
        """Say before the first run how many there are, and how long they take at least."""
        if not self._is_quiet:
            length = (
                f"{seconds / 60:.0f} minutes"
                if seconds >= 90
                else counted(max(round(seconds), 1), "second")
            )
            click.echo(f"{self._title}{counted(cases, 'case')}, about {length} or more.", err=True)

    def show(self, done: int, of: int) -> None:
        now = time.monotonic()
        if self._started is None:
            self._started, self._first = now, done
        if self._is_quiet or not (self._line.is_terminal or now - self._shown > 10):
            return
        self._shown = now
        mean = (now - self._started) / max(1, done - self._first)
        left = f", about {mean * (of - done):.0f} s left" if done > self._first else ""
        text = f"{self._title}{done} of {of} runs{left}"
        self._line.show(text)
        if not self._line.is_terminal:
            click.echo(text, err=True)

    def named(self, problem: str) -> None:
        """Say the first problem at once; the report has all of them at the end."""
        if not self._is_quiet:
            self._line.end()
            seconds = time.monotonic() - self._began
            click.echo(f"{self._title}First difference after {seconds:.0f} s, {problem}", err=True)

    def end(self) -> None:
        self._line.end()
