"""The MCP server: tools that act on an App's world, and resources to read about it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from functools import wraps
from typing import Any

import click
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.types import Receive, Scope, Send

from emulator.cli.client import ControlClient
from emulator.cli.mcp_tools import Tools
from emulator.document import bundles
from emulator.document.tree import inlined
from emulator.engine.reference_data import numbered_assumptions
from emulator.version import VERSION
from emulator.web.context import SCOPE_KEY, RequestContext
from emulator.web.origins import OriginGuard

INSTRUCTIONS = """A local sandbox of a Payments and Recurring Billing API. Paths under /v1 are the service's; amounts
are minor units. Use advance to reach a renewal, and explain before you guess why something happened."""


def server(emulator: ControlClient) -> MCPServer:
    """The MCP server for one App of a running emulator."""
    mcp = MCPServer("payments-emulator", instructions=INSTRUCTIONS, version=VERSION, log_level="ERROR")
    tools = Tools(emulator)
    for tool in tools.every():
        # The schema of a text that is always the same would only cost tokens.
        mcp.add_tool(_explained(tool), structured_output=False)
    for address, description, read in Resources(emulator).every():
        mcp.resource(f"emulator://{address}", name=address, description=description)(read)
    return mcp


def serve_http(emulator: ControlClient, port: int) -> None:
    """Serve streamable HTTP on loopback until the process is ended; port 0 is a free one."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        click.echo(f"MCP at {url}/mcp", err=True)
        config = uvicorn.Config(GuardedApp(emulator, url), log_level="error")
        uvicorn.Server(config).run(sockets=[listener])


class GuardedApp:
    """The MCP server over HTTP, behind the guard of the control API: ``Host``, ``Origin`` and the control token."""

    def __init__(self, emulator: ControlClient, url: str) -> None:
        self._app = server(emulator).streamable_http_app(host="127.0.0.1")
        self._guard = OriginGuard(self._app, token=emulator.token)
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the start and the end of the server
            await self._app(scope, receive, send)
            return
        scope[SCOPE_KEY] = RequestContext(self._url, lambda: "mcp", scope)
        await self._guard(scope, receive, send)


def _explained(tool: Callable[..., str]) -> Callable[..., str]:
    """The tool, with errors of the emulator as the messages that commands print."""

    @wraps(tool)
    def explained(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except click.ClickException as error:
            raise ToolError(error.format_message()) from None

    return explained


class Resources:
    """What an assistant can read, each with its address and what is said of it."""

    def __init__(self, emulator: ControlClient) -> None:
        self._emulator = emulator

    def every(self) -> list[tuple[str, str, Callable[..., str]]]:
        """Address, description and function of each resource."""
        return [
            ("assumptions", "Assumptions where the specification is silent.", self._assumptions),
            ("assumptions/{number}", "One assumption, such as B-44.", self._assumption),
            ("document", "Every operation of the service: operationId, method, path.", self._document),
            ("document/{operation}", "One operation, its schemas included, as JSON.", self._operation),
            ("objects", "How many objects of each kind the world has.", self._objects),
            ("objects/{id}", "One object of any kind by its id.", self._object),
        ]

    def _assumptions(self) -> str:
        return "\n".join(f"{number} {each.title}" for number, each in numbered_assumptions().items())

    def _assumption(self, number: str) -> str:
        each = numbered_assumptions()[number]
        return f"{number} {each.title}\n\nSpecification ({each.section}): {each.reads}\n\nDecided: {each.decided}"

    def _document(self) -> str:
        every = operations().items()
        return "\n".join(f"{id}: {method} {path}: {spec['summary']}" for id, (method, path, spec) in every)

    def _operation(self, operation: str) -> str:
        method, path, spec = operations()[operation]
        return json.dumps({"method": method, "path": path, **inlined(bundles.load("service"), spec)})

    def _objects(self) -> str:
        return json.dumps(self._emulator.get("/counts"))

    def _object(self, id: str) -> str:
        return json.dumps(self._emulator.get(f"/objects/{id}"))


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation of the service, by operationId."""
    return {
        spec["operationId"]: (method.upper(), f"/v1{path}", spec)
        for path, item in bundles.load("service")["paths"].items()
        for method, spec in item.items()
        if isinstance(spec, dict)
    }
