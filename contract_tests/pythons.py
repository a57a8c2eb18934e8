"""``python -m contract_tests.pythons``: the tests on each supported Python that is found, with uvloop and without it.

Each Python gets an environment of its own. It needs nothing but the standard library, since it runs before anything is
installed. Exit status 1 if a run failed or if a Python that ``--require`` names was not found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
REQUIRED = ("3.11", "3.12", "3.13")

WITHOUT_UVLOOP = ("contract_tests/http", "contract_tests/testing", "contract_tests/cli/test_serve.py")
"""What is run again without uvloop: everything in which an event loop takes part."""


def found(version: str) -> str | None:
    """A Python of this version: on the path, of pyenv, or of uv."""
    places = [
        *([on_path] if (on_path := shutil.which(f"python{version}")) else []),
        *map(str, sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"), reverse=True)),
        *map(str, sorted(Path("~/.local/share/uv/python").expanduser().glob(f"cpython-{version}.*/bin/python3"))),
    ]
    return next((place for place in places if _is(place, version)), None)


def _is(python: str, version: str) -> bool:
    # What pyenv puts on the path may be a script for a version that is not switched on.
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return False
    return done.stdout.strip() == version


def runs(python: str, tests: Sequence[str], folder: Path) -> Iterator[tuple[str, bool]]:
    """Install into a new environment, run the tests, run some again without uvloop; each with whether it passed."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(own / "python"), "-m", "pip", "--quiet"]
    yield "install", _passes([*pip, "install", ".[test]"])
    pytest = [str(own / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    yield "tests", _passes([*pytest, *tests])
    _passes([*pip, "uninstall", "--yes", "uvloop"])
    yield "tests without uvloop", _passes([*pytest, *(tests or WITHOUT_UVLOOP)])


def _passes(command: Sequence[str]) -> bool:
    print(f"\n== {' '.join(command)}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Print a line for each Python at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require", nargs="*", default=REQUIRED, help="versions that must be found")
    parser.add_argument("tests", nargs="*", help="arguments of pytest (default: all tests)")
    chosen = parser.parse_args()
    lines, failed = [], False
    for version in SUPPORTED:
        python = found(version)
        if python is None:
            failed |= version in chosen.require
            lines.append(f"{version}: not found" + (", but required" if version in chosen.require else ""))
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, passed in runs(python, chosen.tests, Path(folder)):
                failed |= not passed
                lines.append(f"{version}: {name} {'passed' if passed else 'FAILED'}")
    print("\n" + "\n".join(lines))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
