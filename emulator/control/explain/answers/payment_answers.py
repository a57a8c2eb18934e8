"""How payments, refunds, checkout sessions and payment links stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control.explain.answers.answer import AnswerWriter
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction

INTENTS: Mapping[str, str] = {
    "requires_payment_method": N_("No payment method is chosen yet."),
    "requires_confirmation": N_("A payment method is chosen; the payment is not confirmed yet."),
    "requires_action": N_("The buyer has to confirm {amount} with {method}."),
    "processing": N_("{amount} of {method} is on its way."),
    "requires_capture": N_("{amount} of {method} is held; capture it to receive it."),
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
    "pending": N_("{amount} of {method} is on its way."),
    "approved": N_("{amount} of {method} is approved; the money has not arrived yet."),
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


ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
    PaymentIntent: _payment_intent,
    Transaction: _transaction,
    Refund: _refund,
    CheckoutSession: _session,
    PaymentLink: _payment_link,
}
