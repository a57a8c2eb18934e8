"""Creates the objects that operations need, in the right states, through the API of the server under test.

Prerequisites are these objects and the calls that make each, as data.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from emulator.checks.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.document.tree import Document, resolve

# -- prerequisites


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
    """Return the path without the names of its parameters."""
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
    """Return the example of a creating operation, each required free text in it replaced by one that was never used before."""
    body = resolve(document, document["paths"][path]["post"]["requestBody"])["content"]["application/json"]
    schema = resolve(document, body["schema"])
    fields = ((name, resolve(document, schema["properties"][name])) for name in schema.get("required", ()))
    texts = {name: "{new}" for name, field in fields if field.get("type") == "string" and not FIXED & field.keys()}
    return Prerequisite("POST", path, body["example"] | texts)


FIXED = {"enum", "format", "pattern"}
"""Keywords of a text that cannot be any word."""


# -- the factory


Scene = dict[str, Any]
"""Objects that belong together, by kind: the payment method of a subscription is one of its customer."""

REFERENCE = re.compile(r"\{([a-z -]+)(?:/([a-z_]+))?\}")


class CannotCreate(Exception):
    """The server did not create an object that is needed; the message contains its response."""


class ObjectFactory:
    """Creates objects on one server. ``name`` makes values differ from those of earlier runs."""

    def __init__(self, base_url: str, headers: Mapping[str, str], receiver: str, name: str) -> None:
        self.http = httpx.Client(base_url=base_url, headers=headers, timeout=60, trust_env=False)
        self.receiver = receiver
        self._name, self._numbers = name, count(1)
        self._scenes: dict[str, Scene] = defaultdict(dict)
        self._sent: set[str] = set()
        self._known, self._of_path, self._made_by = PREREQUISITES, OF_PATH, MADE_BY

    def learn(self, document: Document) -> None:
        """Create objects of the resources of a document that are not listed, too."""
        more = documented(document)
        self._known = PREREQUISITES | more
        self._of_path = OF_PATH | {word: word for word in more}
        self._made_by = MADE_BY | {anonymous(spec.path): word for word, spec in more.items()}

    def new(self) -> str:
        """Return a value that was never used before."""
        return f"check-{self._name}-{next(self._numbers)}"

    def scene(self, operation_id: str, method: str) -> Scene:
        """Return the objects of an operation: reads and changes share them, every other request gets new ones."""
        return self._scenes[operation_id] if method in ("GET", "PATCH") else {}

    def parameters(self, operation_id: str, path: str, scene: Scene) -> dict[str, str]:
        """Return the parameters of a path, with ids of objects on which the operation can succeed."""
        first = path.split("/")[1]
        kinds = {"id": OF_OPERATION.get(operation_id, self._of_path.get(first, ""))} | OF_PARAMETER
        return {name: self.filled(f"{{{kinds[name]}}}", scene) for name in re.findall(r"\{(\w+)\}", path)}

    def body(self, operation_id: str, path: str, method: str, scene: Scene) -> Any:
        """Return a body with which the operation can succeed."""
        if method == "PATCH":
            return CHANGES.get(operation_id, {"metadata": {"checked": "yes"}})
        kind = self._made_by.get(anonymous(path))
        return self.filled(self._known[kind].body, scene) if kind else {}

    def filled(self, template: Any, scene: Scene) -> Any:
        """Return the template with its references replaced."""
        if isinstance(template, dict):
            return {name: self.filled(value, scene) for name, value in template.items()}
        if isinstance(template, list):
            return [self.filled(value, scene) for value in template]
        if isinstance(template, str):
            return REFERENCE.sub(lambda found: self._value(found[1], found[2], scene), template)
        return template

    def with_references(self, body: Any, scene: Scene) -> Any:
        """Return a generated body with its references replaced by ids of existing objects."""
        if isinstance(body, list):
            return [self.with_references(value, scene) for value in body]
        if not isinstance(body, dict):
            return body
        return {name: self._reference(name, value, scene) for name, value in body.items()}

    def _reference(self, name: str, value: Any, scene: Scene) -> Any:
        if name in OF_FIELD and value and isinstance(value, str | list):
            id = self.filled(OF_FIELD[name], scene)
            return [id] if isinstance(value, list) else id
        if name == "email" and isinstance(value, str):
            return self._unique(value)
        return value if name == "metadata" else self.with_references(value, scene)

    def _unique(self, email: str) -> str:
        """Return the address, or a new one if it was used before: emails of customers are unique."""
        unique = f"{self.new()}@example.com" if email in self._sent else email
        self._sent.add(unique)
        return unique

    def _value(self, kind: str, field: str | None, scene: Scene) -> str:
        if kind == "new":
            return self.new()
        if kind == "receiver":
            return self.receiver
        return str(self.object(kind, scene)[field or "id"])

    def add(self, path: str, created: Any, scene: Scene) -> None:
        """Add the response of a creating operation to the scene."""
        if anonymous(path) in self._made_by:
            scene[self._made_by[anonymous(path)]] = created

    def object(self, kind: str, scene: Scene) -> Any:
        """Return the scene's object of a kind, created if there is none. Raises :class:`CannotCreate`."""
        if kind not in scene:
            scene[kind] = self._created(kind, scene)
        return scene[kind]

    def _created(self, kind: str, scene: Scene) -> Any:
        spec = self._known[kind]
        if spec.after:
            self.object(spec.after, scene)
        body = self.filled(spec.body, scene) or None
        answer = self.http.request(spec.method, self.filled(spec.path, scene).lstrip("/"), json=body)
        if not answer.is_success:
            raise CannotCreate(f"{kind}: {spec.method} {spec.path} answered {answer.status_code}: {answer.text[:300]}")
        found = answer.json()
        for step in filter(None, spec.pointer.split("/")):
            found = found[int(step) if isinstance(found, list) else step]
        return found


def webhook_receiver() -> HttpReceiver:
    """Return a receiver for the webhook endpoints that are made: it answers 200, or 500 to events sent to ``/failing``."""
    return HttpReceiver(_answer)


def _answer(request: ReceivedRequest) -> ReceiverReply:
    fails = request.path.endswith("/failing") and json.loads(request.body).get("type") != "webhook.ping"
    return ReceiverReply(500 if fails else 200)
