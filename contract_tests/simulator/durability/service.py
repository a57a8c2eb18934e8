"""Operations of the service, /v1, in the model."""

from __future__ import annotations

from typing import Any

from contract_tests.simulator.durability.model import ANY, Facts
from contract_tests.simulator.durability.operations import (
    ResponseBody,
    Step,
    changes,
    creates,
    deletes,
    id_of,
    metadata,
    moves,
    naming,
    newest,
    nothing,
    of_customer,
    register,
    updates,
    used,
)

CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2090, "cvc": "123"}
LINES = [{"description": "Basket", "quantity": 2, "unit_amount": 700}]
CUSTOMER, CARDS = "createCustomer", ("createCustomer", "createPaymentMethod")

creates(
    "createCustomer",
    "customer",
    "/v1/customers/",
    lambda facts, n: {"email": f"{n}@example.com", "name": "Awa Diop", **metadata(n)},
    kept="email metadata",
)
updates("customer", "/v1/customers/{id}/", "updateCustomer", CUSTOMER)
deletes("customer", "/v1/customers/{id}/", "deleteCustomer", CUSTOMER, where={"_used": None})


def _address(facts: Facts, number: str) -> dict[str, Any] | None:
    customer = newest(facts, "customer")
    if customer is None:
        return None
    return {"_of": customer[1]["id"], "line1": number, "city": "Libreville", "country": "GA"}


ADDRESS = "/v1/customers/{of}/addresses/{id}/"


@register("createAddress", CUSTOMER)
def _create_address(facts: Facts, number: str) -> Step | None:
    body = _address(facts, number)
    if body is None:
        return None
    owner = body.pop("_of")

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.objects["address", number] = {"id": id_of(response), "line1": number, "_of": owner}
        used(facts, owner)

    return Step("POST", f"/v1/customers/{owner}/addresses/", body, effect)


changes(
    "updateAddress",
    "address",
    ADDRESS,
    CUSTOMER,
    "createAddress",
    method="PATCH",
    body=lambda number: {"line2": number},
    then=lambda number: {"line2": number},
)
deletes("address", ADDRESS, "deleteAddress", CUSTOMER, "createAddress")

creates(
    "createProduct",
    "product",
    "/v1/products/",
    lambda facts, n: {"name": "Tea", "unit_amount": 900, "currency": "XAF", **metadata(n)},
    kept="name unit_amount metadata",
)
updates("product", "/v1/products/{id}/", "updateProduct", "createProduct")
deletes("product", "/v1/products/{id}/", "deleteProduct", "createProduct")

TERMS = {"amount": 9000, "currency": "XAF", "interval": "year"}
PLAN = "createSubscriptionPlan"
creates(
    PLAN,
    "subscription_plan",
    "/v1/subscription-plans/",
    lambda facts, n: {"name": "Yearly", **TERMS, **metadata(n)},
    kept="name amount interval metadata",
)
updates("subscription_plan", "/v1/subscription-plans/{id}/", "updateSubscriptionPlan", PLAN)
deletes("subscription_plan", "/v1/subscription-plans/{id}/", "deleteSubscriptionPlan", PLAN)

creates(
    "createPaymentMethod",
    "payment_method",
    "/v1/payment-methods/",
    of_customer(type="bank_card", **CARD),
    CUSTOMER,
    kept="customer type metadata",
)
METHOD = "/v1/payment-methods/{id}/"
deletes("payment_method", METHOD, "deletePaymentMethod", *CARDS)
changes(
    "setDefaultPaymentMethod",
    "payment_method",
    f"{METHOD}set-default/",
    *CARDS,
    then=lambda number: {"_default": True},
)

creates(
    "createSubscription",
    "subscription",
    "/v1/subscriptions/",
    naming("payment_method", "payment_method", unit_amount=900, interval="year"),
    *CARDS,
    kept="customer metadata",
    state="active",
)
SUBSCRIBED, SUBSCRIPTION = (*CARDS, "createSubscription"), "/v1/subscriptions/{id}/"
updates("subscription", SUBSCRIPTION, "updateSubscription", *SUBSCRIBED)


for _name, _from, _to, _action, *_before in (
    ("pauseSubscription", "active", "paused", "pause/"),
    ("resumeSubscription", "paused", "active", "resume/", "pauseSubscription"),
    ("cancelSubscription", "active", "canceled", "cancel/"),
    ("reactivateSubscription", "canceled", "active", "reactivate/", "cancelSubscription"),
):
    moves(_name, "subscription", SUBSCRIPTION, _from, _to, *SUBSCRIBED, *_before, action=_action)

creates(
    "createSecurityProfile",
    "security_profile",
    "/v1/security-profiles/",
    lambda facts, n: {"name": n, "max_amount": 99_000_000},
    kept="name max_amount",
)
_PROFILE = "/v1/security-profiles/{id}/"
changes(
    "updateSecurityProfile",
    "security_profile",
    _PROFILE,
    "createSecurityProfile",
    method="PATCH",
    body=lambda number: {"max_amount": 90_000_000 + int(number[1:])},
    then=lambda number: {"max_amount": 90_000_000 + int(number[1:])},
)
deletes("security_profile", _PROFILE, "deleteSecurityProfile", "createSecurityProfile")

INVOICED, INVOICE = (CUSTOMER, "createInvoice"), "/v1/invoices/{id}/"
creates(
    "createInvoice",
    "invoice",
    "/v1/invoices/",
    of_customer(line_items=LINES, currency="XAF"),
    CUSTOMER,
    kept="customer metadata",
    state="draft",
)
updates("invoice", INVOICE, "updateInvoice", *INVOICED, where={"_state": "draft"})
for _name, _from, _to, _action, *_before in (
    ("finalizeInvoice", "draft", "open", "finalize/"),
    ("sendInvoice", "open", "open", "send/", "finalizeInvoice"),
    ("voidInvoice", "open", "void", "void/", "finalizeInvoice"),
    ("payInvoice", "open", "paid", "pay/", "finalizeInvoice"),
):
    moves(_name, "invoice", INVOICE, _from, _to, *INVOICED, *_before, action=_action)

SHOP = "https://shop.example.com/"
creates(
    "createCheckoutSession",
    "checkout_session",
    "/v1/checkout-sessions/",
    lambda facts, n: {"success_url": SHOP, "currency": "XAF", "line_items": LINES, **metadata(n)},
    kept="currency metadata",
    state="open",
)
moves(
    "expireCheckoutSession",
    "checkout_session",
    "/v1/checkout-sessions/{id}/",
    "open",
    "expired",
    "createCheckoutSession",
    action="expire/",
)

LINK = "/v1/payment-links/{id}/"
creates(
    "createPaymentLink",
    "payment_link",
    "/v1/payment-links/",
    lambda facts, n: {
        "payment_link_type": "custom",
        "currency": "XAF",
        "amount": 900,
        **metadata(n),
    },
    kept="amount metadata",
    state="active",
)
updates("payment_link", LINK, "updatePaymentLink", "createPaymentLink")
deletes("payment_link", LINK, "deletePaymentLink", "createPaymentLink", where={"_paid": None})
for _name, _from, _to, _action, *_before in (
    ("archivePaymentLink", "active", "archived", "archive/"),
    ("restorePaymentLink", "archived", "active", "restore/", "archivePaymentLink"),
):
    moves(_name, "payment_link", LINK, _from, _to, "createPaymentLink", *_before, action=_action)

# -- money

_intent = "createPaymentIntent"
INTENT = "/v1/payment-intents/{id}/"
for _suffix, _capture in (("", "automatic"), ("@manual", "manual")):
    creates(
        f"{_intent}{_suffix}",
        "payment_intent",
        "/v1/payment-intents/",
        naming(
            "payment_method", "payment_method", amount=5000, currency="XAF", capture_method=_capture
        ),
        *CARDS,
        kept="amount customer metadata",
        state=f"requires_confirmation{_suffix}",
    )


def _transfer(facts: Facts, number: str) -> dict[str, Any] | None:
    return of_customer(type="bank_transfer", iban="FR1420041010050500013M02606")(facts, number)


creates(
    "createPaymentMethod@transfer",
    "payment_method",
    "/v1/payment-methods/",
    _transfer,
    CUSTOMER,
    kept="customer type metadata",
)
TRANSFERS = (CUSTOMER, "createPaymentMethod@transfer")


def _confirm(name: str, state: str, to: str, *before: str) -> None:
    @register(name, *before)
    def draw(facts: Facts, number: str) -> Step | None:
        subject = newest(facts, "payment_intent", _state=state)
        if subject is None:
            return None
        key, fields = subject

        def effect(facts: Facts, response: ResponseBody) -> None:
            row = facts.objects[key]
            row["_state"] = "settled"
            if response:  # the buyer's method decides
                row.update(_state=response["status"], status=response["status"])
                if response["transaction"]:
                    own = {"id": response["transaction"], "_state": response["status"]}
                    facts.objects["transaction", key[1]] = own

        return Step("POST", f"/v1/payment-intents/{fields['id']}/{to}/", {}, effect)


_confirm("confirmPaymentIntent", "requires_confirmation", "confirm", *CARDS, _intent)
_confirm(
    "confirmPaymentIntent@manual",
    "requires_confirmation@manual",
    "confirm",
    *CARDS,
    f"{_intent}@manual",
)
_confirm(
    "capturePaymentIntent",
    "requires_capture",
    "capture",
    *CARDS,
    f"{_intent}@manual",
    "confirmPaymentIntent@manual",
)
moves(
    "cancelPaymentIntent",
    "payment_intent",
    INTENT,
    "requires_confirmation",
    "canceled",
    *CARDS,
    _intent,
    action="cancel/",
)
PAID = (*CARDS, _intent, "confirmPaymentIntent")
AWAITED = (*TRANSFERS, _intent, "confirmPaymentIntent")
updates("transaction", "/v1/transactions/{id}/", "updateTransaction", *PAID)


def _of_paid(facts: Facts, number: str) -> dict[str, Any] | None:
    paid = newest(facts, "transaction", _state="succeeded", _refunded=None)
    return paid and {"transaction": paid[1]["id"], "amount": 300, **metadata(number)}


creates(
    "createRefund", "refund", "/v1/refunds/", _of_paid, *PAID, kept="transaction amount metadata"
)


@register("updateApp@review")
def _review(facts: Facts, number: str) -> Step:
    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.settings["refund_review"] = True

    return Step("PATCH", "/_emulator/app", {"settings": {"refund_review": True}}, effect)


REFUND = "/v1/refunds/{id}/"
moves(
    "cancelRefund",
    "refund",
    REFUND,
    "pending",
    "cancelled",
    "updateApp@review",
    *PAID,
    "createRefund",
    action="cancel/",
)
moves(
    "answerRefund",
    "refund",
    "/_emulator/refunds/{id}/",
    "processing",
    "succeeded",
    *PAID,
    "createRefund",
    action="answer",
    body=lambda number: {"result": "succeeded"},
)


def _awaited(name: str, path: str, body: Any, status: str) -> None:
    """Register what ends a payment whose funds have not come yet."""

    @register(name, *AWAITED)
    def draw(facts: Facts, number: str) -> Step | None:
        awaited = newest(facts, "transaction", _state="processing")
        if awaited is None:
            return None
        key, fields = awaited
        intent = facts.objects["payment_intent", key[1]]

        def effect(facts: Facts, response: ResponseBody) -> None:
            facts.objects[key]["_state"] = status
            facts.objects["payment_intent", key[1]].update(_state=status, status=status)

        ids = {"transaction": fields["id"], "intent": intent["id"]}
        return Step("POST", path.format(**ids), body, effect)


_awaited("cancelTransaction", "/v1/transactions/{transaction}/cancel/", {}, "canceled")
_awaited(
    "answerPaymentIntent",
    "/_emulator/payment-intents/{intent}/answer",
    {"result": "succeeded"},
    "succeeded",
)

# -- webhooks

HOOK, HOOKED = "/v1/webhooks/{id}/", ("createWebhook",)
creates(
    "createWebhook",
    "webhook_endpoint",
    "/v1/webhooks/",
    lambda facts, n: {
        "name": "Shop",
        "url": facts.receiver,
        "retry_policy": {"max_attempts": 1},
        "events": ["refund.failed"],
        **metadata(n),
    },
    kept="name url events metadata",
    state="active",
)
updates("webhook_endpoint", HOOK, "updateWebhook", *HOOKED)
deletes("webhook_endpoint", HOOK, "deleteWebhook", *HOOKED)
for _name, _from, _to, _action, *_before in (
    ("disableWebhook", "active", "disabled", "disable/"),
    ("enableWebhook", "disabled", "active", "enable/", "disableWebhook"),
):
    moves(
        _name,
        "webhook_endpoint",
        HOOK,
        _from,
        _to,
        *HOOKED,
        *_before,
        action=_action,
        field="enabled",
        value=_to == "active",
    )


@register("rollWebhookSecret", *HOOKED)
def _roll(facts: Facts, number: str) -> Step | None:
    subject = newest(facts, "webhook_endpoint")
    if subject is None:
        return None
    key, fields = subject

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.objects[key]["_secret"] = response["secret"] if response else ANY

    return Step("POST", f"/v1/webhooks/{fields['id']}/roll-secret/", {}, effect)


@register("testWebhook", *HOOKED)
def _test(facts: Facts, number: str) -> Step | None:
    subject = newest(facts, "webhook_endpoint", _state="active")
    if subject is None:
        return None
    key, fields = subject

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.objects[key]["_delivery"] = id_of(response)

    return Step("POST", f"/v1/webhooks/{fields['id']}/test/", {}, effect)


@register("retryWebhookDelivery", *HOOKED, "testWebhook")
def _retry(facts: Facts, number: str) -> Step | None:
    for (kind, _), fields in facts.objects.items():
        delivery = fields.get("_delivery", ANY)
        if kind == "webhook_endpoint" and fields["_state"] == "active" and delivery != ANY:
            path = f"/v1/webhooks/{fields['id']}/deliveries/{delivery}/retry/"
            return Step("POST", path, {}, nothing)
    return None
