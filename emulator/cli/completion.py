"""``completion``: the script that teaches a shell to complete the command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

PROGRAM = "payments-emulator"
VARIABLE = "_PAYMENTS_EMULATOR_COMPLETE"
"""What such a script sets to ask for completions; the library's convention."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that teaches your shell to complete.

    \b
    eval "$(payments-emulator completion bash)"       in ~/.bashrc
    eval "$(payments-emulator completion zsh)"        in ~/.zshrc
    payments-emulator completion fish | source        in ~/.config/fish/config.fish

    Commands, options, event types, and the names of snapshots and requests of a running emulator are completed.
    """
    kind = get_completion_class(shell)
    assert kind
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source())
