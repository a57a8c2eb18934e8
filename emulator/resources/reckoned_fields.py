"""The fields that are reckoned from others, and the statuses that follow from events (B-89).

What a tester sets directly may not contradict itself: a sum follows its parts, and a status that
stands for money follows the money. Each row here is one such field or status, with the sentence
that names what to set or call instead. The words in braces are fields of the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from emulator.core.errors import ApiError, invalid_field
from emulator.core.records import Record
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Receipt, Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery

Sentences = Mapping[str, str]

OF_LINES = "is reckoned from the lines and the discount: set line_items or discount_amount"
PAID_BY = "is what was paid: set status to paid, or call POST /_emulator/invoices/{id}/pay"
BY_PAGE = "is set by its payment: call POST /_emulator/invoices/{id}/pay"
OF_SESSION = "is the sum of the lines: set line_items"
OF_PAYMENT = "is that of its payment: call POST /v1/payment-intents/ for another one"
COLLECTED = (
    "is what was collected: call POST /v1/payment-intents/{id}/confirm/ or POST"
    " /_emulator/payment-intents/{id}/answer"
)
BEGUN = (
    "is what the payment was begun for: pay an invoice, a session or a link by POST"
    " /_emulator/…/{id}/pay"
)
OF_REFUND = "is decided when the refund is made: call POST /v1/refunds/ for another one"
RECEIPT_OF = "is that of the transaction {transaction}: set amount there"

RECKONED: Mapping[type[Record], Sentences] = {
    Customer: {
        "address": (
            "is the default address: set is_default of an address, or call"
            " POST /v1/customers/{id}/addresses/"
        ),
    },
    Invoice: {
        "subtotal": OF_LINES,
        "tax_amount": OF_LINES,
        "total": OF_LINES,
        "amount_paid": PAID_BY,
        "amount_remaining": (
            "is the total less what was paid: set line_items, discount_amount or status"
        ),
        "payment_intent": BY_PAGE,
        "transaction": BY_PAGE,
        "subscription": (
            "is the one that billed it: advance the clock to the next renewal of a subscription"
        ),
        "invoice_number": "is given once, in order: call POST /v1/invoices/ for the next one",
    },
    CheckoutSession: {
        "amount_total": OF_SESSION,
        "amount_subtotal": OF_SESSION,
        "mode": "is decided at creation: call POST /v1/checkout-sessions/ for another session",
        "payment_intent": "is set by its payment: call POST /_emulator/checkout-sessions/{id}/pay",
    },
    PaymentIntent: {
        "amount_received": COLLECTED,
        "amount_capturable": COLLECTED,
        "transaction": COLLECTED,
        "payment_method_type": "is that of the payment method: set payment_method",
        "invoice": BEGUN,
        "subscription": BEGUN,
        "checkout_session": BEGUN,
        "payment_link": BEGUN,
    },
    Transaction: {
        "net_amount": "is the amount less fee and commission: set amount, fee or commission",
        "amount_refunded": "is the sum of its refunds: call POST /v1/refunds/",
        "type": OF_PAYMENT,
        "currency": OF_PAYMENT,
        "payment_intent": OF_PAYMENT,
        "customer": OF_PAYMENT,
    },
    Refund: {"amount": OF_REFUND, "currency": OF_REFUND, "transaction": OF_REFUND},
    Receipt: {
        "amount": RECEIPT_OF,
        "currency": RECEIPT_OF,
        "transaction": "is the one that it was issued for: pay once more for another receipt",
        "number": "is given once, in order: pay once more for the next one",
    },
    PaymentMethod: {
        "type": (
            "is that of its details: call POST /v1/payment-methods/ for a method of another type"
        ),
    },
    WebhookDelivery: {"attempt_count": "is the number of its attempts: set attempts"},
}
"""Of each kind the fields that are reckoned from others, or decided by another object."""


class Brought(NamedTuple):
    """``directly``: the statuses from which one may be set; ``by``: its cause from any other."""

    directly: str
    by: str


NOT_DRAFT = "is over once an invoice is finalized: call POST /v1/invoices/ for another draft"
SESSION_ANEW = (
    "is over once the session is complete: call POST /v1/checkout-sessions/ for another one"
)
REFUND_ANEW = "cannot follow a refund that succeeded: call POST /v1/refunds/ for another one"
LIVE_INTENT = (
    "requires_payment_method requires_confirmation requires_action processing requires_capture"
)
OPEN_SESSION = "open processing payment_failed expired"
OPEN_REFUND = "pending processing failed cancelled expired"

BROUGHT: Mapping[type[Record], Mapping[str, Brought]] = {
    Invoice: {
        "draft": Brought("", NOT_DRAFT),
        "void": Brought(
            "draft open uncollectible",
            "is no end of an invoice that is paid: call POST /v1/refunds/",
        ),
        "uncollectible": Brought(
            "draft open void", "is no end of an invoice that is paid: call POST /v1/refunds/"
        ),
    },
    PaymentIntent: {
        "succeeded": Brought("", COLLECTED),
        "canceled": Brought(
            LIVE_INTENT, "cannot follow a payment that succeeded: call POST /v1/refunds/"
        ),
        **dict.fromkeys(
            LIVE_INTENT.split(),
            Brought(LIVE_INTENT, "is over: call POST /v1/payment-intents/ for another payment"),
        ),
    },
    Transaction: {
        "pending": Brought(
            "", "is brought by a payment by bank_transfer: call POST /v1/payment-intents/"
        ),
        "approved": Brought(
            "",
            "is brought by a payment with a card that settles later: pay with 4000 0000 0000 0077",
        ),
        "completed": Brought(
            "disputed failed",
            "is brought by the money: call POST /_emulator/payment-intents/{payment_intent}/answer,"
            " or advance the clock until it is settled",
        ),
        "disputed": Brought(
            "completed failed", "is for money that arrived: wait until it is completed"
        ),
        "failed": Brought(
            "disputed",
            "is a dispute that was lost: set disputed first; one that is pending fails by"
            " POST /_emulator/payment-intents/{payment_intent}/answer",
        ),
        "canceled": Brought(
            "", "is brought by POST /v1/transactions/{id}/cancel/ while it is pending"
        ),
        "refunded": Brought(
            "", "is brought by refunds of the whole amount: call POST /v1/refunds/"
        ),
    },
    CheckoutSession: {
        "complete": Brought(
            "", "is brought by the buyer: call POST /_emulator/checkout-sessions/{id}/pay"
        ),
        **dict.fromkeys(OPEN_SESSION.split(), Brought(OPEN_SESSION, SESSION_ANEW)),
        "processing": Brought(
            "",
            "is brought by a payment that takes its time: call POST"
            " /_emulator/checkout-sessions/{id}/pay with the phone +24177000006",
        ),
    },
    Refund: {
        "succeeded": Brought(
            "", "is brought by the money: call POST /_emulator/refunds/{id}/answer"
        ),
        **dict.fromkeys(OPEN_REFUND.split(), Brought(OPEN_REFUND, REFUND_ANEW)),
    },
}
"""Of each kind the statuses that cannot be set from every other one."""


def check(record: Record, changed: Iterable[str], status: str | None) -> None:
    """Raise 422 ``INVALID_FIELD`` for a field that is reckoned, or a new ``status`` that something
    else brings (B-89).
    """
    sentences = RECKONED.get(type(record), {})
    for field in changed:
        if field in sentences:
            raise refused(record, field, sentences[field])
    brought = BROUGHT.get(type(record), {}).get(status or "")
    if brought is not None and getattr(record, "status", None) not in brought.directly.split():
        raise refused(record, "status", f"{status} {brought.by}")


def refused(record: Record, field: str, sentence: str) -> ApiError:
    """Return the 422 for a field of a record, its sentence filled with fields of the record."""
    return invalid_field(field, sentence.format_map(msgspec.structs.asdict(record)))
