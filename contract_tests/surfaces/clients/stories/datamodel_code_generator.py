"""The story with datamodel-code-generator's models over httpx: ``python FILE SERVER``."""

import sys
from typing import Any, TypeVar

import httpx
import models
from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def call(method: str, path: str, **options: Any) -> httpx.Response:
    own = {"Authorization": "Bearer sk_test_datamodel"}
    return httpx.request(method, f"{sys.argv[1]}{path}", headers=own, timeout=60, **options)


def create(path: str, body: BaseModel, model: type[Model]) -> Model:
    response = call("POST", f"/v1{path}", json=body.model_dump(mode="json", exclude_unset=True))
    assert response.status_code == 201, response.text
    return model.model_validate_json(response.text)


def get(path: str, model: type[Model], **query: str) -> Model:
    return model.model_validate_json(call("GET", f"/v1{path}", params=query).text)


def control(path: str, body: dict[str, str]) -> None:
    """Do what no client of the service can: pay as a buyer would, and move the clock."""
    call("POST", f"/_emulator{path}", json=body).raise_for_status()


customer = create(
    "/customers/",
    models.CustomerCreate.model_validate(
        {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"}
    ),
    models.Customer,
)
assert customer.address is None, "a customer without an address is one"
plan = create(
    "/subscription-plans/",
    models.SubscriptionPlanCreate.model_validate(
        {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    ),
    models.SubscriptionPlan,
)
basket = {
    "mode": "subscription",
    "currency": "XAF",
    "customer": customer.id,
    "line_items": [{"plan": plan.id}],
}
session = create(
    "/checkout-sessions/",
    models.CheckoutSessionCreate.model_validate(basket),
    models.CheckoutSession,
)
assert models.CheckoutLineInput.model_validate({"plan": plan.id})
control(f"/checkout-sessions/{session.id}/pay", {})
assert get(f"/checkout-sessions/{session.id}/", models.CheckoutSession).status == "complete"

control("/clock/advance", {"by": "31d"})
assert len(get("/invoices/", models.InvoiceList, customer=customer.id, status="paid").data) == 2

transaction = get("/transactions/", models.TransactionList, customer=customer.id).data[0]
assert transaction.payment_intent
intent = get(f"/payment-intents/{transaction.payment_intent}/", models.PaymentIntent)
assert (intent.next_action, intent.last_error) == (None, None), "one that is paid has neither"
refund = create(
    "/refunds/",
    models.RefundCreate(transaction=transaction.id, amount=2000, reason=None),
    models.Refund,
)
assert (refund.status, refund.reason) == ("processing", None), refund

assert (
    get("/customers/cust_000000000000000000000000/", models.ApiError).code == "CUSTOMER_NOT_FOUND"
)
