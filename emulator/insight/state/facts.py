"""The facts of an object, by name: its fields, its planned jobs, and those in :data:`FACTS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from string import Formatter
from typing import Any

from emulator.core.calendar import LAST
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.world import World
from emulator.insight.names import name_of, paid_with, price
from emulator.insight.state import arranged, charges, under_way
from emulator.insight.state.accepted import is_accepted
from emulator.insight.state.arranged import NONE_SET, Responses
from emulator.insight.state.working_method import has_card, working_method
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import FAILURE_CAUSES, MONEY_FIELDS, failure_cause
from emulator.resources.billing import (
    invoices,
    renewals,
    subscription_operations,
    subscriptions,
)
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import payment_intents, payment_links, refunds, transactions
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- the facts of one object


class ObjectFacts:
    """An object's facts, looked up on demand, and their form in a language's texts."""

    def __init__(
        self, world: World, record: Record, language: Language, responses: Responses = NONE_SET
    ) -> None:
        self.world = world
        self.record = record
        self.language = language
        self.responses = responses
        self._values: dict[str, Any] = {}

    @cached_property
    def under_way(self) -> Mapping[str, Any]:
        waiting = under_way.under_way(self.world, self.record, self.language)
        return under_way.values(waiting, self.record, self.language)

    def get(self, name: str) -> Any:
        """Return a fact, a field, or the next job's instant, by name; None if it does not hold."""
        if name in under_way.NAMES:
            return self.under_way.get(name)
        if name not in self._values:
            fact = FACTS.get(type(self.record), {}).get(name)
            value = fact(self, self.record) if fact else getattr(self.record, name, None)
            self._values[name] = (
                self.planned(f"{self.record.kind}.{name}")
                if fact is None and value is None
                else value
            )
        return self._values[name]

    def require(self, name: str) -> Any:
        """Return a fact or a field. Raises ``KeyError`` for one that does not hold."""
        if (value := self.get(name)) is None:
            raise KeyError(name)
        return value

    def fits(
        self, wanted: Mapping[str, Sequence[Any]], unwanted: Mapping[str, Sequence[Any]] = {}
    ) -> bool:
        """Return whether all names have a wanted value and none has an unwanted one."""
        return all(self.get(name) in values for name, values in wanted.items()) and not any(
            self.get(name) in values for name, values in unwanted.items()
        )

    def in_words(self, *texts: str) -> dict[str, str]:
        """Return the words for the names in texts' braces. Raises ``KeyError`` if unknown."""
        names = {
            name
            for text in texts
            for _, name, _, _ in Formatter().parse(text)
            if name and name != "count"
        }
        return {name: self._text(name) for name in names}

    def _text(self, name: str) -> str:
        value = self.require(name.removesuffix("_day"))
        if name.endswith("_day"):
            return self.day(value)
        return (
            self.language.money(value, self.get("currency")) if name in MONEY_FIELDS else str(value)
        )

    def day(self, instant: str) -> str:
        """Return an instant's day, with the time of day if the world's clock is on that day."""
        day, time = self.language.short_day(instant), self.language.instant(instant, "HH:mm 'UTC'")
        return f"{day}, {time}" if instant[:10] == self.world.now[:10] and "T" in instant else day

    def planned(self, job: str) -> str | None:
        return charges.planned_jobs(self.world, self.record.id).get(job)


# -- subscriptions: debts, charges and periods

LIVE = ("past_due", "unpaid")
"""The statuses of a subscription that owes something."""


def _owed(facts: ObjectFacts, subscription: Subscription) -> Invoice | None:
    """Return the invoice that a buyer can pay: the one with a failed charge, or the oldest open."""
    failed = facts.world.get(Invoice, subscription.unpaid_invoice)
    owed = (
        failed
        if subscription.unpaid_invoice
        else next(iter(charges.open_invoices(facts.world, subscription)), None)
    )
    if (
        owed is None
        or owed.status not in ("open", "uncollectible")
        or subscription.status not in LIVE
    ):
        return None
    return None if payment_intents.current_payment(facts.world, owed) else owed


def _uncollectible(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return the number of the invoice that was given up; paying it leads back from ``unpaid``."""
    invoice = facts.world.get(Invoice, subscription.unpaid_invoice)
    return (
        invoice.invoice_number
        if invoice is not None and invoice.status == "uncollectible"
        else None
    )


def _recovers(facts: ObjectFacts, subscription: Subscription) -> bool:
    """Return whether paying the owed invoice makes it active, and leaves none to charge again."""
    owed = _owed(facts, subscription)
    others = [
        invoice
        for invoice in charges.open_invoices(facts.world, subscription)
        if invoice is not owed
    ]
    return (
        owed is not None
        and not facts.get("behind")
        and not others
        and renewals.recovers_with(facts.world, subscription, owed)
    )


def _tried_at_once(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return the number of the invoice that a reactivation tries again at once (B-48)."""
    if subscription.collection_method == "send_invoice":
        return None
    invoice = facts.world.get(Invoice, subscription.unpaid_invoice)
    is_free = (
        invoice is not None
        and invoice.status == "open"
        and not charges.is_claimed(facts.world, invoice)
    )
    return invoice.invoice_number if invoice is not None and is_free else None


def _why_not_charged(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return why the invoice whose charge failed cannot be charged at present (B-45)."""
    invoice = facts.world.get(Invoice, subscription.unpaid_invoice)
    if invoice is None:
        return None
    cause = renewals.why_not_charged(facts.world, subscription, invoice)
    return failure_cause(facts.language, subscription.replace(failure=cause)) or None


def _overdue(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return when the first of its open invoices falls overdue, if no payment can prevent it."""
    own = charges.open_invoices(facts.world, subscription)
    if not facts.get("charged_by_invoice") or any(
        charges.is_claimed(facts.world, one) for one in own
    ):
        return None
    due = (charges.planned_jobs(facts.world, invoice.id).get("invoice.overdue") for invoice in own)
    day = min(filter(None, due), default=None)
    return day if day and day < (subscriptions.end_of(subscription) or LAST) else None


def _owing(facts: ObjectFacts, subscription: Subscription) -> list[Invoice]:
    """Return its invoices that are not paid; under ``send_invoice`` those that are overdue."""
    own = facts.world.table(Invoice).where("subscription", subscription.id)
    owing = [invoice for invoice in own if invoice.status in ("open", "uncollectible")]
    if not facts.get("behind"):
        # Other sentences name these two.
        named = {facts.get("payment_invoice")}
        if subscription.status == "unpaid":
            named.add(facts.get("uncollectible"))
        return [invoice for invoice in owing if invoice.invoice_number not in named]
    return [invoice for invoice in owing if invoices.is_overdue(facts.world, invoice)] or owing


def _charged_customer(facts: ObjectFacts, customer: Customer) -> str | None:
    own = facts.world.table(Subscription).where("customer", customer.id)
    return (
        customer.id
        if any(charges.is_charge_planned(facts.world, subscription) for subscription in own)
        else None
    )


def _end(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return its end date, or the end of the period if cancellation is scheduled."""
    ends = [
        facts.planned("subscription.expire"),
        facts.get("renewal") if subscription.cancel_at_period_end else None,
    ]
    return min(filter(None, ends), default=None)


def _cancels(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return the end by cancellation if there is nothing else to say of the future.

    At the instant of an end date it expires rather than being canceled (B-40).
    """
    is_all = (
        subscription.status in ("active", "trialing")
        and not facts.get("retry")
        and not facts.get("is_claimed")
        and subscription.cancel_at_period_end
        and facts.get("goes_on")
    )
    end = facts.get("end")
    return end if is_all and end == facts.get("renewal") else None


def _next_period(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return the next period's outcome; None without one, or while a failed charge is retried."""
    renewal, end = facts.get("renewal"), facts.get("ends")
    if not renewal or facts.get("cancels") or (end and end <= renewal):
        return None
    if subscription.status == "active":
        return "renewed"
    if renewals.is_charged(facts.world, subscription):
        return "billed"
    if facts.get("retry") or facts.get("is_claimed"):
        return None
    return "not charged" if subscription.status in LIVE else None


def _ends_first(facts: ObjectFacts, subscription: Subscription) -> str | None:
    """Return its end if no further period begins before it."""
    end, renewal = facts.get("end"), facts.get("renewal")
    return end if end and renewal and end <= renewal else None


def _price(facts: ObjectFacts, subscription: Subscription) -> str:
    """Return the price of the next period, with its tax."""
    sums, language = renewals.next_charge(facts.world, subscription), facts.language
    total = price(sums["total"], subscription, language)
    if not sums["tax_amount"]:
        return total
    net, rate = (
        language.money(sums["subtotal"], subscription.currency),
        language.decimal(sums["tax_rate"]),
    )
    return language.gettext("{price} ({net} + {rate}% tax)", price=total, net=net, rate=rate)


# -- payments: those that succeeded, those that failed, and sums of them


def _charged_again(facts: ObjectFacts, invoice: Invoice) -> str | None:
    """Return when its subscription charges it again."""
    subscription = facts.world.get(Subscription, invoice.subscription)
    if subscription is None or subscription.unpaid_invoice != invoice.id:
        return None
    own = ObjectFacts(facts.world, subscription, facts.language)
    is_said = own.get("charged_by_invoice") or facts.get("payment_retries")
    return None if is_said else own.get("retry")


def _falls_overdue(facts: ObjectFacts, invoice: Invoice) -> str | None:
    """Return when it falls overdue, if nothing that is planned or under way can prevent it."""
    is_safe = not (
        facts.get("is_claimed")
        or facts.get("charged_again")
        or charges.can_be_charged_first(facts.world, invoice)
    )
    return facts.planned("invoice.overdue") if is_safe else None


def _sum(
    amounts: Callable[[ObjectFacts, Any], Iterable[tuple[int, str]]],
) -> Fact:
    """Return the sum by currency of amounts (minor units, currency), as a text; None if it is 0."""
    return lambda facts, record: under_way.sums(facts.language, amounts(facts, record))


def _received(facts: ObjectFacts, customer: Customer) -> list[Transaction]:
    """Return the payments of a customer whose money has arrived."""
    own = facts.world.table(Transaction).where("customer", customer.id)
    return [
        deposit
        for deposit in own
        if deposit.type == "deposit" and deposit.status in transactions.ARRIVED
    ]


def _due(*statuses: str) -> Fact:
    """Return what a customer owes on the invoices of these statuses."""
    return _sum(
        lambda facts, customer: (
            (invoice.amount_remaining, invoice.currency)
            for invoice in facts.world.table(Invoice).where("customer", customer.id)
            if invoice.status in statuses
        )
    )


def _error(facts: ObjectFacts, payment: PaymentIntent, code: str) -> str:
    """Return a failed payment's code, with the cause where it is not the code's own (B-45)."""
    cause = FAILURE_CAUSES.get(payment_intents.why_failed(payment))
    if cause is None:
        return code
    text = facts.language.gettext(cause)
    if text.startswith(code):
        return text
    return facts.language.gettext("{code}: {cause}", code=code, cause=text)


def _failures(
    payments: Callable[[ObjectFacts, Any], Iterable[PaymentIntent]],
) -> Mapping[str, Fact]:
    """Return the facts of failed payments: their count, and the last one's method and error."""

    def failed(facts: ObjectFacts, record: Any) -> list[tuple[PaymentIntent, str]]:
        return [
            (payment, _error(facts, payment, payment.last_error.code))
            for payment in payments(facts, record)
            if payment.last_error
        ]

    return {
        "failed_payments": lambda facts, record: len(failed(facts, record)),
        "failed_method": lambda facts, record: next(
            (_paid_with(facts, payment) for payment, _ in failed(facts, record)[::-1]), None
        ),
        "last_failure": lambda facts, record: next(
            (code for _, code in failed(facts, record)[::-1]), None
        ),
    }


def _payments(field: str) -> Callable[[ObjectFacts, Any], Iterable[PaymentIntent]]:
    return lambda facts, record: facts.world.table(PaymentIntent).where(field, record.id)


def _charges(facts: ObjectFacts, subscription: Subscription) -> Iterator[PaymentIntent]:
    """Yield the unpaid invoice's charges. One without a method to charge has no payment (B-45)."""
    return (
        charge
        for charge in facts.world.table(PaymentIntent).where("invoice", subscription.unpaid_invoice)
        if charge.subscription
    )


def _paid_with(facts: ObjectFacts, payment: PaymentIntent | Transaction) -> str:
    return paid_with(payment, facts.language) or facts.language.gettext("the payment method")


def _paid(facts: ObjectFacts, invoice: Invoice) -> list[PaymentIntent]:
    intents = facts.world.table(PaymentIntent).where("invoice", invoice.id)
    return [intent for intent in intents if intent.status == "succeeded"]


def _deposit(facts: ObjectFacts, transaction: Transaction) -> str | None:
    """Return the status of a deposit whose money has not arrived, else ``arrived``, or ``lost``."""
    if transaction.type != "deposit":
        return None
    if payment_intents.is_lost(facts.world, transaction):
        return "lost"
    return (
        transaction.status
        if transaction.status in ("pending", "approved", "failed", "canceled")
        else "arrived"
    )


# -- counts of records, and webhooks


def _count(kind: type[Any], field: str, *statuses: str) -> Fact:
    """Return the number of a kind's records that name an object in this field, by status or all."""
    return lambda facts, record: len(
        [
            other
            for other in facts.world.table(kind).where(field, record.id)
            if not statuses or other.status in statuses
        ]
    )


def _subscriptions(field: str) -> Mapping[str, Fact]:
    """Return how many subscriptions name an object in this field, by each status that is no end."""
    statuses = ("active", "trialing", "past_due", "unpaid", "paused")
    by_status = {
        f"{status}_subscriptions": _count(Subscription, field, status) for status in statuses
    }
    return {"subscriptions": _count(Subscription, field, *statuses), **by_status}


def _last_result(facts: ObjectFacts, delivery: WebhookDelivery) -> Any:
    last = delivery.attempts[-1]
    return last.status_code or last.error or facts.language.gettext("no response")


# -- the facts of each kind


Fact = Callable[[ObjectFacts, Any], Any]
"""Looks a fact up; None where it does not hold."""

FACTS: Mapping[type[Record], Mapping[str, Fact]] = {
    Subscription: {
        "behind": lambda facts, subscription: (
            subscription.status in LIVE and subscription.unpaid_invoice is None
        ),
        "past_due_since": lambda facts, subscription: (
            subscription.failed_at or subscription.behind_since
        ),
        "paused_since": lambda facts, subscription: (
            subscription.paused_at or subscription.updated_at
        ),
        "ended": lambda facts, subscription: (
            subscription.canceled_at or subscription.ends_at or subscription.updated_at
        ),
        "reactivatable": lambda facts, subscription: (
            subscription.status == "canceled"
            and not subscription_operations.why_not_reactivated(facts.world, subscription)
        ),
        "tried_at_once": _tried_at_once,
        "why_not_charged": _why_not_charged,
        "recovers": _recovers,
        "is_claimed": lambda facts, subscription: bool(
            facts.get("payments_under_way")
            or any(
                charges.is_claimed(facts.world, invoice)
                for invoice in charges.open_invoices(facts.world, subscription)
            )
        ),
        "is_accepted": is_accepted,
        "charged_by_invoice": lambda facts, subscription: (
            subscription.collection_method == "send_invoice"
        ),
        "charged": lambda facts, subscription: (
            subscription.customer if charges.is_charge_planned(facts.world, subscription) else None
        ),
        "method": lambda facts, subscription: working_method(facts.world),
        "owed": lambda facts, subscription: getattr(_owed(facts, subscription), "id", None),
        "invoice": lambda facts, subscription: getattr(
            _owed(facts, subscription), "invoice_number", None
        ),
        "uncollectible": _uncollectible,
        "owing": lambda facts, subscription: len(_owing(facts, subscription)),
        "owing_sum": _sum(
            lambda facts, subscription: (
                (invoice.amount_remaining, invoice.currency)
                for invoice in _owing(facts, subscription)
            )
        ),
        "owing_numbers": lambda facts, subscription: facts.language.listed(
            [invoice.invoice_number for invoice in _owing(facts, subscription)]
        ),
        "owing_overdue": lambda facts, subscription: any(
            invoices.is_overdue(facts.world, invoice) for invoice in _owing(facts, subscription)
        ),
        "owing_due": lambda facts, subscription: min(
            (invoice.due_date for invoice in _owing(facts, subscription) if invoice.due_date),
            default=None,
        ),
        "overdue": _overdue,
        "retry": lambda facts, subscription: charges.next_retry(facts.world, subscription),
        "lone_retry": lambda facts, subscription: (
            None if facts.get("payment_retries") else facts.get("retry")
        ),
        "failure_cause": lambda facts, subscription: (
            failure_cause(facts.language, subscription)
            if subscription.failure and subscription.failure.name in FAILURE_CAUSES
            else None
        ),
        **_failures(_charges),
        "last_retry": lambda facts, subscription: charges.last_retry(facts.world, subscription),
        "renewal": lambda facts, subscription: facts.planned("subscription.renew"),
        "end": _end,
        "ends_first": _ends_first,
        "goes_on": lambda facts, subscription: (
            (facts.planned("subscription.expire") or LAST) > (facts.get("renewal") or "")
        ),
        **arranged.FACTS_OF_PAYERS,
        "cancels": _cancels,
        "ends": lambda facts, subscription: None if facts.get("cancels") else facts.get("end"),
        "ends_with_trial": lambda facts, subscription: bool(
            facts.get("end") and facts.get("end") <= (subscription.trial_end or "")
        ),
        "next_period": _next_period,
        "price": _price,
    },
    Invoice: {
        "method": lambda facts, invoice: working_method(facts.world),
        "is_claimed": lambda facts, invoice: charges.is_claimed(facts.world, invoice),
        "is_accepted": is_accepted,
        "addressee": lambda facts, invoice: invoices.addressee(facts.world, invoice),
        "charged_again": _charged_again,
        "charged_after": lambda facts, invoice: getattr(
            charges.charged_after(facts.world, invoice), "invoice_number", None
        ),
        "falls_overdue": _falls_overdue,
        "refunded": _sum(
            lambda facts, invoice: (
                (deposit.amount_refunded, deposit.currency)
                for payment in _paid(facts, invoice)
                if (deposit := facts.world.get(Transaction, payment.transaction)) is not None
            )
        ),
        "is_overdue": lambda facts, invoice: bool(
            invoice.due_date and invoice.due_date < facts.world.now[: len(invoice.due_date)]
        ),
        "paid": lambda facts, invoice: invoice.paid_at or invoice.updated_at,
        "paid_with": lambda facts, invoice: next(
            (_paid_with(facts, payment) for payment in _paid(facts, invoice)), None
        ),
        **_failures(_payments("invoice")),
        **arranged.FACTS_OF_PAYERS,
    },
    PaymentLink: {
        "closed": lambda facts, link: payment_links.closed(facts.world, link),
        "used_up_by_failure": lambda facts, link: payment_intents.used_up_by_failure(
            facts.world, link
        ),
    },
    PaymentIntent: {
        "paid_with": _paid_with,
        "received": lambda facts, intent: payment_intents.received_at(facts.world, intent),
        **_failures(lambda facts, intent: [intent]),
    },
    Transaction: {
        "paid_with": _paid_with,
        "processed": lambda facts, transaction: transaction.processed_at or transaction.created_at,
        "deposit": _deposit,
        "refundable": lambda facts, transaction: (
            refunds.refundable(facts.world, transaction) or None
            if transaction.type == "deposit"
            else None
        ),
        "rest": lambda facts, transaction: (
            facts.language.money(refundable, transaction.currency)
            if (refundable := facts.get("refundable"))
            else None
        ),
        "is_kept": lambda facts, transaction: bool(facts.get("refundable")),
        "is_refunded": lambda facts, transaction: bool(
            transaction.amount_refunded or facts.get("refunds_under_way")
        ),
    },
    Refund: {"refunded": lambda facts, refund: refund.refunded_at or refund.updated_at},
    CheckoutSession: {
        "method": lambda facts, session: working_method(facts.world, session.payment_method_types),
        # Who subscribes or saves a method has to be known: a new buyer gives a name and an email.
        "buyer": lambda facts, session: (
            {"name": "New Buyer", "email": f"{session.id.lower()}@example.com"}
            if session.mode != "payment" and not (session.customer or session.customer_email)
            else {}
        ),
        "is_accepted": is_accepted,
        **arranged.FACTS_OF_PAYERS,
        **_failures(_payments("checkout_session")),
    },
    Customer: {
        "charged": _charged_customer,
        "has_card": lambda facts, customer: has_card(facts.world, customer),
        **arranged.FACTS_OF_PAYERS,
        "methods": _count(PaymentMethod, "customer"),
        "open_invoices": _count(Invoice, "customer", "open"),
        "open_sum": _due("open"),
        "uncollectible_invoices": _count(Invoice, "customer", "uncollectible"),
        "uncollectible_sum": _due("uncollectible"),
        "paid": _sum(
            lambda facts, customer: (
                (deposit.amount, deposit.currency) for deposit in _received(facts, customer)
            )
        ),
        "refunded": _sum(
            lambda facts, customer: (
                (deposit.amount_refunded, deposit.currency)
                for deposit in _received(facts, customer)
            )
        ),
        **_subscriptions("customer"),
    },
    PaymentMethod: {
        "owner": lambda facts, method: name_of(facts.world, method.customer, facts.language) or None
    },
    Product: _subscriptions("product"),
    SubscriptionPlan: _subscriptions("plan"),
    WebhookDelivery: {
        "endpoint": lambda facts, delivery: (
            delivery.webhook
            if (own := facts.world.get(WebhookEndpoint, delivery.webhook)) and own.enabled
            else None
        ),
        "endpoint_name": lambda facts, delivery: (
            name_of(facts.world, delivery.webhook, facts.language) or delivery.webhook
        ),
        **arranged.FACTS_OF_RECEIVERS,
        "attempt": lambda facts, delivery: facts.planned("webhook.attempt"),
        "last_result": _last_result,
    },
    WebhookEndpoint: {
        **arranged.FACTS_OF_RECEIVERS,
        "deliveries": _count(WebhookDelivery, "webhook"),
        "failed": _count(WebhookDelivery, "webhook", "failed"),
        "waiting": _count(WebhookDelivery, "webhook", "pending"),
    },
    Event: {
        "deliveries": _count(WebhookDelivery, "event"),
        "accepted": _count(WebhookDelivery, "event", "succeeded"),
    },
}
"""The facts of each kind, by name: those that neither a field nor a planned job tells."""
