"""``sweep-story``: a sweep of a story that another program plays, such as the Node module's ``sweep()``.

The command asks and the program answers, each on one line of JSON. ``{"ask": "open"}``: open a new world; answer with
its ``url`` and ``key``. ``story``: play the story in it; ``check``: run what the story returned; ``close``: discard the
world. An answer with ``failure`` says why something failed, that to ``check`` has a ``value``. The last line is the
``report``.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import option

if TYPE_CHECKING:
    from emulator.checks.app.findings import Ending
    from emulator.checks.app.placed_faults import Case

REPEAT = 'payments.sweep(story, { only: ["{case}"] })'


@click.command("sweep-story", hidden=True)
@option("--control-token", metavar="TOKEN", help="Token of the control API.")
@click.option("--only", multiple=True, metavar="CASE", help="Only this case; repeatable.")
@click.option("--budget", type=click.FloatRange(min=0), metavar="SECONDS", help="Start no run after this time.")
@click.option("--pairs", is_flag=True, help="Also try two faults at once.")
@click.option("--then", "afterwards", default="2d", metavar="DURATION", help="Time after the story.")
def sweep_story(
    *, control_token: str | None, only: tuple[str, ...], budget: float | None, pairs: bool, afterwards: str
) -> None:
    """Sweep a story that the program at the other end of standard input and output plays."""
    # Imported here: the list of commands needs no driver.
    from emulator.checks.app.driver import sweep
    from emulator.checks.runs import RunLimits

    def play(case: Case | None) -> Ending:
        return _played(case, afterwards, control_token)

    try:
        report = sweep(play, RunLimits(budget=budget), only=only, with_pairs=pairs)._replace(repeat=REPEAT)
    except LookupError as error:
        raise click.BadParameter(str(error), param_hint="'only'") from None
    _send({"report": json.loads(report.as_json()), "text": report.text()})


def _played(case: Case | None, afterwards: str, token: str | None) -> Ending:
    """How the story ends, once, with the faults of a case or without any."""
    from emulator.testing.api import Api
    from emulator.testing.sweep import arrange, finish

    world = _ask("open")
    if "failure" in world:
        raise click.ClickException(world["failure"])
    api = Api(world["url"], world["key"])
    if token:
        api.client.headers["Emulator-Token"] = token
    arrange(api, case)
    ending = finish(api, case, _ask("story").get("failure"), _check, afterwards)
    api.close()
    _ask("close")
    return ending


def _check() -> Any:
    answer = _ask("check")
    if "failure" in answer:
        raise AssertionError(answer["failure"])
    return answer.get("value")


def _ask(what: str) -> dict[str, Any]:
    """The program's answer. Raises ``Abort`` if it has gone."""
    _send({"ask": what})
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    answer: dict[str, Any] = json.loads(line)
    return answer


def _send(message: dict[str, Any]) -> None:
    click.echo(json.dumps(message))
    sys.stdout.flush()
