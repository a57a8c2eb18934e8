"""Names: how people call an object, where its id says nothing to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control import objects
from emulator.core.events import Event
from emulator.core.handlers import Query
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.journal import Journal
from emulator.engine.runtime import Runtime
from emulator.presentation.languages.language import Language, language_of
from emulator.presentation.languages.terms import PAYMENT_METHOD_TYPES
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Address, Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.receipts import Receipt
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

LONGEST = 120
"""The most characters of a name."""


async def index(engine: Engine, runtime: Runtime, query: Query) -> dict[str, str]:
    """GET /names: the name of each of these ids; ids of nothing that is there, or that has no name, are left out."""
    await runtime.catch_up()
    language = language_of(query["language"])
    found = ((id, _found(runtime, id, language)) for id in dict.fromkeys(query["ids"].split(",")))
    return {id: name for id, name in found if name}


def _found(runtime: Runtime, id: str, language: Language) -> str:
    if id.startswith("req_"):
        return request_name(runtime.journal, id)
    record = runtime.world.get(Email, id) or objects.get(runtime.world, id)
    return name(runtime.world, record, language) if record else ""


def request_name(journal: Journal, id: str) -> str:
    """Method and path of a request; empty for one that is no longer in the journal."""
    entry = journal.find(id)
    return f"{entry.method} {entry.target}"[:LONGEST] if entry else ""


def name(world: World, record: Record, language: Language) -> str:
    """What people call a record: ``Awa Diop · Premium · 5,000 XAF / month``. Empty for one that has no name."""
    found = _NAMES.get(type(record))
    return found(world, record, language)[:LONGEST] if found else str(getattr(record, "name", ""))[:LONGEST]


def name_of(world: World, id: str | None, language: Language) -> str:
    """The same for an id; empty if there is no such object."""
    record = objects.get(world, id) if id else None
    return name(world, record, language) if record else ""


def price(amount: int, currency: str, interval: str, count: int, language: Language) -> str:
    """``5,000 XAF / month``; amounts in minor units."""
    return f"{language.money(amount, currency)} / {language.period(interval, count)}"


def instrument(type: str | None, details: Mapping[str, Any], language: Language) -> str:
    """``Airtel +241 …0001``, ``Visa …4242``: the operator, and the last digits that may be shown."""
    if type is None:
        return ""
    kind = details.get("operator") or details.get("brand") or language.gettext(PAYMENT_METHOD_TYPES[type])
    phone = details.get("phone")
    shown = f"{phone[:4]} …{phone[-4:]}" if phone else details.get("email") or ""
    last4 = details.get("last4")
    return f"{kind} {shown or (f'…{last4}' if last4 else '')}".strip()


def _joined(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _customer(world: World, customer: Customer, language: Language) -> str:
    return f"{customer.firstname} {customer.lastname}".strip() or customer.email or customer.phone or ""


def _subscription(world: World, each: Subscription, language: Language) -> str:
    sold = name_of(world, each.plan or each.product, language).partition(" · ")[0]
    amount = price(each.unit_amount, each.currency, each.interval, each.interval_count, language)
    return _joined(name_of(world, each.customer, language), sold, amount)


def _invoice(world: World, each: Invoice, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    return _joined(each.invoice_number, buyer, language.money(each.total, each.currency))


def _payment_intent(world: World, each: PaymentIntent, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    paid_with = instrument(each.instrument.type, each.instrument.details, language) if each.instrument else None
    return _joined(language.money(each.amount, each.currency), buyer, paid_with)


def _transaction(world: World, each: Transaction, language: Language) -> str:
    paid_with = instrument(each.instrument.type, each.instrument.details, language) if each.instrument else None
    return _joined(language.money(each.amount, each.currency), name_of(world, each.customer, language), paid_with)


def _refund(world: World, each: Refund, language: Language) -> str:
    transaction = world.get(Transaction, each.transaction)
    buyer = name_of(world, transaction.customer, language) if transaction else ""
    return _joined(language.money(each.amount, each.currency), buyer)


def _receipt(world: World, each: Receipt, language: Language) -> str:
    return _joined(each.number, language.money(each.amount, each.currency))


def _session(world: World, each: CheckoutSession, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    total = language.money(each.amount_total, each.currency) if each.currency else None
    return _joined(total, buyer)


def _payment_link(world: World, each: PaymentLink, language: Language) -> str:
    amount = language.money(each.amount, each.currency) if each.amount and each.currency else ""
    return each.name or amount


def _plan(world: World, each: SubscriptionPlan, language: Language) -> str:
    return _joined(each.name, price(each.amount, each.currency, each.interval, each.interval_count, language))


def _payment_method(world: World, each: PaymentMethod, language: Language) -> str:
    return _joined(instrument(each.type, each.details, language), name_of(world, each.customer, language))


def _delivery(world: World, each: WebhookDelivery, language: Language) -> str:
    return _joined(each.event_type, name_of(world, each.webhook, language))


def _event(world: World, each: Event, language: Language) -> str:
    return _joined(each.type, name_of(world, each.about, language))


_NAMES: Mapping[type[Record], Callable[[World, Any, Language], str]] = {
    Customer: _customer,
    Address: lambda world, each, language: _joined(each.line1, each.city),
    PaymentMethod: _payment_method,
    Product: lambda world, each, language: each.name,
    SubscriptionPlan: _plan,
    Subscription: _subscription,
    Invoice: _invoice,
    CheckoutSession: _session,
    PaymentLink: _payment_link,
    PaymentIntent: _payment_intent,
    Transaction: _transaction,
    Receipt: _receipt,
    Refund: _refund,
    WebhookEndpoint: lambda world, each, language: each.name or each.url,
    WebhookDelivery: _delivery,
    Event: _event,
    Email: lambda world, each, language: _joined(each.topic.replace("_", " "), each.to),
}
"""The kinds whose name is more than their field ``name``."""

OPERATIONS = {"listNames": index}
