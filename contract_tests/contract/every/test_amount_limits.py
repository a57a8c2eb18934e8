"""Amounts' limits (B-23): they measure the client's input, before tax, wherever a price enters."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract.every.values import BY_ID, request, with_value
from contract_tests.support.sandbox import CARD, Sandbox
from emulator.checks.document.exceptions import OF_OPERATION
from emulator.checks.document.object_factory import ObjectFactory
from emulator.document import bundles

MOST = 99_999_999

SUBSCRIBING = " that subscribes"

ENTRANCES = {
    "createProduct": ("unit_amount",),
    "updateProduct": ("unit_amount",),
    "createSubscriptionPlan": ("amount",),
    "createSubscription": ("unit_amount", "plan"),
    "updateSubscription": ("plan",),
    "createInvoice": ("line_items",),
    "updateInvoice": ("line_items",),
    "createCheckoutSession": ("line_items",),
    "createCheckoutSession" + SUBSCRIBING: ("line_items",),
    "createPaymentLink": ("amount", "products.0"),
    "createPaymentIntent": ("amount",),
}
"""By operation the fields by which a price enters, as an error names them."""

INVOICES = {"createInvoice", "updateInvoice"}
"""They are not charged at once: an invoice has no smallest amount."""

CASES = [(name, field) for name, fields in ENTRANCES.items() for field in fields]


def lines(*amounts: int) -> list[dict[str, Any]]:
    return [{"description": "Basket", "unit_amount": amount} for amount in amounts]


def entering(
    sandbox: Sandbox, factory: ObjectFactory, case: tuple[str, str], amount: int
) -> tuple[str, str, Any]:
    name, field = case
    operation = BY_ID[name.removesuffix(SUBSCRIBING)]
    path, body = request(factory, operation, field.partition(".")[0], {})
    if name.endswith(SUBSCRIBING):
        body |= {"mode": "subscription"}
    value: Any = lines(50, amount - 50) if field == "line_items" else amount
    if field in ("plan", "products.0"):  # made while the App has other limits
        sandbox.settings(minimum_amount=1, maximum_amount=10**9)
        made = (
            sandbox.plan(amount=amount) if field == "plan" else sandbox.product(unit_amount=amount)
        )
        sandbox.settings(minimum_amount=100, maximum_amount=MOST)
        value = made["id"]
    if operation.method == "PATCH":
        body = {}
    return operation.method, path, with_value(body, tuple(field.split(".")), value)


def test_every_operation_with_a_limit_has_its_entrances() -> None:
    for code, without in (("AMOUNT_TOO_LARGE", {"createRefund"}), ("AMOUNT_TOO_SMALL", set())):
        limited = {id for id, codes in OF_OPERATION.items() if code in codes} - without
        assert limited <= ENTRANCES.keys() - (INVOICES if code == "AMOUNT_TOO_SMALL" else set())


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_both_limits_are_inclusive_whatever_the_tax(
    sandbox: Sandbox, factory: ObjectFactory, case: tuple[str, str]
) -> None:
    """B-23: both measure the client's input before tax, wherever that price enters.

    The input is one amount, or the sum of the lines after a discount. A price enters by a creation,
    a change of plan or price, a session, or a link.
    """
    name, field = case
    sandbox.settings(tax_rate=18)
    limits = [(MOST, MOST + 1, "AMOUNT_TOO_LARGE", f"must be at most {MOST}")]
    limits += [] if name in INVOICES else [(100, 99, "AMOUNT_TOO_SMALL", "must be at least 100")]
    for allowed, beyond, code, reason in limits:
        method, path, body = entering(sandbox, factory, case, allowed)
        assert sandbox.api.request(method, path, json=body).is_success
        method, path, body = entering(sandbox, factory, case, beyond)
        error = sandbox.api.rejected(method, path, 422, code, json=body)
        measured = "" if field.endswith("amount") else f"comes to {beyond}; "
        assert error["errors"] == {field: [measured + reason]}, "names the figure that was measured"


def test_a_total_with_tax_may_exceed_the_maximum(sandbox: Sandbox) -> None:
    """B-23: at finalization, on its page and in a session that subscribes."""
    customer = sandbox.customer(phone="+24177000000")["id"]
    draft = sandbox.api.post("/invoices/", {"customer": customer, "line_items": lines(MOST)})
    sandbox.settings(tax_rate=10)
    assert sandbox.act(draft, "finalize")["total"] == 109_999_999
    sandbox.buy(sandbox.shown(draft), CARD)
    sandbox.buy(
        sandbox.session(mode="subscription", customer=customer, line_items=lines(MOST)), CARD
    )
    payments = [
        payment
        for payment in sandbox.api.get("/payment-intents/")["data"]
        if payment["amount"] == 109_999_999
    ]
    assert [(payment["status"], payment["amount_received"]) for payment in payments] == [
        ("succeeded", 109_999_999)
    ] * 2


def test_a_captured_part_may_be_below_the_minimum(sandbox: Sandbox) -> None:
    """B-23."""
    intent = sandbox.pay(capture_method="manual")
    assert (
        sandbox.api.post(f"/payment-intents/{intent['id']}/capture/", {"amount": 1})[
            "amount_received"
        ]
        == 1
    )


def test_an_invoice_may_be_below_the_minimum(sandbox: Sandbox) -> None:
    """B-23."""
    assert sandbox.buy(sandbox.invoice(line_items=lines(50)), CARD)["amount_received"] == 50


@pytest.mark.parametrize(
    "name",
    [
        "createProduct",
        "createSubscriptionPlan",
        "createCheckoutSession",
        "createPaymentLink",
        "createPaymentIntent",
    ],
)
def test_an_amount_that_no_currency_allows_is_reported_beside_a_wrong_currency(
    sandbox: Sandbox, factory: ObjectFactory, name: str
) -> None:
    """B-12: also beside a missing one. Such an amount is 0, negative, or above the maximum."""
    for amount in (0, -5, MOST + 1):
        field, *_ = ENTRANCES[name]
        method, path, body = entering(sandbox, factory, (name, field), amount)
        if field == "line_items":
            body["line_items"] = lines(amount)
            field = "line_items.0.unit_amount" if amount != 0 else field
        for currency in (..., "franc", "GBP"):
            sent = {
                key: value
                for key, value in {**body, "currency": currency}.items()
                if value is not ...
            }
            error = sandbox.api.rejected(method, path, 422, "VALIDATION_ERROR", json=sent)
            assert {"currency", field} <= error["errors"].keys()
            assert any(limit in error["errors"][field][0] for limit in ("at least", "at most")), (
                error["errors"]
            )


BOUNDED_BY_THE_DOCUMENT = {
    "SubscriptionPlanCreate": "amount",
    "SubscriptionCreate": "unit_amount",
    "PaymentIntentCreate": "amount",
}


@pytest.mark.parametrize("kind", BOUNDED_BY_THE_DOCUMENT)
def test_the_document_names_the_least_amount(kind: str) -> None:
    """B-23: "the document says `minimum: 1`, and the code of the refusal stays what it is"."""
    field = BOUNDED_BY_THE_DOCUMENT[kind]
    for version in ("service-3.0", "service-3.1"):
        properties = bundles.load(version)["components"]["schemas"][kind]["properties"]
        assert properties[field]["minimum"] == 1


@pytest.mark.parametrize("kind", BOUNDED_BY_THE_DOCUMENT)
def test_an_amount_below_the_documents_least_has_the_code_of_the_rule(
    sandbox: Sandbox, factory: ObjectFactory, kind: str
) -> None:
    """B-23: "the document says `minimum: 1`, and the code of the refusal stays what it is"."""
    field = BOUNDED_BY_THE_DOCUMENT[kind]
    name = f"create{kind.removesuffix('Create')}"
    for currency, least in (("XAF", 100), ("EUR", 1)):
        for amount in (0, -1):
            method, path, body = entering(sandbox, factory, (name, field), amount)
            sent = {**body, "currency": currency}
            error = sandbox.api.rejected(method, path, 422, "AMOUNT_TOO_SMALL", json=sent)
            assert error["errors"] == {field: [f"must be at least {least}"]}


def test_the_smallest_amount_of_an_app_is_at_least_1(sandbox: Sandbox) -> None:
    """B-23."""
    for wrong in (0, -1):
        body = {"settings": {"minimum_amount": wrong}}
        error = sandbox.control.rejected("PATCH", "/app", 422, "INVALID_FIELD", json=body)
        assert error["errors"] == {"settings.minimum_amount": ["must be at least 1"]}
    sandbox.settings(minimum_amount=1)


def test_lines_of_less_than_the_discount_are_rejected(sandbox: Sandbox) -> None:
    """B-23: "A discount of more than the subtotal: 422 INVALID_FIELD, `param` the field sent"."""
    customer = sandbox.customer()["id"]
    draft = sandbox.api.post("/invoices/", {"customer": customer, "line_items": lines(1000)})
    sandbox.control.patch(f"/objects/{draft['id']}", {"discount_amount": 600})
    path = f"/invoices/{draft['id']}/"
    body = {"line_items": lines(599)}
    error = sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json=body)
    reason = "comes to 599; must be at least 600, the discount of the invoice"
    assert error["errors"] == {"line_items": [reason]}
    assert sandbox.api.patch(path, {"footer": "Thank you"})["discount_amount"] == 600
    assert sandbox.api.patch(path, {"line_items": lines(600)})["total"] == 0
