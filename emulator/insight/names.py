"""A world's objects and jobs as people name them: found by id, with a more telling name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from emulator.core.errors import ApiError
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.world import World
from emulator.document import bundles
from emulator.document.paths import fixture
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES
from emulator.resources.billing import subscriptions
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
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
    by_name: dict[str, Any] = bundles.load("service")["components"]["schemas"]
    return by_name


# -- the names of objects, where an id says nothing to people


LONGEST = 120
"""The most characters of a name."""


def describe(world: World, record: Record, language: Language) -> str:
    """Return a name for people, maybe empty: ``Awa Diop · Premium · 5,000 XAF / month``."""
    parts_of = _PARTS.get(type(record))
    named = (
        parts_of(Naming(world, language), record)
        if parts_of
        else [str(getattr(record, "name", ""))]
    )
    parts = " · ".join(filter(None, named)).split(" · ")
    # The longest part gives way, so that a price stays.
    while (excess := len(" · ".join(parts)) - LONGEST) > 0:
        longest = max(range(len(parts)), key=lambda number: len(parts[number]))
        parts[longest] = f"{parts[longest][: max(1, len(parts[longest]) - excess - 1)].rstrip()}…"
    return " · ".join(parts)


def name_of(world: World, id: str | None, language: Language) -> str:
    """Return the name for people of the object with this id; it may be empty."""
    record = get(world, id) if id else None
    return describe(world, record, language) if record else ""


def price(amount: int, priced: Subscription | SubscriptionPlan, language: Language) -> str:
    """Return a price, such as ``5,000 XAF / month``, of an amount in minor units."""
    return (
        f"{language.money(amount, priced.currency)} /"
        f" {language.period(priced.interval, priced.interval_count)}"
    )


def paid_with(payment: PaymentIntent | Transaction, language: Language) -> str:
    """Return the name of a payment's method, or an empty text before one is chosen."""
    used = payment.instrument
    return instrument(used.type, used.details, language) if used else ""


def instrument(type: str | None, details: Mapping[str, Any], language: Language) -> str:
    """Return operator and last public digits: ``Airtel +241 …0001`` or ``Visa …4242``."""
    if type is None:
        return ""
    kind = (
        details.get("operator")
        or details.get("brand")
        or language.gettext(PAYMENT_METHOD_TYPES[type])
    )
    phone = details.get("phone")
    contact = f"{phone[:4]} …{phone[-4:]}" if phone else details.get("email") or ""
    last4 = details.get("last4")
    return f"{kind} {contact or (f'…{last4}' if last4 else '')}".strip()


class Naming(NamedTuple):
    """The parts that names have in common, in one world and language."""

    world: World
    language: Language

    def of(self, id: str | None) -> str:
        return name_of(self.world, id, self.language)

    def buyer(self, payable: Invoice | PaymentIntent | CheckoutSession) -> str | None:
        return self.of(payable.customer) or payable.customer_email

    def money(self, amount: int | None, currency: str | None) -> str:
        return self.language.money(amount, currency) if amount is not None and currency else ""

    def sold(self, subscription: Subscription) -> str:
        """Return the name of the plan whose price the subscription has, else of the product."""
        plan = subscriptions.current_plan(self.world, subscription)
        return self.of(plan.id if plan else subscription.product).partition(" · ")[0]

    def buyer_of(self, transaction: str) -> str:
        paid = self.world.get(Transaction, transaction)
        return self.of(paid.customer) if paid else ""


_PARTS: Mapping[type[Record], Callable[[Naming, Any], Iterable[str | None]]] = {
    Customer: lambda naming, customer: (
        f"{customer.firstname} {customer.lastname}".strip() or customer.email or customer.phone,
    ),
    Address: lambda naming, address: (address.line1, address.city),
    PaymentMethod: lambda naming, method: (
        instrument(method.type, method.details, naming.language),
        naming.of(method.customer),
    ),
    SubscriptionPlan: lambda naming, plan: (plan.name, price(plan.amount, plan, naming.language)),
    Subscription: lambda naming, subscription: (
        naming.of(subscription.customer),
        naming.sold(subscription),
        price(subscription.unit_amount, subscription, naming.language),
    ),
    Invoice: lambda naming, invoice: (
        invoice.invoice_number,
        naming.buyer(invoice),
        naming.money(invoice.total, invoice.currency),
    ),
    CheckoutSession: lambda naming, session: (
        naming.money(session.amount_total, session.currency),
        naming.buyer(session),
    ),
    PaymentLink: lambda naming, link: (
        link.name or naming.money(link.amount or None, link.currency),
    ),
    PaymentIntent: lambda naming, intent: (
        naming.money(intent.amount, intent.currency),
        naming.buyer(intent),
        paid_with(intent, naming.language),
    ),
    Transaction: lambda naming, transaction: (
        naming.money(transaction.amount, transaction.currency),
        naming.of(transaction.customer),
        paid_with(transaction, naming.language),
    ),
    Receipt: lambda naming, receipt: (
        receipt.number,
        naming.money(receipt.amount, receipt.currency),
    ),
    Refund: lambda naming, refund: (
        naming.money(refund.amount, refund.currency),
        naming.buyer_of(refund.transaction),
    ),
    WebhookEndpoint: lambda naming, endpoint: (endpoint.name or endpoint.url,),
    WebhookDelivery: lambda naming, delivery: (delivery.event_type, naming.of(delivery.webhook)),
    Event: lambda naming, event: (event.type, naming.of(event.about)),
    Email: lambda naming, email: (
        email.topic.replace("_", " "),
        naming.of(email.customer.id) if email.customer else "",
        email.to,
    ),
}
"""The parts of each kind's name, without empty ones; other kinds have their field ``name``."""


# -- jobs


@cache
def job_texts() -> Mapping[str, Mapping[str, str]]:
    """Return each job's effect in a sentence (``summary``) and its other names, by its name."""
    texts: Mapping[str, Mapping[str, str]] = fixture("jobs")
    return texts
