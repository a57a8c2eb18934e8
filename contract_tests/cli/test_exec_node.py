"""``exec`` with a Node script: it finds its sandbox, its status is passed on, and it hears Ctrl-C."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from contract_tests.cli.terminal import processes

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
