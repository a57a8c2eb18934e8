"""The fields that are reckoned from others, and the statuses that follow from events (B-89).

What a tester sets directly may not contradict itself: a sum follows its parts, and a status that
stands for money follows the money. Each row here is one such field or status, with the sentence
that names what to set or call instead. The words in braces are fields of the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
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
    """``directly``: the statuses from which one may be set; ``by``: its cause from any other, or
    from those that ``present`` has with a cause of their own.
    """

    directly: str
    by: str
    present: Sentences = MappingProxyType({})


NOT_DRAFT = "is over once an invoice is finalized: call POST /v1/invoices/ for another draft"
NOT_PAID = Brought(
    "draft open void uncollectible",
    "is no end of an invoice that is paid: call POST /v1/refunds/",
    {"paid_by_hand": "is no end of an invoice that is paid: set open first"},
)
SESSION_ANEW = (
    "is over once the session is complete: call POST /v1/checkout-sessions/ for another one"
)
PAY_SESSION = "call POST /_emulator/checkout-sessions/{id}/pay"
OPEN_FIRST = "set open first, with an expires_at ahead, then"
SLOWLY = "with the phone +24177000006, whose payment takes a minute"
REFUND_ANEW = "cannot follow a refund that succeeded: call POST /v1/refunds/ for another one"
LIVE_INTENT = (
    "requires_payment_method requires_confirmation requires_action processing requires_capture"
)
OPEN_SESSION = "open processing payment_failed expired"
OPEN_REFUND = "pending processing failed cancelled expired"
PAYMENT_ANEW = "call POST /v1/payment-intents/ for another payment"
END_PAYMENT = "call POST /_emulator/payment-intents/{payment_intent}/answer"
SETTLED = "advance the clock until it is settled"
ENDED = "cannot follow a transaction that is {status}: " + PAYMENT_ANEW


def _of_money(arrived: str, then: str) -> Sentences:
    """Return why a status cannot follow one whose money has not arrived yet."""
    return {
        "pending": f"{arrived}: {END_PAYMENT}{then}",
        "approved": f"{arrived}: {SETTLED}{then}",
    }


BROUGHT: Mapping[type[Record], Mapping[str, Brought]] = {
    Invoice: {
        "draft": Brought("", NOT_DRAFT),
        "void": NOT_PAID,
        "uncollectible": NOT_PAID,
    },
    PaymentIntent: {
        "succeeded": Brought(
            "",
            "is brought by the money: call POST /v1/payment-intents/{id}/confirm/",
            {
                "requires_payment_method": (
                    "is brought by the money: call POST /v1/payment-intents/{id}/confirm/ with a"
                    " payment_method"
                ),
                **dict.fromkeys(
                    ("requires_action", "processing"),
                    "is brought by the money: call POST /_emulator/payment-intents/{id}/answer",
                ),
                "requires_capture": (
                    "is brought by the money: call POST /v1/payment-intents/{id}/capture/"
                ),
                "canceled": f"cannot follow a payment that is canceled: {PAYMENT_ANEW}",
            },
        ),
        "canceled": Brought(
            LIVE_INTENT, "cannot follow a payment that succeeded: call POST /v1/refunds/"
        ),
        **dict.fromkeys(LIVE_INTENT.split(), Brought(LIVE_INTENT, f"is over: {PAYMENT_ANEW}")),
    },
    Transaction: {
        "pending": Brought(
            "", f"is where a payment by bank_transfer begins: {PAYMENT_ANEW} by such a method"
        ),
        "approved": Brought(
            "",
            "is brought by a card that settles later: pay once more with 4000 0000 0000 0077",
        ),
        "completed": Brought("disputed failed", ENDED, _of_money("is brought by the money", "")),
        "disputed": Brought(
            "completed failed", ENDED, _of_money("is for money that arrived", ", then set disputed")
        ),
        "failed": Brought(
            "disputed",
            ENDED,
            {
                "pending": f"is the answer to its payment: {END_PAYMENT}",
                "approved": f"is a dispute that was lost: {SETTLED}, then set disputed first",
                "completed": "is a dispute that was lost: set disputed first",
            },
        ),
        "canceled": Brought(
            "",
            ENDED,
            {"pending": "is no money of the buyer's: call POST /v1/transactions/{id}/cancel/"},
        ),
        "refunded": Brought(
            "",
            ENDED,
            {
                **_of_money("is for money that arrived", ", then POST /v1/refunds/"),
                "completed": "is brought by refunds of the whole amount: call POST /v1/refunds/",
                "disputed": (
                    "is brought by refunds of the whole amount: set completed first, then call"
                    " POST /v1/refunds/"
                ),
            },
        ),
    },
    CheckoutSession: {
        **dict.fromkeys(OPEN_SESSION.split(), Brought(OPEN_SESSION, SESSION_ANEW)),
        "complete": Brought(
            "",
            f"is brought by the buyer: {PAY_SESSION}",
            {
                "processing": f"is brought by the money: {END_PAYMENT}",
                "saving": (
                    "is brought by the operator: call POST /_emulator/checkout-sessions/{id}/answer"
                ),
                "expired": f"is brought by the buyer: {OPEN_FIRST} {PAY_SESSION}",
            },
        ),
        "processing": Brought(
            "",
            f"is brought by a payment: {PAY_SESSION} {SLOWLY}",
            {
                "expired": f"is brought by a payment: {OPEN_FIRST} {PAY_SESSION} {SLOWLY}",
                "complete": SESSION_ANEW,
            },
        ),
    },
    Refund: {
        **dict.fromkeys(OPEN_REFUND.split(), Brought(OPEN_REFUND, REFUND_ANEW)),
        "succeeded": Brought(
            "",
            "is brought by the money: set processing first, then call"
            " POST /_emulator/refunds/{id}/answer",
            {"processing": "is brought by the money: call POST /_emulator/refunds/{id}/answer"},
        ),
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
    if isinstance(record, Transaction) and record.type == "refund":
        return  # All of it is that of its refund.
    brought = BROUGHT.get(type(record), {}).get(status or "")
    if brought is not None and getattr(record, "status", None) not in brought.directly.split():
        sentence = brought.present.get(_present(record), brought.by)
        raise refused(record, "status", f"{status} {sentence}")


def _present(record: Record) -> str:
    """Return a record's status, or the way that it came to it where that decides the way on."""
    match record:
        case Invoice(status="paid", payment_intent=None):
            return "paid_by_hand"
        case CheckoutSession(status="processing", payment_intent=None):
            return "saving"
    return str(getattr(record, "status", ""))


def refused(record: Record, field: str, sentence: str) -> ApiError:
    """Return the 422 for a field of a record, its sentence filled with fields of the record."""
    return invalid_field(field, sentence.format_map(msgspec.structs.asdict(record)))
