"""Others' modules stay as they are: neither import nor run of the emulator changes one.

Its pytest plugin runs inside other people's test processes, which import the same packages for
purposes of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from contract_tests.surfaces.cli.terminal import clean

USED = (
    "connexion",
    "httpx",
    "jinja2",
    "jsonschema",
    "requests",
    "starlette",
    "tinydb",
    "uvicorn",
    "werkzeug",
)
"""Packages that a start imports, directly or through another one."""

LOAD = """
from emulator.server.sandbox import Options
from emulator.server.server import Server
import payments_emulator_pytest
server = Server(Options(), "127.0.0.1", 0)
server.sandbox.application()
server.socket.close()
import emulator.control.control_app, emulator.web.connection
emulator.control.control_app.control_app(server.sandbox.engine, strict=False)
"""

COMPARE = """
import sys
from importlib import import_module
from types import ModuleType

def attributes(owner):
    return {name: value for name, value in vars(owner).items() if name not in IGNORED}

# Made by the class machinery itself, when an abstract class is first asked about an instance.
IGNORED = {"_abc_impl", "__abstractmethods__", "__dict__", "__weakref__"}

def known():
    modules = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in USED
    }
    classes = {
        f"{name}.{key}": value
        for name, module in modules.items()
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == name
    }
    return modules | classes

def changed(before):
    for name, (owner, values) in before.items():
        now = attributes(owner)
        for key in values.keys() | now.keys():
            is_submodule = key not in values and sys.modules.get(f"{name}.{key}") is now.get(key)
            if not is_submodule and values.get(key) is not now.get(key):
                yield f"{name}.{key}"
        if isinstance(owner, ModuleType) and sys.modules.get(name) is not owner:
            yield name
"""


def python(*parts: str) -> str:
    """What a fresh Python prints that runs these parts one after the other."""
    script = "\n".join((f"USED = {USED!r}", *parts))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.long
def test_the_emulator_changes_nothing_of_another_package() -> None:
    """What the test itself changes afterwards, by each of three ways, is found."""
    output = python(
        COMPARE,
        "for name in USED: import_module(name)",
        "before = {name: (owner, attributes(owner)) for name, owner in known().items()}",
        "assert len(before) > 200, len(before)",
        LOAD,
        "print(sorted(changed(before)))",
        "import httpx, uvicorn, requests",
        "uvicorn.Server.startup = httpx.get = None",
        "sys.modules['requests'] = ModuleType('requests')",
        "print(sorted(changed(before)))",
    )
    assert output.splitlines() == [
        "[]",
        "['httpx.get', 'requests', 'uvicorn.server.Server.startup']",
    ]


@pytest.mark.long
def test_importing_the_emulator_warns_of_nothing() -> None:
    """Nor do Connexion's imports, for suites with warnings as errors. No module is a stand-in."""
    stand_ins = (
        "print([name for name in USED if name in sys.modules and not"
        " sys.modules[name].__spec__.origin])"
    )
    assert python("import sys, warnings", "warnings.simplefilter('error')", LOAD, stand_ins) == "[]"


OPTIONAL = (
    *(
        "emulator.checks.service",
        "emulator.checks.receiver",
        "emulator.cli.agent",
        "emulator.cli.mcp_server",
    ),
    *(
        "emulator.checks.document",
        "emulator.checks.suite",
        "emulator.testing",
        "emulator.ui.reports",
    ),
    *("filelock", "hypothesis", "mcp", "schemathesis", "tinydb"),
)
"""What some commands and test suites need, and a server does not."""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of a server's process that has started and ended."""
    script = (
        "import atexit, sys",
        "atexit.register(lambda: print(*sys.modules))",
        "from emulator.cli.main import cli",
        "cli(['serve', '--quiet', '--port', '0', '--exit-with-stdin'])",
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", "\n".join(script)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env=clean(PYTHONPATH=os.pathsep.join(sys.path)),
    )
    assert "Ready.\n" in done.stdout
    return set(done.stdout.splitlines()[-1].split())


def test_serve_loads_nothing_of_the_optional_packages(loaded: set[str]) -> None:
    assert "emulator.server.server" in loaded
    assert [
        name
        for name in loaded
        if f"{name}.".startswith(tuple(f"{package}." for package in OPTIONAL))
    ] == []


def installation(name: str) -> set[str]:
    """Return the distributions that installing one brings: what it requires, and what those do."""
    brought: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(name)]
    while waiting:
        wanted = waiting.pop()
        key = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if key in brought:
            continue
        brought.add(key)
        # What another system needs is not installed here.
        with suppress(metadata.PackageNotFoundError):
            waiting += [
                required
                for required in map(Requirement, metadata.requires(wanted.name) or ())
                if required.marker is None
                or any(required.marker.evaluate({"extra": extra}) for extra in ("", *key[1]))
            ]
    return {name for name, _ in brought}


def test_serve_loads_nothing_that_its_installation_does_not_bring(loaded: set[str]) -> None:
    """So that a start takes the same time beside a user's other packages."""
    names = {name.partition(".")[0] for name in loaded}
    assert {"connexion", "httpx"} < names
    owners, brought = metadata.packages_distributions(), installation("payments-emulator")
    others = {
        name
        for name in names.intersection(owners)
        if not brought.intersection(map(canonicalize_name, owners[name]))
    }
    assert others == set()
