"""``python -m contract_tests.quality.pythons``: tests on Pythons here, with and without uvloop.

``--releases`` chooses the releases of other packages: those of ``constraints.txt``, the newest, the
oldest that ``pyproject.toml`` allows, or pre-releases. The tests run once with each choice but the
first.

Each Python gets an environment of its own. It needs nothing but the standard library, since it runs
before anything is installed. The last lines say what passed on which Python. Exit status 1 if a run
failed or if a Python that is required was not found.
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

from contract_tests import ROOT

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
REQUIRED = ("3.11", "3.12", "3.13")

WITHOUT_UVLOOP = tuple(
    f"contract_tests/{folder}"
    for folder in ("contract/http", "contract/engine", "surfaces/testing", "surfaces/cli")
)
"""What is run again without uvloop: everything in which an event loop takes part."""

PIP = ("-m", "pip", "--quiet", "install")
UV = ("-m", "uv", "pip", "install", "--quiet")

RELEASES: dict[str, tuple[str, ...]] = {
    "constraints": (*PIP, "--constraint", "constraints.txt"),
    "newest": (*PIP, "--upgrade", "--upgrade-strategy", "eager"),
    "lowest-direct": (*UV, "--resolution", "lowest-direct"),
    "pre": (*PIP, "--upgrade", "--upgrade-strategy", "eager", "--pre"),
}
"""How Python is called to install a choice of releases; pip cannot choose the lowest."""


def interpreter(version: str) -> str | None:
    """Return a Python of this version: on the path, of pyenv, or of uv."""
    places = [
        *filter(None, [shutil.which(f"python{version}")]),
        *map(
            str,
            sorted(
                Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"), reverse=True
            ),
        ),
        *map(
            str,
            sorted(
                Path("~/.local/share/uv/python")
                .expanduser()
                .glob(f"cpython-{version}.*/bin/python3")
            ),
        ),
    ]
    return next((place for place in places if _is(place, version)), None)


def _is(python: str, version: str) -> bool:
    # What pyenv puts on the path may be a script for a version that is not switched on.
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return False
    return done.stdout.strip() == version


def runs(
    python: str, tests: Sequence[str], folder: Path, releases: str
) -> Iterator[tuple[str, bool]]:
    """Install into an environment; run the tests, and some without uvloop; tell which passed."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / ("Scripts" if os.name == "nt" else "bin")
    # Tests call commands of the environment by their names. A choice of releases holds against the
    # constraints that a shell, such as that of .ci/run, may have set for all others.
    environment = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    environment = {
        name: value for name, value in environment.items() if not name.endswith("_CONSTRAINT")
    }

    def passes(*command: str) -> bool:
        print(f"\n== {' '.join(command)}", flush=True)
        return (
            subprocess.run(
                [str(own / "python"), *command], cwd=ROOT, env=environment, check=False
            ).returncode
            == 0
        )

    installs = RELEASES[releases]
    if "uv" in installs:
        passes(*PIP, "--constraint", "constraints.txt", "uv")
        installs = (*installs, "--python", str(own / "python"))
    yield "install", passes(*installs, ".[test,lint]")
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    for argument in tests or ["--long"]:
        yield "all" if argument == "--long" else argument, passes(*pytest, argument)
    if releases == "constraints":
        passes("-m", "pip", "--quiet", "uninstall", "--yes", "uvloop")
        for argument in tests or WITHOUT_UVLOOP:
            yield f"{argument} without uvloop", passes(*pytest, argument)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=SUPPORTED, help="a version; may be repeated"
    )
    parser.add_argument(
        "--releases",
        choices=RELEASES,
        default="constraints",
        help="of other packages (constraints)",
    )
    parser.add_argument("tests", nargs="*", help="folders or files of tests (default: all)")
    chosen = parser.parse_args()
    lines, failed = [], False
    for version in chosen.only or SUPPORTED:
        python = interpreter(version)
        if python is None:
            required = version in (chosen.only or REQUIRED)
            failed |= required
            lines.append(f"{version}: not found" + (", but required" if required else ""))
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, passed in runs(python, chosen.tests, Path(folder), chosen.releases):
                failed |= not passed
                lines.append(f"{version}: {name} {'passed' if passed else 'FAILED'}")
    print("\n" + "\n".join(lines))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
