"""Sends generated bodies to a world that is restored before each of them, and compares the answer with the label."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hypothesis import strategies as st

from contract_tests.sandbox import Sandbox
from emulator import strategies
from emulator.strategies import GeneratedBody

OF_PATH: Mapping[str, str] = {
    "confirmPaymentIntent": "intent",
    "capturePaymentIntent": "authorised",
    "createAddress": "customer",
    "testWebhook": "webhook",
    "finalizeInvoice": "draft",
    "cancelSubscription": "subscription",
}
"""What the ``{id}`` of an operation's path is, where its name does not say so as that of an update does."""


class Examinee:
    """A world with one object of each kind, restored before every body."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.ids = _objects(sandbox)
        self.references = {
            name: self.ids[name] for name in ("customer", "payment_method", "plan", "product", "transaction", "url")
        }
        sandbox.control.post("/snapshots", {"name": "start"})

    def path(self, operation: str) -> str:
        """The path of an operation on the objects."""
        kind = OF_PATH.get(operation) or re.sub("^update", "", operation).lower()
        ids = {"id": "customer" if operation == "updateAddress" else kind, "addr_id": "address"}
        return re.sub(r"\{(\w+)\}", lambda found: self.ids[ids[found[1]]], strategies.OPERATIONS[operation].path)

    def bodies(self) -> st.SearchStrategy[GeneratedBody]:
        """Bodies of all operations, valid and invalid."""
        return st.one_of([strategies.bodies(operation, **self.references) for operation in strategies.OPERATIONS])

    def is_answered_as_labelled(self, body: GeneratedBody) -> None:
        """Accepted where valid; else rejected, the field of the label among those that the error names."""
        self.sandbox.control.post("/snapshots/start/restore")
        method = strategies.OPERATIONS[body.operation].method
        answer = self.sandbox.api.request(method, self.path(body.operation), json=body.value)
        if body.violation is None:
            assert answer.is_success, (body, answer.text)
            return
        assert answer.status_code in (403, 422), (body, answer.text)
        error = answer.json().get("error", answer.json())
        assert body.violation.field in (error.get("errors") or {error["param"]}), (body, error)


def _objects(sandbox: Sandbox) -> dict[str, str]:
    """The ids of one object of each kind; every update and every reference is of these."""
    api, customer = sandbox.api, sandbox.customer(phone="+24177000010")
    card = sandbox.method(customer)
    url = f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}"
    plan, line = sandbox.plan()["id"], {"description": "Basket", "unit_amount": 500}
    made = {
        "customer": customer,
        "payment_method": card,
        "address": api.post(
            f"/customers/{customer['id']}/addresses/", {"line1": "Rue 1", "city": "Libreville", "country": "GA"}
        ),
        "product": sandbox.product(),
        "subscription": api.post("/subscriptions/", {"customer": customer["id"], "plan": plan}),
        "securityprofile": api.post("/security-profiles/", {"name": "Office"}),
        "draft": api.post("/invoices/", {"customer": customer["id"], "line_items": [line]}),
        "paymentlink": sandbox.link(validity_type="limited"),
        "webhook": sandbox.endpoint(url),
        "intent": sandbox.intent(card),
        "authorised": sandbox.pay(card, capture_method="manual"),
        "transaction": sandbox.deposit(card),
    }
    ids = {name: str(each["id"]) for name, each in made.items()}
    return {**ids, "plan": plan, "subscriptionplan": plan, "invoice": ids["draft"], "url": url}
