"""Sentences that say how an object stands, why, and what happens to it next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.control.clock import job_texts
from emulator.control.objects import name_of, paid_with, price
from emulator.core.events import Event
from emulator.core.jobs import Job
from emulator.core.records import N_, Record
from emulator.core.world import World
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import FAILURE_CAUSES, failure_cause
from emulator.resources.billing import renewals
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import customers
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- the parts of which the sentences about one record are made, in one language


class AnswerWriter:
    """The sentences about one record, in one language."""

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
        """Return when the next job of each kind is due that is planned for the record, the soonest first."""
        found: dict[str, str] = {}
        for job in sorted(
            self.world.table(Job).where("about", self.record.id), key=lambda job: (job.due, job.sequence)
        ):
            found.setdefault(job.name, job.due)
        return found

    def job(self, name: str, due: str) -> str:
        """Return the sentence on a planned job, with its day."""
        said = job_texts()[name]["next"]
        return self.gettext(said, day=self.day(due))

    def next(self) -> str:
        """Return the sentence on the soonest job of the record that has one."""
        for name, due in self.planned().items():
            if "next" in job_texts()[name]:
                return self.job(name, due)
        return self.gettext("Nothing more is planned.")

    def paid_with(self, intent: PaymentIntent | Transaction) -> str:
        """Return the name of the method that a payment was made with."""
        return paid_with(intent, self.language) or self.gettext("the payment method")

    def reason(self, intent: PaymentIntent | None) -> str:
        """Return the code with which a payment failed."""
        return intent.last_error.code if intent is not None and intent.last_error else ""

    def failures(self, intents: Iterable[PaymentIntent]) -> str:
        """Return how many of these payments failed, and why the last one did; empty if none failed."""
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


def _subscription(answer: AnswerWriter, each: Subscription) -> list[str]:
    if each.status in ("canceled", "expired"):
        ended = each.canceled_at or each.ends_at or each.updated_at
        said = N_("Canceled on {day}.") if each.status == "canceled" else N_("Ended on {day}.")
        return [answer.gettext(said, day=answer.day(ended)), answer.gettext("Nothing more is charged.")]
    return [*_standing(answer, each), *_coming(answer, each)]


def _standing(answer: AnswerWriter, each: Subscription) -> list[str]:
    """Return how a subscription stands that has not ended, and since when."""
    if each.status in ("past_due", "unpaid"):
        stands = _past_due(answer, each) if each.status == "past_due" else _unpaid(answer, each)
        return [stands, _failed_charges(answer, each)]
    if each.status == "paused":
        since = each.paused_at or each.updated_at
        return [answer.gettext("Paused since {day}: nothing is charged until it is resumed.", day=answer.day(since))]
    if each.status == "trialing" and each.trial_end:
        return [_trial(answer, each, each.trial_end)]
    return [] if each.cancel_at_period_end else [answer.gettext("Active: {price}.", price=_price(answer, each))]


def _trial(answer: AnswerWriter, each: Subscription, trial_end: str) -> str:
    """Return until when it is in trial, and the price that follows if it does not end with it."""
    day, end = answer.day(trial_end), _end(answer.planned(), each)
    if end and end <= trial_end:
        return answer.gettext("In its trial until {day}.", day=day)
    return answer.gettext("In its trial until {day}; then {price}.", day=day, price=_price(answer, each))


def _past_due(answer: AnswerWriter, each: Subscription) -> str:
    """Return since when it is past due, where that is known: a status that was set directly has no instant."""
    since = each.failed_at or each.behind_since
    if since is None:
        return answer.gettext("Past due.")
    return answer.gettext("Past due since {day}.", day=answer.day(since))


def _unpaid(answer: AnswerWriter, each: Subscription) -> str:
    """Return since when it is unpaid, and when its first charge failed, where both are known."""
    if each.behind_since is None or each.failed_at is None:
        return answer.gettext("Unpaid.")
    said = N_("Unpaid since {day}; the first charge failed on {first}.")
    return answer.gettext(said, day=answer.day(each.behind_since), first=answer.day(each.failed_at))


def _price(answer: AnswerWriter, each: Subscription) -> str:
    """Return the price of the next period, with its tax."""
    sums = renewals.next_charge(answer.world, each)
    total = price(sums["total"], each.currency, each.interval, each.interval_count, answer.language)
    if not sums["tax_amount"]:
        return total
    net, rate = answer.money(sums["subtotal"], each.currency), answer.language.decimal(sums["tax_rate"])
    return answer.gettext("{price} ({net} + {rate}% tax)", price=total, net=net, rate=rate)


def _failed_charges(answer: AnswerWriter, each: Subscription) -> str:
    """Return how many charges of the invoice that is not paid failed, of what, and the last reason.

    A charge that nothing could be charged for has no payment (B-45).
    """
    if each.failure is not None and each.failure.name in FAILURE_CAUSES:
        return answer.gettext("The last charge failed: {reason}.", reason=failure_cause(answer.language, each))
    intents = answer.world.table(PaymentIntent).where("invoice", each.unpaid_invoice) if each.unpaid_invoice else ()
    failed = [intent for intent in intents if intent.last_error and intent.subscription]
    if not failed:
        return ""
    return answer.ngettext(
        "1 charge to {method} failed, with {reason}.",
        "{count} charges failed, the last to {method}, with {reason}.",
        len(failed),
        method=answer.paid_with(failed[-1]),
        reason=answer.reason(failed[-1]),
    )


def _coming(answer: AnswerWriter, each: Subscription) -> list[str]:
    """Return the sentences on what comes next: a charge that is tried again, the next period, its end."""
    planned = answer.planned()
    retry, renewal, end = planned.get("subscription.retry"), planned.get("subscription.renew"), _end(planned, each)
    if end and each.cancel_at_period_end and end == renewal and not retry and each.status in ("active", "trialing"):
        said = N_("Cancels on {day}; no further charge.")
        return [answer.gettext(said, day=answer.day(end))]
    sentences = [answer.job(name, planned[name]) for name in ("subscription.charge",) if name in planned]
    if retry and each.collection_method == "send_invoice":
        sentences.append(answer.gettext("The invoice is emailed again on {day}.", day=answer.day(retry)))
    elif retry:
        sentences.append(answer.job("subscription.retry", retry))
    if renewal and not (end and end <= renewal):
        sentences.append(_renewal(answer, each, renewal, retried=retry is not None, ends=end is not None))
    return [*sentences, answer.job("subscription.expire", end) if end else ""]


def _end(planned: Mapping[str, str], each: Subscription) -> str | None:
    """Return when it ends: at its end date, or with the period where that is to be canceled."""
    ends = [planned.get("subscription.expire")]
    if each.cancel_at_period_end:
        ends.append(planned.get("subscription.renew"))
    return min((end for end in ends if end), default=None)


def _renewal(answer: AnswerWriter, each: Subscription, renewal: str, *, retried: bool, ends: bool) -> str:
    """Return the sentence on the next period. While a charge is tried again, that is not known."""
    if each.status == "active":
        return answer.job("subscription.renew", renewal)
    if renewals.is_charged(answer.world, each):
        said = N_("The next period, {price}, is billed on {day}.")
        return answer.gettext(said, price=_price(answer, each), day=answer.day(renewal))
    if retried or each.status not in ("past_due", "unpaid"):
        return ""
    if ends:
        return answer.gettext("No further charge is planned.")
    return answer.gettext("No further charge is planned; periods continue until you cancel.")


def _invoice(answer: AnswerWriter, each: Invoice) -> list[str]:
    rest = answer.money(each.amount_remaining, each.currency)
    if each.status == "draft":
        return [answer.gettext("A draft: it cannot be paid until it is finalized.")]
    if each.status == "paid":
        return [_paid(answer, each)]
    if each.status == "void":
        return [answer.gettext("Void: nothing is to be paid.")]
    if each.status == "uncollectible":
        return [answer.gettext("Uncollectible: {amount} was never paid, and no more attempts are made.", amount=rest)]
    intents = answer.world.table(PaymentIntent).where("invoice", each.id)
    if each.due_date is None:
        return [answer.gettext("{amount} is to be paid.", amount=rest), answer.failures(intents)]
    overdue = each.due_date < answer.world.now[: len(each.due_date)]
    said = N_("{amount} has been overdue since {day}.") if overdue else N_("{amount} is to be paid by {day}.")
    return [answer.gettext(said, amount=rest, day=answer.day(each.due_date)), answer.failures(intents)]


def _paid(answer: AnswerWriter, each: Invoice) -> str:
    intents = answer.world.table(PaymentIntent).where("invoice", each.id)
    paid = next((intent for intent in intents if intent.status == "succeeded"), None)
    amount = answer.money(each.amount_paid, each.currency)
    if paid is None:
        return answer.gettext("Paid: {amount}.", amount=amount)
    said = N_("Paid: {amount} with {method} on {day}.")
    return answer.gettext(said, amount=amount, method=answer.paid_with(paid), day=answer.day(paid.updated_at))


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


def _payment_intent(answer: AnswerWriter, each: PaymentIntent) -> list[str]:
    shown = {"succeeded": each.amount_received, "requires_capture": each.amount_capturable}
    amount = answer.money(shown.get(each.status, each.amount), each.currency)
    method = answer.paid_with(each)
    if each.status == "canceled":
        if each.last_error is None:
            return [answer.gettext("Canceled: {amount} was not charged.", amount=amount)]
        said = N_("{method} was not charged {amount}: {reason}.")
        return [answer.gettext(said, amount=amount, method=method, reason=answer.reason(each))]
    sentence = answer.gettext(INTENTS[each.status], amount=amount, method=method, day=answer.day(each.updated_at))
    waits = each.status in ("requires_action", "processing")
    return [sentence, answer.next() if waits else ""]


DEPOSITS: Mapping[str, str] = {
    "pending": N_("{amount} from {method} is on its way."),
    "approved": N_("{amount} from {method} is approved; the money has not arrived yet."),
    "failed": N_("{method} was not charged {amount}."),
    "canceled": N_("Canceled: {amount} was not charged."),
}
"""How a deposit stands whose money has not arrived, by its status."""


def _transaction(answer: AnswerWriter, each: Transaction) -> list[str]:
    figures = {
        "amount": answer.money(each.amount, each.currency),
        "net": answer.money(each.net_amount, each.currency),
        "refunded": answer.money(each.amount_refunded, each.currency),
        "method": answer.paid_with(each),
        "day": answer.day(each.processed_at or each.created_at),
    }
    if each.type != "deposit":
        return [answer.gettext("{amount} went back to {method} on {day}.", **figures)]
    if each.status in DEPOSITS:
        return [answer.gettext(DEPOSITS[each.status], **figures), answer.next() if each.status == "approved" else ""]
    sentences = [answer.gettext("{amount} was received from {method} on {day}; {net} after fees.", **figures)]
    if each.amount_refunded:
        sentences.append(answer.gettext("{refunded} of it was refunded.", **figures))
    if each.status == "disputed":
        sentences.append(answer.gettext("The buyer disputes it."))
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


def _refund(answer: AnswerWriter, each: Refund) -> list[str]:
    day, reason = answer.day(each.refunded_at or each.updated_at), each.failure_reason or ""
    amount = answer.money(each.amount, each.currency)
    sentence = answer.gettext(REFUNDS[each.status], amount=amount, day=day, reason=reason)
    return [sentence, answer.next() if each.status in ("pending", "processing") else ""]


SESSIONS: Mapping[str, str] = {
    "open": N_("Not paid yet."),
    "processing": N_("The buyer has submitted a payment, which is not confirmed yet."),
    "complete": N_("Completed by its buyer."),
    "payment_failed": N_("The last payment failed; the buyer can try again."),
    "expired": N_("Expired on {day} without a payment."),
}
"""How a checkout session stands, by its status."""


def _session(answer: AnswerWriter, each: CheckoutSession) -> list[str]:
    said = SESSIONS[each.status]
    if each.status == "expired" and each.expires_at > answer.world.now:
        said = N_("Closed by the merchant without a payment.")
    sentence = answer.gettext(said, day=answer.day(each.expires_at))
    intents = answer.world.table(PaymentIntent).where("checkout_session", each.id)
    if each.status not in ("open", "payment_failed"):
        return [sentence]
    return [sentence, answer.failures(intents), answer.next()]


def _payment_link(answer: AnswerWriter, each: PaymentLink) -> list[str]:
    if each.status == "archived":
        return [answer.gettext("Archived: it accepts no payments any more.")]
    paid = answer.ngettext("1 payment so far.", "{count} payments so far.", each.usage_count)
    limit = answer.gettext("It can be used {count} times in all.", count=each.max_usage) if each.max_usage else ""
    return [paid if each.usage_count else answer.gettext("No payment yet."), limit]


# -- customers, their payment methods, products and plans


SUBSCRIPTIONS: Mapping[str, Callable[[AnswerWriter, int], str]] = {
    "active": lambda answer, n: answer.ngettext("1 active subscription.", "{count} active subscriptions.", n),
    "trialing": lambda answer, n: answer.ngettext("1 trialing subscription.", "{count} trialing subscriptions.", n),
    "past_due": lambda answer, n: answer.ngettext("1 past due subscription.", "{count} past due subscriptions.", n),
    "unpaid": lambda answer, n: answer.ngettext("1 unpaid subscription.", "{count} unpaid subscriptions.", n),
    "paused": lambda answer, n: answer.ngettext("1 paused subscription.", "{count} paused subscriptions.", n),
}
"""How many there are in each status in which one has not ended."""


def _subscriptions(answer: AnswerWriter, found: Iterable[Subscription]) -> list[str]:
    counts = Counter(each.status for each in found)
    return [counted(answer, counts[status]) for status, counted in SUBSCRIPTIONS.items() if counts[status]]


def _customer(answer: AnswerWriter, each: Customer) -> list[str]:
    world = answer.world
    owing = [one for one in world.table(Invoice).where("customer", each.id) if one.status == "open"]
    sentences = []
    if customers.is_blocked(each):
        sentences.append(answer.gettext("Blocked: no payment of theirs is accepted."))
    if each.total_spent:
        sentences.append(answer.gettext("Has paid {amount}.", amount=answer.money(each.total_spent, each.currency)))
    sentences += _subscriptions(answer, world.table(Subscription).where("customer", each.id))
    if owing:
        sentences.append(answer.ngettext("1 open invoice.", "{count} open invoices.", len(owing)))
    if not world.table(PaymentMethod).where("customer", each.id):
        sentences.append(answer.gettext("No payment method is stored."))
    return sentences


def _payment_method(answer: AnswerWriter, each: PaymentMethod) -> list[str]:
    if each.status == "expired":
        return [answer.gettext("Expired: it is not charged any more.")]
    default = N_("Active, and the default of {customer}.") if each.is_default else N_("Active, of {customer}.")
    owner = name_of(answer.world, each.customer, answer.language)
    return [answer.gettext(default, customer=owner) if owner else "", answer.next() if each.type == "bank_card" else ""]


def _sold(answer: AnswerWriter, each: Product | SubscriptionPlan) -> list[str]:
    field = "plan" if isinstance(each, SubscriptionPlan) else "product"
    subscriptions = answer.world.table(Subscription)
    found = subscriptions.where("plan", each.id) if field == "plan" else subscriptions
    state = "" if each.active else answer.gettext("Not for sale any more.")
    counts = _subscriptions(answer, (one for one in found if getattr(one, field) == each.id))
    return [state, *(counts or [answer.gettext("No subscription to it.")])]


# -- events, deliveries and endpoints


def _delivery(answer: AnswerWriter, each: WebhookDelivery) -> list[str]:
    endpoint = name_of(answer.world, each.webhook, answer.language) or each.webhook
    last = each.attempts[-1] if each.attempts else None
    if each.status == "succeeded":
        arrived = answer.ngettext(
            "Delivered to {endpoint} at the first attempt.",
            "Delivered to {endpoint} after {count} attempts.",
            each.attempt_count,
            endpoint=endpoint,
        )
        return [arrived]
    if last is None:
        return [answer.gettext("Not sent to {endpoint} yet.", endpoint=endpoint), answer.next()]
    failed = answer.ngettext(
        "Not delivered to {endpoint}: 1 attempt, which got {result}.",
        "Not delivered to {endpoint}: {count} attempts, the last of which got {result}.",
        each.attempt_count,
        endpoint=endpoint,
        result=last.status_code or last.error or answer.gettext("no answer"),
    )
    return [failed, answer.next()]


def _endpoint(answer: AnswerWriter, each: WebhookEndpoint) -> list[str]:
    deliveries = answer.world.table(WebhookDelivery).where("webhook", each.id)
    failed = sum(one.status == "failed" for one in deliveries)
    waiting = sum(one.status == "pending" for one in deliveries)
    return [
        "" if each.enabled else answer.gettext("Switched off: it is sent nothing."),
        answer.ngettext("1 delivery so far.", "{count} deliveries so far.", len(deliveries)),
        answer.ngettext("1 failed.", "{count} failed.", failed) if failed else "",
        answer.ngettext("1 will be retried.", "{count} will be retried.", waiting) if waiting else "",
    ]


def _event(answer: AnswerWriter, each: Event) -> list[str]:
    deliveries = answer.world.table(WebhookDelivery).where("event", each.id)
    if not deliveries:
        return [answer.gettext("No endpoint is registered for it, so it was sent nowhere.")]
    arrived = sum(one.status == "succeeded" for one in deliveries)
    sent = answer.ngettext("Sent to 1 endpoint;", "Sent to {count} endpoints;", len(deliveries))
    return [
        sent,
        answer.ngettext("1 accepted it.", "{count} accepted it.", arrived)
        if arrived
        else answer.gettext("none accepted it."),
    ]


# -- the answer about any record


ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
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
"""The kinds that have an answer; the fields of the others say everything."""


def answer(world: World, record: Record, language: Language) -> str:
    """Return the sentences about a record; empty for a kind that has none."""
    about = ANSWERS.get(type(record))
    return " ".join(filter(None, about(AnswerWriter(world, record, language), record))) if about else ""
