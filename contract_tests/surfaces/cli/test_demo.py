"""``demo`` plays the whole scenario by itself and ends."""

from __future__ import annotations

from contract_tests.surfaces.cli.conftest import OnScreen


def test_the_demo_shows_two_paid_months_and_correct_signatures(screen: OnScreen) -> None:
    """README: the demo plays a customer's first two months, showing each step with the request that did it."""
    shown = screen("demo", "--leave", NO_COLOR="1")
    assert shown.status() == 0
    assert [line for line in shown.text.splitlines() if len(line) > 80] == []
    for part in (
        *("POST /v1/webhooks/", "POST /v1/customers/", "POST /v1/subscriptions/", "POST /_emulator/clock/advance"),
        *("the period runs from 2026-02-01 to 2026-03-01", "INV-2026-000002: 5,000 XAF, paid."),
        "What to do next:",
    ):
        assert part in shown.text
    assert shown.text.count("signature correct") == 8
    assert "WRONG" not in shown.text
