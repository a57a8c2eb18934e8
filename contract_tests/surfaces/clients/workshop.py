"""Where clients are generated: tools that are installed once, and a folder for each tool's work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from contract_tests.quality.docs.pages import ROOT, samples
from emulator.document.tree import Document

TYPED_CLIENTS = ROOT / "docs" / "guide" / "tools.md"
STORIES = Path(__file__).parent / "stories"

PYTHON_TOOLS = ("openapi-python-client", "datamodel-code-generator", "mypy", "ruff")
"""With the versions of ``constraints.txt``."""

NODE_TOOLS = (
    "@redocly/cli@2.77.0",
    "@stoplight/prism-cli@5.16.0",
    "@types/node@20.19.0",
    "openapi-fetch@0.17.0",
    "openapi-typescript@7.13.0",
    "orval@7.13.2",
    "typescript@5.9.3",
)
OF_GENERATED = ("httpx", "attrs", "python-dateutil", "pydantic[email]", "types-python-dateutil")
"""What the generated Python clients import."""

COMMANDS = ("npm", "go", "php")
"""What must be installed: ``.ci/run`` says by which packages of Debian."""

KNOWN_WARNINGS = (
    # What it says of every document of this version.
    "OpenAPI 3.1 support is still in beta",
)


class GateError(Exception):
    """A tool failed, warned, or left something out."""


def run(*command: Any, **options: Any) -> str:
    """Run a tool and return its output. Raises :class:`GateError` with the end of it when the tool fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise GateError(f"{' '.join(map(str, command))[:400]}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return f"{done.stdout}\n{done.stderr}"


class Tools:
    """The generators and compilers, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        missing = [each for each in COMMANDS if shutil.which(each) is None]
        if missing:
            raise GateError(f"not installed: {', '.join(missing)}")
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.node = folder / "node_modules" / ".bin"
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        # Go compiles its library once, for all steps and for the next run.
        self.environment = {**os.environ, "PATH": path, "GOCACHE": str(folder.absolute() / "go")}

    def install(self) -> None:
        """Install everything that has a version here, unless it is there; clear away what was made before."""
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        if self.node.is_dir():
            return
        # Side by side: both wait for the network, and for one core.
        with ThreadPoolExecutor() as pool:
            installing = [pool.submit(each) for each in (self._install_from_npm, self._install_from_pypi)]
        for each in installing:
            each.result()

    def _install_from_npm(self) -> None:
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", self.folder, *NODE_TOOLS)

    def _install_from_pypi(self) -> None:
        run(sys.executable, "-m", "venv", self.folder / "venv")
        constrained = ("--constraint", ROOT / "constraints.txt")
        run(self.bin / "pip", "install", "--quiet", *constrained, *PYTHON_TOOLS, *OF_GENERATED)


class Documents(NamedTuple):
    """The documents of a server, in one version of OpenAPI."""

    service: Document
    control: Document


def served(url: str, version: str = "") -> Documents:
    """Return the documents that a server answers with; ``version`` is empty or ``-3.1``."""
    paths = (f"/openapi{version}.json", f"/_emulator/openapi{version}.json")
    return Documents(*(httpx.get(url + path, timeout=60).raise_for_status().json() for path in paths))


class Workshop:
    """A folder in which one tool works, with the service's document in ``service.json``."""

    def __init__(self, tools: Tools, name: str, service: Document) -> None:
        self.tools = tools
        self.folder = tools.folder / "work" / name
        self.folder.mkdir(parents=True)
        self.service = service
        self.document = self.write("service.json", json.dumps(service))

    def write(self, name: str, text: str) -> Path:
        """Write a file of the folder."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def story(self, name: str, file: str | None = None) -> Path:
        return self.write(file or name, (STORIES / name).read_text("utf-8"))

    def sample(self, language: str, file: str, url: str) -> Path:
        """Return the lines of the guide about typed clients in a language, which speak to the server at ``url``.

        They are the first of their language on the page; later ones are about other tools.
        """
        sample = next(each for each in samples(TYPED_CLIENTS) if each.language == language)
        return self.write(file, sample.text.replace("http://127.0.0.1:4747", url))

    def run(self, *command: Any, **options: Any) -> str:
        """Run a tool in the folder."""
        return run(*command, cwd=self.folder, env=self.tools.environment | options.pop("env", {}), **options)

    def no_operation_missing(self, made: Path, pattern: str) -> None:
        """Raise :class:`GateError` if the files do not name every operation, in their text or as file names."""
        files = list(made.glob(pattern))
        named = "\n".join([f"{file.stem}\n{file.read_text('utf-8')}" for file in files]).lower().replace("_", "")
        missing = sorted(each for each in self.operation_ids() if each not in named)
        if missing:
            raise GateError(f"{made} lacks {', '.join(missing)}")

    def operation_ids(self) -> set[str]:
        each = (node for item in self.service["paths"].values() for node in item.values() if isinstance(node, dict))
        return {operation["operationId"].lower() for operation in each}


def no_warning(said: str) -> None:
    """Raise :class:`GateError` if a generator warned of anything but what is known."""
    lines = (line for line in said.splitlines() if "WARN" in line.upper())
    warnings = [line for line in lines if not any(known in line for known in KNOWN_WARNINGS)]
    if warnings:
        raise GateError("\n".join(warnings))
