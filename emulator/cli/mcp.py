"""``mcp``: the emulator for AI assistants, by the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from emulator.cli.extras import require_extra
from emulator.cli.options import with_client

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option(
    "--http",
    "port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp instead of standard input and output.",
)
@with_client
def mcp(emulator: ControlClient, port: int | None) -> None:
    """Let an AI assistant use a running emulator (MCP).

    \b
    payments-emulator mcp
    payments-emulator mcp --url http://127.0.0.1:4747 --key sk_test_demo
    payments-emulator mcp --http 4748

    Eight tools: call, advance, trigger, explain, requests, arrange, snapshot, prove. Needs the extra 'mcp'. Over HTTP
    it answers on loopback only, to loopback names only, and not to pages of other sites; it has no token, so an
    emulator with --control-token is offered on standard input and output only.
    """
    require_extra("mcp", "mcp")
    if port and emulator.has_token:
        raise click.UsageError("--http has no token; with --control-token use standard input and output")
    # Imported here: the extra is optional.
    from emulator.cli.mcp_server import server

    if port:
        click.echo(f"MCP at http://127.0.0.1:{port}/mcp", err=True)
        server(emulator).run("streamable-http", host="127.0.0.1", port=port)
    else:
        server(emulator).run("stdio")
