"""The entry point: every command of ``payments-emulator``, and the one place that turns failures into exit statuses."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from emulator.cli.demo import demo
from emulator.cli.listen import listen
from emulator.cli.serve import serve
from emulator.cli.spec import spec
from emulator.cli.state import state
from emulator.version import VERSION

OK, CHECK_FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="payments-emulator", message="%(prog)s %(version)s")
def cli() -> None:
    """A local sandbox of the Payments and Recurring Billing API, with a clock you can move.

    \b
    payments-emulator demo      see a subscription renew, step by step
    payments-emulator serve     start the sandbox on http://127.0.0.1:4747
    payments-emulator listen    pass webhooks on to your server and watch its answers
    """


cli.add_command(serve)
cli.add_command(demo)
cli.add_command(listen)
cli.add_command(spec)
cli.add_command(state)


def main() -> NoReturn:
    """Run the command line; exit status 0 fine, 1 a check failed, 2 wrong usage or configuration, 130 interrupted."""
    try:
        status = cli.main(sys.argv[1:] or ["--help"], standalone_mode=False)
    except click.ClickException as fault:
        print(f"payments-emulator: {one_line(fault)}", file=sys.stderr)
        sys.exit(WRONG_USAGE)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    sys.exit(status if isinstance(status, int) else OK)


def one_line(fault: click.ClickException) -> str:
    """What is wrong, in one line, with the way to the help where the usage was wrong."""
    message = " ".join(fault.format_message().split())
    context = fault.ctx if isinstance(fault, click.UsageError) else None
    return f"{message} (see '{context.command_path} --help')" if context else message


if __name__ == "__main__":
    main()
