"""Rules of state: each code listed for an operation rejects a request of it that the document allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.judges import StrictJudge
from contract_tests.contract.document.reader import Document, Operation, operations, request_schema
from contract_tests.support.client import Client
from contract_tests.support.sandbox import CARD, Sandbox
from emulator.checks.document.exceptions import OF_CONTROL_OPERATION, OF_OPERATION
from emulator.core.errors import ERRORS
from emulator.document import bundles

SERVICE: Document = bundles.load("service-3.0")
CONTROL: Document = bundles.load("control-3.0")

UNKNOWN = "unknown"
HUGE = 10**15

Body = dict[str, Any] | None


class Rejected(NamedTuple):
    """A request that a rule of state rejects: the ids of its path, its body and its query."""

    ids: tuple[str, ...] = ()
    body: Body = None
    query: dict[str, str] = {}  # noqa: RUF012 -- nothing changes it


Set = Callable[[Sandbox], Rejected]


def body(**fields: Any) -> Set:
    """Return a body without anything made before it; ``CUSTOMER`` stands for the id of a customer."""

    def stage(sandbox: Sandbox) -> Rejected:
        if fields.get("customer") == "CUSTOMER":
            return Rejected(body={**fields, "customer": sandbox.customer()["id"]})
        return Rejected(body=fields)

    return stage


def of(made: Callable[[Sandbox], Any], **fields: Any) -> Set:
    """Return a body sent to an object that was made before."""
    return lambda sandbox: Rejected((made(sandbox)["id"],), fields or None)


PRODUCT = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}
PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
TERMS = {"customer": "CUSTOMER", "unit_amount": 5000, "interval": "month"}
LINE = {"description": "Basket", "unit_amount": 500}
INVOICE = {"customer": "CUSTOMER", "line_items": [LINE]}
SESSION = {"currency": "XAF", "line_items": [LINE]}
LINK = {"currency": "XAF", "amount": 5000}
INTENT = {"currency": "XAF", "amount": 5000}
SMALL, LARGE, POUNDS = {"unit_amount": 1}, {"unit_amount": HUGE}, {"currency": "GBP"}


def two_customers(sandbox: Sandbox) -> Rejected:
    one, other = sandbox.customer(), sandbox.customer()
    return Rejected((one["id"],), {"email": other["email"]})


def same_customer(sandbox: Sandbox) -> Rejected:
    return Rejected(body={"email": sandbox.customer()["email"], "name": "Awa"})


def flat(stage: Set) -> Set:
    """In an App whose errors are all flat."""

    def with_setting(sandbox: Sandbox) -> Rejected:
        sandbox.settings(error_shape="flat")
        return stage(sandbox)

    return with_setting


def address_of_another(sandbox: Sandbox) -> Rejected:
    return Rejected((sandbox.customer()["id"], UNKNOWN))


def same_sku(sandbox: Sandbox) -> Rejected:
    sandbox.product(metadata={"sku": "B-1"})
    return Rejected(body=PRODUCT | {"metadata": {"sku": "B-1"}})


def sku_of_another(sandbox: Sandbox) -> Rejected:
    sandbox.product(metadata={"sku": "B-1"})
    return Rejected((sandbox.product()["id"],), {"metadata": {"sku": "B-1"}})


def plan_in_use(sandbox: Sandbox) -> Rejected:
    return Rejected((sandbox.subscribe()["plan"],))


def done(path: str, action: str, made: Callable[[Sandbox], Any]) -> Callable[[Sandbox], Any]:
    """Return an object after an action."""

    def make(sandbox: Sandbox) -> Any:
        object = made(sandbox)
        sandbox.api.post(f"/{path}/{object['id']}/{action}/")
        return object

    return make


def anonymous(sandbox: Sandbox) -> Any:
    """Return the draft of a customer without an email."""
    return sandbox.draft({"id": sandbox.buy(sandbox.session(), CARD)["customer"]})


def refund(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"], **fields})


def refunded(sandbox: Sandbox) -> Rejected:
    return Rejected(body={"transaction": refund(sandbox)["transaction"]})


def too_much_back(sandbox: Sandbox) -> Rejected:
    return Rejected(body={"transaction": sandbox.deposit()["id"], "amount": HUGE})


def unreachable(sandbox: Sandbox) -> Rejected:
    return Rejected(body={"name": "Shop", "url": "http://127.0.0.1:9/hook", "events": ["*"]})


def endpoint(sandbox: Sandbox) -> Any:
    return sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/state")


def unknown_delivery(sandbox: Sandbox) -> Rejected:
    return Rejected((endpoint(sandbox)["id"], UNKNOWN))


def delivered(sandbox: Sandbox) -> Rejected:
    made = endpoint(sandbox)
    sandbox.api.post(f"/webhooks/{made['id']}/test/")
    return Rejected((made["id"], sandbox.deliveries(made)[0]["id"]))


def intent(sandbox: Sandbox) -> Any:
    return sandbox.intent(sandbox.method())


def held(sandbox: Sandbox) -> Any:
    return done("payment-intents", "confirm", lambda world: world.intent(world.method(), capture_method="manual"))(
        sandbox
    )


def disallowed(sandbox: Sandbox) -> Rejected:
    return Rejected(body=INTENT | {"payment_method": sandbox.method()["id"], "payment_method_types": ["paypal"]})


def confirmed_by_disallowed(sandbox: Sandbox) -> Rejected:
    made = sandbox.intent(payment_method_types=["paypal"])
    return Rejected((made["id"],), {"payment_method": sandbox.method()["id"]})


def asking(**query: str) -> Set:
    """Return a query without a body."""
    return lambda _: Rejected(query=query)


def past_gone(sandbox: Sandbox) -> Rejected:
    """Load a world: its journal tells nothing of how the subscription was made, which the recording needs."""
    subscription = sandbox.subscribe()["id"]
    sandbox.control.post("/snapshots", {"name": "before"})
    sandbox.control.post("/snapshots/before/restore")
    return Rejected(query={"expect": f"{subscription}.status=active"})


def at_phone(payment: Callable[[Sandbox], str]) -> Set:
    """Return the answer of a phone for a payment."""
    return lambda sandbox: Rejected(("+24177000000",), {"answer": "approve", "payment_intent": payment(sandbox)})


def canceled_refund(sandbox: Sandbox) -> Any:
    sandbox.settings(refund_review=True)
    made = refund(sandbox)
    return sandbox.api.post(f"/refunds/{made['id']}/cancel/")


def paid_session(sandbox: Sandbox) -> Any:
    session = sandbox.session()
    sandbox.buy(session)
    return session


SUBSCRIPTION = Sandbox.subscribe
CANCELED = done("subscriptions", "cancel", SUBSCRIPTION)
OPEN_INVOICE = done("invoices", "finalize", Sandbox.draft)

PROVOKED: dict[str, dict[str, Set]] = {
    "createCustomer": {"customer_email_exists": same_customer, "DUPLICATE_EMAIL": flat(same_customer)},
    "updateCustomer": {"customer_email_exists": two_customers, "DUPLICATE_EMAIL": flat(two_customers)},
    "getAddress": {"NOT_FOUND": address_of_another},
    "updateAddress": {"NOT_FOUND": address_of_another},
    "deleteAddress": {"NOT_FOUND": address_of_another},
    "createProduct": {
        "CURRENCY_NOT_IN_PLAN": body(**PRODUCT | POUNDS),
        "AMOUNT_TOO_SMALL": body(**PRODUCT | SMALL),
        "AMOUNT_TOO_LARGE": body(**PRODUCT | LARGE),
        "DUPLICATE_SKU": same_sku,
    },
    "updateProduct": {
        "AMOUNT_TOO_SMALL": of(Sandbox.product, **SMALL),
        "AMOUNT_TOO_LARGE": of(Sandbox.product, **LARGE),
        "DUPLICATE_SKU": sku_of_another,
    },
    "createSubscriptionPlan": {
        "CURRENCY_NOT_IN_PLAN": body(**PLAN | POUNDS),
        "AMOUNT_TOO_SMALL": body(**PLAN | {"amount": 1}),
        "AMOUNT_TOO_LARGE": body(**PLAN | {"amount": HUGE}),
    },
    "deleteSubscriptionPlan": {"INVALID_STATUS_TRANSITION": plan_in_use},
    "createSubscription": {
        "CURRENCY_NOT_IN_PLAN": body(**TERMS | POUNDS),
        "AMOUNT_TOO_SMALL": body(**TERMS | SMALL),
        "AMOUNT_TOO_LARGE": body(**TERMS | LARGE),
        "CUSTOMER_NOT_FOUND": body(**TERMS | {"customer": UNKNOWN}),
        "NOT_FOUND": body(customer="CUSTOMER", plan=UNKNOWN),
        "PRODUCT_NOT_FOUND": body(**TERMS, product=UNKNOWN),
        "PAYMENT_METHOD_NOT_FOUND": body(**TERMS, payment_method=UNKNOWN),
    },
    "updateSubscription": {
        "NOT_FOUND": of(SUBSCRIPTION, plan=UNKNOWN),
        "PAYMENT_METHOD_NOT_FOUND": of(SUBSCRIPTION, payment_method=UNKNOWN),
        "INVALID_STATUS_TRANSITION": of(CANCELED, cancel_at_period_end=True),
    },
    "cancelSubscription": {
        "SUBSCRIPTION_ALREADY_CANCELED": of(CANCELED),
        "INVALID_STATUS_TRANSITION": of(done("subscriptions", "pause", SUBSCRIPTION)),
    },
    "reactivateSubscription": {"INVALID_STATUS_TRANSITION": of(SUBSCRIPTION)},
    "pauseSubscription": {"INVALID_STATUS_TRANSITION": of(CANCELED)},
    "resumeSubscription": {"INVALID_STATUS_TRANSITION": of(SUBSCRIPTION)},
    "createInvoice": {
        "CUSTOMER_NOT_FOUND": body(**INVOICE | {"customer": UNKNOWN}),
        "PRODUCT_NOT_FOUND": body(**INVOICE | {"line_items": [{"product": UNKNOWN}]}),
        "CURRENCY_NOT_IN_PLAN": body(**INVOICE | POUNDS),
        "AMOUNT_TOO_LARGE": body(**INVOICE | {"line_items": [LINE | LARGE]}),
    },
    "updateInvoice": {
        "PRODUCT_NOT_FOUND": of(Sandbox.draft, line_items=[{"product": UNKNOWN}]),
        "INVOICE_NOT_DRAFTABLE": of(OPEN_INVOICE, footer="Thank you"),
        "CURRENCY_NOT_IN_PLAN": of(Sandbox.draft, **POUNDS),
        "AMOUNT_TOO_LARGE": of(Sandbox.draft, line_items=[LINE | LARGE]),
    },
    "finalizeInvoice": {"INVALID_STATUS_TRANSITION": of(OPEN_INVOICE), "INVALID_FIELD": of(anonymous, auto_send=True)},
    "sendInvoice": {
        "INVALID_STATUS_TRANSITION": of(Sandbox.draft),
        "INVALID_FIELD": of(done("invoices", "finalize", anonymous)),
    },
    "voidInvoice": {"INVALID_STATUS_TRANSITION": of(Sandbox.draft)},
    "payInvoice": {"INVALID_STATUS_TRANSITION": of(Sandbox.draft)},
    "getInvoicePdf": {"PDF_NOT_AVAILABLE": of(Sandbox.draft)},
    "createRefund": {
        "TRANSACTION_NOT_FOUND": body(transaction=UNKNOWN),
        "transaction_not_refundable": refunded,
        "INVALID_STATUS_TRANSITION": flat(refunded),
        "refund_amount_exceeds_available": too_much_back,
        "AMOUNT_TOO_LARGE": flat(too_much_back),
    },
    "cancelRefund": {"INVALID_STATUS_TRANSITION": of(refund)},
    "createCheckoutSession": {
        "CURRENCY_NOT_IN_PLAN": body(**SESSION | POUNDS),
        "AMOUNT_TOO_SMALL": body(**SESSION | {"line_items": [LINE | SMALL]}),
        "AMOUNT_TOO_LARGE": body(**SESSION | {"line_items": [LINE | LARGE]}),
        "CUSTOMER_NOT_FOUND": body(**SESSION, customer=UNKNOWN),
        "NOT_FOUND": body(**SESSION | {"mode": "subscription", "line_items": [{"plan": UNKNOWN}]}),
        "PRODUCT_NOT_FOUND": body(**SESSION | {"line_items": [{"product": UNKNOWN}]}),
    },
    "expireCheckoutSession": {
        "CHECKOUT_SESSION_EXPIRED": of(done("checkout-sessions", "expire", Sandbox.session)),
        "INVALID_STATUS_TRANSITION": of(paid_session),
    },
    "createPaymentLink": {
        "CURRENCY_NOT_IN_PLAN": body(**LINK | POUNDS),
        "AMOUNT_TOO_SMALL": body(**LINK | {"amount": 1}),
        "AMOUNT_TOO_LARGE": body(**LINK | {"amount": HUGE}),
        "PRODUCT_NOT_FOUND": body(currency="XAF", products=[UNKNOWN]),
    },
    "archivePaymentLink": {"INVALID_STATUS_TRANSITION": of(done("payment-links", "archive", Sandbox.link))},
    "restorePaymentLink": {"INVALID_STATUS_TRANSITION": of(Sandbox.link)},
    "cancelTransaction": {"INVALID_STATUS_TRANSITION": of(Sandbox.deposit)},
    "createWebhook": {"WEBHOOK_ENDPOINT_UNREACHABLE": unreachable},
    "updateWebhook": {"WEBHOOK_ENDPOINT_UNREACHABLE": of(endpoint, url="http://127.0.0.1:9/hook")},
    "testWebhook": {"INVALID_STATUS_TRANSITION": of(done("webhooks", "disable", endpoint))},
    "retryWebhookDelivery": {"NOT_FOUND": unknown_delivery, "INVALID_STATUS_TRANSITION": delivered},
    "createPaymentIntent": {
        "CURRENCY_NOT_IN_PLAN": body(**INTENT | POUNDS),
        "AMOUNT_TOO_SMALL": body(**INTENT | {"amount": 1}),
        "AMOUNT_TOO_LARGE": body(**INTENT | {"amount": HUGE}),
        "CUSTOMER_NOT_FOUND": body(**INTENT, customer=UNKNOWN),
        "PAYMENT_METHOD_NOT_FOUND": body(**INTENT, payment_method=UNKNOWN),
        "PAYMENT_METHOD_NOT_SUPPORTED": disallowed,
    },
    "confirmPaymentIntent": {
        "PAYMENT_METHOD_NOT_FOUND": of(intent, payment_method=UNKNOWN),
        "PAYMENT_METHOD_NOT_SUPPORTED": confirmed_by_disallowed,
        "PAYMENT_INTENT_NOT_CONFIRMABLE": of(Sandbox.intent),
    },
    "capturePaymentIntent": {
        "PAYMENT_INTENT_NOT_CAPTURABLE": of(intent),
        "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": of(held, amount=HUGE),
    },
    "cancelPaymentIntent": {"PAYMENT_INTENT_UNCANCELABLE": of(Sandbox.pay)},
    "createPaymentMethod": {"CUSTOMER_NOT_FOUND": body(customer=UNKNOWN, type="paypal", email="awa@example.com")},
}
"""A request for each row of the list."""


def overridden(event: str, kind: str) -> Set:
    """Return a trigger of an event about an unknown object."""
    return body(event=event, overrides={kind: UNKNOWN})


PROVOKED_IN_CONTROL: dict[str, dict[str, Set]] = {
    "trigger": {
        "CUSTOMER_NOT_FOUND": overridden("customer.deleted", "customer"),
        "NOT_FOUND": overridden("subscription.created", "plan"),
        "SUBSCRIPTION_NOT_FOUND": overridden("subscription.payment_failed", "subscription"),
        "PAYMENT_METHOD_NOT_FOUND": overridden("subscription.created", "payment_method"),
        "INVOICE_NOT_FOUND": overridden("invoice.paid", "invoice"),
        "CHECKOUT_SESSION_NOT_FOUND": overridden("checkout.session.completed", "checkout_session"),
        "PAYMENT_INTENT_NOT_FOUND": overridden("payment_intent.succeeded", "payment_intent"),
        "TRANSACTION_NOT_FOUND": overridden("refund.succeeded", "transaction"),
        "REFUND_NOT_FOUND": overridden("refund.succeeded", "refund"),
    },
    "listObjects": {"NOT_FOUND": asking(kind="customer", related=UNKNOWN)},
    "countObjects": {"NOT_FOUND": asking(related=UNKNOWN)},
    "rewind": {"NOT_FOUND": body(to=UNKNOWN)},
    "getRecording": {"NOT_FOUND": asking(since=UNKNOWN), "INVALID_STATUS_TRANSITION": past_gone},
    "stopRecording": {"NOT_FOUND": asking()},
    "answerPaymentIntent": {"INVALID_STATUS_TRANSITION": of(Sandbox.pay, result="succeeded")},
    "answerCheckoutSession": {"INVALID_STATUS_TRANSITION": of(paid_session, result="succeeded")},
    "answerRefund": {"INVALID_STATUS_TRANSITION": of(canceled_refund, result="succeeded")},
    "answerPrompt": {
        "PAYMENT_INTENT_NOT_FOUND": at_phone(lambda _: UNKNOWN),
        "INVALID_STATUS_TRANSITION": at_phone(lambda sandbox: sandbox.pay()["id"]),
    },
    "payCheckoutSession": {
        "CHECKOUT_SESSION_EXPIRED": of(done("checkout-sessions", "expire", Sandbox.session)),
        "INVALID_STATUS_TRANSITION": of(paid_session),
    },
    "payPaymentLink": {"INVALID_STATUS_TRANSITION": of(done("payment-links", "archive", Sandbox.link))},
    "payInvoicePage": {"INVALID_STATUS_TRANSITION": of(Sandbox.draft)},
}
"""The same for the control API."""


def test_each_row_of_the_list_is_provoked() -> None:
    assert _keys(PROVOKED) == _keys(OF_OPERATION)
    assert _keys(PROVOKED_IN_CONTROL) == _keys(OF_CONTROL_OPERATION)


def _keys(rows: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    return {id: {*codes} for id, codes in rows.items()}


@pytest.mark.parametrize("id", PROVOKED)
def test_the_document_allows_what_a_rule_of_state_rejects(sandbox: Sandbox, id: str) -> None:
    _check(sandbox, sandbox.api, SERVICE, id, PROVOKED[id])


@pytest.mark.parametrize("id", PROVOKED_IN_CONTROL)
def test_so_does_the_document_of_the_control_api(sandbox: Sandbox, id: str) -> None:
    _check(sandbox, sandbox.control, CONTROL, id, PROVOKED_IN_CONTROL[id])


def _check(sandbox: Sandbox, api: Client, document: Document, id: str, rows: dict[str, Set]) -> None:
    judge = StrictJudge(document)
    [operation] = [each for each in operations(document) if each.node["operationId"] == id]
    schema = request_schema(document, operation)
    for code, stage in rows.items():
        sandbox.control.post("/reset")
        rejected = stage(sandbox)
        error = answered(api, operation, rejected)
        assert error["code"] == code
        if rejected.body and UNKNOWN in str(rejected.body) and id != "rewind":
            assert value_at(rejected.body, error["param"]) == UNKNOWN
        assert rejected.body is None or (schema and judge.faults(schema.pointer, rejected.body) == [])


STATUSES = {
    ("deleteSubscriptionPlan", "INVALID_STATUS_TRANSITION"): 409,
    ("getRecording", "INVALID_STATUS_TRANSITION"): 409,
    ("createRefund", "INVALID_STATUS_TRANSITION"): 409,
    ("createRefund", "AMOUNT_TOO_LARGE"): 400,
}
"""The status that a code has at one operation: a plan in use, a recording without its past, errors that are all flat."""


def answered(api: Client, operation: Operation, rejected: Rejected) -> Any:
    """Return the error that answers a request."""
    ids = iter(rejected.ids)
    path = re.sub(r"\{\w+\}", lambda _: next(ids), operation.path)
    answer = api.request(operation.method, path, json=rejected.body, params=rejected.query or None)
    error = answer.json().get("error", answer.json())
    usual = ERRORS[error["code"]].status
    assert answer.status_code == STATUSES.get((operation.node["operationId"], error["code"]), usual), answer.text
    return error


def value_at(body: Any, path: str) -> Any:
    """Return the value at a dotted path."""
    for part in path.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


def test_a_message_about_an_object_does_not_name_the_field_around_it(sandbox: Sandbox) -> None:
    sent = {"event": "customer.deleted", "overrides": {"customer": UNKNOWN}}
    error = sandbox.control.rejected("POST", "/trigger", 404, "CUSTOMER_NOT_FOUND", json=sent)
    assert (error["param"], error["message"]) == ("overrides.customer", "There is no customer unknown.")
