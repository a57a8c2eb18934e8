"""A story that ends in a past due subscription, and the world in which it was played."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from contract_tests.support.sandbox import CARD
from emulator.testing import Emulator, LocalServer

START = "2026-01-01T09:00:00Z"


def others(payments: Emulator) -> None:
    """Customers with cards, changed names, and products: nothing the subscription needs."""
    api = payments.api
    for number in range(3):
        customer = api.post(
            "/v1/customers/", {"email": f"buyer{number}@example.com", "name": "Buyer"}
        )["id"]
        api.post("/v1/payment-methods/", {"customer": customer, **CARD})
        api.patch(f"/v1/customers/{customer}/", {"name": "Other"})
        api.post(
            "/v1/products/", {"name": f"Basket {number}", "unit_amount": 2000, "currency": "XAF"}
        )


def past_due(payments: Emulator) -> str:
    api = payments.api
    others(payments)
    body = {
        "email": "awa@example.com",
        "name": "Awa Diop",
        "phone": "+24177000000",
        "metadata": {"shop": "Bo's {1}"},
    }
    customer = api.post("/v1/customers/", body)["id"]
    terms = {
        "name": "Premium",
        "description": "All of it",
        "amount": 5000,
        "currency": "XAF",
        "interval": "month",
    }
    plan = api.post("/v1/subscription-plans/", terms)["id"]
    subscription = api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})["id"]
    payments.configure(tax_rate=18)
    payments.clock.advance("3d")
    transaction = api.get("/v1/transactions/", customer=customer)["data"][0]["id"]
    api.post("/v1/refunds/", {"transaction": transaction, "amount": 1000})
    payments.client.post("/v1/customers/", json=body)
    payments.fail_next("payment", "INSUFFICIENT_FUNDS", customer=customer)
    payments.clock.advance("30d", until_event="subscription.payment_failed")
    api.get("/v1/customers/")
    return str(subscription)


@pytest.fixture(scope="session")
def played(local_server: LocalServer) -> Iterator[Emulator]:
    with Emulator(key="sk_test_played", clock=START, seed=7, server=local_server) as payments:
        past_due(payments)
        yield payments


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PAYMENTS_EMULATOR_")]:
        monkeypatch.delenv(name)
