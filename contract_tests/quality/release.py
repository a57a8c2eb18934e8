"""``python -m contract_tests.quality.release``: makes and tries out all parts of a release.

Nothing is published. What the release workflow builds is built here, from a copy of the checkout,
and each artefact is installed into an empty folder: the wheel on every Python that is found. Needs
npm and the network. Exit status 1 if a step failed; ``--skip STEP`` leaves one out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from contract_tests import ROOT
from contract_tests.quality.package import container
from contract_tests.quality.pythons import SUPPORTED, interpreter
from contract_tests.support import postgres
from contract_tests.surfaces.node import __main__ as node
from emulator.version import VERSION

STORIES = ROOT / "contract_tests/surfaces/testing/stories"

REPOSITORY = "rehearsal/payments-emulator"

NEWEST = "3.15"
"""Tried where it is found, though dependencies have no wheels for it yet."""

BESIDE = (
    *("aioresponses==0.7.9", "aiohttp==3.13.5"),  # aioresponses 0.7.9 knows no later aiohttp
    *("httpretty==1.1.4", "mocket==3.15.0", "pytest-httpx==0.36.2", "pytest-recording==0.14.1"),
    *("pytest-socket", "requests", "requests-mock==1.12.1", "responses==0.26.3", "respx"),
    *("pytest-django==4.14.0", "Django", "psycopg[binary]"),
)
"""Tools that fake or forbid requests; those without a version have that of ``constraints.txt``."""

OWN_EMULATOR_TEST = """
import emulator

def test_cpu():
    assert emulator.CPU == 6502

def test_payments(payments):
    pass
"""

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "rehearsal", "version": "1"},
}


class Rehearsal:
    """A release, as far as it goes without publishing. Each step returns what was done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source, self.dist, self.npm = folder / "source", folder / "dist", folder / "npm"
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PAYMENTS_EMULATOR_", "PYTHON"))
        }
        home = folder / "home"
        home.mkdir()
        # Everything that looks for the package finds it here, and its dependencies at the index as
        # usual.
        found_here = {
            "PIP_FIND_LINKS": str(self.dist),
            "UV_FIND_LINKS": str(self.dist),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        self.environment = {
            **own,
            **found_here,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
        }
        self.tools = self.environment_of(sys.executable, "tools", "build", "twine", "uv", "pipx")

    @property
    def wheel(self) -> Path:
        return next(self.dist.glob("*.whl"))

    def call(
        self, *command: object, cwd: Path | None = None, status: int = 0, **variables: str
    ) -> str:
        """Run a command; return its output. Raises ``AssertionError`` for another exit status."""
        done = subprocess.run(
            [*map(str, command)],
            cwd=cwd or self.folder,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, (
            f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout + (done.stderr if status else "")

    def environment_of(self, python: str, name: str, *packages: object) -> Path:
        self.call(python, "-m", "venv", self.folder / name)
        commands = self.folder / name / "bin"
        self.call(commands / "python", "-m", "pip", "install", "--quiet", *packages)
        return commands

    def prepare(self) -> str:
        """Copy the checkout, give the changelog a dated section, stamp version and repository."""
        container.copy_checkout(ROOT, self.source)
        changelog = self.source / "CHANGELOG.md"
        text = changelog.read_text("utf-8")
        changelog.write_text(
            text.replace("## [Unreleased]", f"## [Unreleased]\n\n## [{VERSION}] - 2026-01-01", 1),
            "utf-8",
        )
        for command, *more in (("check",), ("stamp", REPOSITORY), ("notes",)):
            notes = self.call(
                sys.executable, ".ci/release.py", command, f"v{VERSION}", *more, cwd=self.source
            )
        return f"{VERSION} is ready; {len(notes.splitlines())} lines of notes"

    def build(self) -> str:
        """Build the source distribution and, from it alone, the wheel, twice: the same bytes."""
        again = self.folder / "somewhere" / "else"
        shutil.copytree(self.source, again)
        for source, target in ((self.source, self.dist), (again, self.folder / "dist2")):
            self.call(self.tools / "python", "-m", "build", "--outdir", target, source)
        for made in self.dist.iterdir():
            assert made.read_bytes() == (self.folder / "dist2" / made.name).read_bytes(), (
                f"{made.name} differs"
            )
        self.call(self.tools / "python", "-m", "twine", "check", "--strict", *self.dist.iterdir())
        with zipfile.ZipFile(self.wheel) as wheel:
            clones = [
                name
                for name in wheel.namelist()
                if re.search(rb"[Ii]n a clone|git\.example\.com", wheel.read(name))
            ]
        assert clones == [], f"{clones} speak of a clone"
        sizes = ", ".join(
            f"{made.name} {made.stat().st_size / 1e6:.1f} MB"
            for made in sorted(self.dist.iterdir())
        )
        return f"{sizes}; twice, the same bytes"

    def pythons(self) -> str:
        """Use the wheel on each Python: demo, pytest's fixture, a command with a sandbox."""
        here = {
            version: python for version in (*SUPPORTED, NEWEST) if (python := interpreter(version))
        }
        for version, python in here.items():
            self.use(self.environment_of(python, f"python{version}", self.wheel, "pytest"))
        missing = ", ".join(set(SUPPORTED) - here.keys())
        return f"installed and used on Python {', '.join(here)}" + (
            f"; not found: {missing}" if missing else ""
        )

    def use(self, commands: Path) -> None:
        assert (
            self.call(commands / "payments-emulator", "--version")
            == f"payments-emulator {VERSION}\n"
        )
        assert "signature correct" in self.call(commands / "payments-emulator", "demo")
        empty = Path(tempfile.mkdtemp(dir=self.folder))
        (empty / "test_plugin.py").write_text(container.PLUGIN_TEST, "utf-8")
        assert "1 passed" in self.call(
            commands / "python", "-W", "error", "-m", "pytest", "-q", cwd=empty
        )
        self.call(
            commands / "payments-emulator", "exec", "--", commands / "payments-emulator", "health"
        )
        self.use_beside_another(commands)

    def use_beside_another(self, commands: Path) -> None:
        """Use the wheel in a project that has a package ``emulator`` of its own."""
        project = Path(tempfile.mkdtemp(dir=self.folder))
        (project / "emulator").mkdir()
        (project / "emulator" / "__init__.py").write_text("CPU = 6502\n", "utf-8")
        (project / "test_own.py").write_text(OWN_EMULATOR_TEST, "utf-8")
        for pytest in ([commands / "python", "-m", "pytest"], [commands / "pytest"]):
            output = self.call(*pytest, "-q", cwd=project, status=1)
            assert "1 passed, 1 error" in output, output
            assert "no fixture payments" in output, output
        version = self.call(commands / "payments-emulator", "--version", PYTHONPATH=str(project))
        assert version == f"payments-emulator {VERSION}\n"

    def beside(self) -> str:
        """Run a suite with the tools that the guide's page *With other test tools* has."""
        commands = self.environment_of(sys.executable, "beside", self.wheel, "pytest", *BESIDE)
        suite = self.folder / "test_beside.py"
        shutil.copy(STORIES / "beside_tools.py", suite)
        options = ("-q", "-p", "no:cacheprovider", "--record-mode=none", "--disable-socket")
        done = [self.call(commands / "python", "-m", "pytest", *options, suite)]
        project = self.folder / "django_project"
        shutil.copytree(STORIES / "django_project", project)
        django = (commands / "python", "-m", "pytest", "-q", "--ds=settings", "beside_django.py")
        with postgres.running() as url:
            databases = ("", str(self.folder / "orders.sqlite"), url)
            done += [self.call(*django, cwd=project, DATABASE=place) for place in databases]
        last = ", ".join(output.strip().splitlines()[-1] for output in done)
        return f"{last} with {', '.join(BESIDE)}"

    def runners(self) -> str:
        """Run demos: the source distribution without a checkout, the package by name alone."""
        commands = self.environment_of(sys.executable, "sdist", *self.dist.glob("*.tar.gz"))
        for command in (
            [commands / "payments-emulator"],
            *([self.tools / tool] for tool in ("uvx", "pipx")),
        ):
            own = {"uvx": ["payments-emulator"], "pipx": ["run", "payments-emulator"]}.get(
                command[0].name, []
            )
            assert "signature correct" in self.call(*command, *own, "demo")
        return "source distribution; uvx payments-emulator demo, pipx run payments-emulator demo"

    def node(self) -> str:
        """Return the tarball under each Node and runner, and ``npx`` where nothing is installed."""
        self.npm.mkdir()
        tarball = node.pack(self.npm, self.source / "docs/examples/node/payments-emulator")
        assert node.main(tarball) == 0
        empty = self.folder / "npx"
        empty.mkdir()
        (empty / "package.json").write_text('{"private": true}', "utf-8")
        self.call("npm", "install", "--silent", "--no-audit", "--no-fund", tarball, cwd=empty)
        # No command of this checkout's environment leads past it.
        kept = [
            folder
            for folder in os.environ["PATH"].split(os.pathsep)
            if not Path(folder, "payments-emulator").exists()
        ]
        self.environment["PATH"] = os.pathsep.join(kept)
        assert self.call("npx", "payments-emulator", "--version", cwd=empty).endswith(
            f" {VERSION}\n"
        )
        self.call(
            "npx",
            "payments-emulator",
            "exec",
            "--",
            "npx",
            "payments-emulator",
            "health",
            cwd=empty,
        )
        return (
            f"{tarball.name}: node:test, vitest, jest on Node {', '.join(node.NODES)};"
            f" {', '.join(node.RUNTIMES)}; npx installs the emulator"
        )

    def image(self) -> str:
        """Run the Dockerfile's steps in turn; for arm64 find a wheel of each dependency."""
        arm = (f"--platform=manylinux_{glibc}_aarch64" for glibc in ("2_17", "2_28", "2_34"))
        target = (
            "--python-version=3.13",
            "--only-binary=:all:",
            *arm,
            "--dest",
            self.folder / "arm64",
        )
        self.call(
            self.tools / "python",
            "-m",
            "pip",
            "download",
            "--quiet",
            *target,
            f"{self.wheel}[postgres]",
        )
        return f"{container.main(self.source)}; wheels for arm64"

    def assistants(self) -> str:
        """Try ``mcp``: it names the command for its extra; then the registry's entry starts it."""
        commands = self.environment_of(sys.executable, "assistants", self.wheel)
        refused = self.call(commands / "payments-emulator", "mcp", status=2)
        advice = refused.rpartition(": pip ")[2]
        self.call("sh", "-c", f"{commands}/python -m pip {advice}", PIP_FIND_LINKS="")
        tools = self.talk(commands / "payments-emulator", "mcp")
        (package,) = json.loads((self.source / "server.json").read_text("utf-8"))["packages"]
        before, after = (
            [part for fact in package[kind] for part in (fact.get("name"), fact["value"]) if part]
            for kind in ("runtimeArguments", "packageArguments")
        )
        versioned = f"{package['identifier']}=={package['version']}"
        assert self.talk(self.tools / package["runtimeHint"], *before, versioned, *after) == tools
        return (
            f"pip {advice.strip()}; {tools} tools on a sandbox of its own; the same by server.json"
        )

    def talk(self, *command: object) -> int:
        """Initialize a server of the Model Context Protocol; how many tools it has."""
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": name, "params": params}) + "\n"
            for number, (name, params) in enumerate(
                [("initialize", INITIALIZE), ("tools/list", {})]
            )
        ]
        with subprocess.Popen(
            [*map(str, command)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as mcp:
            assert mcp.stdin
            assert mcp.stdout
            responses = []
            for line in lines:
                print(line, end="", file=mcp.stdin, flush=True)
                responses.append(json.loads(mcp.stdout.readline())["result"])
            mcp.stdin.close()
        assert responses[0]["serverInfo"] == {"name": "payments-emulator", "version": VERSION}
        return len(responses[1]["tools"])

    def corpus(self) -> str:
        """Have the examinations find the planted bugs; return the sums of the table."""
        output = self.call(sys.executable, "-m", "contract_tests.corpus", cwd=ROOT)
        return output.splitlines()[-1]


STEPS: dict[str, Callable[[Rehearsal], str]] = {
    "release": Rehearsal.prepare,
    "sdist and wheel": Rehearsal.build,
    "wheel": Rehearsal.pythons,
    "other test tools": Rehearsal.beside,
    "sdist, uvx and pipx": Rehearsal.runners,
    "npm": Rehearsal.node,
    "image": Rehearsal.image,
    "mcp": Rehearsal.assistants,
    "corpus": Rehearsal.corpus,
}
"""What is made or used, in this order: later steps use what earlier ones made."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--skip", action="append", default=[], choices=STEPS, help="a step; may be repeated"
    )
    skipped = parser.parse_args().skip
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        rehearsal = Rehearsal(Path(folder))
        for name, step in STEPS.items():
            if name in skipped:
                continue
            began = time.monotonic()
            try:
                done = step(rehearsal)
            except (AssertionError, subprocess.CalledProcessError) as error:
                done = f"FAILED: {error}"
            lines.append(f"{name:20} {done} ({time.monotonic() - began:.0f} s)")
            print(lines[-1], flush=True)
    print("\n" + "\n".join(lines))
    return int(any("FAILED" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
