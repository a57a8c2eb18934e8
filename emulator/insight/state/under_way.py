"""The payments and refunds of an object that are under way: what each waits for (B-102).

Whatever speaks of an object reads this one fact: its sentences, its next steps, its explanation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from emulator.core.calendar import LAST, Timestamp
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World
from emulator.insight.names import instrument, paid_with
from emulator.presentation.languages.language import Language
from emulator.resources.billing import renewals, subscription_operations, subscriptions
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import payment_details
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import operator
from emulator.resources.payments.intent_operations import REJECTED
from emulator.resources.payments.payment_intents import (
    INTENTS_UNDER_WAY,
    NOT_CONFIRMED,
    WAITING_INTENTS,
    PaymentIntent,
)
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction

WaitsFor = Literal[
    "operator", "phone", "confirmation", "funds", "capture", "settlement", "review", "expiry"
]
"""``phone``: the buyer's approval; ``confirmation``: 3-D Secure; ``funds``: those of a bank
transfer that are to arrive; ``capture``: the merchant's;
``settlement``: the money of an approved payment; ``expiry``: an operator who never answers.
"""


AfterFailure = Literal["charge", "email", "resume", "reactivate", "nothing"]
"""The invoice is charged or emailed again, or charged when the subscription is resumed or
reactivated; ``nothing``: the subscription has ended for good.
"""

REFUNDS_UNDER_WAY = ("pending", "processing")
ARRIVING = ("pending", "approved")
"""The statuses of a deposit whose money has not arrived."""


class UnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """One payment or refund that is under way, or a method that is being saved (an amount of 0).

    ``object`` is the id of the payment intent, transaction, refund or session, ``about`` that of
    the subscription, invoice, session, link or refunded transaction that it is for, ``invoice`` the
    number of the invoice that is paid; ``amount`` is minor units. At ``until`` (UTC) the
    answer is due or the wait is over; None: nothing ends it. ``after_failure`` is what happens to
    the invoice then, at the instants ``retries`` or when the subscription goes on; after a failure
    the subscription is ``unpaid`` if ``gives_up``, and after a success it is active again if
    ``recovers``. ``fails_with`` is the code with which the payment fails if a tester lets it fail.
    """

    object: str
    about: str | None = None
    customer: str | None = None
    invoice: str | None = None
    kind: Literal["payment", "settlement", "refund", "saving"]
    amount: int
    currency: str
    method: str
    waits_for: WaitsFor
    until: Timestamp | None = None
    phone: str | None = None
    after_failure: AfterFailure | None = None
    retries: Sequence[Timestamp] = ()
    gives_up: bool = False
    recovers: bool = False
    is_answerable: bool = False
    fails_with: str | None = None


def under_way(world: World, record: Record, language: Language) -> list[UnderWay]:
    """Return all that is under way of an object, the first to end first."""
    intents = _intents(world, record)
    deposits = _deposits(world, record, intents)
    waiting = [
        *(_payment(world, intent, language) for intent in intents if _is_under_way(intent)),
        *(
            _settlement(world, deposit, language)
            for deposit in deposits
            if _is_settling(world, deposit)
        ),
        *(
            _refund(world, refund, deposit, language)
            for refund, deposit in _refunds(world, record, deposits)
            if refund.status in REFUNDS_UNDER_WAY
        ),
    ]
    if isinstance(record, CheckoutSession) and record.instrument and not waiting:
        waiting = [_saving(world, record, language)] if record.status == "processing" else []
    return sorted(waiting, key=lambda one: one.until or LAST)


def all_under_way(world: World, language: Language) -> list[UnderWay]:
    """Return all that is under way in a world, the first to end first."""
    intents, deposits = world.table(PaymentIntent), world.table(Transaction)
    refunds, sessions = world.table(Refund), world.table(CheckoutSession)
    paying = [one for status in INTENTS_UNDER_WAY for one in intents.where("status", status)]
    settling = [
        deposit
        for status in ARRIVING
        for deposit in deposits.where("status", status)
        if deposit.type == "deposit" and _is_settling(world, deposit)
    ]
    refunded = [one for status in REFUNDS_UNDER_WAY for one in refunds.where("status", status)]
    waiting = [
        *(_payment(world, intent, language) for intent in paying),
        *(_settlement(world, deposit, language) for deposit in settling),
        *(
            _refund(world, refund, deposit, language)
            for refund in refunded
            if (deposit := world.get(Transaction, refund.transaction)) is not None
        ),
        *(
            one
            for session in sessions.where("status", "processing")
            for one in under_way(world, session, language)
            if one.kind == "saving"
        ),
    ]
    return sorted(waiting, key=lambda one: one.until or LAST)


# -- the payments of an object, and the money that came of them


def _intents(world: World, record: Record) -> list[PaymentIntent]:
    table = world.table(PaymentIntent)
    match record:
        case PaymentIntent():
            return [record]
        case Invoice() | CheckoutSession() | PaymentLink() | Customer():
            return list(table.where(record.kind, record.id))
        case Subscription():
            invoices = world.table(Invoice).where("subscription", record.id)
            return [intent for own in invoices for intent in table.where("invoice", own.id)]
        case PaymentMethod():
            own = table.where("customer", record.customer)
            return [intent for intent in own if intent.payment_method == record.id]
        case Transaction() if record.type == "deposit":
            intent = world.get(PaymentIntent, record.payment_intent)
            return [intent] if intent is not None else []
    return []


def _deposits(world: World, record: Record, intents: Iterable[PaymentIntent]) -> list[Transaction]:
    if isinstance(record, Transaction):
        return [record] if record.type == "deposit" else []
    deposits = [world.get(Transaction, intent.transaction) for intent in intents]
    own = {deposit.id: deposit for deposit in deposits if deposit is not None}
    if isinstance(record, Customer):
        own |= {
            deposit.id: deposit
            for deposit in world.table(Transaction).where("customer", record.id)
            if deposit.type == "deposit"
        }
    return list(own.values())


def _refunds(
    world: World, record: Record, deposits: Iterable[Transaction]
) -> list[tuple[Refund, Transaction]]:
    """Return the refunds, each with the deposit that it refunds."""
    if isinstance(record, Refund):
        deposit = world.get(Transaction, record.transaction)
        return [(record, deposit)] if deposit is not None else []
    table = world.table(Refund)
    return [
        (refund, deposit)
        for deposit in deposits
        for refund in table.where("transaction", deposit.id)
    ]


def _is_under_way(intent: PaymentIntent) -> bool:
    return intent.status in INTENTS_UNDER_WAY


def _is_settling(world: World, deposit: Transaction) -> bool:
    """Return whether its money is to come, and no operator has to answer its payment first."""
    if deposit.status not in ARRIVING:
        return False
    intent = world.get(PaymentIntent, deposit.payment_intent)
    return intent is None or not _is_under_way(intent)


def _job(world: World, id: str, *names: str) -> Job | None:
    jobs = [job for job in world.table(Job).where("about", id) if job.name in names]
    return min(jobs, key=lambda job: (job.due, job.sequence), default=None)


# -- one of each kind


def _payment(world: World, intent: PaymentIntent, language: Language) -> UnderWay:
    answer = _job(world, intent.id, "payment_intent.answer", "payment_intent.unconfirmed")
    waits_for, until = _wait(intent, answer)
    follows = _of_invoice(world, intent, until or world.now)
    return UnderWay(
        object=intent.id,
        about=_purpose(world, intent),
        customer=intent.customer,
        kind="payment",
        amount=intent.amount_capturable or intent.amount,
        currency=intent.currency,
        method=paid_with(intent, language) or language.gettext("the payment method"),
        waits_for=waits_for,
        until=until,
        phone=_action(intent).get("phone"),
        is_answerable=intent.status in WAITING_INTENTS,
        fails_with=_failure(world, intent, waits_for),
        **follows,
    )


def _purpose(world: World, intent: PaymentIntent | None) -> str | None:
    """Return the id of the subscription, invoice, session or link that a payment is for."""
    if intent is None:
        return None
    invoice = world.get(Invoice, intent.invoice)
    paid = (invoice.subscription or invoice.id) if invoice else None
    return paid or intent.checkout_session or intent.payment_link


def _action(intent: PaymentIntent) -> Mapping[str, Any]:
    """Return what the buyer has to do now, if anything."""
    return (intent.next_action or {}) if intent.status == "requires_action" else {}


def _wait(intent: PaymentIntent, answer: Job | None) -> tuple[WaitsFor, Timestamp | None]:
    action = _action(intent)
    if intent.status == "requires_capture":
        return "capture", None
    due = answer.due if answer else None
    is_unanswered = answer is None or answer.data.get("code") == operator.UNANSWERED
    if is_unanswered and action.get("type") == "confirm_on_phone":
        return "phone", due or action["expires_at"]
    if action.get("type") == "confirm_card":
        return "confirmation", due or action["expires_at"]
    return "funds" if intent.payment_method_type == "bank_transfer" else "operator", due


FAILURES = {"mobile_money": "INSUFFICIENT_FUNDS", "bank_card": "INSUFFICIENT_FUNDS"}
"""The codes of failures by type of method, where the method has none of its own (B-54)."""


def _failure(world: World, intent: PaymentIntent, waits_for: WaitsFor) -> str:
    """Return the code of the method's magic value, of what the buyer did not do, or of the type."""
    details = intent.instrument
    magic = payment_details.magic_of(world, details) if details else None
    off_session = magic.off_session if magic and intent.subscription else None
    if own := off_session or (magic.code if magic else None):
        return own
    if waits_for == "phone":
        return REJECTED
    if waits_for == "confirmation":
        return NOT_CONFIRMED
    return FAILURES.get(intent.payment_method_type or "", NOT_CONFIRMED)


def _of_invoice(world: World, intent: PaymentIntent, at: Timestamp) -> dict[str, Any]:
    """Return the invoice that a payment is for, and what follows for its subscription."""
    invoice = world.get(Invoice, intent.invoice)
    if invoice is None:
        return {}
    named = {"invoice": invoice.invoice_number}
    subscription = world.get(Subscription, invoice.subscription)
    if subscription is None:
        return named
    is_charge = intent.subscription is not None
    retries = renewals.retries_after(world, subscription, invoice, at, is_charge=is_charge)
    end = subscriptions.end_of(subscription) or LAST
    days = tuple(retry for retry in retries or () if retry < end)
    is_left = renewals.is_left_to_retry(subscription, invoice, is_charge=is_charge)
    return {
        **named,
        "after_failure": _after_failure(
            world, subscription, is_left=is_left, is_retried=bool(days)
        ),
        "retries": days,
        "gives_up": is_charge and retries == [],
        "recovers": renewals.recovers_with(world, subscription, invoice),
    }


def _after_failure(
    world: World, subscription: Subscription, *, is_left: bool, is_retried: bool
) -> AfterFailure | None:
    """Return what a failed payment of its invoice leads to (B-45, B-46, B-48).

    ``is_left``: it can be tried again; ``is_retried``: it is, while nothing changes.
    """
    is_emailed = subscription.collection_method == "send_invoice"
    if is_retried:
        return "email" if is_emailed else "charge"
    if subscription.status == "expired" or (
        subscription.status == "canceled"
        and subscription_operations.why_not_reactivated(world, subscription)
    ):
        return "nothing"
    if is_left and not is_emailed:
        return RETURNS.get(subscription.status)
    return None


RETURNS: Mapping[str, AfterFailure] = {"paused": "resume", "canceled": "reactivate"}
"""What has an open invoice tried again, by the status of the subscription."""


def _settlement(world: World, deposit: Transaction, language: Language) -> UnderWay:
    arrival = _job(world, deposit.id, "transaction.settle")
    return UnderWay(
        object=deposit.id,
        about=_purpose(world, world.get(PaymentIntent, deposit.payment_intent)),
        customer=deposit.customer,
        kind="settlement",
        amount=deposit.amount,
        currency=deposit.currency,
        method=paid_with(deposit, language) or language.gettext("the payment method"),
        waits_for="settlement",
        until=arrival.due if arrival else None,
    )


def _refund(world: World, refund: Refund, deposit: Transaction, language: Language) -> UnderWay:
    ends: dict[WaitsFor, Job | None] = {
        "review": _job(world, refund.id, "refund.send"),
        "operator": _job(world, refund.id, "refund.answer", "refund.lose_dispute"),
        "expiry": _job(world, refund.id, "refund.expire"),
    }
    planned = next(((wait, job.due) for wait, job in ends.items() if job), None)
    waits_for, until = planned or ("review" if refund.status == "pending" else "operator", None)
    return UnderWay(
        object=refund.id,
        about=deposit.id,
        customer=deposit.customer,
        kind="refund",
        amount=refund.amount,
        currency=refund.currency,
        method=paid_with(deposit, language) or language.gettext("the payment method"),
        waits_for=waits_for,
        until=until,
    )


def _saving(world: World, session: CheckoutSession, language: Language) -> UnderWay:
    answer = _job(world, session.id, "checkout_session.answer", "checkout_session.unconfirmed")
    details = session.instrument
    is_checked = hosted_payments.asks_for_check(world, session)
    method = instrument(details.type, details.details, language) if details else ""
    return UnderWay(
        object=session.id,
        about=session.id,
        customer=session.customer,
        kind="saving",
        amount=0,
        currency=session.currency,
        method=method or language.gettext("the payment method"),
        waits_for="confirmation" if is_checked else "operator",
        until=answer.due if answer else None,
    )


# -- the same as facts, by name, for sentences and next steps


def sums(language: Language, amounts: Iterable[tuple[int, str]]) -> str | None:
    """Return amounts (minor units, currency) added up by currency; None without any."""
    totals: Counter[str] = Counter()
    for amount, currency in amounts:
        totals[currency] += amount
    texts = [language.money(total, currency) for currency, total in totals.items() if total]
    return language.listed(texts) if texts else None


GROUPS: Mapping[str, Sequence[str]] = {
    "payment": ("payment",),
    "arrival": ("settlement",),
    "refund": ("refund",),
    "saving": ("saving",),
}
"""The kinds under way by the first word of the facts about them."""


def values(waiting: Sequence[UnderWay], record: Record, language: Language) -> dict[str, Any]:
    """Return the facts about what is under way of an object.

    Of several of a group only the sum and the first end are told.
    """
    facts: dict[str, Any] = {"is_under_way": bool(waiting)}
    for word, kinds in GROUPS.items():
        own = [one for one in waiting if one.kind in kinds]
        facts |= {f"{word}s_under_way": len(own)}
        if own:
            facts |= {f"{word}_{name}": value for name, value in _of_group(own, language).items()}
    number = facts.get("payment_invoice")
    if number and not isinstance(record, Invoice):
        facts["payment_sum"] = language.gettext(
            "{amount} for {invoice}", amount=facts["payment_sum"], invoice=number
        )
    answerable = next((one for one in waiting if one.is_answerable), None)
    phone = next((one.phone for one in waiting if one.phone), None)
    moving = [(one.amount, one.currency) for one in waiting if one.kind == "payment"]
    if answerable is not None:
        facts |= {"answerable": answerable.object, "fails_with": answerable.fails_with}
    return {**facts, "phone": phone, "charge": sums(language, moving)}


def _of_group(own: Sequence[UnderWay], language: Language) -> dict[str, Any]:
    facts = {
        "sum": sums(language, ((one.amount, one.currency) for one in own)),
        "until": own[0].until,
    }
    if len(own) > 1:
        return {**facts, "several": len(own)}
    [one] = own
    days = [language.short_day(retry) for retry in one.retries]
    return {
        **facts,
        "invoice": one.invoice,
        "method": one.method,
        "waits_for": one.waits_for,
        "after_failure": one.after_failure,
        "retries": len(one.retries),
        "retry_days": language.listed(list(dict.fromkeys(days))) if days else None,
        "gives_up": one.gives_up,
        "recovers": one.recovers,
    }


OF_GROUP = (
    *("sum", "until", "several", "invoice", "method", "waits_for"),
    *("after_failure", "retries", "retry_days", "gives_up", "recovers"),
)

NAMES = frozenset(
    {"is_under_way", "answerable", "fails_with", "phone", "charge"}
    | {f"{word}s_under_way" for word in GROUPS}
    | {f"{word}_{name}" for word in GROUPS for name in OF_GROUP}
)
"""The names of these facts; another fact may not have one of them."""
