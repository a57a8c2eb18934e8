"""A model of the money: what events announce must agree with what objects say, after every unit of work."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.resources import ledger
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction


class Disagreement(Exception):
    """An object says something else than the events did."""


class Model:
    """Counts payments by their events alone; :meth:`observe` is given every unit of work.

    ``received``: payments per invoice and session; ``paid_in`` and ``manual``: minor units per currency;
    ``spent``: minor units per customer and currency.
    """

    def __init__(self) -> None:
        self.received: Counter[str] = Counter()
        self.paid_in: Counter[str] = Counter()
        self.manual: Counter[str] = Counter()
        self.spent: dict[tuple[str, str], int] = defaultdict(int)

    def observe(self, world: World, unit: UnitOfWork) -> None:
        """Raise :class:`Disagreement` where this unit of work did what it must not do."""
        for event in unit.events:
            handle = HANDLERS.get(event.type)
            if handle is not None and (wrong := handle(self, world, unit, event.data.object)):
                raise Disagreement(f"{event.type}: {wrong}")

    # -- events

    def succeeded(self, world: World, unit: UnitOfWork, intent: PaymentIntent) -> str | None:
        """At most one payment of an invoice or session is received, and of none that is void or paid otherwise."""
        for owner in filter(None, (intent.invoice, intent.checkout_session)):
            self.received[owner] += 1
            if self.received[owner] > 1:
                return f"{owner} was paid {self.received[owner]} times"
        invoice = world.get(Invoice, intent.invoice)
        if invoice is not None and (invoice.status == "void" or invoice.paid_manually):
            return f"{invoice.id} was not owed any more"
        return None

    def failed(self, world: World, unit: UnitOfWork, intent: PaymentIntent) -> str | None:
        """A charge of a subscription that failed has its event, in the same unit of work."""
        invoice = world.get(Invoice, intent.invoice)
        if intent.subscription is None or invoice is None or invoice.status not in ("open", "uncollectible"):
            return None
        reported = [event for event in unit.events if event.type == "subscription.payment_failed"]
        if world.get(Subscription, intent.subscription) is None or reported:
            return None
        return f"the charge {intent.id} of {intent.subscription} failed without subscription.payment_failed"

    def deposited(self, world: World, unit: UnitOfWork, deposit: Transaction) -> str | None:
        """Money came in."""
        self.paid_in[deposit.currency] += deposit.amount
        self.spent[deposit.customer or "", deposit.currency] += deposit.amount
        return None

    def refunded(self, world: World, unit: UnitOfWork, refund: Any) -> str | None:
        """Money went back."""
        self.paid_in[refund.currency] -= refund.amount
        deposit = world.require(Transaction, refund.transaction)
        self.spent[deposit.customer or "", refund.currency] -= refund.amount
        return None

    def paid(self, world: World, unit: UnitOfWork, invoice: Invoice) -> str | None:
        """An invoice is paid by one payment, or manually."""
        if invoice.paid_manually:
            self.manual[invoice.currency] += invoice.amount_paid
        elif invoice.total and not self.received[invoice.id] and not self._by_session(world, invoice):
            return f"{invoice.id} is paid without a payment"
        return None

    def completed(self, world: World, unit: UnitOfWork, session: CheckoutSession) -> str | None:
        """A session that charges is complete once its payment is received."""
        if session.amount_total and not self.received[session.id]:
            return f"{session.id} is complete without a payment"
        return None

    def _by_session(self, world: World, invoice: Invoice) -> bool:
        """Whether it bills what was paid in a checkout session."""
        intents = world.table(PaymentIntent)
        return any(intent.checkout_session and intent.invoice == invoice.id for intent in intents)

    # -- states, between two units of work

    def compare(self, world: World) -> None:
        """Totals of customers, the books of the ledger and the states of subscriptions agree with the model."""
        totals = ledger.totals(world)
        for currency in {currency for _, currency in totals}:
            books = {account: amount for (account, of), amount in totals.items() if of == currency}
            assert sum(books.values()) == 0, books
            assert -books.get("buyers", 0) == self.paid_in[currency] + self.manual[currency], books
        for customer in world.table(Customer):
            assert customer.total_spent == self.spent[customer.id, customer.currency], customer
        for subscription in world.table(Subscription):
            if subscription.status == "past_due":
                own = world.table(Invoice).where("subscription", subscription.id)
                assert any(invoice.status == "open" for invoice in own), f"{subscription.id} owes nothing"


HANDLERS = {
    "payment_intent.succeeded": Model.succeeded,
    "payment_intent.failed": Model.failed,
    "transaction.succeeded": Model.deposited,
    "refund.succeeded": Model.refunded,
    "invoice.paid": Model.paid,
    "checkout.session.completed": Model.completed,
}
