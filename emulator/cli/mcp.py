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
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp instead of standard input and output; 0 picks a port.",
)
@with_client
def mcp(emulator: ControlClient, port: int | None) -> None:
    """Let an AI assistant use a running emulator (MCP).

    \b
    payments-emulator mcp
    payments-emulator mcp --url http://127.0.0.1:4747 --key sk_test_demo
    payments-emulator mcp --http 4748

    Eight tools: call, advance, trigger, explain, requests, arrange, snapshot, prove. Needs the extra 'mcp'. Over HTTP
    it has the guards of the control API: it listens on loopback only, answers to loopback names only and not to pages
    of other sites, and requires the --control-token, if any, in Emulator-Token.
    """
    require_extra("mcp", "mcp")
    # Imported here: the extra is optional.
    from emulator.cli.mcp_server import serve_http, server

    if port is None:
        server(emulator).run("stdio")
    else:
        serve_http(emulator, port)
