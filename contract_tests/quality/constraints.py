"""``python -m contract_tests.quality.constraints``: pins our packages' newest releases.

It writes ``constraints.txt``, the build requirements of ``pyproject.toml`` with all that they need,
and the day in ``.ci/run`` whose state of npm counts. Needs uv (``pip install uv``) and the network.
"""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime

from contract_tests import ROOT
from contract_tests.quality.pythons import SUPPORTED

CONSTRAINTS = ROOT / "constraints.txt"

HEADER = (
    "# Releases that passed all tests, for every supported Python and system:"
    " pip install -c constraints.txt '.[test]'\n"
    "# Written by python -m contract_tests.quality.constraints\n"
)

BUILD = (
    "hatchling",
    "mkdocs<2",  # 2.0 has no mkdocs.commands
    "pygments",  # colors the samples of the guide
    "PyYAML",
    # A wheel has parts of these (docs/libraries.py). phonenumberslite knows no operators.
    "babel",
    # the newest Swagger UI; swagger-ui-bundle has version 4, which shows no OpenAPI 3.1
    "flask-swagger-ui",
    "phonenumbers",
)
"""What docs/build_hook.py imports or copies. None needs a compiler, also where no wheel exists."""


def compiled(*options: str, given: str = "") -> str:
    """Return what uv chooses for every supported Python and system at once, a package a line."""
    universal = (
        "--universal",
        "--python-version",
        SUPPORTED[0],
        "--no-header",
        "--no-annotate",
        "--no-emit-index-url",
    )
    done = subprocess.run(
        ["uv", "pip", "compile", "--quiet", *universal, *options],
        cwd=ROOT,
        input=given,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout


def build_requirements(pins: str) -> str:
    return "".join(f'    "{line}",\n' for line in pins.splitlines())


def main() -> None:
    project = ROOT / "pyproject.toml"
    every = compiled(
        "--all-extras", "--group", "tools", "pyproject.toml", "-", given="\n".join(BUILD)
    )
    CONSTRAINTS.write_text(HEADER + every, "utf-8")
    pins = compiled("--constraint", str(CONSTRAINTS), "-", given="\n".join(BUILD))
    text = re.sub(
        r"(?<=^requires = \[\n)(    .*\n)+?(?=\])",
        build_requirements(pins),
        project.read_text("utf-8"),
        flags=re.M,
    )
    project.write_text(text, "utf-8")
    run = ROOT / ".ci/run"
    today = f"npm_config_before={datetime.now(UTC):%Y-%m-%d}"
    run.write_text(re.sub(r"npm_config_before=\S+", today, run.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
