"""The named facts of an object: its fields, planned jobs, and others, such as its debt.

The sentences on how an object stands and the steps that lead on from it are tables of these names
(``fixtures/status-sentences.yaml``, ``fixtures/next-steps.yaml``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from string import Formatter
from typing import Any
from urllib.parse import urlsplit

from emulator.core.errors import ApiError
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.world import World
from emulator.engine import inbox
from emulator.insight.names import name_of, paid_with, price
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import FAILURE_CAUSES, MONEY_FIELDS, failure_cause
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.billing import renewals, subscription_operations
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE, Fields
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import payment_intents, refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- what is known of one object


class Known:
    """An object's facts and fields, looked up on demand, and their form in a language's texts."""

    def __init__(self, world: World, record: Record, language: Language) -> None:
        self.world = world
        self.record = record
        self.language = language
        self._found: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """Return a fact, a field, or the next job's instant, by name; None if it does not hold."""
        if name not in self._found:
            fact = FACTS.get(type(self.record), {}).get(name)
            found = fact(self, self.record) if fact else getattr(self.record, name, None)
            self._found[name] = (
                self.planned(f"{self.record.kind}.{name}")
                if fact is None and found is None
                else found
            )
        return self._found[name]

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
        return {name: self._said(name) for name in names}

    def _said(self, name: str) -> str:
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
        return planned_jobs(self.world, self.record.id).get(job)


def planned_jobs(world: World, id: str) -> dict[str, str]:
    """Return the next instant of the object's planned jobs, by kind, soonest first."""
    found: dict[str, str] = {}
    for job in sorted(world.table(Job).where("about", id), key=lambda job: (job.due, job.sequence)):
        found.setdefault(job.name, job.due)
    return found


# -- the method that a buyer pays with, where the payment is to succeed


CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2099, "cvc": "123"}

WORKING: Mapping[str, Fields] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": CARD,
    "paypal": {"email": "buyer@example.com"},
    "bank_transfer": {"iban": "DE89370400440532013000"},
}
"""What a buyer enters that is paid, by type of method; those that are paid at once come first."""


def working_method(world: World, allowed: Sequence[str] = EVERY_TYPE) -> Fields:
    """Return a working ``method`` of an ``allowed`` type that the App's security profiles permit.

    One that no handset has to approve comes first (B-55).
    """
    order = [type for type in WORKING if type in allowed]
    if settings(world).mobile_money == "handset":
        order.sort(key="mobile_money".__eq__)
    for type in order:
        with suppress(ApiError):
            security_profiles.check_method(world, type, "method.type")
            return {"type": type, **WORKING[type]}
    return {"type": allowed[0], **WORKING[allowed[0]]}


# -- subscriptions: what is owed and charged, and what comes of their periods


LIVE = ("past_due", "unpaid")
"""The statuses of a subscription that owes something."""


def _open(known: Known, each: Subscription) -> list[Invoice]:
    return [
        one
        for one in known.world.table(Invoice).where("subscription", each.id)
        if one.status == "open"
    ]


def _owed(known: Known, each: Subscription) -> Invoice | None:
    """Return the invoice that a buyer can pay: the one with a failed charge, or the oldest open."""
    failed = known.world.get(Invoice, each.unpaid_invoice)
    owed = failed if each.unpaid_invoice else next(iter(_open(known, each)), None)
    if owed is None or owed.status not in ("open", "uncollectible") or each.status not in LIVE:
        return None
    return None if payment_intents.current_payment(known.world, owed) else owed


def _uncollectible(known: Known, each: Subscription) -> str | None:
    """Return the number of the invoice that was given up; paying it leads back from ``unpaid``."""
    invoice = known.world.get(Invoice, each.unpaid_invoice)
    return (
        invoice.invoice_number
        if invoice is not None and invoice.status == "uncollectible"
        else None
    )


def _overdue(known: Known, each: Subscription) -> str | None:
    """Return when the first of its open invoices falls overdue."""
    due = (planned_jobs(known.world, one.id).get("invoice.overdue") for one in _open(known, each))
    return min(filter(None, due), default=None) if known.get("charged_by_invoice") else None


def _last_retry(known: Known, each: Subscription) -> str | None:
    retries = renewals.retries_left(known.world, each) if known.get("retry") else []
    return retries[-1] if len(retries) > 1 else None


def _is_charged(world: World, each: Subscription) -> bool:
    """Return whether a charge of this subscription is planned that can succeed or fail."""
    planned = planned_jobs(world, each.id)
    if each.collection_method != "charge_automatically":
        return False
    if each.status in ("trialing", "active"):
        return "subscription.renew" in planned and not each.cancel_at_period_end
    return each.status == "past_due" and "subscription.retry" in planned


def _charged_customer(known: Known, each: Customer) -> str | None:
    own = known.world.table(Subscription).where("customer", each.id)
    return each.id if any(_is_charged(known.world, one) for one in own) else None


def _end(known: Known, each: Subscription) -> str | None:
    """Return its end date, or the end of the period if cancellation is scheduled."""
    ends = [
        known.planned("subscription.expire"),
        known.get("renewal") if each.cancel_at_period_end else None,
    ]
    return min(filter(None, ends), default=None)


def _cancels(known: Known, each: Subscription) -> str | None:
    """Return the end by cancellation if there is nothing else to say of the future."""
    is_all = (
        each.status in ("active", "trialing")
        and not known.get("retry")
        and each.cancel_at_period_end
    )
    end = known.get("end")
    return end if is_all and end == known.get("renewal") else None


def _next_period(known: Known, each: Subscription) -> str | None:
    """Return the next period's outcome; None without one, or while a failed charge is retried."""
    renewal, end = known.get("renewal"), known.get("ends")
    if not renewal or known.get("cancels") or (end and end <= renewal):
        return None
    if each.status == "active":
        return "renewed"
    if renewals.is_charged(known.world, each):
        return "billed"
    return "not charged" if each.status in LIVE and not known.get("retry") else None


def _price(known: Known, each: Subscription) -> str:
    """Return the price of the next period, with its tax."""
    sums, language = renewals.next_charge(known.world, each), known.language
    total = price(sums["total"], each, language)
    if not sums["tax_amount"]:
        return total
    net, rate = language.money(sums["subtotal"], each.currency), language.decimal(sums["tax_rate"])
    return language.gettext("{price} ({net} + {rate}% tax)", price=total, net=net, rate=rate)


# -- payments and webhooks


def _failures(payments: Callable[[Known, Any], Iterable[PaymentIntent]]) -> Mapping[str, Fact]:
    """Return the facts of failed payments: their count, and the last one's method and error."""

    def failed(known: Known, it: Any) -> list[tuple[PaymentIntent, str]]:
        return [(one, one.last_error.code) for one in payments(known, it) if one.last_error]

    return {
        "failed_payments": lambda known, it: len(failed(known, it)),
        "failed_method": lambda known, it: next(
            (_paid_with(known, one) for one, _ in failed(known, it)[::-1]), None
        ),
        "last_failure": lambda known, it: next((code for _, code in failed(known, it)[::-1]), None),
    }


def _payments(field: str) -> Callable[[Known, Any], Iterable[PaymentIntent]]:
    return lambda known, it: known.world.table(PaymentIntent).where(field, it.id)


def _charges(known: Known, each: Subscription) -> Iterator[PaymentIntent]:
    """Yield the unpaid invoice's charges. One without a method to charge has no payment (B-45)."""
    return (
        one
        for one in known.world.table(PaymentIntent).where("invoice", each.unpaid_invoice)
        if one.subscription
    )


def _paid_with(known: Known, payment: PaymentIntent | Transaction) -> str:
    return paid_with(payment, known.language) or known.language.gettext("the payment method")


def _paid(known: Known, invoice: Invoice) -> list[PaymentIntent]:
    intents = known.world.table(PaymentIntent).where("invoice", invoice.id)
    return [intent for intent in intents if intent.status == "succeeded"]


def _deposit(known: Known, each: Transaction) -> str | None:
    """Return the status of a deposit whose money has not arrived, else ``arrived``."""
    if each.type != "deposit":
        return None
    return (
        each.status if each.status in ("pending", "approved", "failed", "canceled") else "arrived"
    )


def _count(kind: type[Any], field: str, *statuses: str) -> Fact:
    """Return the number of a kind's records that name an object in this field, by status or all."""
    return lambda known, it: len(
        [
            one
            for one in known.world.table(kind).where(field, it.id)
            if not statuses or one.status in statuses
        ]
    )


def _subscriptions(field: str) -> Mapping[str, Fact]:
    """Return how many subscriptions name an object in this field, by each status that is no end."""
    statuses = ("active", "trialing", "past_due", "unpaid", "paused")
    by_status = {
        f"{status}_subscriptions": _count(Subscription, field, status) for status in statuses
    }
    return {"subscriptions": _count(Subscription, field, *statuses), **by_status}


def _last_result(known: Known, each: WebhookDelivery) -> Any:
    last = each.attempts[-1]
    return last.status_code or last.error or known.language.gettext("no answer")


def _inbox(known: Known, each: WebhookDelivery) -> str | None:
    """Return the name of the inbox that a delivery goes to."""
    endpoint = known.world.get(WebhookEndpoint, each.webhook)
    path = urlsplit(endpoint.url).path if endpoint else ""
    return path.removeprefix(inbox.PREFIX) if path.startswith(inbox.PREFIX) else None


# -- all


Fact = Callable[[Known, Any], Any]
"""Looks a fact up; None where it does not hold."""

FACTS: Mapping[type[Record], Mapping[str, Fact]] = {
    Subscription: {
        "behind": lambda known, it: it.status in LIVE and it.unpaid_invoice is None,
        "past_due_since": lambda known, it: it.failed_at or it.behind_since,
        "paused_since": lambda known, it: it.paused_at or it.updated_at,
        "ended": lambda known, it: it.canceled_at or it.ends_at or it.updated_at,
        "reactivatable": lambda known, it: (
            it.status == "canceled"
            and not subscription_operations.why_not_reactivated(known.world, it)
        ),
        "charged_by_invoice": lambda known, it: it.collection_method == "send_invoice",
        "charged": lambda known, it: it.customer if _is_charged(known.world, it) else None,
        "method": lambda known, it: working_method(known.world),
        "owed": lambda known, it: getattr(_owed(known, it), "id", None),
        "invoice": lambda known, it: getattr(_owed(known, it), "invoice_number", None),
        "uncollectible": _uncollectible,
        "overdue": _overdue,
        "failure_cause": lambda known, it: (
            failure_cause(known.language, it)
            if it.failure and it.failure.name in FAILURE_CAUSES
            else None
        ),
        **_failures(_charges),
        "last_retry": _last_retry,
        "renewal": lambda known, it: known.planned("subscription.renew"),
        "end": _end,
        "cancels": _cancels,
        "ends": lambda known, it: None if known.get("cancels") else known.get("end"),
        "ends_with_trial": lambda known, it: bool(
            known.get("end") and known.get("end") <= (it.trial_end or "")
        ),
        "next_period": _next_period,
        "price": _price,
    },
    Invoice: {
        "method": lambda known, it: working_method(known.world),
        "under_way": lambda known, it: payment_intents.current_payment(known.world, it) is not None,
        "is_overdue": lambda known, it: bool(
            it.due_date and it.due_date < known.world.now[: len(it.due_date)]
        ),
        "paid": lambda known, it: next((one.updated_at for one in _paid(known, it)), None),
        "paid_with": lambda known, it: next(
            (_paid_with(known, one) for one in _paid(known, it)), None
        ),
        **_failures(_payments("invoice")),
    },
    PaymentLink: {
        "used_up_by_failure": lambda known, it: payment_intents.used_up_by_failure(known.world, it)
    },
    PaymentIntent: {"paid_with": _paid_with, **_failures(lambda known, it: [it])},
    Transaction: {
        "paid_with": _paid_with,
        "processed": lambda known, it: it.processed_at or it.created_at,
        "deposit": _deposit,
        "refundable": lambda known, it: (
            refunds.refundable(known.world, it) or None if it.type == "deposit" else None
        ),
    },
    Refund: {"refunded": lambda known, it: it.refunded_at or it.updated_at},
    CheckoutSession: {
        "method": lambda known, it: working_method(known.world, it.payment_method_types),
        "is_closed": lambda known, it: it.expires_at > known.world.now,
        **_failures(_payments("checkout_session")),
    },
    Customer: {
        "charged": _charged_customer,
        "methods": _count(PaymentMethod, "customer"),
        "open_invoices": _count(Invoice, "customer", "open"),
        **_subscriptions("customer"),
    },
    PaymentMethod: {
        "owner": lambda known, it: name_of(known.world, it.customer, known.language) or None
    },
    Product: _subscriptions("product"),
    SubscriptionPlan: _subscriptions("plan"),
    WebhookDelivery: {
        "endpoint": lambda known, it: (
            it.webhook
            if (own := known.world.get(WebhookEndpoint, it.webhook)) and own.enabled
            else None
        ),
        "endpoint_name": lambda known, it: (
            name_of(known.world, it.webhook, known.language) or it.webhook
        ),
        "inbox": _inbox,
        "last_result": _last_result,
    },
    WebhookEndpoint: {
        "deliveries": _count(WebhookDelivery, "webhook"),
        "failed": _count(WebhookDelivery, "webhook", "failed"),
        "waiting": _count(WebhookDelivery, "webhook", "pending"),
    },
    Event: {
        "deliveries": _count(WebhookDelivery, "event"),
        "accepted": _count(WebhookDelivery, "event", "succeeded"),
    },
}
"""The facts of each kind, by name."""
