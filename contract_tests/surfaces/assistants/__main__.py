"""``python -m contract_tests.surfaces.assistants``: the MCP server under the command line of the MCP Inspector.

Over standard input and output, and over HTTP behind a control token. Needs Node 20 with npm, and the network for the
Inspector, which is installed into a folder that is thrown away, or into ``--folder``, where the next run finds it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contract_tests.surfaces.cli.terminal import COMMAND, clean, processes
from emulator.testing import Emulator

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
"""It warns that it wants Node 22, and runs with Node 20."""

TOOLS = {"call", "advance", "trigger", "explain", "requests", "arrange", "snapshot", "prove"}

TOKEN = "s3cret"

REPORT_ALL = ("--cli", "--format", "json", "--quiet", "--connect-timeout", "0")


class Inspector:
    """The Inspector beside one MCP server: a command, or a URL."""

    def __init__(self, folder: Path, server: Sequence[str]) -> None:
        self._program = folder / "node_modules" / ".bin" / "mcp-inspector"
        self._server = server
        # It stores what it knows of servers in the user's home.
        self._environment = clean(HOME=str(folder), MCP_CATALOG_PATH=str(folder / "servers.json"))

    def run(self, method: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Call a method of the protocol, and return how the Inspector ended."""
        command = [str(self._program), *REPORT_ALL, *self._server, "--method", method, *options]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)

    def result(self, method: str, *options: str) -> Any:
        """Return the result of a method."""
        ended = self.run(method, *options)
        assert ended.returncode == 0, (method, options, ended.stdout, ended.stderr)
        return json.loads(ended.stdout)["result"]

    def tool(self, name: str, **arguments: Any) -> str:
        """Return the text that a tool answers."""
        given = ("--tool-args-json", json.dumps(arguments))
        (content,) = self.result("tools/call", "--tool-name", name, *given)["content"]
        return str(content["text"])


def install(folder: Path) -> None:
    """Install the Inspector, unless the folder has it."""
    (folder / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
    npm = shutil.which("npm") or "npm"
    subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", INSPECTOR], cwd=folder, check=True)


def every_schema_is_portable(inspector: Inspector) -> None:
    """Eight tools, and none whose schema some clients cannot read (``--strict``)."""
    tools = inspector.result("tools/list", "--strict")["tools"]
    assert {tool["name"] for tool in tools} == TOOLS


def tools_and_resources_answer(inspector: Inspector, id: str) -> None:
    """An object is explained, and an assumption read by its number."""
    assert id in inspector.tool("explain", id=id)
    (assumption,) = inspector.result("resources/read", "--uri", "emulator://assumptions/B-44")["contents"]
    assert "Decided: " in assumption["text"]


def an_error_is_the_tools_answer(inspector: Inspector) -> None:
    """A mistake of the assistant is an answer of the tool, and not an error of the protocol."""
    unknown = json.dumps({"id": "sub_000000000000000000000000"})
    ended = inspector.run("tools/call", "--tool-name", "explain", "--tool-args-json", unknown)
    assert json.loads(ended.stdout)["result"]["isError"], (ended.stdout, ended.stderr)


def the_token_is_required(inspector: Inspector) -> None:
    """Without it there is no connection."""
    ended = inspector.run("tools/list")
    assert ended.returncode != 0, ended.stdout
    assert "403" in ended.stdout + ended.stderr, (ended.stdout, ended.stderr)


@contextmanager
def over_http(emulator: Emulator) -> Iterator[str]:
    """The URL of the MCP server over HTTP, which requires a token."""
    with processes() as begin:
        options = ["--http", "0", "--url", emulator.url, "--key", emulator.key, "--control-token", TOKEN]
        served = begin("mcp", *options)
        assert served.stderr
        yield served.stderr.readline().split()[-1]


def main() -> int:
    """Take every step; the first one that fails ends the program with what the Inspector said."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, metavar="FOLDER")
    chosen = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary, Emulator() as emulator:
        folder = chosen or Path(temporary)
        install(folder)
        stdio = Inspector(folder, [*COMMAND, "mcp", "--url", emulator.url, "--key", emulator.key])
        every_schema_is_portable(stdio)
        customer = emulator.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa"})
        tools_and_resources_answer(stdio, customer["id"])
        an_error_is_the_tools_answer(stdio)
        with over_http(emulator) as url:
            http = Inspector(folder, [url, "--transport", "http", "--header", f"Emulator-Token: {TOKEN}"])
            every_schema_is_portable(http)
            assert customer["id"] in http.tool("call", method="GET", path="/v1/customers/")
            the_token_is_required(Inspector(folder, [url, "--transport", "http"]))
    print("the MCP server works under the Inspector, over standard input and output and over HTTP")
    return 0


if __name__ == "__main__":
    sys.exit(main())
