"""The types of the helpers find mistakes of the people who write tests; each comment names the one in its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests import ROOT

STORY = """
from emulator import Emulator, verify_webhook
from emulator.testing.objects import CheckoutSession, Refund


def buy(payments: Emulator, session: CheckoutSession) -> int:
    paid = payments.pay(session["url"], phone="+24177000000")
    event = payments.events.last("invoice.paid", session)
    payments.clock.advance(until_event="invoice.paid")
    refund: Refund = payments.api.post("/v1/refunds/", {"transaction": paid["transaction"]})
    print(payments.clock.datetime.year, event["data"]["object"]["total"], refund["amount"])
    verify_webhook(b"{}", {"Service-Signature": "0"}, payments.webhooks.endpoint)
    return payments.invoice(customer=payments.customer())["total"]


def mistakes(payments: Emulator, session: CheckoutSession) -> None:
    print(session["amout_total"])  # type: ignore[typeddict-item]
    print(payments.subscription()["status"] == "activ")  # type: ignore[comparison-overlap]
    payments.customer(emial="awa@example.com")  # type: ignore[call-arg]
    payments.events.last("invoice.payed")  # type: ignore[arg-type]
    payments.expect("invoice.payed")  # type: ignore[arg-type]
    payments.webhooks.wait_for("invoice.payed")  # type: ignore[arg-type]
    print(payments.clock.advance("31d")["evens"])  # type: ignore[typeddict-item]
"""


@pytest.mark.long
@pytest.mark.needs("mypy")
def test_a_misspelt_field_or_event_is_an_error_of_mypy(tmp_path: Path) -> None:
    """A comment that ignores no error is an error as well."""
    file = tmp_path / "story.py"
    file.write_text(STORY, encoding="utf-8")
    options = ("--strict", "--follow-imports=silent", "--cache-dir", ROOT / ".mypy_cache")
    command = (sys.executable, "-m", "mypy", *options, file)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
