"""How subscriptions and invoices stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control.answers.answer import AnswerWriter
from emulator.control.names import price
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.payments.payment_intents import PaymentIntent


def _subscription(answer: AnswerWriter, each: Subscription) -> list[str]:
    amount = price(each.unit_amount, each.currency, each.interval, each.interval_count, answer.language)
    if each.status in ("past_due", "unpaid"):
        return [_failing(answer, each), answer.next("subscription.retry", "subscription.expire")]
    if each.status in ("canceled", "expired"):
        ended = each.canceled_at or each.ends_at or each.updated_at
        said = N_("Canceled on {day}.") if each.status == "canceled" else N_("Ended on {day}.")
        return [answer.gettext(said, day=answer.day(ended)), answer.gettext("Nothing more is charged.")]
    if each.status == "paused":
        since = each.paused_at or each.updated_at
        return [answer.gettext("Paused since {day}: nothing is charged until it is resumed.", day=answer.day(since))]
    if each.cancel_at_period_end:
        end = each.ends_at or each.current_period_end
        return [
            answer.gettext("It is to be canceled: it ends on {day}, and nothing more is charged.", day=answer.day(end))
        ]
    if each.status == "trialing" and each.trial_end:
        said = N_("In its trial until {day}; then {amount} is charged.")
        return [answer.gettext(said, day=answer.day(each.trial_end), amount=amount)]
    return [
        answer.gettext("Active: {amount}.", amount=amount),
        answer.next("subscription.renew", "subscription.expire"),
    ]


def _failing(answer: AnswerWriter, each: Subscription) -> str:
    """Since when, how many charges of what failed, and the last reason."""
    said = N_("Past due since {day}.") if each.status == "past_due" else N_("Unpaid since {day}.")
    since = answer.gettext(said, day=answer.day(each.failed_at or each.updated_at))
    failed = _failed_charges(answer.world, each)
    if not failed:
        return since
    detail = answer.ngettext(
        "1 charge of {method} failed, with {reason}.",
        "{count} charges of {method} failed, the last with {reason}.",
        len(failed),
        method=answer.paid_with(failed[-1]),
        reason=answer.reason(failed[-1]),
    )
    return f"{since} {detail}"


def _failed_charges(world: World, each: Subscription) -> list[PaymentIntent]:
    """The failed charges of the invoice that is not paid."""
    if each.unpaid_invoice is None:
        return []
    intents = world.table(PaymentIntent).where("invoice", each.unpaid_invoice)
    return [intent for intent in intents if intent.last_error]


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
    said = N_("{amount} is overdue since {day}.") if overdue else N_("{amount} is to be paid by {day}.")
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
