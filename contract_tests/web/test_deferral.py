"""Deferral: a start loads nothing that Connexion alone wants, and whoever wants it afterwards gets the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.web import UNUSED, UNUSED_BUT_BY_FLASK

NO_FLASK = "sys.modules['flask'] = None"


def python(*statements: str, before: str = NO_FLASK, path: str | Path = "") -> str:
    """What a fresh Python prints after ``import emulator.web``; any warning is an error."""
    script = "\n".join(("import sys", before, "import emulator.web", *statements))
    command = [sys.executable, "-W", "error", "-c", script]
    where = os.pathsep.join(filter(None, (str(path), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": where}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


START = f"""{NO_FLASK}
from emulator.cli.serve import make_server, serve
server = make_server(**serve.make_context("serve", ["--port", "0"]).params)
server.sandbox.application()
server.socket.close()
"""


def test_a_start_loads_none_of_them() -> None:
    names = UNUSED + UNUSED_BUT_BY_FLASK
    assert python(f"print([name for name in {names} if name in sys.modules])", before=START) == "[]"


@pytest.mark.parametrize("name", ["requests.Session", "httpx.AsyncClient", "jinja2.Environment", "werkzeug.Request"])
def test_afterwards_the_real_one_is_imported(name: str) -> None:
    module, _, attribute = name.partition(".")
    assert python(f"import {module}", f"print(type({name}).__name__, {name}.__name__)") == f"type {attribute}"


def test_connexion_itself_reaches_the_real_one() -> None:
    made = python(
        "import warnings",
        "import connexion",
        "warnings.simplefilter('ignore')  # Starlette's test client deprecates the client it is made with",
        "print(type(connexion.AsyncApp('app').test_client()).__module__)",
    )
    assert made == "starlette.testclient"


@pytest.mark.parametrize("name", ["httpx", "werkzeug"])
def test_a_module_that_is_there_already_stays_what_it_is(name: str) -> None:
    assert python(f"import {name} as after", "print(after is before)", before=f"import {name} as before") == "True"


FLASK = """
from types import SimpleNamespace
import jinja2
import werkzeug
class Environment(jinja2.Environment): ...
class Response(werkzeug.wrappers.Response): ...
json = SimpleNamespace(provider=SimpleNamespace(DefaultJSONProvider=object))
"""
"""As much of Flask as Connexion asks for at once, made of what Flask is made of."""


def test_flask_which_connexion_takes_along_finds_what_it_builds_on(tmp_path: Path) -> None:
    (tmp_path / "flask.py").write_text(FLASK)
    print_it = "print(flask.Response.__mro__[1] is werkzeug.Response)"
    assert python("import flask, werkzeug", print_it, before="", path=tmp_path) == "True"
