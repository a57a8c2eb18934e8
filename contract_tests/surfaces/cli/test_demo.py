"""``demo`` plays the whole scenario by itself and ends."""

from __future__ import annotations

import subprocess
import sys

from contract_tests.surfaces.cli.conftest import OnScreen


def test_the_demo_shows_two_paid_months_and_correct_signatures() -> None:
    """README: the demo plays a customer's first two months, showing each step with the request that did it."""
    played = subprocess.run(
        [sys.executable, "-m", "emulator.cli.main", "demo"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (played.returncode, played.stderr) == (0, "")
    for request in (
        "POST /v1/webhooks/",
        "POST /v1/customers/",
        "POST /v1/subscriptions/",
        "POST /_emulator/clock/advance",
    ):
        assert request in played.stdout
    assert "the period runs from 2026-02-01 to 2026-03-01" in played.stdout
    assert "INV-2026-000002: 5,000 XAF, paid." in played.stdout
    assert played.stdout.count("signature correct") == 8
    assert "WRONG" not in played.stdout
    assert "What to do next:\n  payments-emulator serve " in played.stdout


def test_no_line_is_too_long_for_a_terminal(screen: OnScreen) -> None:
    shown = screen("demo", "--leave", NO_COLOR="1")
    assert shown.status() == 0
    assert [line for line in shown.text.splitlines() if len(line) > 80] == []
