"""Sentences that say how an object stands, why, and what happens to it next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.core.events import Event
from emulator.core.records import N_, Record
from emulator.core.world import World
from emulator.insight.names import job_texts, name_of, paid_with, price
from emulator.insight.next_steps import planned_jobs
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import FAILURE_CAUSES, failure_cause
from emulator.resources.billing import renewals
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- the parts of which the sentences about one record are made, in one language


class Sentences:
    def __init__(self, world: World, record: Record, language: Language) -> None:
        self.world = world
        self.record = record
        self.language = language
        self.gettext, self.ngettext, self.money = language.gettext, language.ngettext, language.money

    def day(self, instant: str) -> str:
        """Return the day of an instant, and the time of day where the world's clock is on that day."""
        day, time = self.language.short_day(instant), self.language.instant(instant, "HH:mm 'UTC'")
        return f"{day}, {time}" if instant[:10] == self.world.now[:10] and "T" in instant else day

    def planned(self) -> dict[str, str]:
        return planned_jobs(self.world, self.record.id)

    def job(self, name: str, due: str) -> str:
        said = job_texts()[name]["next"]
        return self.gettext(said, day=self.day(due))

    def next(self) -> str:
        """Return the sentence on the soonest job of the record that has one."""
        for name, due in self.planned().items():
            if "next" in job_texts()[name]:
                return self.job(name, due)
        return self.gettext("Nothing more is planned.")

    def paid_with(self, intent: PaymentIntent | Transaction) -> str:
        return paid_with(intent, self.language) or self.gettext("the payment method")

    def reason(self, intent: PaymentIntent | None) -> str:
        return intent.last_error.code if intent is not None and intent.last_error else ""

    def failures(self, intents: Iterable[PaymentIntent]) -> str:
        """Return how many of these payments failed, and why the last one did, or an empty text."""
        failed = [intent for intent in intents if intent.last_error]
        if not failed:
            return ""
        return self.ngettext(
            "1 payment failed, with {reason}.",
            "{count} payments failed, the last with {reason}.",
            len(failed),
            reason=self.reason(failed[-1]),
        )


# -- subscriptions and invoices


def _subscription(say: Sentences, each: Subscription) -> list[str]:
    if each.status in ("canceled", "expired"):
        ended = each.canceled_at or each.ends_at or each.updated_at
        said = N_("Canceled on {day}.") if each.status == "canceled" else N_("Ended on {day}.")
        return [say.gettext(said, day=say.day(ended)), say.gettext("Nothing more is charged.")]
    return [*_standing(say, each), *_coming(say, each)]


def _standing(say: Sentences, each: Subscription) -> list[str]:
    """Say how a subscription that has not ended stands, and since when."""
    if each.status in ("past_due", "unpaid"):
        stands = _past_due(say, each) if each.status == "past_due" else _unpaid(say, each)
        return [stands, _failed_charges(say, each), _way_back(say, each)]
    if each.status == "paused":
        since = each.paused_at or each.updated_at
        return [say.gettext("Paused since {day}: nothing is charged until it is resumed.", day=say.day(since))]
    if each.status == "trialing" and each.trial_end:
        return [_trial(say, each, each.trial_end)]
    return [] if each.cancel_at_period_end else [say.gettext("Active: {price}.", price=_price(say, each))]


def _trial(say: Sentences, each: Subscription, trial_end: str) -> str:
    """Say until when it is in its trial, and which price follows if it does not end then."""
    day, end = say.day(trial_end), _end(say.planned(), each)
    if end and end <= trial_end:
        return say.gettext("In its trial until {day}.", day=day)
    return say.gettext("In its trial until {day}; then {price}.", day=day, price=_price(say, each))


def _past_due(say: Sentences, each: Subscription) -> str:
    """Say since when it is past due, where that is known: a status that was set directly has no instant."""
    since = each.failed_at or each.behind_since
    if since is None:
        return say.gettext("Past due.")
    return say.gettext("Past due since {day}.", day=say.day(since))


def _unpaid(say: Sentences, each: Subscription) -> str:
    """Say since when it is unpaid, and when its first charge failed, where both are known."""
    if each.behind_since is None or each.failed_at is None:
        return say.gettext("Unpaid.")
    said = N_("Unpaid since {day}; the first charge failed on {first}.")
    return say.gettext(said, day=say.day(each.behind_since), first=say.day(each.failed_at))


def _way_back(say: Sentences, each: Subscription) -> str:
    """Say how it becomes active once no charge is tried again: its uncollectible invoice can still be paid."""
    invoice = say.world.get(Invoice, each.unpaid_invoice) if each.unpaid_invoice else None
    if each.status != "unpaid" or invoice is None or invoice.status != "uncollectible":
        return ""
    return say.gettext("It becomes active when {invoice} is paid on its page.", invoice=invoice.invoice_number)


def _price(say: Sentences, each: Subscription) -> str:
    """Return the price of the next period, with its tax."""
    sums = renewals.next_charge(say.world, each)
    total = price(sums["total"], each.currency, each.interval, each.interval_count, say.language)
    if not sums["tax_amount"]:
        return total
    net, rate = say.money(sums["subtotal"], each.currency), say.language.decimal(sums["tax_rate"])
    return say.gettext("{price} ({net} + {rate}% tax)", price=total, net=net, rate=rate)


def _failed_charges(say: Sentences, each: Subscription) -> str:
    """Say how many charges of the unpaid invoice failed, of what, and why the last did.

    A charge that found no method to charge has no payment to count (B-45).
    """
    if each.failure is not None and each.failure.name in FAILURE_CAUSES:
        return say.gettext("The last charge failed: {reason}.", reason=failure_cause(say.language, each))
    intents = say.world.table(PaymentIntent).where("invoice", each.unpaid_invoice) if each.unpaid_invoice else ()
    failed = [intent for intent in intents if intent.last_error and intent.subscription]
    if not failed:
        return ""
    return say.ngettext(
        "1 charge to {method} failed, with {reason}.",
        "{count} charges failed, the last to {method}, with {reason}.",
        len(failed),
        method=say.paid_with(failed[-1]),
        reason=say.reason(failed[-1]),
    )


def _coming(say: Sentences, each: Subscription) -> list[str]:
    """Return the sentences on what comes next: a charge that is tried again, the next period, its end."""
    planned = say.planned()
    retry, renewal, end = planned.get("subscription.retry"), planned.get("subscription.renew"), _end(planned, each)
    if end and each.cancel_at_period_end and end == renewal and not retry and each.status in ("active", "trialing"):
        said = N_("Cancels on {day}; no further charge.")
        return [say.gettext(said, day=say.day(end))]
    sentences = [say.job(name, planned[name]) for name in ("subscription.charge",) if name in planned]
    if retry and each.collection_method == "send_invoice":
        sentences.append(say.gettext("The invoice is emailed again on {day}.", day=say.day(retry)))
    elif retry:
        sentences.append(say.job("subscription.retry", retry))
    if renewal and not (end and end <= renewal):
        sentences.append(_renewal(say, each, renewal, retried=retry is not None, ends=end is not None))
    return [*sentences, say.job("subscription.expire", end) if end else ""]


def _end(planned: Mapping[str, str], each: Subscription) -> str | None:
    """Return its end date, or the end of the period if cancellation is scheduled."""
    ends = [planned.get("subscription.expire")]
    if each.cancel_at_period_end:
        ends.append(planned.get("subscription.renew"))
    return min((end for end in ends if end), default=None)


def _renewal(say: Sentences, each: Subscription, renewal: str, *, retried: bool, ends: bool) -> str:
    """Return the sentence on the next period. While a charge is tried again, that is not known."""
    if each.status == "active":
        return say.job("subscription.renew", renewal)
    if renewals.is_charged(say.world, each):
        said = N_("The next period, {price}, is billed on {day}.")
        return say.gettext(said, price=_price(say, each), day=say.day(renewal))
    if retried or each.status not in ("past_due", "unpaid"):
        return ""
    if ends:
        return say.gettext("No further charge is planned.")
    return say.gettext("No further charge is planned; periods continue until you cancel.")


def _invoice(say: Sentences, each: Invoice) -> list[str]:
    rest = say.money(each.amount_remaining, each.currency)
    if each.status == "draft":
        return [say.gettext("A draft: it cannot be paid until it is finalized.")]
    if each.status == "paid":
        return [_paid(say, each)]
    if each.status == "void":
        return [say.gettext("Void: nothing is to be paid.")]
    if each.status == "uncollectible":
        return [
            say.gettext(
                "Uncollectible: every attempt to charge {amount} failed, and no more are made. "
                "It can still be paid on its page.",
                amount=rest,
            )
        ]
    intents = say.world.table(PaymentIntent).where("invoice", each.id)
    if each.due_date is None:
        return [say.gettext("{amount} is to be paid.", amount=rest), say.failures(intents)]
    overdue = each.due_date < say.world.now[: len(each.due_date)]
    said = N_("{amount} has been overdue since {day}.") if overdue else N_("{amount} is to be paid by {day}.")
    return [say.gettext(said, amount=rest, day=say.day(each.due_date)), say.failures(intents)]


def _paid(say: Sentences, each: Invoice) -> str:
    intents = say.world.table(PaymentIntent).where("invoice", each.id)
    paid = next((intent for intent in intents if intent.status == "succeeded"), None)
    amount = say.money(each.amount_paid, each.currency)
    if paid is None:
        return say.gettext("Paid: {amount}.", amount=amount)
    said = N_("Paid: {amount} with {method} on {day}.")
    return say.gettext(said, amount=amount, method=say.paid_with(paid), day=say.day(paid.updated_at))


# -- payments, refunds, checkout sessions and payment links


INTENTS: Mapping[str, str] = {
    "requires_payment_method": N_("No payment method is chosen yet."),
    "requires_confirmation": N_("A payment method is chosen; the payment is not confirmed yet."),
    "requires_action": N_("The buyer has to confirm {amount} with {method}."),
    "processing": N_("{amount} from {method} is on its way."),
    "requires_capture": N_("{amount} from {method} is held; capture it to receive it."),
    "succeeded": N_("{amount} was received from {method} on {day}."),
}
"""How a payment stands, by its status."""


def _payment_intent(say: Sentences, each: PaymentIntent) -> list[str]:
    shown = {"succeeded": each.amount_received, "requires_capture": each.amount_capturable}
    amount = say.money(shown.get(each.status, each.amount), each.currency)
    method = say.paid_with(each)
    if each.status == "canceled":
        if each.last_error is None:
            return [say.gettext("Canceled: {amount} was not charged.", amount=amount)]
        said = N_("{method} was not charged {amount}: {reason}.")
        return [say.gettext(said, amount=amount, method=method, reason=say.reason(each))]
    sentence = say.gettext(INTENTS[each.status], amount=amount, method=method, day=say.day(each.updated_at))
    waits = each.status in ("requires_action", "processing")
    return [sentence, say.next() if waits else ""]


DEPOSITS: Mapping[str, str] = {
    "pending": N_("{amount} from {method} is on its way."),
    "approved": N_("{amount} from {method} is approved; the money has not arrived yet."),
    "failed": N_("{method} was not charged {amount}."),
    "canceled": N_("Canceled: {amount} was not charged."),
}
"""How a deposit stands whose money has not arrived, by its status."""


def _transaction(say: Sentences, each: Transaction) -> list[str]:
    figures = {
        "amount": say.money(each.amount, each.currency),
        "net": say.money(each.net_amount, each.currency),
        "refunded": say.money(each.amount_refunded, each.currency),
        "method": say.paid_with(each),
        "day": say.day(each.processed_at or each.created_at),
    }
    if each.type != "deposit":
        return [say.gettext("{amount} went back to {method} on {day}.", **figures)]
    if each.status in DEPOSITS:
        return [say.gettext(DEPOSITS[each.status], **figures), say.next() if each.status == "approved" else ""]
    sentences = [say.gettext("{amount} was received from {method} on {day}; {net} after fees.", **figures)]
    if each.amount_refunded:
        sentences.append(say.gettext("{refunded} of it was refunded.", **figures))
    if each.status == "disputed":
        sentences.append(say.gettext("The buyer disputes it."))
    return sentences


REFUNDS: Mapping[str, str] = {
    "pending": N_("{amount} is to go back to the buyer; the refund waits to be sent."),
    "processing": N_("{amount} is on its way back to the buyer."),
    "succeeded": N_("{amount} went back to the buyer on {day}."),
    "failed": N_("{amount} did not go back: {reason}."),
    "cancelled": N_("Canceled: {amount} stays with the merchant."),
    "expired": N_("The operator never answered: {amount} stays with the merchant."),
}
"""How a refund stands, by its status."""


def _refund(say: Sentences, each: Refund) -> list[str]:
    day, reason = say.day(each.refunded_at or each.updated_at), each.failure_reason or ""
    amount = say.money(each.amount, each.currency)
    sentence = say.gettext(REFUNDS[each.status], amount=amount, day=day, reason=reason)
    return [sentence, say.next() if each.status in ("pending", "processing") else ""]


SESSIONS: Mapping[str, str] = {
    "open": N_("Not paid yet."),
    "processing": N_("The buyer has submitted a payment, which is not confirmed yet."),
    "complete": N_("Completed by its buyer."),
    "payment_failed": N_("The last payment failed; the buyer can try again."),
    "expired": N_("Expired on {day} without a payment."),
}
"""How a checkout session stands, by its status."""


def _session(say: Sentences, each: CheckoutSession) -> list[str]:
    said = SESSIONS[each.status]
    if each.status == "expired" and each.expires_at > say.world.now:
        said = N_("Closed by the merchant without a payment.")
    sentence = say.gettext(said, day=say.day(each.expires_at))
    intents = say.world.table(PaymentIntent).where("checkout_session", each.id)
    if each.status not in ("open", "payment_failed"):
        return [sentence]
    return [sentence, say.failures(intents), say.next()]


def _payment_link(say: Sentences, each: PaymentLink) -> list[str]:
    if each.status == "archived":
        return [say.gettext("Archived: it accepts no payments any more.")]
    paid = say.ngettext("1 payment so far.", "{count} payments so far.", each.usage_count)
    limit = say.gettext("It can be used {count} times in all.", count=each.max_usage) if each.max_usage else ""
    return [paid if each.usage_count else say.gettext("No payment yet."), limit]


# -- customers, their payment methods, products and plans


SUBSCRIPTIONS: Mapping[str, Callable[[Sentences, int], str]] = {
    "active": lambda say, n: say.ngettext("1 active subscription.", "{count} active subscriptions.", n),
    "trialing": lambda say, n: say.ngettext("1 trialing subscription.", "{count} trialing subscriptions.", n),
    "past_due": lambda say, n: say.ngettext("1 past due subscription.", "{count} past due subscriptions.", n),
    "unpaid": lambda say, n: say.ngettext("1 unpaid subscription.", "{count} unpaid subscriptions.", n),
    "paused": lambda say, n: say.ngettext("1 paused subscription.", "{count} paused subscriptions.", n),
}
"""How many there are in each status in which one has not ended."""


def _subscriptions(say: Sentences, found: Iterable[Subscription]) -> list[str]:
    counts = Counter(each.status for each in found)
    return [counted(say, counts[status]) for status, counted in SUBSCRIPTIONS.items() if counts[status]]


def _customer(say: Sentences, each: Customer) -> list[str]:
    world = say.world
    owing = [one for one in world.table(Invoice).where("customer", each.id) if one.status == "open"]
    sentences = []
    if each.is_blocked:
        sentences.append(say.gettext("Blocked: no payment of theirs is accepted."))
    if each.total_spent:
        sentences.append(say.gettext("Has paid {amount}.", amount=say.money(each.total_spent, each.currency)))
    sentences += _subscriptions(say, world.table(Subscription).where("customer", each.id))
    if owing:
        sentences.append(say.ngettext("1 open invoice.", "{count} open invoices.", len(owing)))
    if not world.table(PaymentMethod).where("customer", each.id):
        sentences.append(say.gettext("No payment method is stored."))
    return sentences


def _payment_method(say: Sentences, each: PaymentMethod) -> list[str]:
    if each.status == "expired":
        return [say.gettext("Expired: it is not charged any more.")]
    default = N_("Active, and the default of {customer}.") if each.is_default else N_("Active, of {customer}.")
    owner = name_of(say.world, each.customer, say.language)
    return [say.gettext(default, customer=owner) if owner else "", say.next() if each.type == "bank_card" else ""]


def _sold(say: Sentences, each: Product | SubscriptionPlan) -> list[str]:
    field = "plan" if isinstance(each, SubscriptionPlan) else "product"
    subscriptions = say.world.table(Subscription)
    found = subscriptions.where("plan", each.id) if field == "plan" else subscriptions
    state = "" if each.active else say.gettext("Not for sale any more.")
    counts = _subscriptions(say, (one for one in found if getattr(one, field) == each.id))
    return [state, *(counts or [say.gettext("No subscription to it.")])]


# -- events, deliveries and endpoints


def _delivery(say: Sentences, each: WebhookDelivery) -> list[str]:
    endpoint = name_of(say.world, each.webhook, say.language) or each.webhook
    last = each.attempts[-1] if each.attempts else None
    if each.status == "succeeded":
        arrived = say.ngettext(
            "Delivered to {endpoint} at the first attempt.",
            "Delivered to {endpoint} after {count} attempts.",
            each.attempt_count,
            endpoint=endpoint,
        )
        return [arrived]
    if last is None:
        return [say.gettext("Not sent to {endpoint} yet.", endpoint=endpoint), say.next()]
    failed = say.ngettext(
        "Not delivered to {endpoint}: 1 attempt, which got {result}.",
        "Not delivered to {endpoint}: {count} attempts, the last of which got {result}.",
        each.attempt_count,
        endpoint=endpoint,
        result=last.status_code or last.error or say.gettext("no answer"),
    )
    return [failed, say.next()]


def _endpoint(say: Sentences, each: WebhookEndpoint) -> list[str]:
    deliveries = say.world.table(WebhookDelivery).where("webhook", each.id)
    failed = sum(one.status == "failed" for one in deliveries)
    waiting = sum(one.status == "pending" for one in deliveries)
    return [
        "" if each.enabled else say.gettext("Switched off: it is sent nothing."),
        say.ngettext("1 delivery so far.", "{count} deliveries so far.", len(deliveries)),
        say.ngettext("1 failed.", "{count} failed.", failed) if failed else "",
        say.ngettext("1 will be retried.", "{count} will be retried.", waiting) if waiting else "",
    ]


def _event(say: Sentences, each: Event) -> list[str]:
    deliveries = say.world.table(WebhookDelivery).where("event", each.id)
    if not deliveries:
        return [say.gettext("No endpoint is registered for it, so it was sent nowhere.")]
    arrived = sum(one.status == "succeeded" for one in deliveries)
    sent = say.ngettext("Sent to 1 endpoint;", "Sent to {count} endpoints;", len(deliveries))
    return [
        sent,
        say.ngettext("1 accepted it.", "{count} accepted it.", arrived)
        if arrived
        else say.gettext("none accepted it."),
    ]


# -- any record


SENTENCES: Mapping[type[Record], Callable[[Sentences, Any], list[str]]] = {
    Subscription: _subscription,
    Invoice: _invoice,
    PaymentIntent: _payment_intent,
    Transaction: _transaction,
    Refund: _refund,
    CheckoutSession: _session,
    PaymentLink: _payment_link,
    Customer: _customer,
    PaymentMethod: _payment_method,
    Product: _sold,
    SubscriptionPlan: _sold,
    WebhookDelivery: _delivery,
    WebhookEndpoint: _endpoint,
    Event: _event,
}
"""The kinds with sentences of their own; the fields of the others say everything."""


def status_sentences(world: World, record: Record, language: Language) -> str:
    about = SENTENCES.get(type(record))
    return " ".join(filter(None, about(Sentences(world, record, language), record))) if about else ""
