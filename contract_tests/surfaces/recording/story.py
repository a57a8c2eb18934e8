"""A story of sixty calls that ends in a past due subscription, among things that have nothing to do with it."""

from __future__ import annotations

from typing import NamedTuple

from emulator.testing import Emulator

CARD = {"type": "bank_card", "number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}

START = "2026-01-01T09:00:00Z"


class PastDue(NamedTuple):
    """The ids of the story's subscription and of its customer."""

    subscription: str
    customer: str


def customers(payments: Emulator, first: int, number: int) -> None:
    """Customers with cards, names that change, and products: nothing that the subscription needs."""
    for each in range(first, first + number):
        body = {"email": f"buyer{each}@example.com", "name": "Buyer"}
        customer = payments.api.post("/v1/customers/", body)
        if each % 3 == 0:
            payments.api.post("/v1/products/", {"name": f"Basket {each}", "unit_amount": 2000, "currency": "XAF"})
        if each % 4 == 0:
            payments.api.post("/v1/payment-methods/", {"customer": customer["id"], **CARD})
        if each % 5 == 0:
            payments.api.patch(f"/v1/customers/{customer['id']}/", {"name": "Other"})


def past_due(payments: Emulator) -> PastDue:
    """Play the story."""
    api = payments.api
    customers(payments, 1, 10)
    body = {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000", "metadata": {"shop": "Bo's {1}"}}
    customer = api.post("/v1/customers/", body)
    customers(payments, 11, 8)
    terms = {"name": "Premium", "description": "All of it", "amount": 5000, "currency": "XAF", "interval": "month"}
    plan = api.post("/v1/subscription-plans/", terms)
    subscription = api.post("/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
    payments.configure(tax_rate=18)
    customers(payments, 19, 8)
    payments.clock.advance("3d")
    transaction = api.get("/v1/transactions/", customer=customer["id"])["data"][0]
    api.post("/v1/refunds/", {"transaction": transaction["id"], "amount": 1000})
    payments.client.post("/v1/customers/", json=body)
    payments.fail_next("payment", "INSUFFICIENT_FUNDS", customer=customer["id"])
    payments.clock.advance("20d")
    customers(payments, 27, 6)
    payments.clock.advance("8d")
    api.get("/v1/customers/")
    return PastDue(subscription["id"], customer["id"])
