"""``payments.test_app(story)`` of the module for Node: its own suite, under Node's test runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests import ROOT

pytestmark = [pytest.mark.long, pytest.mark.needs("node")]

EXAMPLES = ROOT / "docs/examples/node"


def test_the_suite_of_the_node_module(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "payments-emulator", tmp_path / "node_modules/payments-emulator")
    shutil.copy(EXAMPLES / "node-test-app/app.test.mjs", tmp_path)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    command = Path(sys.executable).with_name("payments-emulator")
    ended = subprocess.run(
        ["node", "--test"],
        cwd=tmp_path,
        env={**own, "PAYMENTS_EMULATOR_COMMAND": str(command)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "# pass 5\n# fail 0\n" in ended.stdout
