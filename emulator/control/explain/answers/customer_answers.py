"""How customers, their payment methods, products and plans stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.control.explain.answers.answer import AnswerWriter
from emulator.control.names import name_of
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod

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
    if each.is_blacklisted or each.status != "active":
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


ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
    Customer: _customer,
    PaymentMethod: _payment_method,
    Product: _sold,
    SubscriptionPlan: _sold,
}
