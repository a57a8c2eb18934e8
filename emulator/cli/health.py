"""``health``: whether an emulator answers, as an exit status."""

from __future__ import annotations

import os
from typing import Any

import click

from emulator.cli.options import DEFAULT_PORT, as_json, variable
from emulator.cli.output import counted, print_line

HEALTHY, UNHEALTHY = 0, 1


def local_url() -> str:
    """The emulator of this machine, at the port that ``serve`` takes from the environment."""
    return f"http://127.0.0.1:{os.environ.get(variable('--port')) or DEFAULT_PORT}"


@click.command()
@click.option(
    "--url",
    default=local_url,
    envvar=variable("--url"),
    show_default="this machine, port $PAYMENTS_EMULATOR_PORT or 4747",
    metavar="URL",
    help="The emulator.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the emulator may take to answer.",
)
@as_json
def health(url: str, timeout: float, as_json: bool) -> int:
    """Check that an emulator answers.

    \b
    payments-emulator health
    payments-emulator health --url http://127.0.0.1:4747 --timeout 2

    Exit status 0 if it answers, 1 if not. It needs no key and no control token, and uses no proxy.
    """
    # Imported here: the help needs no HTTP client.
    from emulator.cli.client import ControlClient

    try:
        with ControlClient(url, key=None, timeout=timeout) as emulator:
            answer = emulator.get("/health")
    except click.UsageError:
        raise
    except click.ClickException as error:
        click.echo(f"payments-emulator: {error.format_message()}", err=True)
        return UNHEALTHY
    print_line(answer, line, as_json)
    return HEALTHY


def line(answer: Any) -> str:
    """The health of an emulator in a line."""
    return f"{answer['status']}: version {answer['version']}, {counted(answer['apps'], 'App')}"
