"""Node scripts: under ``exec``, and with an emulator that the module for Node starts."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests import ROOT
from contract_tests.surfaces.cli.terminal import processes

pytestmark = pytest.mark.needs("node")

SHOP = """
const { PAYMENTS_EMULATOR_URL: url, PAYMENTS_EMULATOR_KEY: key } = process.env;
const headers = { "Authorization": `Bearer ${key}`, "Content-Type": "application/json" };
const body = JSON.stringify({ email: "awa@example.com", name: "Awa Diop" });
fetch(`${url}/v1/customers/`, { method: "POST", headers, body })
  .then((answer) => answer.json())
  .then((customer) => {
    console.log(customer.created_at);
    if (process.argv[2] !== "wait") process.exit(7);
    process.on("SIGINT", () => process.exit(8));
    console.log("waiting");
    setInterval(() => {}, 1000);
  });
"""

MODULE = ROOT / "docs/examples/node/payments-emulator/index.cjs"

CLOCK = ["--clock", "frozen@2026-01-01T00:00:00Z"]


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "shop.js"
    file.write_text(SHOP)
    return str(file)


def test_its_status_is_passed_on(script: str) -> None:
    with processes() as begin:
        shop = begin("exec", *CLOCK, "--", "node", script)
        assert shop.communicate(timeout=60) == ("2026-01-01T00:00:00.000Z\n", "")
        assert shop.returncode == 7


def test_ctrl_c_ends_both(script: str) -> None:
    with processes() as begin:
        shop = begin("exec", *CLOCK, "--", "node", script, "wait")
        assert shop.stdout
        assert [shop.stdout.readline(), shop.stdout.readline()] == ["2026-01-01T00:00:00.000Z\n", "waiting\n"]
        shop.send_signal(signal.SIGINT)
        assert shop.communicate(timeout=60) == ("", "")
        assert shop.returncode == 8


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
