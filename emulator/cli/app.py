"""``test app``: run a command once per request and webhook that can fail; compare the ends."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.groups import FOUND, INTERRUPTED, UNFINISHED, repeating
from emulator.cli.lasting import LastingProcesses
from emulator.cli.options import DURATION, Number, guidance, option
from emulator.cli.reasons import failure_of
from emulator.cli.runs import (
    CapturedCommands,
    CommandLine,
    budget,
    end,
    examination,
    jobs,
    sandbox,
)

if TYPE_CHECKING:
    from emulator.checks.app.cases import Case
    from emulator.checks.app.endings import Ending
    from emulator.checks.app.kills import Killer
    from emulator.checks.app.state import State


APP_RUN_SECONDS = 60.0
"""The least limit of a run in seconds (real time), however quick the baseline: faults cost time."""

FOLDER = "PAYMENTS_EMULATOR_FOLDER"
"""The variable with the application's data folder: empty at a run's start, deleted at its end."""


@examination(
    click.option(
        "--check",
        default="",
        metavar="COMMAND",
        help="Run afterwards; output and status must stay the same.",
    ),
    click.option(
        "--check-sqlite",
        "file",
        metavar="FILE",
        help="Compare its rows; FILE is in PAYMENTS_EMULATOR_FOLDER.",
    ),
    click.option(
        "--only",
        multiple=True,
        metavar="CASE",
        help="Only 4:drop-after, '4:*' or all of 'twice'. May be repeated.",
    ),
    click.option(
        "--all",
        "every",
        is_flag=True,
        help="Also the cases at places that are like others.",
    ),
    click.option(
        "--list",
        "is_listing",
        is_flag=True,
        help="Run COMMAND once; list the cases.",
    ),
    click.option(
        "--ignore",
        multiple=True,
        metavar="RULE",
        help="Ignore findings of this rule. May be repeated.",
    ),
    budget,
    jobs,
    click.option(
        "--restart",
        metavar="COMMAND",
        help="Also kill COMMAND at every step; restart it with this.",
    ),
    click.option(
        "--reuse",
        is_flag=True,
        help="Start COMMAND once for many cases, which it reads.",
    ),
    click.option(
        "--then",
        "afterwards",
        type=DURATION,
        default="2d",
        show_default=True,
        help="Time after COMMAND.",
    ),
    click.option(
        "--keep-output",
        "outputs",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Keep the output of every run here.",
    ),
)
def app(
    line: CommandLine,
    *,
    check: str,
    file: str | None,
    only: tuple[str, ...],
    every: bool,
    is_listing: bool,
    ignore: tuple[str, ...],
    restart: str | None,
    reuse: bool,
    afterwards: str,
    outputs: Path | None,
) -> int:
    """Show what lost responses and webhooks do to your application.

    \b
    payments-emulator test app -- python buy.py
    payments-emulator test app --check 'python orders.py' -- npm run scenario

    COMMAND runs twice without faults, the baseline, then once for each request and each webhook
    delivery that can go wrong, each time in its own sandbox with the same seed. Then faults end and
    the clock moves on. Each run must end as the baseline did: exit status, numbers of objects by
    kind and status, sums of money, links, ledger, audit, and --check.

    Exit status 1 where a run ended otherwise, 3 where --budget ended before all was tried, 130
    after Ctrl-C, with what was found before.
    """
    from emulator.checks.app.cases import KILLED_KINDS
    from emulator.checks.app.driver import examine, listed

    kills = restart is not None or any(KILLED_KINDS in pattern for pattern in only)
    ignored = known_rules(ignore)
    again = shlex.split(restart or "") or line.command
    runs = CommandRuns(
        line,
        check=shlex.split(check),
        file=file,
        afterwards=afterwards,
        restart=again,
        outputs=Outputs(outputs),
        reuse=reuse,
    )
    try:
        # A run mostly waits: a command that starts for it needs more of a core than one that lasts.
        a_core = 4 if reuse else 2
        with closing(runs), line.limits(runs.commands, a_core=a_core) as limits:
            if is_listing:
                tried = listed(runs.play, only=only, every=every, kills=kills)
                click.echo("\n".join(f"{case.name}  {case.sentence}" for case in tried))
                return 0
            report = examine(
                runs.play,
                limits,
                only=only,
                every=every,
                ignore=ignored,
                kills=kills,
                expected=runs.expected,
                reuse=reuse,
            )
    except AssertionError as error:
        raise click.ClickException(f"The scenario fails without any fault: {error}") from None
    except LookupError as error:
        runs.outputs.kept(is_needed=False)
        raise click.BadParameter(str(error), param_hint="'--only'") from None
    # A command that fails because it finds no sandbox says so itself.
    is_elsewhere = (
        report.runs > 0
        and not report.places
        and (report.failure or "").startswith("it sends no request")
    )
    folder = runs.outputs.kept(is_needed=not (report.passed or is_elsewhere))
    if is_elsewhere:
        if runs.other_apps:
            raise click.ClickException(
                f"COMMAND uses worlds of other keys ({runs.other_apps_named()}), in which no fault"
                " applies: let it use the key in PAYMENTS_EMULATOR_KEY; in a suite of tests with a"
                " world each, such as pytest's, call payments.test_app(scenario) in a test"
                " instead."
            )
        raise click.ClickException(
            "No request of COMMAND reached the sandbox with the key in PAYMENTS_EMULATOR_KEY: let"
            " it use PAYMENTS_EMULATOR_URL and that key."
        )
    shown_report = report._replace(repeat=repeating(line.command)).report()
    if runs.other_apps:
        others = (
            f"Not tried: {runs.other_apps_named()}, Apps of other keys than PAYMENTS_EMULATOR_KEY."
        )
        shown_report = shown_report._replace(notes=[*shown_report.notes, others])
    if folder:
        kept = f"Output of every run: {folder}"
        shown_report = shown_report._replace(notes=[*shown_report.notes, kept])
    line.output.show(shown_report)
    if report.interrupted:
        return INTERRUPTED
    if report.has_problems or report.is_silent:
        return FOUND
    return UNFINISHED if report.remaining else 0


def known_rules(names: Sequence[str]) -> Sequence[str]:
    from emulator.insight.audit.audit import rules

    known = [rule.name for rule in rules()]
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"there is no rule {name!r}; {guidance(name, known)}", param_hint="'--ignore'"
            )
    return names


class Outputs:
    """What the runs print, each in a file with the name of its case: ``4-drop-after.txt``.

    ``chosen`` is the folder. Without one they are in a temporary folder, which stays only where it
    is needed to see why something went wrong.
    """

    def __init__(self, chosen: Path | None = None) -> None:
        self._chosen = chosen
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def add(self, case: Case | None, output: str) -> None:
        """Add the output of a run of COMMAND, which ``--restart`` may have started again."""
        with self._lock:
            if self._folder is None:
                self._folder = self._chosen or Path(mkdtemp(prefix="payments-emulator-"))
            # Again for each run: something that clears temporary folders must not end all runs.
            self._folder.mkdir(parents=True, exist_ok=True)
        name = case.name.replace(":", "-") if case else "baseline"
        with (self._folder / f"{name}.txt").open("a", encoding="utf-8") as file:
            file.write(f"{output}\n")

    def kept(self, *, is_needed: bool) -> Path | None:
        """Return the folder; delete a temporary one that nobody needs."""
        if self._folder and not self._chosen and not is_needed:
            rmtree(self._folder, ignore_errors=True)
            self._folder = None
        return self._folder


class CommandRuns:
    """The runs of the scenario and of the application's own check, each in its own sandbox."""

    def __init__(
        self,
        line: CommandLine,
        *,
        check: Sequence[str] = (),
        file: str | None = None,
        afterwards: str = "2d",
        restart: Sequence[str] = (),
        outputs: Outputs | None = None,
        reuse: bool = False,
    ) -> None:
        from emulator.checks.app.steps import Expected

        self._line = line
        self._file = file
        self._check = check
        self._restart = restart
        self.expected = Expected(afterwards)
        self.outputs = outputs or Outputs()
        self.commands = CapturedCommands(APP_RUN_SECONDS)
        self.other_apps: set[str] = set()
        self._reuse = reuse
        self._lasting = LastingProcesses(end)
        self._played: set[str] = set()

    def close(self) -> None:
        """End the processes that wait for another case."""
        self._lasting.close()

    @contextmanager
    def _players(self, case: Case | None) -> Iterator[LastingProcesses | None]:
        """Yield the processes that may play this case; None stands for one that plays no other.

        A case that is killed or in another time zone has such a one. A case that is played once
        more, for it was found to differ, has new processes.
        """
        if not self._reuse or (case and (case.kind.kills or case.kind.zone)):
            yield None
        elif case is None or case.name not in self._played:
            self._played |= {case.name} if case else set()
            yield self._lasting
        else:
            with closing(LastingProcesses(end)) as own:
                yield own

    def play(self, case: Case | None) -> Ending:
        from emulator.checks.app import tables
        from emulator.checks.app.scenario import arrange, finish
        from emulator.checks.app.steps import StepRecorder, StepWatch
        from emulator.client.api import Api

        key = self._line.key
        ends: list[Callable[[], None]] = []
        killer: Killer | None = None
        if case and case.kind.kills:
            # Imported here: few runs kill their command, once it has begun, at the point of their
            # case.
            from emulator.checks.app.kills import Killer

            killer = Killer(case, lambda: [end() for end in ends])
        watch = StepWatch()
        attempt = self.commands.attempt
        with (
            TemporaryDirectory() as folder,
            sandbox(self.commands, key, self._worlds(case), (killer or watch).parts()) as (
                url,
                start_variables,
            ),
            Api(url, key) as api,
            self._players(case) as players,
        ):
            variables = {**start_variables, FOLDER: folder}
            if case and case.kind.zone:
                variables["TZ"] = case.kind.zone
            arrange(api, case)
            recorder = None
            if (self._check or self._file) and self.expected.concerns(case):

                def look() -> State:
                    return self._state(variables, lasting=players)

                recorder = watch.recorder = StepRecorder(api, look, case, self.expected)
            failure, output = attempt(self._line.command, variables, ends.append, lasting=players)
            watch.recorder = None
            self.outputs.add(case, output)
            if killer:
                killer.end()
            if killer and killer.has_struck:
                failure, output = attempt(self._restart, variables)
                self.outputs.add(case, output)

            def check() -> str:
                return ", ".join(filter(None, attempt(self._check, variables, lasting=players)))

            own_check = check if self._check else None
            ending = finish(api, case, failure, own_check, self.expected.then, recorder=recorder)
            if self._file:
                try:
                    ending = ending._replace(tables=tables.read(Path(folder), self._file))
                except AssertionError as error:
                    ending = ending._replace(failure=ending.failure or str(error))
            own = key.split("_", 2)[-1]
            self.other_apps |= {app["name"] for app in api.newest("/_emulator/apps")} - {own}
        return ending if killer is None else ending._replace(reached=killer.has_struck)

    def _worlds(self, case: Case | None) -> Mapping[str, Any]:
        """Return how worlds begin: of some cases at another time."""
        worlds = self._line.worlds
        if case and case.kind.start:
            return {**worlds, "clock": (worlds["clock"][0], case.kind.start)}
        return worlds

    def _state(self, variables: Mapping[str, str], *, lasting: LastingProcesses | None) -> State:
        """Return the application's state while the scenario goes on."""
        from subprocess import SubprocessError

        from emulator.checks.app import tables
        from emulator.checks.app.state import State

        value: str | None = None
        rows = None
        if self._check:
            # Not the limit of COMMAND's runs, which the first one sets.
            with suppress(OSError, SubprocessError):
                status, output = self.commands.run(self._check, variables, lasting=lasting)
                value = ", ".join(filter(None, [failure_of(status, output), output.strip()]))
        if self._file:
            # The scenario may not have made it yet.
            with suppress(AssertionError):
                rows = tables.rows(tables.read(Path(variables[FOLDER]), self._file), ())
        return State(value, rows)

    def other_apps_named(self) -> str:
        first, more = sorted(self.other_apps)[:3], len(self.other_apps) > 3
        return ", ".join(first) + (" …" if more else "")


@click.command("scenario", hidden=True)
@option("--control-token", metavar="TOKEN", help="Token of the control API.")
@click.option("--only", multiple=True, metavar="CASE", help="Only this case. May be repeated.")
@click.option(
    "--ignore", multiple=True, metavar="RULE", help="Ignore findings of this rule. May be repeated."
)
@click.option(
    "--budget", type=Number(min=0), metavar="SECONDS", help="Start no run after this time."
)
@click.option("--all", "every", is_flag=True, help="Also places that are like others.")
@click.option("--then", "afterwards", type=DURATION, default="2d", help="Time after the scenario.")
def app_scenario(
    *,
    control_token: str | None,
    only: tuple[str, ...],
    ignore: tuple[str, ...],
    budget: float | None,
    every: bool,
    afterwards: str,
) -> None:
    """Try a scenario that the program at the other end of standard input and output plays."""
    from emulator.checks.app.driver import examine
    from emulator.checks.app.scenario import arrange, finish
    from emulator.checks.app.state import State
    from emulator.checks.app.steps import Expected, Look
    from emulator.checks.report import as_json
    from emulator.checks.runs import RunLimits
    from emulator.client.api import Api

    def play(case: Case | None) -> Ending:
        world = _ask("open")
        if "failure" in world:
            raise click.ClickException(world["failure"])
        with Api(world["url"], world["key"], token=control_token) as api:
            arrange(api, case)
            played = _ask("scenario")
            ending = finish(api, case, played.get("failure"), _check, afterwards)
        _ask("close")
        looks = [
            Look(look["steps"], look["is_rest"], look["at"], State(look["value"]))
            for look in played.get("looks", ())
        ]
        return ending._replace(looks=looks)

    try:
        report = examine(
            play,
            RunLimits(budget=budget),
            only=only,
            ignore=known_rules(ignore),
            in_test=True,
            starts=False,
            zones=False,
            expected=Expected(afterwards),
            every=every,
        )
    except LookupError as error:
        raise click.BadParameter(str(error), param_hint="'only'") from None
    result = report._replace(repeat='payments.testApp(scenario, { only: ["{case}"] })').report()
    _send({"report": json.loads(as_json(result)), "text": result.text()})


def _check() -> Any:
    response = _ask("check")
    if "failure" in response:
        raise AssertionError(response["failure"])
    return response.get("value")


def _ask(what: str) -> dict[str, Any]:
    """Return the program's reply. Raises ``Abort`` if it has gone."""
    _send({"ask": what})
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    response: dict[str, Any] = json.loads(line)
    return response


def _send(message: dict[str, Any]) -> None:
    click.echo(json.dumps(message))
    sys.stdout.flush()
