"""Deferral: a start loads nothing that Connexion alone wants, and whoever wants it afterwards gets the real one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emulator.web import UNUSED


def python(*statements: str) -> str:
    """What a fresh Python prints after ``import emulator.web``; any warning is an error."""
    script = "\n".join(("import sys", "import emulator.web", *statements))
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_start_loads_none_of_them() -> None:
    assert python(f"print([name for name in {UNUSED} if name in sys.modules])") == "[]"


@pytest.mark.parametrize("name", ["requests.Session", "httpx.AsyncClient", "jinja2.Environment"])
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


def test_a_module_that_is_there_already_stays_what_it_is() -> None:
    script = "import httpx; before = httpx; import emulator.web; import httpx; print(httpx is before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
