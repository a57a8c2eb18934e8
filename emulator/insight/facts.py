"""What is known of an object, by name: its fields, and facts that these do not say, such as what is planned and owed.

The sentences on how an object stands and the steps that lead on from it are tables of these names
(``fixtures/status-sentences.yaml``, ``fixtures/next-steps.yaml``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from string import Formatter
from typing import Any
from urllib.parse import urlsplit

from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.jobs import Job
from emulator.core.records import Record
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
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- what is known of one object


class Known:
    """The facts and fields of an object, each looked up when it is asked for, and how a text says them in a language."""

    def __init__(self, world: World, record: Record, language: Language) -> None:
        self.world = world
        self.record = record
        self.language = language
        self._found: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """Return a fact or a field; None for one that does not hold."""
        if name not in self._found:
            fact = FACTS.get(type(self.record), {}).get(name)
            self._found[name] = fact(self, self.record) if fact else getattr(self.record, name, None)
        return self._found[name]

    def fits(self, wanted: Mapping[str, Sequence[Any]], unwanted: Mapping[str, Sequence[Any]] = {}) -> bool:
        """Return whether each name has one of the values that are wanted of it, and none of those that are not."""
        return all(self.get(name) in values for name, values in wanted.items()) and not any(
            self.get(name) in values for name, values in unwanted.items()
        )

    def in_words(self, *texts: str) -> dict[str, str]:
        """Return the names in the braces of texts, with the words in their place. Raises ``KeyError`` for an unknown one."""
        names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name and name != "count"}
        return {name: self._said(name) for name in names}

    def _said(self, name: str) -> str:
        value = self.get(name.removesuffix("_day"))
        if value is None:
            raise KeyError(name)
        if name.endswith("_day"):
            return self.day(value)
        return self.language.money(value, self.get("currency")) if name in MONEY_FIELDS else str(value)

    def day(self, instant: str) -> str:
        """Return the day of an instant, and the time of day where the world's clock is on that day."""
        day, time = self.language.short_day(instant), self.language.instant(instant, "HH:mm 'UTC'")
        return f"{day}, {time}" if instant[:10] == self.world.now[:10] and "T" in instant else day

    def planned(self, job: str) -> str | None:
        return planned_jobs(self.world, self.record.id).get(job)


def planned_jobs(world: World, id: str) -> dict[str, str]:
    """Return when the next job of each kind is due that is planned for the object, the soonest first."""
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
    """Return a ``method`` that pays, of one of the ``allowed`` types."""
    type = next(_permitted(world, allowed), allowed[0])
    return {"type": type, **WORKING[type]}


def _permitted(world: World, allowed: Sequence[str]) -> Iterator[str]:
    """Yield the allowed types that the App's security profiles permit and that no handset has to approve (B-55)."""
    order = [type for type in WORKING if type in allowed]
    if settings(world).mobile_money == "handset":
        order.sort(key="mobile_money".__eq__)
    for type in order:
        with suppress(ApiError):
            security_profiles.check_method(world, type, "method.type")
            yield type


# -- subscriptions: what is owed and charged, and what comes of their periods


LIVE = ("past_due", "unpaid")
"""The statuses of a subscription that owes something."""


def _open(known: Known, field: str) -> list[Invoice]:
    own = known.world.table(Invoice).where(field, known.record.id)
    return [one for one in own if one.status == "open"]


def _failed_invoice(known: Known, each: Subscription) -> Invoice | None:
    return known.world.get(Invoice, each.unpaid_invoice) if each.unpaid_invoice else None


def _owed(known: Known, each: Subscription) -> Invoice | None:
    """Return the invoice that a buyer can pay: the one whose charge failed, or the oldest open one."""
    owed = _failed_invoice(known, each) if each.unpaid_invoice else next(iter(_open(known, "subscription")), None)
    is_payable = owed and owed.status in ("open", "uncollectible") and not _is_under_way(known, owed)
    return owed if is_payable and each.status in LIVE else None


def _is_under_way(known: Known, invoice: Invoice) -> bool:
    return payment_intents.current_payment(known.world, invoice) is not None


def _uncollectible(known: Known, each: Subscription) -> str | None:
    """Return the number of the invoice that was given up; paying it leads back from ``unpaid``."""
    invoice = _failed_invoice(known, each)
    return invoice.invoice_number if invoice is not None and invoice.status == "uncollectible" else None


def _overdue(known: Known, each: Subscription) -> str | None:
    """Return when the first of its open invoices falls overdue."""
    due = (planned_jobs(known.world, one.id).get("invoice.overdue") for one in _open(known, "subscription"))
    return min(filter(None, due), default=None) if known.get("charged_by_invoice") else None


def _last_retry(known: Known, each: Subscription) -> str | None:
    retries = renewals.retries_left(known.world, each) if known.get("retry") else []
    return retries[-1] if len(retries) > 1 else None


def _is_charged(each: Subscription, planned: Mapping[str, str]) -> bool:
    """Return whether a charge of this subscription is planned that can succeed or fail."""
    if each.collection_method != "charge_automatically":
        return False
    if each.status in ("trialing", "active"):
        return "subscription.renew" in planned and not each.cancel_at_period_end
    return each.status == "past_due" and "subscription.retry" in planned


def _is_any_charged(known: Known, each: Customer) -> bool:
    own = known.world.table(Subscription).where("customer", each.id)
    return any(_is_charged(one, planned_jobs(known.world, one.id)) for one in own)


def _end(known: Known, each: Subscription) -> str | None:
    """Return its end date, or the end of the period if cancellation is scheduled."""
    ends = [known.planned("subscription.expire"), known.get("renewal") if each.cancel_at_period_end else None]
    return min(filter(None, ends), default=None)


def _cancels(known: Known, each: Subscription) -> str | None:
    """Return the end that cancellation gives it, where that is all there is to say of what comes."""
    is_all = each.status in ("active", "trialing") and not known.get("retry") and each.cancel_at_period_end
    end = known.get("end")
    return end if is_all and end == known.get("renewal") else None


def _next_period(known: Known, each: Subscription) -> str | None:
    """Return what comes of the next period; None if there is none, or while a failed charge is tried again."""
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
    total = price(sums["total"], each.currency, each.interval, each.interval_count, language)
    if not sums["tax_amount"]:
        return total
    net, rate = language.money(sums["subtotal"], each.currency), language.decimal(sums["tax_rate"])
    return language.gettext("{price} ({net} + {rate}% tax)", price=total, net=net, rate=rate)


# -- payments and webhooks


def _failed(known: Known, field: str, id: str | None) -> list[PaymentIntent]:
    """Return the failed payments that name an object in this field."""
    return [one for one in known.world.table(PaymentIntent).where(field, id) if one.last_error] if id else []


def _failed_charges(known: Known, each: Subscription) -> list[PaymentIntent]:
    """Return the failed charges of the unpaid invoice. One that found no method to charge has no payment (B-45)."""
    return [intent for intent in _failed(known, "invoice", each.unpaid_invoice) if intent.subscription]


def _failed_payments(field: str) -> Mapping[str, Fact]:
    return {
        "failed_payments": lambda known, it: len(_failed(known, field, it.id)),
        "last_failure": lambda known, it: _last_code(_failed(known, field, it.id)),
    }


def _last_code(intents: Sequence[PaymentIntent]) -> str | None:
    return next((intent.last_error.code for intent in reversed(intents) if intent.last_error), None)


def _paid_with(known: Known, payment: PaymentIntent | Transaction) -> str:
    return paid_with(payment, known.language) or known.language.gettext("the payment method")


def _paid(known: Known, invoice: Invoice) -> list[PaymentIntent]:
    intents = known.world.table(PaymentIntent).where("invoice", invoice.id)
    return [intent for intent in intents if intent.status == "succeeded"]


def _deposit(known: Known, each: Transaction) -> str | None:
    """Return the status of a deposit whose money has not arrived, else ``arrived``."""
    if each.type != "deposit":
        return None
    return each.status if each.status in ("pending", "approved", "failed", "canceled") else "arrived"


def _subscriptions(field: str) -> Mapping[str, Fact]:
    """Return how many subscriptions name an object in this field, by each status that is no end."""

    def having(*statuses: str) -> Fact:
        def count(known: Known, each: Record) -> int:
            table = known.world.table(Subscription)
            own = table.where(field, each.id) if field in table.indexes else table
            return sum(getattr(one, field) == each.id and one.status in statuses for one in own)

        return count

    statuses = ("active", "trialing", "past_due", "unpaid", "paused")
    return {"subscriptions": having(*statuses)} | {f"{status}_subscriptions": having(status) for status in statuses}


def _last_result(known: Known, each: WebhookDelivery) -> Any:
    last = each.attempts[-1]
    return last.status_code or last.error or known.language.gettext("no answer")


def _inbox(known: Known, each: WebhookDelivery) -> str | None:
    """Return the name of the inbox that a delivery goes to."""
    endpoint = known.world.get(WebhookEndpoint, each.webhook)
    path = urlsplit(endpoint.url).path if endpoint else ""
    return path.removeprefix(inbox.PREFIX) if path.startswith(inbox.PREFIX) else None


def _deliveries(field: str, status: str | None = None) -> Fact:
    """Return how many deliveries name an object in this field, of one status or of all."""
    return lambda known, it: sum(
        status in (None, one.status) for one in known.world.table(WebhookDelivery).where(field, it.id)
    )


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
            it.status == "canceled" and not subscription_operations.why_not_reactivated(known.world, it)
        ),
        "charged_by_invoice": lambda known, it: it.collection_method == "send_invoice",
        "charged": lambda known, it: it.customer if _is_charged(it, planned_jobs(known.world, it.id)) else None,
        "method": lambda known, it: working_method(known.world),
        "owed": lambda known, it: getattr(_owed(known, it), "id", None),
        "invoice": lambda known, it: getattr(_owed(known, it), "invoice_number", None),
        "uncollectible": _uncollectible,
        "overdue": _overdue,
        "failure_cause": lambda known, it: (
            failure_cause(known.language, it) if it.failure and it.failure.name in FAILURE_CAUSES else None
        ),
        "failed_charges": lambda known, it: len(_failed_charges(known, it)),
        "failed_method": lambda known, it: [None, *(_paid_with(known, one) for one in _failed_charges(known, it))][-1],
        "last_failure": lambda known, it: _last_code(_failed_charges(known, it)),
        "retry": lambda known, it: known.planned("subscription.retry"),
        "last_retry": _last_retry,
        "renewal": lambda known, it: known.planned("subscription.renew"),
        "end": _end,
        "cancels": _cancels,
        "ends": lambda known, it: None if known.get("cancels") else known.get("end"),
        "ends_with_trial": lambda known, it: bool(known.get("end") and known.get("end") <= (it.trial_end or "")),
        "next_period": _next_period,
        "price": _price,
    },
    Invoice: {
        "method": lambda known, it: working_method(known.world),
        "under_way": _is_under_way,
        "overdue": lambda known, it: known.planned("invoice.overdue"),
        "is_overdue": lambda known, it: bool(it.due_date and it.due_date < known.world.now[: len(it.due_date)]),
        "paid": lambda known, it: next((one.updated_at for one in _paid(known, it)), None),
        "paid_with": lambda known, it: next((_paid_with(known, one) for one in _paid(known, it)), None),
        **_failed_payments("invoice"),
    },
    PaymentIntent: {"paid_with": _paid_with, "last_failure": lambda known, it: _last_code([it])},
    Transaction: {
        "paid_with": _paid_with,
        "processed": lambda known, it: it.processed_at or it.created_at,
        "deposit": _deposit,
        "settle": lambda known, it: known.planned("transaction.settle"),
        "dispute": lambda known, it: known.planned("transaction.dispute"),
        "refundable": lambda known, it: refunds.refundable(known.world, it) or None if it.type == "deposit" else None,
    },
    Refund: {
        "send": lambda known, it: known.planned("refund.send"),
        "refunded": lambda known, it: it.refunded_at or it.updated_at,
    },
    CheckoutSession: {
        "method": lambda known, it: working_method(known.world, it.payment_method_types),
        "is_closed": lambda known, it: it.expires_at > known.world.now,
        **_failed_payments("checkout_session"),
    },
    Customer: {
        "charged": lambda known, it: it.id if _is_any_charged(known, it) else None,
        "has_method": lambda known, it: bool(known.world.table(PaymentMethod).where("customer", it.id)),
        "open_invoices": lambda known, it: len(_open(known, "customer")),
        **_subscriptions("customer"),
    },
    PaymentMethod: {"owner": lambda known, it: name_of(known.world, it.customer, known.language) or None},
    Product: _subscriptions("product"),
    SubscriptionPlan: _subscriptions("plan"),
    WebhookDelivery: {
        "endpoint": lambda known, it: (
            it.webhook if (own := known.world.get(WebhookEndpoint, it.webhook)) and own.enabled else None
        ),
        "endpoint_name": lambda known, it: name_of(known.world, it.webhook, known.language) or it.webhook,
        "inbox": _inbox,
        "last_result": _last_result,
    },
    WebhookEndpoint: {
        "deliveries": _deliveries("webhook"),
        "failed": _deliveries("webhook", "failed"),
        "waiting": _deliveries("webhook", "pending"),
    },
    Event: {"deliveries": _deliveries("event"), "accepted": _deliveries("event", "succeeded")},
}
"""The facts of each kind, by name."""
