"""``mcp``: the emulator for AI assistants, by the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from click.core import ParameterSource

from emulator.cli.control_client import ControlClient
from emulator.cli.options import require_extra, with_client


@click.command()
@with_client
def mcp(emulator: ControlClient) -> None:
    """Let an AI assistant use an emulator (MCP).

    \b
    payments-emulator mcp
    payments-emulator mcp --url http://127.0.0.1:4747 --key sk_test_demo

    It speaks over standard input and output. Where no emulator runs and --url is not given, it
    starts one of its own, in memory. Eight tools: call, advance, trigger, explain, requests,
    arrange, snapshot, prove. Needs the extra 'mcp'.
    """
    require_extra("mcp", "mcp")
    # Imported here: the extra is optional.
    from emulator.cli.mcp_server import server

    with _running(emulator) as running:
        server(running).run("stdio")


@contextmanager
def _running(emulator: ControlClient) -> Iterator[ControlClient]:
    """Yield the emulator, or, where none responds at the default URL, a sandbox in this process."""
    # Imported here: most runs find an emulator.
    from emulator.cli.server import own_sandbox

    context = click.get_current_context()
    if context.get_parameter_source("url") is not ParameterSource.DEFAULT or emulator.is_running():
        yield emulator
        return
    with own_sandbox(control_token=emulator.token) as url:
        click.echo(f"No emulator runs at {emulator.url}; started a sandbox at {url}", err=True)
        key = None if context.params["app"] else context.params["key"]
        with ControlClient(url, key, context.params["app"], emulator.token) as started:
            yield started
