"""The action for GitHub and the template for GitLab: their jobs run whole, without the expressions of those systems."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from contract_tests import ROOT

PASSES = 'test "$(python3 -c "import os; print(os.environ[\'PAYMENTS_EMULATOR_URL\'][:17])")" = http://127.0.0.1:'

EXPORTED = "--seed 7 --export-on-exit world.json"


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


@pytest.fixture
def package(tmp_path: Path) -> str:
    """A wheel whose command ``payments-emulator`` is this checkout's, so that the jobs install without an index."""
    wheel = tmp_path / "payments_emulator-1-py3-none-any.whl"
    info = "payments_emulator-1.dist-info"
    with ZipFile(wheel, "w") as file:
        file.writestr("stand_in.py", STAND_IN.format(program=sys.executable, root=str(ROOT)))
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: payments-emulator\nVersion: 1\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\npayments-emulator = stand_in:main\n")
        file.writestr(f"{info}/RECORD", "")
    return str(wheel)


STAND_IN = """
import os, sys

def main():
    os.environ["PYTHONPATH"] = {root!r}
    os.execv({program!r}, [{program!r}, "-m", "emulator.cli.main", *sys.argv[1:]])
"""


def play(folder: Path, scripts: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Return the scripts of a job, one after another as far as each passes; the last that ran."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    environment = {**clean, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", **variables}
    assert scripts
    for script in scripts:
        ended = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if ended.returncode:
            break
    return ended


@pytest.mark.long
def test_the_action_installs_and_runs_the_command(tmp_path: Path, package: str) -> None:
    """Its steps, with values in the place of GitHub's expressions."""
    action = loaded("action.yml")
    python, install, step = action["runs"]["steps"]
    assert python["uses"].split("@")[0] == "actions/setup-python"
    given = {"PACKAGE": package, "PYTHON": sys.executable, "RUNNER_TEMP": str(tmp_path)}
    assert install["env"].keys() - given.keys() == {"ACTION"}, "the folder that is installed where no package is named"
    asked = {"COMMAND": f"{PASSES}\nexit 3", "OPTIONS": EXPORTED}
    assert step["env"].keys() == asked.keys()
    ended = play(tmp_path, [install["run"], step["run"]], **given, **asked)
    assert (ended.returncode, ended.stderr) == (3, "")
    assert (tmp_path / "world.json").exists()


@pytest.mark.long
def test_the_template_installs_runs_the_script_and_leaves_the_report(tmp_path: Path, package: str) -> None:
    job = loaded("docs/examples/gitlab/payments-emulator.gitlab-ci.yml")[".payments-emulator"]
    variables = {name: str(value).replace("$CI_PROJECT_DIR", str(tmp_path)) for name, value in job["variables"].items()}
    run = f"{PASSES} && touch {job['artifacts']['reports']['junit']} && exit 4"
    scripts = [each.replace("/tmp/", f"{tmp_path}/") for each in (*job["before_script"], *job["script"])]
    given = {"PAYMENTS_EMULATOR_PACKAGE": package, "OPTIONS": EXPORTED, "RUN": run}
    ended = play(tmp_path, scripts, **variables | given)
    assert (ended.returncode, ended.stderr) == (4, "")
    assert (tmp_path / "world.json").exists()
    assert (tmp_path / "report.xml").exists()


def test_the_marketplace_takes_the_action() -> None:
    action = loaded("action.yml")
    assert action.keys() >= {"name", "description", "author", "branding"}
    assert len(action["description"]) < 125
    assert [name for name, given in action["inputs"].items() if not given["description"]] == []
