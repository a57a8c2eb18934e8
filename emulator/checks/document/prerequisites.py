"""Prerequisites: the objects that operations need in order to succeed, and the calls that make each, as data.

``{kind}`` stands for the id of another object, ``{kind/field}`` for a field of it, ``{new}`` for a word never used
before, ``{receiver}`` for the address of a webhook receiver that answers 200, or 500 to events sent to ``/failing``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from emulator.document.tree import Document, resolve


@dataclass(frozen=True)
class Prerequisite:
    """One object: made by a call, ``after`` another one, and found in the answer at ``pointer``."""

    method: str
    path: str
    body: dict[str, Any] = field(default_factory=dict)
    pointer: str = ""
    after: str | None = None


_INTENT = {"amount": 5000, "currency": "XAF", "customer": "{customer}"}
_PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
_LINE = {"description": "Raphia basket", "unit_amount": 15000, "quantity": 2}
_WEBHOOK = {"name": "Examiner", "events": ["refund.failed"], "retry_policy": {"max_attempts": 0}}

PREREQUISITES: dict[str, Prerequisite] = {
    "customer": Prerequisite(
        "POST", "/customers/", {"email": "{new}@example.com", "name": "Awa Diop", "phone": "+24177000000"}
    ),
    "address": Prerequisite(
        "POST", "/customers/{customer}/addresses/", {"line1": "12 Rue du Port", "city": "Libreville", "country": "GA"}
    ),
    "method": Prerequisite(
        "POST", "/payment-methods/", {"customer": "{customer}", "type": "mobile_money", "phone": "+24177123456"}
    ),
    "transfer": Prerequisite(
        "POST",
        "/payment-methods/",
        {"customer": "{customer}", "type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"},
    ),
    "product": Prerequisite("POST", "/products/", {"name": "Basket {new}", "unit_amount": 2000, "currency": "XAF"}),
    "plan": Prerequisite("POST", "/subscription-plans/", _PLAN),
    "subscription": Prerequisite("POST", "/subscriptions/", {"customer": "{customer}", "plan": "{plan}"}),
    "paused subscription": Prerequisite("POST", "/subscriptions/{subscription}/pause/"),
    "canceled subscription": Prerequisite("POST", "/subscriptions/{subscription}/cancel/"),
    "profile": Prerequisite("POST", "/security-profiles/", {"name": "Shop"}),
    "invoice": Prerequisite("POST", "/invoices/", {"customer": "{customer}", "line_items": [_LINE], "currency": "XAF"}),
    "open invoice": Prerequisite("POST", "/invoices/{invoice}/finalize/"),
    "intent": Prerequisite("POST", "/payment-intents/", _INTENT | {"payment_method": "{method}"}),
    "manual intent": Prerequisite(
        "POST", "/payment-intents/", _INTENT | {"payment_method": "{method}", "capture_method": "manual"}
    ),
    "held intent": Prerequisite("POST", "/payment-intents/{manual intent}/confirm/"),
    "paid intent": Prerequisite("POST", "/payment-intents/{intent}/confirm/"),
    "transaction": Prerequisite("GET", "/transactions/{paid intent/transaction}/"),
    "transfer intent": Prerequisite("POST", "/payment-intents/", _INTENT | {"payment_method": "{transfer}"}),
    "sent intent": Prerequisite("POST", "/payment-intents/{transfer intent}/confirm/"),
    "pending transaction": Prerequisite("GET", "/transactions/{sent intent/transaction}/"),
    "refund": Prerequisite("POST", "/refunds/", {"transaction": "{transaction}"}),
    "receipt": Prerequisite("GET", "/receipts/?page_size=1", pointer="data/0", after="transaction"),
    "session": Prerequisite(
        "POST",
        "/checkout-sessions/",
        {"success_url": "https://shop.example.com/thanks", "currency": "XAF", "line_items": [_LINE]},
    ),
    "link": Prerequisite(
        "POST", "/payment-links/", {"payment_link_type": "custom", "currency": "XAF", "amount": 25000}
    ),
    "archived link": Prerequisite("POST", "/payment-links/{link}/archive/"),
    "webhook": Prerequisite("POST", "/webhooks/", _WEBHOOK | {"url": "{receiver}"}),
    "disabled webhook": Prerequisite("POST", "/webhooks/{webhook}/disable/"),
    "failing webhook": Prerequisite("POST", "/webhooks/", _WEBHOOK | {"url": "{receiver}/failing"}),
    "delivery": Prerequisite("POST", "/webhooks/{failing webhook}/test/"),
}

OF_PATH: dict[str, str] = {
    "customers": "customer",
    "products": "product",
    "subscription-plans": "plan",
    "subscriptions": "subscription",
    "security-profiles": "profile",
    "invoices": "invoice",
    "payment-intents": "intent",
    "payment-methods": "method",
    "transactions": "transaction",
    "refunds": "refund",
    "receipts": "receipt",
    "checkout-sessions": "session",
    "payment-links": "link",
    "webhooks": "webhook",
}
"""What the ``{id}`` behind the first word of a path is."""

OF_OPERATION: dict[str, str] = {
    "reactivateSubscription": "canceled subscription",
    "resumeSubscription": "paused subscription",
    "sendInvoice": "open invoice",
    "voidInvoice": "open invoice",
    "payInvoice": "open invoice",
    "getInvoicePdf": "open invoice",
    "capturePaymentIntent": "held intent",
    "cancelTransaction": "pending transaction",
    "restorePaymentLink": "archived link",
    "enableWebhook": "disabled webhook",
    "listWebhookDeliveries": "delivery/webhook",
    "retryWebhookDelivery": "delivery/webhook",
}
"""What it is where an operation needs it in a special state."""

OF_PARAMETER: dict[str, str] = {"addr_id": "address", "did": "delivery"}
"""What the other parameters of paths are."""

OF_FIELD: dict[str, str] = {
    "customer": "{customer}",
    "plan": "{plan}",
    "product": "{product}",
    "products": "{product}",
    "payment_method": "{method}",
    "transaction": "{transaction}",
    "url": "{receiver}",
}
"""The fields of bodies that lead to something else."""

LEFT_OUT: dict[str, str] = {"getInvoicePdf": "token"}
"""Parameters of queries that do not go with the secret key."""

CHANGES: dict[str, dict[str, Any]] = {
    "updateAddress": {"city": "Port-Gentil"},
    "updateSecurityProfile": {"name": "Web"},
}
"""What is sent to change an object that has no metadata."""


def anonymous(path: str) -> str:
    """The path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


MADE_BY: dict[str, str] = {
    anonymous(spec.path): kind for kind, spec in reversed(PREREQUISITES.items()) if spec.method == "POST" and spec.body
}
"""The kind of object that a creating path makes; the first listed of each."""


def documented(document: Document) -> dict[str, Prerequisite]:
    """Prerequisites of the resources that are not listed, by the first word of their path: made as the example says."""
    paths = document["paths"]
    words = dict.fromkeys(path.split("/")[1] for path in paths if "{id}" in path and path.split("/")[1] not in OF_PATH)
    return {word: _documented(document, f"/{word}/") for word in words if "post" in paths.get(f"/{word}/", {})}


def _documented(document: Document, path: str) -> Prerequisite:
    """The example of a creating operation, each required free text in it replaced by one that was never used before."""
    body = resolve(document, document["paths"][path]["post"]["requestBody"])["content"]["application/json"]
    schema = resolve(document, body["schema"])
    fields = ((name, resolve(document, schema["properties"][name])) for name in schema.get("required", ()))
    texts = {name: "{new}" for name, field in fields if field.get("type") == "string" and not FIXED & field.keys()}
    return Prerequisite("POST", path, body["example"] | texts)


FIXED = {"enum", "format", "pattern"}
"""Keywords of a text that cannot be any word."""
