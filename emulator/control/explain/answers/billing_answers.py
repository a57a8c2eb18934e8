"""How subscriptions and invoices stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control.explain.answers.answer import AnswerWriter
from emulator.control.names import price
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.resources.billing import renewals
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.payments.payment_intents import PaymentIntent


def _subscription(answer: AnswerWriter, each: Subscription) -> list[str]:
    if each.status in ("canceled", "expired"):
        ended = each.canceled_at or each.ends_at or each.updated_at
        said = N_("Canceled on {day}.") if each.status == "canceled" else N_("Ended on {day}.")
        return [answer.gettext(said, day=answer.day(ended)), answer.gettext("Nothing more is charged.")]
    return [*_standing(answer, each), *_coming(answer, each)]


def _standing(answer: AnswerWriter, each: Subscription) -> list[str]:
    """How a subscription stands that has not ended, and since when."""
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
    """Until when, and the price that follows if it does not end with its trial."""
    day, end = answer.day(trial_end), _end(answer.planned(), each)
    if end and end <= trial_end:
        return answer.gettext("In its trial until {day}.", day=day)
    return answer.gettext("In its trial until {day}; then {price}.", day=day, price=_price(answer, each))


def _past_due(answer: AnswerWriter, each: Subscription) -> str:
    """Since when, where that is known: a status that was set directly has no instant."""
    since = each.failed_at or each.behind_since
    if since is None:
        return answer.gettext("Past due.")
    return answer.gettext("Past due since {day}.", day=answer.day(since))


def _unpaid(answer: AnswerWriter, each: Subscription) -> str:
    """Since when, and when its first charge failed, where both are known."""
    if each.behind_since is None or each.failed_at is None:
        return answer.gettext("Unpaid.")
    said = N_("Unpaid since {day}; the first charge failed on {first}.")
    return answer.gettext(said, day=answer.day(each.behind_since), first=answer.day(each.failed_at))


def _price(answer: AnswerWriter, each: Subscription) -> str:
    """What the next period costs, with its tax."""
    sums = renewals.next_charge(answer.world, each)
    total = price(sums["total"], each.currency, each.interval, each.interval_count, answer.language)
    if not sums["tax_amount"]:
        return total
    net, rate = answer.money(sums["subtotal"], each.currency), answer.language.decimal(sums["tax_rate"])
    return answer.gettext("{price} ({net} + {rate}% tax)", price=total, net=net, rate=rate)


def _failed_charges(answer: AnswerWriter, each: Subscription) -> str:
    """How many charges of the invoice that is not paid failed, of what, and the last reason."""
    intents = answer.world.table(PaymentIntent).where("invoice", each.unpaid_invoice) if each.unpaid_invoice else ()
    failed = [intent for intent in intents if intent.last_error and intent.subscription]
    if not failed:
        return ""
    return answer.ngettext(
        "1 charge of {method} failed, with {reason}.",
        "{count} charges failed, the last one of {method}, with {reason}.",
        len(failed),
        method=answer.paid_with(failed[-1]),
        reason=answer.reason(failed[-1]),
    )


def _coming(answer: AnswerWriter, each: Subscription) -> list[str]:
    """What happens to it next: a charge that is tried again, the next period, its end."""
    planned = answer.planned()
    retry, renewal, end = planned.get("subscription.retry"), planned.get("subscription.renew"), _end(planned, each)
    if end and each.cancel_at_period_end and end == renewal and not retry and each.status in ("active", "trialing"):
        said = N_("It is to be canceled: it ends on {day}, and nothing more is charged.")
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
    """When it ends: at its end date, or with the period where that is to be canceled."""
    ends = [planned.get("subscription.expire")]
    if each.cancel_at_period_end:
        ends.append(planned.get("subscription.renew"))
    return min((end for end in ends if end), default=None)


def _renewal(answer: AnswerWriter, each: Subscription, renewal: str, *, retried: bool, ends: bool) -> str:
    """What the next period brings. While a charge is tried again, that is not known."""
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
    said = N_("{amount} was to be paid by {day} and is overdue.") if overdue else N_("{amount} is to be paid by {day}.")
    return [answer.gettext(said, amount=rest, day=answer.language.day(each.due_date)), answer.failures(intents)]


def _paid(answer: AnswerWriter, each: Invoice) -> str:
    intents = answer.world.table(PaymentIntent).where("invoice", each.id)
    paid = next((intent for intent in intents if intent.status == "succeeded"), None)
    amount = answer.money(each.amount_paid, each.currency)
    if paid is None:
        return answer.gettext("Paid: {amount}.", amount=amount)
    said = N_("Paid: {amount} with {method} on {day}.")
    return answer.gettext(said, amount=amount, method=answer.paid_with(paid), day=answer.day(paid.updated_at))


ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
    Subscription: _subscription,
    Invoice: _invoice,
}
