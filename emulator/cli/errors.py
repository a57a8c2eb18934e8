"""The errors of commands: one sentence for people, one shape of JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from emulator.cli.groups import PROGRAM, WRONG_USAGE
from emulator.cli.options import guidance
from emulator.cli.output import fitted


def report(error: click.ClickException, arguments: Sequence[str]) -> int:
    """Print an error on standard error, as JSON if asked to; return the exit status.

    An error may have a ``code`` for programs and an ``exit_status`` of its own.
    """
    print(
        json.dumps(body(error))
        if asks_for_json(arguments)
        else fitted(f"{PROGRAM}: {sentence(error)}", sys.stderr),
        file=sys.stderr,
    )
    return int(getattr(error, "exit_status", WRONG_USAGE))


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Return whether ``--json`` is given, even if the options cannot be parsed."""
    words = [*arguments]
    return "--json" in words[: words.index("--") if "--" in words else None]


def body(error: click.ClickException) -> dict[str, Any]:
    """Return an error as the emulator's own errors are; one of the command line has no request."""
    kind = "WRONG_USAGE" if isinstance(error, click.UsageError) else "FAILED"
    own = {
        "code": getattr(error, "code", kind),
        "message": f"{sentence(error)}.",
        "status": None,
        "request_id": None,
    }
    response = getattr(error, "body", {})
    return {**own, **response.get("error", response)}


def sentence(error: click.ClickException) -> str:
    """Return an error in one line, without a full stop, since a command may end it."""
    message = " ".join(error.format_message().split()).replace("'[", "'").replace("]'", "'")
    if isinstance(error, click.NoSuchOption):
        message = (
            f"There is no option {error.option_name!r}; {nearest(error.option_name, error.ctx)}"
        )
    if message.partition(" ")[0].isalpha():
        message = message[0].upper() + message[1:]
    message = message.removesuffix(".")
    if isinstance(error, click.MissingParameter) and error.ctx:
        message = f"{message}; see '{error.ctx.command_path} --help'"
    return message


def nearest(name: str, context: click.Context | None) -> str:
    # One may type options of a command before the command.
    if (
        context
        and context.parent is None
        and name in ("--url", "--key", "--app", "--control-token", "--json")
    ):
        return f"put it after the whole command, as in: {PROGRAM} clock show {name} …"
    parameters = context.command.get_params(context) if context else []
    visible = [parameter for parameter in parameters if not getattr(parameter, "hidden", False)]
    names = [name for option in visible for name in (*option.opts, *option.secondary_opts)]
    return guidance(name, [name for name in names if name.startswith("--")])
