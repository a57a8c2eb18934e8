"""Routes that only the sandbox has answer ``SANDBOX_ONLY`` to a production key (B-07, B-60)."""

from __future__ import annotations

import pytest

from contract_tests.client import Client
from contract_tests.document.specification import ADDED, table
from contract_tests.sandbox import Sandbox


@pytest.mark.parametrize(("method", "path"), table(ADDED))
def test_an_added_operation_is_closed_to_production_keys(sandbox: Sandbox, method: str, path: str) -> None:
    live = Client(sandbox.url, sandbox.api.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    live.refused(method, path.replace("{id}", "x"), 403, "SANDBOX_ONLY")
    live.close()


def test_a_documented_operation_is_open_to_them(sandbox: Sandbox) -> None:
    live = Client(sandbox.url, sandbox.api.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    plan = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    assert live.post("/subscription-plans/", plan)["livemode"] is True
    live.close()
