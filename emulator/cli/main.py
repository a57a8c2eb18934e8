"""The entry point: the commands of ``payments-emulator``, and the exit status of each outcome."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from emulator.cli.completion import PROGRAM, VARIABLE
from emulator.cli.exit_status import INTERRUPTED, OK, WRONG_USAGE
from emulator.cli.help import in_words
from emulator.cli.lazy_groups import LazyCommands, LazyGroup, discard_output
from emulator.cli.summaries import SUMMARIES
from emulator.version import VERSION

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What the system says when output, or a file, cannot be written any further."""

COMMANDS = LazyCommands(
    {
        "demo": "emulator.cli.demo:demo",
        "serve": "emulator.cli.serve:serve",
        "health": "emulator.cli.health:health",
        "exec": "emulator.cli.exec:execute",
        "clock": "emulator.cli.clock:clock",
        "schedule": "emulator.cli.schedule:schedule",
        "pay": "emulator.cli.pay:pay",
        "trigger": "emulator.cli.trigger:trigger",
        "events": "emulator.cli.events:events",
        "logs": "emulator.cli.logs:logs",
        "explain": "emulator.cli.explain:explain",
        "record": "emulator.cli.record:record",
        "reproduce": "emulator.cli.reproduce:reproduce",
        "play": "emulator.cli.play:play",
        "emails": "emulator.cli.emails:emails",
        "listen": "emulator.cli.listen:listen",
        "snapshot": "emulator.cli.snapshot:snapshot",
        "rewind": "emulator.cli.rewind:rewind",
        "reset": "emulator.cli.reset:reset",
        "audit": "emulator.cli.audit:audit",
        "ledger": "emulator.cli.ledger:ledger",
        "report": "emulator.cli.world_report:report",
        "coverage": "emulator.cli.coverage:coverage",
        "sweep": "emulator.cli.sweep:sweep",
        "sweep-story": "emulator.cli.sweep_story:sweep_story",
        "doubt": "emulator.cli.doubt:doubt",
        "grade": "emulator.cli.grade:grade",
        "mcp": "emulator.cli.mcp:mcp",
        "agent": "emulator.cli.agent:agent",
        "check": "emulator.cli.check:check",
        "calibrate": "emulator.cli.calibrate:calibrate",
        "proxy": "emulator.cli.proxy:proxy",
        "certify": "emulator.cli.certify:certify",
        "state": "emulator.cli.state:state",
        "spec": "emulator.cli.spec:spec",
        "completion": "emulator.cli.completion:completion",
    },
    SUMMARIES,
)
"""The commands in the order of the help. Each run imports only its own, so that a server starts quickly."""


@click.group(cls=LazyGroup, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """A local sandbox of the Payments and Recurring Billing API, with a clock you can move.

    \b
    payments-emulator demo                  watch a subscription renew
    payments-emulator serve                 start it on http://127.0.0.1:4747
    payments-emulator clock advance 31d     a month later: renewed and paid
    payments-emulator events --follow       stream events as they happen
    payments-emulator exec -- npm test      run tests with a sandbox of their own
    payments-emulator certify URL           test your webhook receiver
    payments-emulator check                 check a server against the document

    An option may come from the environment: PAYMENTS_EMULATOR_PORT=8080 stands for --port 8080.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line. Exit status 0: success, 1: a check failed, 2: wrong usage or configuration, 130: Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show must not fail the command.
            stream.reconfigure(errors="replace")
    try:
        status = run(sys.argv[1:] if arguments is None else arguments)
    except click.ClickException as error:
        print(f"{PROGRAM}: {one_line(error)}", file=sys.stderr)
        sys.exit(WRONG_USAGE)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        discard_output()
        print(f"{PROGRAM}: cannot write: {error.strerror}", file=sys.stderr)
        sys.exit(WRONG_USAGE)
    sys.exit(status if isinstance(status, int) else OK)


def run(arguments: Sequence[str]) -> object:
    """Run a command and return its result, which may be an exit status. NO_COLOR switches colours off."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return cli.main(
        [*arguments] or ["--help"],
        prog_name=PROGRAM,
        complete_var=VARIABLE,
        standalone_mode=False,
        color=False if plain else None,
    )


def one_line(error: click.ClickException) -> str:
    """The error on one line; a usage error also names the help of its command."""
    message = in_words(" ".join(error.format_message().split()))
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}{advice(error)} (see '{context.command_path} --help')" if context else message


def advice(error: click.ClickException) -> str:
    """All options of the command, after an unknown option that resembles none of them; after ``-1d`` what goes back."""
    if not isinstance(error, click.NoSuchOption) or error.possibilities or error.ctx is None:
        return ""
    if error.option_name[1:].isdigit():
        return " A value cannot be negative; 'rewind' and 'snapshot load' go back in time."
    options = [name for each in error.ctx.command.get_params(error.ctx) for name in each.opts if name.startswith("--")]
    return f" Allowed: {', '.join(options)}"


if __name__ == "__main__":
    main()
