"""An emulator that the module for Node starts for a script."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests import ROOT

pytestmark = pytest.mark.needs("node")

MODULE = ROOT / "docs/examples/node/payments-emulator/index.cjs"


def test_the_emulator_of_a_script_that_is_killed_ends(tmp_path: Path) -> None:
    """As when a test runner gives up on a worker: no handler of the script runs."""
    ended = tmp_path / "ended"
    os.mkfifo(ended)
    emulator = tmp_path / "emulator"
    emulator.write_text(f'#!/bin/sh\n"{sys.executable}" -m emulator.cli.main "$@"\necho "$?" > "{ended}"\n')
    emulator.chmod(0o755)
    script = "payments.Emulator.open().then(({ url }) => { console.log(url); setInterval(() => {}, 1e6); });"
    script = f"const payments = require({str(MODULE)!r}); {script}"
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    own |= {"PAYMENTS_EMULATOR_COMMAND": str(emulator), "PYTHONPATH": str(MODULE.parents[4])}
    with subprocess.Popen(["node", "-e", script], env=own, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout
        assert node.stdout.readline().startswith("http://127.0.0.1:")
        status = os.open(ended, os.O_RDWR | os.O_NONBLOCK)
        node.kill()
        assert select.select([status], [], [], 60)[0], "the emulator still runs"
        assert os.read(status, 9) == b"0\n"
        os.close(status)
