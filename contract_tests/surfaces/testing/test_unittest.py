"""The helpers for other tools: the mixin for unittest, and the types that find the mistakes of people who write tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests import ROOT
from contract_tests.surfaces.cli.terminal import clean
from emulator.testing import LocalServer

SUITE = """
import unittest
from emulator.testing import PaymentsMixin

class WelcomeTest(PaymentsMixin, unittest.TestCase):
    payments_options = {"clock": "2026-01-01T00:00:00Z", "settings": {"tax_rate": 18}}

    def setUp(self):
        super().setUp()
        self.customer = self.payments.customer()

    def test_a_world_of_its_own(self):
        self.assertEqual(self.customer["created_at"], "2026-01-01T00:00:00.000Z")
        self.assertEqual(self.payments.events.types, ["customer.created"])
        self.assertEqual(self.payments.configure()["tax_rate"], 18)

    def test_that_fails(self):
        self.assertEqual(len(self.payments.events), 2)

class AsyncTest(PaymentsMixin, unittest.IsolatedAsyncioTestCase):
    async def test_that_passes(self):
        self.assertEqual(self.payments.events.types, [])

    async def test_that_fails(self):
        self.payments.customer()
        self.fail("on purpose as well")
"""


@pytest.mark.parametrize("where", ["in process", "elsewhere"])
def test_each_test_has_a_world_and_a_failure_its_report(where: str, local_server: LocalServer, tmp_path: Path) -> None:
    (tmp_path / "test_welcome.py").write_text(SUITE, "utf-8")
    named = {"PAYMENTS_EMULATOR_URL": local_server.url} if where == "elsewhere" else {}
    command = (sys.executable, "-W", "error", "-m", "unittest", "-v", "test_welcome")
    environment = clean(PYTHONPATH=str(ROOT), **named)
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Ran 4 tests" in ended.stderr
    assert "FAILED (failures=2)" in ended.stderr, ended.stderr
    assert ended.stderr.count("POST /v1/customers/") == 2
    assert "clock: 2026-01-01T00:00:00.000Z" in ended.stderr


# -- types: each comment names the mistake in its line


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
