"""A receipt: issued to the buyer for each completed deposit (B-53)."""

from __future__ import annotations

from typing import ClassVar

from emulator.core.events import Event
from emulator.core.handlers import get_handler, list_handler
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction


class Receipt(Record, frozen=True, kw_only=True):
    """``amount`` is minor units; ``number`` is unique in the App."""

    kind: ClassVar[str] = "receipt"
    prefix: ClassVar[str] = "rcpt"
    names: ClassVar[tuple[str, str] | None] = (N_("Receipt"), N_("Receipts"))
    not_found_code: ClassVar[str] = "RECEIPT_NOT_FOUND"
    unique: ClassVar[tuple[str, ...]] = ("transaction",)

    object: str = "receipt"
    app: str
    number: str
    transaction: str
    customer: str | None
    customer_email: str | None
    amount: int
    currency: str
    url: str
    livemode: bool
    created_at: str


def issue(world: World, event: Event) -> None:
    """Reaction to ``transaction.succeeded``: issue the receipt."""
    transaction: Transaction = event.data.object
    intent = world.get(PaymentIntent, transaction.payment_intent)
    id = world.new_id(Receipt)
    world.add(
        Receipt(
            id=id,
            app=world.app,
            number=f"RCPT-{world.now[:4]}-{world.count('receipt'):06d}",
            transaction=transaction.id,
            customer=transaction.customer,
            customer_email=None if intent is None else intent.customer_email,
            amount=transaction.amount,
            currency=transaction.currency,
            url=f"{world.base_url}/receipt/{id}",
            livemode=world.livemode,
            created_at=world.now,
        )
    )


retrieve = get_handler(Receipt)
index = list_handler(Receipt)

OPERATIONS = {"listReceipts": index, "getReceipt": retrieve}
