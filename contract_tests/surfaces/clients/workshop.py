"""Where clients are generated: tools that are installed once, and a folder for each tool's work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from contract_tests.quality.docs.pages import ROOT, samples

STORIES = Path(__file__).parent / "stories"

PYTHON_TOOLS = ("openapi-python-client", "datamodel-code-generator", "mypy", "ruff")
"""With the versions of ``constraints.txt``."""

OF_GENERATED = ("httpx", "attrs", "python-dateutil", "pydantic[email]", "types-python-dateutil")
"""What the generated Python clients import."""

NODE_TOOLS = (
    "@modelcontextprotocol/inspector@2.12.0",  # it warns that it wants Node 22, and runs with Node 20
    "@redocly/cli@2.77.0",
    "@types/node@20.19.0",
    "openapi-fetch@0.17.0",
    "openapi-typescript@7.13.0",
    "orval@7.13.2",
    "typescript@5.9.3",
)

BETA = "OpenAPI 3.1 support is still in beta"
"""What openapi-python-client says of every document of this version."""


class GateError(Exception):
    """A tool failed, warned, or left something out."""


def run(*command: Any, **options: Any) -> str:
    """Run a tool and return its output. Raises :class:`GateError` with the end of it when the tool fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise GateError(f"{' '.join(map(str, command))[:400]}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return f"{done.stdout}\n{done.stderr}"


class Tools:
    """The generators and compilers, in a folder of their own, which is installed unless it is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.node = folder / "node_modules" / ".bin"
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        # Go compiles its library once, for all steps and for the next run.
        self.environment = {**os.environ, "PATH": path, "GOCACHE": str(folder.absolute() / "go")}
        shutil.rmtree(folder / "work", ignore_errors=True)
        if not self.node.is_dir():
            run(sys.executable, "-m", "venv", folder / "venv")
            constrained = ("--constraint", ROOT / "constraints.txt")
            run(self.bin / "pip", "install", "--quiet", *constrained, *PYTHON_TOOLS, *OF_GENERATED)
            run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, *NODE_TOOLS)


class Workshop:
    """A folder in which one tool works on a server's document, in ``service.json``.

    ``version`` of the document is empty or ``-3.1``.
    """

    def __init__(self, tools: Tools, name: str, url: str, version: str) -> None:
        self.tools, self.url = tools, url
        self.folder = tools.folder / "work" / (name + version)
        self.folder.mkdir(parents=True)
        self.document = self._served(f"/openapi{version}.json", "service.json")
        self._served(f"/_emulator/openapi{version}.json", "control.json")

    def _served(self, path: str, name: str) -> Path:
        return self.write(name, httpx.get(self.url + path, timeout=60).raise_for_status().text)

    def write(self, name: str, content: Any) -> Path:
        """Write a file of the folder: a text, or JSON."""
        file = self.folder / name
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return file

    def story(self, name: str, file: str | None = None) -> Path:
        return self.write(file or name, (STORIES / name).read_text("utf-8"))

    def sample(self, page: str, language: str, file: str) -> Path:
        """Return the first sample of a language on a page of the guide, which speaks to the server."""
        found = samples(ROOT / "docs" / "guide" / page)
        sample = next(each for each in found if each.language == language)
        return self.write(file, sample.text.replace("http://127.0.0.1:4747", self.url))

    def run(self, *command: Any, **options: Any) -> str:
        """Run a tool in the folder."""
        return run(*command, cwd=self.folder, env=self.tools.environment | options.pop("env", {}), **options)

    def generate(self, *command: Any, made: str) -> None:
        """Run a generator, which may not warn, and whose files of this pattern must name every operation."""
        warnings = [line for line in self.run(*command).splitlines() if "WARN" in line.upper() and BETA not in line]
        if warnings:
            raise GateError("\n".join(warnings))
        files = self.folder.glob(made)
        named = "\n".join([f"{file.stem}\n{file.read_text('utf-8')}" for file in files]).lower().replace("_", "")
        paths = json.loads(self.document.read_text("utf-8"))["paths"]
        each = (node for item in paths.values() for node in item.values() if isinstance(node, dict))
        missing = sorted(
            operation["operationId"] for operation in each if operation["operationId"].lower() not in named
        )
        if missing:
            raise GateError(f"{command[0]} left out {', '.join(missing)}")
