"""``python -m contract_tests.surfaces.assistants``: the MCP server under the command line of the MCP Inspector.

Needs Node 20 with npm, and the network for the
Inspector, which is installed into a folder that is thrown away, or into ``--folder``, where the next run finds it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from contract_tests.surfaces.cli.terminal import COMMAND, clean
from emulator.testing import Emulator

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
"""It warns that it wants Node 22, and runs with Node 20."""

TOOLS = {"call", "advance", "trigger", "explain", "requests", "arrange", "snapshot", "prove"}


def inspect(folder: Path, server: Sequence[str], method: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Call a method of the protocol at a server, a command or a URL, and return how the Inspector ended."""
    program = str(folder / "node_modules" / ".bin" / "mcp-inspector")
    command = [program, "--cli", "--format", "json", "--quiet", "--connect-timeout", "0", *server, "--method", method]
    # It stores what it knows of servers in the user's home.
    environment = clean(HOME=str(folder), MCP_CATALOG_PATH=str(folder / "servers.json"))
    return subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)


def use(folder: Path, server: Sequence[str], id: str) -> None:
    """No schema of a tool is one that some clients cannot read; an object is explained, and a mistake is an answer."""
    listed = inspect(folder, server, "tools/list", "--strict")
    assert listed.returncode == 0, (listed.stdout, listed.stderr)
    assert {tool["name"] for tool in json.loads(listed.stdout)["result"]["tools"]} == TOOLS
    for asked, is_error in ((id, False), ("sub_000000000000000000000000", True)):
        options = ("--tool-name", "explain", "--tool-args-json", json.dumps({"id": asked}))
        ended = inspect(folder, server, "tools/call", *options)
        result = json.loads(ended.stdout)["result"]
        assert result.get("isError", False) == is_error, (ended.stdout, ended.stderr)
        assert asked in result["content"][0]["text"], ended.stdout


def main() -> None:
    """Take every step; the first one that fails ends the program with what the Inspector said."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, metavar="FOLDER")
    chosen = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary, Emulator() as emulator:
        folder = chosen or Path(temporary)
        (folder / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", INSPECTOR], cwd=folder, check=True)
        customer = emulator.customer()
        app = ("--url", emulator.url, "--key", emulator.key)
        use(folder, [*COMMAND, "mcp", *app], customer["id"])
    print("the MCP server works under the Inspector")


if __name__ == "__main__":
    main()
