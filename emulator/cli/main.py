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

from emulator.cli.errors import report
from emulator.cli.groups import INTERRUPTED, PROGRAM, LazyGroup, discard_output
from emulator.version import VERSION

COMMANDS = {
    "Start a sandbox": {
        "serve": "Start the sandbox and serve until Ctrl-C or SIGTERM.",
        "demo": "Show a subscription's first two months.",
        "exec": "Run COMMAND with its own sandbox.",
        "listen": "Forward webhooks to your server and show its responses.",
    },
    "Move time and money": {
        "clock": "Show and move the clock of the App's world.",
        "schedule": "Show upcoming jobs, soonest first.",
        "pay": "Pay a checkout session, a payment link or an invoice.",
        "trigger": "Trigger an EVENT through real state changes.",
    },
    "See what happened, and why": {
        "events": "Show events; --follow streams new ones.",
        "logs": "Show recent requests, or one REQUEST in detail.",
        "emails": "Show the emails sent to customers, or one EMAIL.",
        "explain": "Explain the state of an object.",
        "ledger": "Show where the money is, and whether it adds up.",
    },
    "Keep a world": {
        "world": "Save, restore, rewind and reset the App's world.",
    },
    "Test an integration": {
        "test": "Test an application, its tests, its receiver and its client.",
        "record": "Write a test that repeats the world's requests.",
        "compare": "Compare a service with the document and with the assumptions.",
    },
    "Set up": {
        "health": "Check that an emulator responds.",
        "agent": "Prepare a project for AI assistants.",
        "mcp": "Let an AI assistant use an emulator (MCP).",
        "state": "Check, compact and convert state stores.",
        "spec": "Bundle and validate the OpenAPI documents.",
        "completion": "Print a shell completion script.",
    },
}
"""The commands under headings, with their help's first sentence; a run imports only its own."""


class Program(LazyGroup):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for names in COMMANDS.values() for name in names)
        for heading, names in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(width), sentence) for name, sentence in names.items()]
                )


@click.group(
    cls=Program,
    table={name: name for names in COMMANDS.values() for name in names} | {"exec": "exec:execute"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(VERSION, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """Run a local sandbox of the Payments and Recurring Billing API.

    'payments-emulator COMMAND --help' explains a command. An option may come from the environment:
    PAYMENTS_EMULATOR_PORT=8080 stands for --port 8080.
    """


WELCOME = f"""A local sandbox of the Payments and Recurring Billing API: offline, with a clock
you can move.

  {PROGRAM} demo              see a subscription's first two months
  {PROGRAM} serve             start it at http://127.0.0.1:4747
  {PROGRAM} exec -- npm test  run any command with its own sandbox

'{PROGRAM} --help' lists every command."""
"""What the program says when it is called alone."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line. Exit: 0 fine, 1 found, 2 wrong usage, 3 budget ended, 130 Ctrl-C."""
    # What a command loads stays; to look through it again and again takes a tenth of a short
    # command.
    gc.set_threshold(50_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show must not fail the command.
            stream.reconfigure(errors="replace")
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        status = run(arguments)
    except click.ClickException as error:
        sys.exit(report(error, arguments))
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except OSError as error:
        # Output, or a file, cannot be written any further.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        discard_output()
        sys.exit(report(click.ClickException(f"cannot write: {error.strerror}"), arguments))
    sys.exit(status if isinstance(status, int) else 0)


def run(arguments: Sequence[str]) -> object:
    # A shell that completes calls the program alone, too.
    if not arguments and "_PAYMENTS_EMULATOR_COMPLETE" not in os.environ:
        click.echo(WELCOME)
        return 0
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return cli.main(
        [*arguments], prog_name=PROGRAM, standalone_mode=False, color=False if plain else None
    )


if __name__ == "__main__":
    main()
