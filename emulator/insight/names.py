"""Objects and jobs of a world as people speak of them: each found by its id, with the name that says more than the id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.world import World
from emulator.document import bundles
from emulator.document.paths import fixture
from emulator.engine.journal import Journal
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Address, Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt, Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- objects by their id


def find(world: World, id: str) -> Record:
    """Return the object with this id, of any kind, or raise 404 ``NOT_FOUND``."""
    if (record := get(world, id)) is None:
        raise ApiError("NOT_FOUND", message=f"There is no object {id[:60]}.")
    return record


def get(world: World, id: str) -> Record | None:
    """Return the object with this id, of any kind, or None."""
    kind = _by_prefix(world.kinds).get(id.rpartition("_")[0])
    return world.get(kind, id) if kind else None


@cache
def _by_prefix(kinds: tuple[type[Record], ...]) -> dict[str, type[Record]]:
    return {kind.prefix: kind for kind in kinds if documented(kind)}


def documented(kind: type[Record]) -> bool:
    """Return whether this kind is an object of the service; other kinds are the emulator's own."""
    return schema_name(kind) in schemas()


def schema_name(kind: type[Record]) -> str:
    return "".join(word.title() for word in kind.kind.split("_"))


@cache
def schemas() -> dict[str, Any]:
    found: dict[str, Any] = bundles.load("service")["components"]["schemas"]
    return found


# -- the names of objects, where an id says nothing to people


LONGEST = 120
"""The most characters of a name."""


def request_name(journal: Journal, id: str) -> str:
    """Return method and path of a request; empty for one that is no longer in the journal."""
    entry = journal.find(id)
    return f"{entry.method} {entry.target}"[:LONGEST] if entry else ""


def describe(world: World, record: Record, language: Language) -> str:
    """Return the name of a record for people: ``Awa Diop · Premium · 5,000 XAF / month``; it may be empty."""
    found = _NAMES.get(type(record))
    parts = (found(world, record, language) if found else str(getattr(record, "name", ""))).split(" · ")
    # The longest part gives way, so that a price stays.
    while (excess := len(" · ".join(parts)) - LONGEST) > 0:
        longest = max(range(len(parts)), key=lambda number: len(parts[number]))
        parts[longest] = f"{parts[longest][: max(1, len(parts[longest]) - excess - 1)].rstrip()}…"
    return " · ".join(parts)


def name_of(world: World, id: str | None, language: Language) -> str:
    """Return the name for people of the object with this id; it may be empty."""
    record = get(world, id) if id else None
    return describe(world, record, language) if record else ""


def price(amount: int, currency: str, interval: str, count: int, language: Language) -> str:
    """Return a price, such as ``5,000 XAF / month``, of an amount in minor units."""
    return f"{language.money(amount, currency)} / {language.period(interval, count)}"


def paid_with(payment: PaymentIntent | Transaction, language: Language) -> str:
    """Return the name of the method that a payment was made with, or an empty text before one is chosen."""
    used = payment.instrument
    return instrument(used.type, used.details, language) if used else ""


def instrument(type: str | None, details: Mapping[str, Any], language: Language) -> str:
    """Return ``Airtel +241 …0001`` or ``Visa …4242``: the operator, and the last digits that may be shown."""
    if type is None:
        return ""
    kind = details.get("operator") or details.get("brand") or language.gettext(PAYMENT_METHOD_TYPES[type])
    phone = details.get("phone")
    shown = f"{phone[:4]} …{phone[-4:]}" if phone else details.get("email") or ""
    last4 = details.get("last4")
    return f"{kind} {shown or (f'…{last4}' if last4 else '')}".strip()


def _joined(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _subscription(world: World, each: Subscription, language: Language) -> str:
    sold = name_of(world, each.plan or each.product, language).partition(" · ")[0]
    amount = price(each.unit_amount, each.currency, each.interval, each.interval_count, language)
    return _joined(name_of(world, each.customer, language), sold, amount)


def _invoice(world: World, each: Invoice, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    return _joined(each.invoice_number, buyer, language.money(each.total, each.currency))


def _payment_intent(world: World, each: PaymentIntent, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    return _joined(language.money(each.amount, each.currency), buyer, paid_with(each, language))


def _transaction(world: World, each: Transaction, language: Language) -> str:
    buyer = name_of(world, each.customer, language)
    return _joined(language.money(each.amount, each.currency), buyer, paid_with(each, language))


def _refund(world: World, each: Refund, language: Language) -> str:
    transaction = world.get(Transaction, each.transaction)
    buyer = name_of(world, transaction.customer, language) if transaction else ""
    return _joined(language.money(each.amount, each.currency), buyer)


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


def _email(world: World, each: Email, language: Language) -> str:
    buyer = name_of(world, each.customer.id, language) if each.customer else ""
    return _joined(each.topic.replace("_", " "), buyer, each.to)


_NAMES: Mapping[type[Record], Callable[[World, Any, Language], str]] = {
    Customer: lambda world, each, language: (
        f"{each.firstname} {each.lastname}".strip() or each.email or each.phone or ""
    ),
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
    Receipt: lambda world, each, language: _joined(each.number, language.money(each.amount, each.currency)),
    Refund: _refund,
    WebhookEndpoint: lambda world, each, language: each.name or each.url,
    WebhookDelivery: lambda world, each, language: _joined(each.event_type, name_of(world, each.webhook, language)),
    Event: lambda world, each, language: _joined(each.type, name_of(world, each.about, language)),
    Email: _email,
}
"""The kinds whose name is more than their field ``name``."""


# -- jobs


@cache
def job_texts() -> Mapping[str, Mapping[str, str]]:
    """Return what each job does, in one sentence (``summary``), and what else it is called, by its name."""
    texts: Mapping[str, Mapping[str, str]] = fixture("jobs")
    return texts
