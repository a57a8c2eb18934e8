"""``health``: check that an emulator responds."""

from __future__ import annotations

import os

import click

from emulator.checks.runs import counted
from emulator.cli.control_client import PROBE, ControlClient, NoEmulator
from emulator.cli.groups import FOUND
from emulator.cli.options import DEFAULT_PORT, as_json, variable
from emulator.cli.output import print_line


class Unhealthy(NoEmulator):
    """What ``health`` was asked for, and no mistake of the command line."""

    exit_status = FOUND


@click.command()
@click.option(
    "--url",
    default=lambda: f"http://127.0.0.1:{os.environ.get(variable('--port')) or DEFAULT_PORT}",
    envvar=variable("--url"),
    show_default="this machine, port $PAYMENTS_EMULATOR_PORT or 4747",
    metavar="URL",
    help="The emulator.",
)
@as_json
def health(url: str, as_json: bool) -> None:
    """Check that an emulator responds.

    \b
    payments-emulator health
    payments-emulator health --url http://127.0.0.1:4747

    Exit status 0 if it responds within five seconds, 1 if not. It needs no key and no control
    token, and uses no proxy.
    """
    try:
        with ControlClient(url, key=None, timeouts=PROBE) as emulator:
            response = emulator.get("/health")
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise Unhealthy(error.format_message()) from None
    print_line(
        response,
        lambda health: (
            f"{health['status']}: version {health['version']}, {counted(health['apps'], 'App')}"
        ),
        as_json,
    )
