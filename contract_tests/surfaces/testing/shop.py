"""What these tests buy: a customer with a subscription, a checkout session, an invoice."""

from __future__ import annotations

from emulator.client.messages import JSON
from emulator.testing import Emulator


def subscribe(world: Emulator, phone: str = "+24177000000") -> JSON:
    """Return a monthly subscription of 5000 XAF, charged to a phone."""
    customer = world.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop", "phone": phone})
    terms = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
    plan = world.api.post("/v1/subscription-plans/", terms)
    subscription: JSON = world.api.post("/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
    return subscription


def checkout(world: Emulator, **fields: object) -> JSON:
    """Return a checkout session over a basket of 2000 XAF."""
    product = world.api.post("/v1/products/", {"name": "Basket", "unit_amount": 2000, "currency": "XAF"})
    body = {
        "mode": "payment",
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
        "customer_email": "awa@example.com",
        "line_items": [{"product": product["id"], "quantity": 1}],
    }
    session: JSON = world.api.post("/v1/checkout-sessions/", {**body, **fields})
    return session
