"""``completion``: print what completes the command line in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from emulator.cli.groups import PROGRAM


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script.

    \b
    eval "$(payments-emulator completion bash)"   in ~/.bashrc
    eval "$(payments-emulator completion zsh)"    in ~/.zshrc
    payments-emulator completion fish | source    in ~/.config/fish/config.fish

    It completes commands, options and event types.
    """
    kind = get_completion_class(shell)
    assert kind
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, "_PAYMENTS_EMULATOR_COMPLETE").source())
