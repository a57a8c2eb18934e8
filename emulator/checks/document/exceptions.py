"""Failures of schemathesis that are ignored: the specification differs, or no schema can express its rule.

Rules of state name, by operation, the codes with which a request that the document allows may be rejected.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from schemathesis.core.failures import Failure, ServerError
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse, UseAfterFree

# -- rules of state


ANY_OPERATION = (
    *("APP_DISABLED", "APP_NOT_VERIFIED", "COMPANY_BLACKLISTED", "COMPANY_KYC_REQUIRED", "COMPANY_PAYMENTS_DISABLED"),
    *("COMPANY_PAYOUTS_DISABLED", "COMPANY_SANDBOX_ONLY", "INSUFFICIENT_PERMISSIONS", "PERMISSION_DENIED"),
    *("SANDBOX_ONLY", "IDEMPOTENCY_CONFLICT", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"),
)
"""What the key, the App, the company, a security profile, an idempotency key or a limit forbids in any operation."""

OF_PATH = {
    "customers": "CUSTOMER_NOT_FOUND",
    "products": "PRODUCT_NOT_FOUND",
    "subscriptions": "SUBSCRIPTION_NOT_FOUND",
    "invoices": "INVOICE_NOT_FOUND",
    "refunds": "REFUND_NOT_FOUND",
    "checkout-sessions": "CHECKOUT_SESSION_NOT_FOUND",
    "payment-links": "PAYMENT_LINK_NOT_FOUND",
    "transactions": "TRANSACTION_NOT_FOUND",
    "webhooks": "WEBHOOK_NOT_FOUND",
    "payment-intents": "PAYMENT_INTENT_NOT_FOUND",
    "payment-methods": "PAYMENT_METHOD_NOT_FOUND",
    "receipts": "RECEIPT_NOT_FOUND",
}
"""The code for an unknown id in a path, by the first word of the path; for other words it is ``NOT_FOUND`` (B-15)."""

_AMOUNTS = ("AMOUNT_TOO_SMALL", "AMOUNT_TOO_LARGE")
_PRICE = ("CURRENCY_NOT_IN_PLAN", *_AMOUNTS)
_STATUS = ("INVALID_STATUS_TRANSITION",)

OF_OPERATION: dict[str, tuple[str, ...]] = {
    "createCustomer": ("customer_email_exists", "DUPLICATE_EMAIL"),
    "updateCustomer": ("customer_email_exists", "DUPLICATE_EMAIL"),
    "getAddress": ("NOT_FOUND",),
    "updateAddress": ("NOT_FOUND",),
    "deleteAddress": ("NOT_FOUND",),
    "createProduct": (*_PRICE, "DUPLICATE_SKU"),
    "updateProduct": (*_AMOUNTS, "DUPLICATE_SKU"),
    "createSubscriptionPlan": _PRICE,
    "deleteSubscriptionPlan": _STATUS,
    "createSubscription": (
        *_PRICE,
        *("CUSTOMER_NOT_FOUND", "NOT_FOUND", "PRODUCT_NOT_FOUND", "PAYMENT_METHOD_NOT_FOUND"),
    ),
    "updateSubscription": ("NOT_FOUND", "PAYMENT_METHOD_NOT_FOUND", *_STATUS),
    "cancelSubscription": ("SUBSCRIPTION_ALREADY_CANCELED", *_STATUS),
    "reactivateSubscription": _STATUS,
    "pauseSubscription": _STATUS,
    "resumeSubscription": _STATUS,
    "createInvoice": ("CUSTOMER_NOT_FOUND", "PRODUCT_NOT_FOUND", "CURRENCY_NOT_IN_PLAN", "AMOUNT_TOO_LARGE"),
    "updateInvoice": ("PRODUCT_NOT_FOUND", "INVOICE_NOT_DRAFTABLE", "CURRENCY_NOT_IN_PLAN", "AMOUNT_TOO_LARGE"),
    "finalizeInvoice": _STATUS,
    "sendInvoice": _STATUS,
    "voidInvoice": _STATUS,
    "payInvoice": _STATUS,
    "getInvoicePdf": ("PDF_NOT_AVAILABLE",),
    "createRefund": (
        *("TRANSACTION_NOT_FOUND", "transaction_not_refundable", "refund_amount_exceeds_available"),
        *("INVALID_STATUS_TRANSITION", "AMOUNT_TOO_LARGE"),
    ),
    "cancelRefund": _STATUS,
    "createCheckoutSession": (*_PRICE, "CUSTOMER_NOT_FOUND", "NOT_FOUND", "PRODUCT_NOT_FOUND"),
    "expireCheckoutSession": ("CHECKOUT_SESSION_EXPIRED", *_STATUS),
    "createPaymentLink": (*_PRICE, "PRODUCT_NOT_FOUND"),
    "archivePaymentLink": _STATUS,
    "restorePaymentLink": _STATUS,
    "cancelTransaction": _STATUS,
    "createWebhook": ("WEBHOOK_ENDPOINT_UNREACHABLE",),
    "updateWebhook": ("WEBHOOK_ENDPOINT_UNREACHABLE",),
    "testWebhook": _STATUS,
    "retryWebhookDelivery": ("NOT_FOUND", *_STATUS),
    "createPaymentIntent": (
        *_PRICE,
        *("CUSTOMER_NOT_FOUND", "PAYMENT_METHOD_NOT_FOUND", "PAYMENT_METHOD_NOT_SUPPORTED"),
    ),
    "confirmPaymentIntent": (
        *("PAYMENT_METHOD_NOT_FOUND", "PAYMENT_METHOD_NOT_SUPPORTED", "PAYMENT_INTENT_NOT_CONFIRMABLE"),
    ),
    "capturePaymentIntent": ("PAYMENT_INTENT_NOT_CAPTURABLE", "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL"),
    "cancelPaymentIntent": ("PAYMENT_INTENT_UNCANCELABLE",),
    "createPaymentMethod": ("CUSTOMER_NOT_FOUND",),
}
"""What the objects that a request names, their status, or amounts and currencies of the App forbid, by operation.

Three codes of the nested error shape stand beside those of the flat one (B-10).
"""

OF_CONTROL_OPERATION: dict[str, tuple[str, ...]] = {
    "trigger": (
        *("CUSTOMER_NOT_FOUND", "NOT_FOUND", "SUBSCRIPTION_NOT_FOUND", "PAYMENT_METHOD_NOT_FOUND", "INVOICE_NOT_FOUND"),
        *("CHECKOUT_SESSION_NOT_FOUND", "PAYMENT_INTENT_NOT_FOUND", "TRANSACTION_NOT_FOUND", "REFUND_NOT_FOUND"),
    ),
    "listObjects": ("NOT_FOUND",),
    "countObjects": ("NOT_FOUND",),
    "rewind": ("NOT_FOUND",),
    "getRecording": ("NOT_FOUND",),
    "stopRecording": ("NOT_FOUND",),
    "answerPaymentIntent": _STATUS,
    "answerCheckoutSession": _STATUS,
    "answerRefund": _STATUS,
    "answerPrompt": ("PAYMENT_INTENT_NOT_FOUND", *_STATUS),
    "payCheckoutSession": ("CHECKOUT_SESSION_EXPIRED", *_STATUS),
    "payPaymentLink": _STATUS,
    "payInvoicePage": _STATUS,
}
"""The same for the control API of the emulator."""


def codes(operation: str, path: str) -> tuple[str, ...]:
    """Return the codes of state of an operation, given by its id and path, without those of any operation."""
    unknown = (OF_PATH.get(path.split("/")[1], "NOT_FOUND"),) if "{" in path else ()
    return tuple(dict.fromkeys((*unknown, *(OF_OPERATION | OF_CONTROL_OPERATION).get(operation, ()))))


# -- exceptions


MAX_DIGITS = 300
"""Digits of an integer; the service reads no longer ones (B-12)."""

FORM = frozenset(["MISSING_FIELD", "INVALID_FIELD", "INVALID_FILTER_PARAM", "INVALID_CURRENCY", "VALIDATION_ERROR"])
"""The codes for a malformed request. Rules that forbid a well-formed one have others (:mod:`.state_rules`)."""

_PROFILE = {
    "allowed_ips*": "a range has no host bits set (B-71)",
    "blocked_countries*": "are countries of ISO 3166-1 (SecurityProfile)",
}

RULES: dict[str, dict[str, str]] = {
    "createAddress": {"country": "the App covers some countries (Address)"},
    "updateAddress": {"country": "the App covers some countries (Address)"},
    "createProduct": {"unit_amount": "a suggested amount is not negative; one to be paid has a code of its own (B-23)"},
    "updateProduct": {"unit_amount": "a suggested amount is not negative; one to be paid has a code of its own (B-23)"},
    "createSecurityProfile": _PROFILE,
    "updateSecurityProfile": _PROFILE,
    "createSubscription": {
        "ends_at": "the end of a subscription lies ahead (B-40)",
        "plan": "is not deactivated (B-40)",
        "product": "is not archived (B-40)",
        "currency": "is that of the plan or the product (B-40)",
        "payment_method": "is one of the customer's (B-52)",
        "interval": "a plan has its own (B-40)",
        "interval_count": "a plan has its own (B-40)",
    },
    "updateSubscription": {
        "payment_method": "is one of the customer's (B-52)",
        "plan": "has the subscription's period and currency (B-40)",
    },
    "createPaymentIntent": {"payment_method": "is one of the customer's (B-52)"},
    "confirmPaymentIntent": {"payment_method": "is one of the customer's (B-52)"},
    "createCheckoutSession": {
        "subscription_data*": "goes without a line that has a plan (B-58)",
        "line_items*": "a plan goes with the mode subscription, a product is not archived and has the currency (B-58)",
    },
    "createPaymentLink": {
        "products*": "none is archived (Payment links, B-15)",
        "expires_at": "lies ahead (B-59)",
    },
    "updatePaymentLink": {
        "max_usage": "goes with limited only (B-59)",
        "expires_at": "goes with limited only, and lies ahead (B-59)",
    },
    "createInvoice": {
        "line_items*": "a price goes with a free product only, and is needed there (Invoices)",
        "due_date": "is not past (B-65)",
    },
    "updateInvoice": {
        "currency": "is that of the products on its lines (Invoices)",
        "line_items*": "a price goes with a free product only, and is needed there (Invoices)",
        "due_date": "is not past (B-65)",
    },
    "createPaymentMethod": {
        "number": "has its check digit (B-95)",
        "iban": "has its check digits, and the length of its country (B-52)",
        "exp_month": "the card's last month is not over (B-52)",
        "exp_year": "the card's last month is not over (B-52)",
    },
    "createWebhook": {"url": "http is for loopback (B-82)", "events": "* stands alone (B-82)"},
    "updateWebhook": {"url": "http is for loopback (B-82)", "events": "* stands alone (B-82)"},
    "advanceClock": {"to": "the clock never goes back (B-91)", "by": "the calendar ends with the year 9999"},
    "freezeClock": {"at": "the clock never goes back (B-91)"},
    "getSchedule": {"until": "an instant or a duration, and not past"},
    "updateApp": {"settings": "the main currency is one of those enabled, a trusted proxy is a network (B-90)"},
    "payCheckoutSession": {"*": "what is asked for depends on the session"},
    "payPaymentLink": {"*": "what is asked for depends on the link"},
    "payInvoicePage": {"*": "an invoice asks for a method alone"},
    "updateObject": {"*": "each kind of object has its fields"},
    "importSnapshot": {"*": "a snapshot is what an export gave"},
    "resetWorld": {
        "fixtures": "hold what fixture files hold (B-90)",
        "clock": "an instant is one of the calendar",
    },
    "trigger": {"overrides*": "go with the event and with the objects it takes"},
    "rewind": {"*": "one of two ways, to a request that is kept"},
    "arrangeFault": {
        "then*": "one thing goes wrong at a time, and a body goes with a status that has one",
        "times": "goes without a probability, and with no outage",
        "probability": "goes with no outage",
        "starts_at": "goes with an outage only",
        "ends_at": "goes with an outage only",
        "match.*": "names what the service has, and goes with requests or with deliveries",
    },
}
"""By operation and field: rules that no schema can express and that are reported with a code of :data:`FORM`."""

MONEY = ("*currency", "*amount")
"""Fields whose rules have codes of their own, except among several violations, which share one code (B-12)."""

MERGED = ("metadata",)
"""What a change adds to: its limit counts what is left after the merge (B-22)."""

ARCHIVED = ("/products/{id}/", "/subscription-plans/{id}/")
"""Objects that a DELETE only archives, by the specification; they can still be read and changed."""

INBOX = "/inbox/{name}"
"""The inbox accepts every method and answers with a chosen status; only reading its contents is documented."""


def is_excused(failure: Failure, response: Any, case: Any) -> bool:
    """Return whether the failure of a check on this response is ignored."""
    if isinstance(failure, RejectedPositiveData):
        return rejected_by_state(response, case) is not None or rejected_by_rule(response, case)
    if isinstance(failure, UseAfterFree):
        return case.operation.path in ARCHIVED
    return isinstance(failure, ServerError | UnsupportedMethodResponse) and _is_delivery(response, case)


def _is_delivery(response: Any, case: Any) -> bool:
    return bool(case.operation.path == INBOX and response.request.method != "GET")


def rejected_by_state(response: Any, case: Any) -> str | None:
    """Return the code with which a rule of state rejects a request that the document allows; None if none does."""
    code = str(_error(response)["code"])
    listed = codes(case.operation.definition.raw["operationId"], case.operation.path)
    return code if code in (*listed, *ANY_OPERATION) else None


def rejected_by_rule(response: Any, case: Any) -> bool:
    """Return whether every field at fault has a rule that no schema can express."""
    if response.status_code not in (400, 422):
        return False
    error = _error(response)
    operation = str(case.operation.definition.raw["operationId"])
    rules = [*RULES.get(operation, {}), *MONEY, *(MERGED if operation.startswith("update") else ())]
    fields = error.get("errors") or [error.get("param") or ""]
    ruled = error["code"] in FORM and all(any(fnmatchcase(field, rule) for rule in rules) for field in fields)
    return ruled or _has_long_number(case.query) or _has_long_number(case.body)


def _error(response: Any) -> dict[str, Any]:
    """Return the error in a response, flat or nested (B-10)."""
    answer = response.json()
    return dict(answer.get("error", answer))


def _has_long_number(value: Any) -> bool:
    """Return whether it contains a number longer than the service accepts (B-12), which no schema can express."""
    if isinstance(value, dict | list):
        return any(map(_has_long_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**MAX_DIGITS
