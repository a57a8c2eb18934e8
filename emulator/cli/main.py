"""The entry point: every command of ``payments-emulator``, and the one place that turns failures into exit statuses."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from emulator.cli.completion import PROGRAM, VARIABLE
from emulator.cli.lazy_groups import LazyCommand, LazyGroup
from emulator.version import VERSION

OK, CHECK_FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


COMMANDS = LazyCommand(
    {
        "demo": "emulator.cli.demo:demo",
        "serve": "emulator.cli.serve:serve",
        "health": "emulator.cli.health:health",
        "exec": "emulator.cli.exec:execute",
        "clock": "emulator.cli.clock:clock",
        "schedule": "emulator.cli.schedule:schedule",
        "trigger": "emulator.cli.trigger:trigger",
        "events": "emulator.cli.events:events",
        "logs": "emulator.cli.logs:logs",
        "emails": "emulator.cli.emails:emails",
        "listen": "emulator.cli.listen:listen",
        "snapshot": "emulator.cli.snapshot:snapshot",
        "rewind": "emulator.cli.rewind:rewind",
        "reset": "emulator.cli.reset:reset",
        "audit": "emulator.cli.audit:audit",
        "coverage": "emulator.cli.coverage:coverage",
        "check": "emulator.cli.check:check",
        "certify": "emulator.cli.certify:certify",
        "state": "emulator.cli.state:state",
        "spec": "emulator.cli.spec:spec",
        "completion": "emulator.cli.completion:completion",
    }
)
"""The commands in the order of the help: a line imports its own only, for a server should start at once."""


@click.group(cls=LazyGroup, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """A local sandbox of the Payments and Recurring Billing API, with a clock you can move.

    \b
    payments-emulator demo                  see a subscription renew, step by step
    payments-emulator serve                 start the sandbox on http://127.0.0.1:4747
    payments-emulator clock advance 31d     a month later: renewed, invoiced, paid
    payments-emulator events --follow       watch what happens
    payments-emulator exec -- npm test      run tests with a sandbox of their own
    payments-emulator certify URL           try your webhook receiver with good and bad deliveries
    payments-emulator check                 hold a server against the document of the API
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; exit status 0 fine, 1 a check failed, 2 wrong usage or configuration, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A sign that the terminal cannot show is no reason to fail.
            stream.reconfigure(errors="replace")
    try:
        status = run(sys.argv[1:] if arguments is None else arguments)
    except click.ClickException as fault:
        print(f"{PROGRAM}: {one_line(fault)}", file=sys.stderr)
        sys.exit(WRONG_USAGE)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    sys.exit(status if isinstance(status, int) else OK)


def run(arguments: Sequence[str]) -> object:
    """What the command returns, an exit status perhaps. Without NO_COLOR a terminal gets colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return cli.main(
        [*arguments] or ["--help"],
        prog_name=PROGRAM,
        complete_var=VARIABLE,
        standalone_mode=False,
        color=False if plain else None,
    )


def one_line(fault: click.ClickException) -> str:
    """What is wrong, in one line, with the way to the help where the usage was wrong."""
    message = " ".join(fault.format_message().split())
    context = fault.ctx if isinstance(fault, click.UsageError) else None
    return f"{message}{allowed(fault)} (see '{context.command_path} --help')" if context else message


def allowed(fault: click.ClickException) -> str:
    """To who mistyped an option that resembles none, all there are."""
    if not isinstance(fault, click.NoSuchOption) or fault.possibilities or fault.ctx is None:
        return ""
    options = [name for each in fault.ctx.command.get_params(fault.ctx) for name in each.opts if name.startswith("--")]
    return f" Allowed: {', '.join(options)}"


if __name__ == "__main__":
    main()
