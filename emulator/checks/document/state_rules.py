"""Rules of state: by operation, the codes with which a request that the document allows may be rejected."""

from __future__ import annotations

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
    """The codes of state of an operation, given by its id and path, without those of any operation."""
    unknown = (OF_PATH.get(path.split("/")[1], "NOT_FOUND"),) if "{" in path else ()
    return tuple(dict.fromkeys((*unknown, *(OF_OPERATION | OF_CONTROL_OPERATION).get(operation, ()))))
