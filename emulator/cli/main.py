"""The entry point: the commands of ``payments-emulator``, and the exit status of each outcome."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from emulator.cli.groups import INTERRUPTED, PROGRAM, WRONG_USAGE, LazyGroup, discard_output
from emulator.cli.options import guidance
from emulator.cli.output import fitted
from emulator.version import VERSION

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What the system says when output, or a file, cannot be written any further."""

COMMANDS: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "start": (
        "run a sandbox; demo explains it",
        {
            "serve": ("serve:serve", "serve"),
            "demo": ("demo:demo", "demo"),
            "exec": ("exec:execute", "exec -- COMMAND"),
            "listen": ("listen:listen", "listen"),
        },
    ),
    "time": (
        "move the clock",
        {"clock": ("clock:clock", "clock show|advance|next|freeze|run"), "schedule": ("clock:schedule", "schedule")},
    ),
    "act": (
        "pay as a buyer does, cause an event",
        {"pay": ("pay:pay", "pay ID"), "trigger": ("trigger:trigger", "trigger EVENT")},
    ),
    "look": (
        "what happened, and why",
        {
            "events": ("events:events", "events"),
            "logs": ("logs:logs", "logs"),
            "emails": ("emails:emails", "emails"),
            "explain": ("explain:explain", "explain ID"),
            "ledger": ("ledger:ledger", "ledger"),
        },
    ),
    "world": ("", {"world": ("world:world", "world save|load|list|export|import|delete|rewind|reset")}),
    "test": (
        "what your application does when calls and webhooks fail, and whether your tests would notice",
        {"test": ("test:test", "test app|suite|receiver|client|all")},
    ),
    "record": (
        "what was done becomes a test",
        {"record": ("record:record", "record")},
    ),
    "compare": ("the service with this one", {"compare": ("compare:compare", "compare document|service")}),
    "setup": (
        "",
        {
            "health": ("health:health", "health"),
            "agent": ("agent:agent", "agent setup"),
            "mcp": ("mcp:mcp", "mcp"),
            "state": ("state:state", "state check|compact|convert"),
            "spec": ("spec:spec", "spec bundle|validate"),
            "completion": ("completion:completion", "completion"),
        },
    ),
}
"""By group: what it is for, and its commands, each with its place and its synopsis. Each run imports only its own."""

CONNECTION_NAMES = ("--url", "--key", "--app", "--control-token")
"""Options of commands that one may type before the command."""


class Program(LazyGroup):
    """The program, whose help lists the groups on one screen."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each group with its commands."""
        with formatter.section("Commands"):
            rows = []
            for name, (purpose, table) in COMMANDS.items():
                synopses = ", ".join(synopsis for _, synopsis in table.values())
                rows.append((name, f"{synopses}: {purpose}" if purpose else synopses))
            formatter.write_dl(rows)


@click.group(
    cls=Program,
    table={name: place for _, table in COMMANDS.values() for name, (place, _) in table.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(VERSION, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """Run a local sandbox of the Payments and Recurring Billing API.

    'payments-emulator COMMAND --help' explains a command. An option may come from the environment:
    PAYMENTS_EMULATOR_PORT=8080 stands for --port 8080.
    """


WELCOME = f"""A local sandbox of the Payments and Recurring Billing API: offline, with a clock you can move.

  {PROGRAM} demo                  see a subscription's first two months
  {PROGRAM} serve                 start it at http://127.0.0.1:4747
  {PROGRAM} exec -- npm test      run your tests, or any command, with a sandbox of their own

'{PROGRAM} --help' lists every command."""
"""What the program says when it is called alone."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line. Exit status 0: fine, 1: found, 2: wrong usage, 3: a budget ended first, 130: Ctrl-C."""
    # What a command loads stays; to look through it again and again takes a tenth of a short command.
    gc.set_threshold(50_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show must not fail the command.
            stream.reconfigure(errors="replace")
    try:
        status = run(sys.argv[1:] if arguments is None else arguments)
    except click.ClickException as error:
        print(fitted(f"{PROGRAM}: {one_line(error)}", sys.stderr), file=sys.stderr)
        sys.exit(WRONG_USAGE)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        discard_output()
        print(f"{PROGRAM}: cannot write: {error.strerror}", file=sys.stderr)
        sys.exit(WRONG_USAGE)
    sys.exit(status if isinstance(status, int) else 0)


def run(arguments: Sequence[str]) -> object:
    """Run a command and return its result, which may be an exit status. NO_COLOR switches colours off."""
    # A shell that completes calls the program alone, too.
    if not arguments and "_PAYMENTS_EMULATOR_COMPLETE" not in os.environ:
        click.echo(WELCOME)
        return 0
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return cli.main([*arguments], prog_name=PROGRAM, standalone_mode=False, color=False if plain else None)


def one_line(error: click.ClickException) -> str:
    """Return the error on one line; a usage error also names the help of its command."""
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption):
        message = unknown_option(error)
    if message.partition(" ")[0].isalpha():
        message = message[0].upper() + message[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} (see '{context.command_path} --help')" if context else message


def unknown_option(error: click.NoSuchOption) -> str:
    """Return what is said of an option that does not exist; after ``-1d`` what goes back in time."""
    name, context = error.option_name, error.ctx
    if name[1:].isdigit():
        hint = "a value cannot be negative; 'world rewind' and 'world load' go back in time"
    elif context and context.parent is None and name in CONNECTION_NAMES:
        hint = f"put it after the command: {PROGRAM} clock {name} …"
    else:
        parameters = context.command.get_params(context) if context else []
        shown = [each for each in parameters if not getattr(each, "hidden", False)]
        hint = guidance(name, [option for each in shown for option in each.opts if option.startswith("--")])
    return f"There is no option {name!r}; {hint}"


if __name__ == "__main__":
    main()
