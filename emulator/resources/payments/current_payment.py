"""The current payment of an invoice, a checkout session or a one-time link: the one under way or received.

There is at most one (B-62). Code that is about to take, retry, void or record a payment calls :func:`of` first.
"""

from __future__ import annotations

from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.payments import charging
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction

UNDER_WAY = ("requires_action", "processing", "requires_capture")
"""States of an intent whose payment is on its way: the buyer, the operator or the merchant has yet to act."""


def of(world: World, owner: Record) -> PaymentIntent | None:
    """The intent under way or ``succeeded`` of an invoice, a session or a link, whichever ``owner`` is (B-62)."""
    attempts = world.table(PaymentIntent).where(owner.kind, owner.id)
    return next((each for each in reversed(attempts) if each.status == "succeeded" or each.status in UNDER_WAY), None)


def require_none(world: World, owner: Record) -> None:
    """422 ``INVALID_STATUS_TRANSITION`` for a second payment (B-62)."""
    if of(world, owner) is not None:
        raise ApiError("INVALID_STATUS_TRANSITION", message=f"A payment of this {_name(owner)} is under way.")


def cancel(world: World, owner: Record) -> None:
    """Cancel what is under way, because it is no longer owed; 422 where the payment has succeeded already (B-62)."""
    intent = of(world, owner)
    if intent is None:
        return
    if intent.status == "succeeded":
        message = f"A payment of this {_name(owner)} has succeeded and is being settled."
        raise ApiError("INVALID_STATUS_TRANSITION", message=message)
    charging.cancel(world, intent)


def is_received(world: World, intent: PaymentIntent) -> bool:
    """Whether its payment is received: the intent succeeded or, under the other assumption, its transaction did (B-61)."""
    if intent.status != "succeeded":
        return False
    if settings(world).assumptions.payment_received == "intent":
        return True
    transaction = world.get(Transaction, intent.transaction)
    return transaction is None or transaction.status not in ("pending", "approved")


def received_by(world: World, event: Event) -> PaymentIntent | None:
    """The intent whose payment is received with this ``payment_intent.succeeded`` or ``transaction.succeeded``.

    Where one unit of work sends both, it is the second (B-44), so that what follows comes after both.
    """
    if event.type == "transaction.succeeded":
        return world.get(PaymentIntent, event.data.object.payment_intent)
    intent: PaymentIntent = event.data.object
    transaction = world.get(Transaction, intent.transaction)
    if transaction is None or transaction.status != "approved":
        return None
    return world.require(PaymentIntent, intent.id) if is_received(world, intent) else None


def _name(owner: Record) -> str:
    return owner.kind.replace("_", " ")
