"""The specification's own lists, written out: the document is not measured against itself."""

from __future__ import annotations

DOCUMENTED = """
/customers/                                POST GET
/customers/{id}/                           GET PATCH DELETE
/customers/{id}/transactions/              GET
/customers/{id}/payment-methods/           GET
/customers/{id}/addresses/                 POST GET
/customers/{id}/addresses/{addr_id}/       GET PATCH DELETE
/products/                                 POST GET
/products/{id}/                            GET PATCH DELETE
/subscription-plans/                       POST GET
/subscription-plans/{id}/                  GET PATCH DELETE
/subscriptions/                            POST GET
/subscriptions/{id}/                       GET PATCH
/subscriptions/{id}/cancel/                POST
/subscriptions/{id}/reactivate/            POST
/subscriptions/{id}/pause/                 POST
/subscriptions/{id}/resume/                POST
/security-profiles/                        POST GET
/security-profiles/{id}/                   GET PATCH DELETE
/invoices/                                 POST GET
/invoices/{id}/                            GET PATCH
/invoices/{id}/finalize/                   POST
/invoices/{id}/send/                       POST
/invoices/{id}/void/                       POST
/invoices/{id}/pay/                        POST
/invoices/{id}/pdf/                        GET
/refunds/                                  POST GET
/refunds/{id}/                             GET
/refunds/{id}/cancel/                      POST
/checkout-sessions/                        POST GET
/checkout-sessions/{id}/                   GET
/checkout-sessions/{id}/expire/            POST
/payment-links/                            POST GET
/payment-links/{id}/                       GET PATCH DELETE
/payment-links/{id}/archive/               POST
/payment-links/{id}/restore/               POST
/transactions/                             GET
/transactions/{id}/                        GET PATCH
/transactions/{id}/cancel/                 POST
/webhooks/                                 POST GET
/webhooks/{id}/                            GET PATCH DELETE
/webhooks/{id}/disable/                    POST
/webhooks/{id}/enable/                     POST
/webhooks/{id}/roll-secret/                POST
/webhooks/{id}/test/                       POST
/webhooks/{id}/deliveries/                 GET
/webhooks/{id}/deliveries/{did}/retry/     POST
/reset                                     POST
"""
"""The specification's operations: 73 rows, POST /reset, and the address of the invoice's PDF."""

ADDED = """
/payment-intents/                          POST GET
/payment-intents/{id}/                     GET
/payment-intents/{id}/confirm/             POST
/payment-intents/{id}/capture/             POST
/payment-intents/{id}/cancel/              POST
/payment-methods/                          POST
/payment-methods/{id}/                     GET DELETE
/payment-methods/{id}/set-default/         POST
/receipts/                                 GET
/receipts/{id}/                            GET
"""
"""Assumed operations: the specification refers to their objects but gives them no address."""

EVENTS = """
payment_intent.succeeded payment_intent.failed transaction.succeeded refund.succeeded refund.failed
invoice.paid invoice.payment_overdue checkout.session.completed customer.created customer.deleted
subscription.created subscription.canceled subscription.payment_failed subscription.trial_will_end
"""
EVENT_TYPES = frozenset(EVENTS.split())
"""The thirteen types of the specification's list, and the one it mentions elsewhere."""


def table(text: str) -> list[tuple[str, str]]:
    return [
        (method, path)
        for path, *methods in (line.split() for line in text.splitlines() if line)
        for method in methods
    ]


CODES = """
401 MISSING_API_KEY INVALID_API_KEY EXPIRED_API_KEY INVALID_TOKEN AUTHENTICATION_FAILED

403 PERMISSION_DENIED PUBLIC_KEY_NOT_ALLOWED APP_DISABLED APP_NOT_VERIFIED INSUFFICIENT_PERMISSIONS
403 SANDBOX_ONLY CURRENCY_NOT_IN_PLAN COMPANY_BLACKLISTED COMPANY_PAYMENTS_DISABLED
403 COMPANY_PAYOUTS_DISABLED COMPANY_SANDBOX_ONLY COMPANY_KYC_REQUIRED

404 NOT_FOUND CUSTOMER_NOT_FOUND PRODUCT_NOT_FOUND PAYMENT_INTENT_NOT_FOUND TRANSACTION_NOT_FOUND
404 REFUND_NOT_FOUND INVOICE_NOT_FOUND SUBSCRIPTION_NOT_FOUND CHECKOUT_SESSION_NOT_FOUND
404 PAYMENT_METHOD_NOT_FOUND PAYMENT_LINK_NOT_FOUND RECEIPT_NOT_FOUND WEBHOOK_NOT_FOUND
404 SEARCH_NO_RESULTS

409 IDEMPOTENCY_CONFLICT DUPLICATE_EMAIL DUPLICATE_SKU

422 VALIDATION_ERROR MISSING_FIELD INVALID_FIELD INVALID_FILTER_PARAM INVALID_CURRENCY
422 AMOUNT_TOO_SMALL AMOUNT_TOO_LARGE INVALID_STATUS_TRANSITION PAYMENT_INTENT_UNCANCELABLE
422 PAYMENT_INTENT_NOT_CONFIRMABLE PAYMENT_INTENT_NOT_CAPTURABLE CAPTURE_AMOUNT_EXCEEDS_ORIGINAL
422 CHECKOUT_SESSION_EXPIRED SUBSCRIPTION_ALREADY_CANCELED INVOICE_NOT_DRAFTABLE

429 RATE_LIMIT_EXCEEDED TOO_MANY_REQUESTS

422 INSUFFICIENT_FUNDS PAYMENT_METHOD_NOT_SUPPORTED MOBILE_MONEY_TIMEOUT MOBILE_MONEY_REJECTED
422 MOBILE_MONEY_NUMBER_INVALID MOBILE_MONEY_LIMIT_REACHED CUSTOMER_BLACKLISTED

422 WEBHOOK_SIGNATURE_INVALID WEBHOOK_ENDPOINT_UNREACHABLE TERMINAL_OFFLINE
404 PDF_NOT_AVAILABLE
405 METHOD_NOT_ALLOWED

500 INTERNAL_ERROR DATABASE_ERROR UPSTREAM_ERROR
"""
"""The business codes with statuses; B-14 gives those of the rows "payments" and "integrations"."""


def codes() -> list[tuple[str, int]]:
    rows = [line.split() for line in CODES.splitlines() if line]
    return [(code, int(status)) for status, *of_status in rows for code in of_status]
