"""Requests with which an operation can succeed, for whatever varies one of their fields."""

from __future__ import annotations

from typing import Any

from contract_tests.contract.document.reader import Operation
from emulator.checks.document.object_factory import PREREQUISITES, ObjectFactory

PRICE = {"plan": ..., "unit_amount": 500, "interval": "month"}

CARD = {
    "type": "bank_card",
    "phone": ...,
    "number": "4242 4242 4242 4242",
    "exp_month": 12,
    "exp_year": 2030,
    "cvc": "123",
}

WITH: dict[str, dict[str, Any]] = {
    "createSubscription.unit_amount": PRICE,
    "createSubscription.currency": PRICE,
    "createSubscription.interval": PRICE,
    "createSubscription.interval_count": PRICE,
    "createCheckoutSession.subscription_data": {"mode": "subscription", "subscription_data": {"interval": "month"}},
    "createPaymentLink.products": {"payment_link_type": "product", "amount": ..., "products": ["{product.id}"]},
    "createPaymentLink.max_usage": {"validity_type": "limited", "max_usage": 5},
    "createPaymentLink.expires_at": {"validity_type": "limited", "max_usage": 5},
    "createPaymentIntent.customer": {"payment_method": ...},
    "createPaymentIntent.payment_method_types": {"payment_method": ...},
    "createPaymentMethod.number": CARD,
    "createPaymentMethod.exp_month": CARD,
    "createPaymentMethod.exp_year": CARD,
    "createPaymentMethod.cvc": CARD,
    "createPaymentMethod.iban": {"type": "bank_transfer", "phone": ..., "iban": "FR14 2004 1010 0505 0001 3M02 606"},
    "createPaymentMethod.email": {"type": "paypal", "phone": ..., "email": "awa@example.com"},
}
"""What has to be sent along with a field; ``...`` leaves something out."""

OBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "updatePaymentLink.max_usage": ("link", {"validity_type": "limited", "expires_at": "2099-01-01", "max_usage": 5}),
    "updatePaymentLink.expires_at": ("link", {"validity_type": "limited", "max_usage": 5}),
}
"""Objects that differ from the prerequisites because an operation can change a field only then, by kind."""


def request(factory: ObjectFactory, operation: Operation, field: str, scene: dict[str, Any]) -> tuple[str, Any]:
    """Return the path and the body of a request in which this field can be varied; the scene gets the objects that it needs."""
    operation_id = str(operation.node["operationId"])
    name = f"{operation_id}.{field}"
    if name in OBJECTS and OBJECTS[name][0] not in scene:
        kind, fields = OBJECTS[name]
        body = factory.filled(PREREQUISITES[kind].body, scene) | fields
        scene[kind] = factory.send("POST", PREREQUISITES[kind].path, body).json()
    path = operation.path.format(**factory.parameters(operation_id, operation.path, scene))
    body = factory.body(operation_id, operation.path, operation.method, scene)
    more = factory.filled(WITH.get(name, {}), scene)
    return path, {name: value for name, value in {**body, **more}.items() if value is not ...}
