"""The mixin for unittest, run as unittest runs it: a process of its own."""

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
