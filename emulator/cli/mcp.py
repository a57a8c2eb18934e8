"""``mcp``: the emulator for AI assistants, by the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from click.core import ParameterSource

from emulator.cli.control_client import ControlClient
from emulator.cli.options import PORT, require_extra, with_client


@click.command()
@click.option(
    "--http",
    "port",
    type=PORT,
    metavar="PORT",
    help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp instead of standard input and output; 0 picks a port.",
)
@with_client
def mcp(emulator: ControlClient, port: int | None) -> None:
    """Let an AI assistant use an emulator (MCP).

    \b
    payments-emulator mcp
    payments-emulator mcp --url http://127.0.0.1:4747 --key sk_test_demo
    payments-emulator mcp --http 4748

    Where no emulator runs and --url is not given, it starts one of its own, in memory. Eight tools: call, advance,
    trigger, explain, requests, arrange, snapshot, prove. Needs the extra 'mcp'. Over HTTP it has the guards of the control
    API: it listens on loopback only, answers to loopback names only and not to pages of other sites, and requires the
    --control-token, if any, in Emulator-Token.
    """
    require_extra("mcp", "mcp")
    # Imported here: the extra is optional.
    from emulator.cli.mcp_server import serve_http, server

    with _running(emulator) as there:
        if port is None:
            server(there).run("stdio")
        else:
            serve_http(there, port)


@contextmanager
def _running(emulator: ControlClient) -> Iterator[ControlClient]:
    """Yield the emulator, or, where none answers at the default URL, a sandbox in this process."""
    # Imported here: most runs find an emulator.
    from emulator.cli.server import serving
    from emulator.server.sandbox import Options
    from emulator.server.server import Server

    context = click.get_current_context()
    if context.get_parameter_source("url") is not ParameterSource.DEFAULT or emulator.is_running():
        yield emulator
        return
    own = Server(Options(control_token=emulator.token), "127.0.0.1", 0)
    with serving(own):
        click.echo(f"No emulator runs at {emulator.url}; started a sandbox at {own.url}", err=True)
        key = None if context.params["app"] else context.params["key"]
        with ControlClient(own.url, key, context.params["app"], emulator.token) as there:
            yield there
