"""The action for GitHub and the template for GitLab: their scripts run, without the expressions of those systems."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]

PASSES = 'test "$(python3 -c "import os; print(os.environ[\'PAYMENTS_EMULATOR_URL\'][:17])")" = http://127.0.0.1:'


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script of a job, with a ``payments-emulator`` that is this checkout's."""
    program = folder / "payments-emulator" / "bin" / "payments-emulator"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m emulator.cli.main "$@"\n')
    program.chmod(0o755)
    surely_ours = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    environment = {**surely_ours, "PYTHONPATH": str(ROOT), "RUNNER_TEMP": str(folder), **variables}
    return subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_action_runs_the_command(tmp_path: Path) -> None:
    *_, step = loaded("action.yml")["runs"]["steps"]
    assert set(step["env"]) == {"COMMAND", "OPTIONS"}
    ended = run(step["run"], tmp_path, COMMAND=f"{PASSES}\nexit 3", OPTIONS="--seed 7")
    assert (ended.returncode, ended.stderr) == (3, "")


def test_the_template_runs_the_script(tmp_path: Path) -> None:
    job = loaded("docs/examples/gitlab/payments-emulator.gitlab-ci.yml")[".payments-emulator"]
    (line,) = job["script"]
    script = line.replace("/tmp/payments-emulator", f"{tmp_path}/payments-emulator")
    ended = run(script, tmp_path, RUN=f"{PASSES} && exit 4", OPTIONS=job["variables"]["OPTIONS"])
    assert (ended.returncode, ended.stderr) == (4, "")


def test_modules_of_testcontainers_stay_small() -> None:
    for file in (ROOT / "docs/examples/testcontainers").iterdir():
        assert len(file.read_text("utf-8").splitlines()) < 100
