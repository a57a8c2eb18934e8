"""How customers, their payment methods, products and plans stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control.answers.answer import AnswerWriter
from emulator.control.names import name_of
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod


def _customer(answer: AnswerWriter, each: Customer) -> list[str]:
    world = answer.world
    subscriptions = [one.status for one in world.table(Subscription).where("customer", each.id)]
    alive = sum(status not in ("canceled", "expired") for status in subscriptions)
    owing = [one for one in world.table(Invoice).where("customer", each.id) if one.status == "open"]
    sentences = []
    if each.is_blacklisted or each.status != "active":
        sentences.append(answer.gettext("Blocked: no payment of theirs is accepted."))
    if each.total_spent:
        sentences.append(answer.gettext("Has paid {amount}.", amount=answer.money(each.total_spent, each.currency)))
    if alive:
        sentences.append(answer.ngettext("1 subscription runs.", "{count} subscriptions run.", alive))
    if owing:
        sentences.append(answer.ngettext("1 invoice is open.", "{count} invoices are open.", len(owing)))
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
    many = sum(getattr(one, field) == each.id and one.status not in ("canceled", "expired") for one in found)
    sentence = answer.ngettext("1 subscription to it runs.", "{count} subscriptions to it run.", many)
    state = "" if each.active else answer.gettext("Not for sale any more.")
    return [state, sentence if many else answer.gettext("No subscription to it runs.")]


ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
    Customer: _customer,
    PaymentMethod: _payment_method,
    Product: _sold,
    SubscriptionPlan: _sold,
}
