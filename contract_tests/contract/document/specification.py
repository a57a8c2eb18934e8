"""The specification's own lists, written out, so that the document is measured against them and not against itself."""

from __future__ import annotations

DOCUMENTED = """
POST   /customers/
GET    /customers/
GET    /customers/{id}/
PATCH  /customers/{id}/
DELETE /customers/{id}/
GET    /customers/{id}/transactions/
GET    /customers/{id}/payment-methods/

POST   /customers/{id}/addresses/
GET    /customers/{id}/addresses/
GET    /customers/{id}/addresses/{addr_id}/
PATCH  /customers/{id}/addresses/{addr_id}/
DELETE /customers/{id}/addresses/{addr_id}/

POST   /products/
GET    /products/
GET    /products/{id}/
PATCH  /products/{id}/
DELETE /products/{id}/

POST   /subscription-plans/
GET    /subscription-plans/
GET    /subscription-plans/{id}/
PATCH  /subscription-plans/{id}/
DELETE /subscription-plans/{id}/

POST   /subscriptions/
GET    /subscriptions/
GET    /subscriptions/{id}/
PATCH  /subscriptions/{id}/
POST   /subscriptions/{id}/cancel/
POST   /subscriptions/{id}/reactivate/
POST   /subscriptions/{id}/pause/
POST   /subscriptions/{id}/resume/

POST   /security-profiles/
GET    /security-profiles/
GET    /security-profiles/{id}/
PATCH  /security-profiles/{id}/
DELETE /security-profiles/{id}/

POST   /invoices/
GET    /invoices/
GET    /invoices/{id}/
PATCH  /invoices/{id}/
POST   /invoices/{id}/finalize/
POST   /invoices/{id}/send/
POST   /invoices/{id}/void/
POST   /invoices/{id}/pay/
GET    /invoices/{id}/pdf/

POST   /refunds/
GET    /refunds/
GET    /refunds/{id}/
POST   /refunds/{id}/cancel/

POST   /checkout-sessions/
GET    /checkout-sessions/
GET    /checkout-sessions/{id}/
POST   /checkout-sessions/{id}/expire/

POST   /payment-links/
GET    /payment-links/
GET    /payment-links/{id}/
PATCH  /payment-links/{id}/
DELETE /payment-links/{id}/
POST   /payment-links/{id}/archive/
POST   /payment-links/{id}/restore/

GET    /transactions/
GET    /transactions/{id}/
PATCH  /transactions/{id}/
POST   /transactions/{id}/cancel/

POST   /webhooks/
GET    /webhooks/
GET    /webhooks/{id}/
PATCH  /webhooks/{id}/
DELETE /webhooks/{id}/
POST   /webhooks/{id}/disable/
POST   /webhooks/{id}/enable/
POST   /webhooks/{id}/roll-secret/
POST   /webhooks/{id}/test/
GET    /webhooks/{id}/deliveries/
POST   /webhooks/{id}/deliveries/{did}/retry/

POST   /reset
"""
"""The operations the specification names: 73 rows of its tables, POST /reset, and the address of the invoice's PDF."""

ADDED = """
POST   /payment-intents/
GET    /payment-intents/
GET    /payment-intents/{id}/
POST   /payment-intents/{id}/confirm/
POST   /payment-intents/{id}/capture/
POST   /payment-intents/{id}/cancel/

POST   /payment-methods/
GET    /payment-methods/{id}/
POST   /payment-methods/{id}/set-default/
DELETE /payment-methods/{id}/

GET    /receipts/
GET    /receipts/{id}/
"""
"""The operations that are an assumption: the specification refers to these objects but gives them no address."""

EVENT_TYPES = frozenset(
    {
        "payment_intent.succeeded",
        "payment_intent.failed",
        "transaction.succeeded",
        "refund.succeeded",
        "refund.failed",
        "invoice.paid",
        "invoice.payment_overdue",
        "checkout.session.completed",
        "subscription.created",
        "subscription.canceled",
        "subscription.payment_failed",
        "customer.created",
        "customer.deleted",
        "subscription.trial_will_end",
    }
)
"""The thirteen types of the specification's list, and the one it mentions elsewhere."""

RANGES = ((1, 7), (10, 28), (30, 35), (40, 48), (50, 62), (65, 67), (70, 72), (80, 87), (90, 99))
"""The numbers, from and to, of the assumptions about what the specification leaves open: B-01 to B-98, with gaps."""

ASSUMPTIONS = frozenset(number for first, last in RANGES for number in range(first, last + 1))


def table(text: str) -> list[tuple[str, str]]:
    """Return the rows of a table of operations as (method, path)."""
    return [(method, path) for method, path in (line.split() for line in text.splitlines() if line)]


CODES = """
401 MISSING_API_KEY INVALID_API_KEY EXPIRED_API_KEY INVALID_TOKEN AUTHENTICATION_FAILED

403 PERMISSION_DENIED PUBLIC_KEY_NOT_ALLOWED APP_DISABLED APP_NOT_VERIFIED INSUFFICIENT_PERMISSIONS SANDBOX_ONLY
403 CURRENCY_NOT_IN_PLAN COMPANY_BLACKLISTED COMPANY_PAYMENTS_DISABLED COMPANY_PAYOUTS_DISABLED COMPANY_SANDBOX_ONLY
403 COMPANY_KYC_REQUIRED

404 NOT_FOUND CUSTOMER_NOT_FOUND PRODUCT_NOT_FOUND PAYMENT_INTENT_NOT_FOUND TRANSACTION_NOT_FOUND REFUND_NOT_FOUND
404 INVOICE_NOT_FOUND SUBSCRIPTION_NOT_FOUND CHECKOUT_SESSION_NOT_FOUND PAYMENT_METHOD_NOT_FOUND PAYMENT_LINK_NOT_FOUND
404 RECEIPT_NOT_FOUND WEBHOOK_NOT_FOUND SEARCH_NO_RESULTS

409 IDEMPOTENCY_CONFLICT DUPLICATE_EMAIL DUPLICATE_SKU

422 VALIDATION_ERROR MISSING_FIELD INVALID_FIELD INVALID_FILTER_PARAM INVALID_CURRENCY AMOUNT_TOO_SMALL AMOUNT_TOO_LARGE
422 INVALID_STATUS_TRANSITION PAYMENT_INTENT_UNCANCELABLE PAYMENT_INTENT_NOT_CONFIRMABLE PAYMENT_INTENT_NOT_CAPTURABLE
422 CAPTURE_AMOUNT_EXCEEDS_ORIGINAL CHECKOUT_SESSION_EXPIRED SUBSCRIPTION_ALREADY_CANCELED INVOICE_NOT_DRAFTABLE

429 RATE_LIMIT_EXCEEDED TOO_MANY_REQUESTS

422 INSUFFICIENT_FUNDS PAYMENT_METHOD_NOT_SUPPORTED MOBILE_MONEY_TIMEOUT MOBILE_MONEY_REJECTED
422 MOBILE_MONEY_NUMBER_INVALID MOBILE_MONEY_LIMIT_REACHED CUSTOMER_BLACKLISTED

422 WEBHOOK_SIGNATURE_INVALID WEBHOOK_ENDPOINT_UNREACHABLE TERMINAL_OFFLINE
404 PDF_NOT_AVAILABLE
405 METHOD_NOT_ALLOWED

500 INTERNAL_ERROR DATABASE_ERROR UPSTREAM_ERROR
"""
"""The business codes with their statuses; those of the rows "payments" and "integrations" are B-14's."""


def codes() -> list[tuple[str, int]]:
    """Return every business code and its status."""
    rows = [line.split() for line in CODES.splitlines() if line]
    return [(code, int(status)) for status, *of_status in rows for code in of_status]
