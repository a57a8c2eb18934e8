"""A handset: the prompts that wait on a buyer's phone, and what the buyer does with them (B-55)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.core.handlers import get_or_404
from emulator.core.world import World
from emulator.errors import ApiError, invalid_field
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.payments import charging
from emulator.resources.payments.payment_intents import PaymentIntent

REJECTED, UNANSWERED = "MOBILE_MONEY_REJECTED", "MOBILE_MONEY_TIMEOUT"
"""What a payment fails with that the buyer rejects, and with one the buyer leaves alone."""

_NUMBER = re.compile(r"\+?([1-9][0-9]{6,14})", re.ASCII)


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A payment the buyer is asked to confirm. ``amount`` is minor units, ``merchant`` the App that asks."""

    object: str = "prompt"
    payment_intent: str
    merchant: str
    amount: int
    currency: str
    description: str | None
    created_at: str
    expires_at: str


def number_in(text: str) -> str:
    """The E.164 number in a path, where its plus may be missing; 404 for what is none (B-35)."""
    form = _NUMBER.fullmatch(text)
    if form is None:
        raise ApiError("NOT_FOUND", message="A phone has a number in E.164, such as +24177123456.")
    return f"+{form[1]}"


def waiting(world: World, number: str) -> list[PaymentIntent]:
    """The payments whose prompts wait on a phone, the newest first."""
    asked = world.table(PaymentIntent).where("status", "requires_action")
    return [intent for intent in asked if (intent.next_action or {}).get("phone") == number][::-1]


def shown(world: World, intent: PaymentIntent) -> Prompt:
    """A payment as its buyer is asked."""
    return Prompt(
        payment_intent=intent.id,
        merchant=world.name,
        amount=intent.amount,
        currency=intent.currency,
        description=intent.description,
        created_at=intent.created_at,
        expires_at=(intent.next_action or {})["expires_at"],
    )


def answer(world: World, number: str, body: Mapping[str, Any]) -> PaymentIntent:
    """POST /_emulator/phones/{number}/answer: to the newest prompt, or to that of the payment named.

    Approved, it is the operator's turn, who goes by the number (B-54). Ignored, it times out when its time is over.
    """
    if "pin" in body and body["answer"] != "approve":
        raise invalid_field("pin", "goes with the answer approve only")
    intent = _asked(world, number, body.get("payment_intent"))
    if body["answer"] == "ignore":
        world.cancel_jobs(intent, "payment_intent.answer")
        world.schedule(shown(world, intent).expires_at, "payment_intent.answer", intent, code=UNANSWERED)
        return intent
    return charging.answer(world, intent, _verdict(world, intent) if body["answer"] == "approve" else REJECTED)


def _asked(world: World, number: str, id: str | None) -> PaymentIntent:
    if id is not None:
        get_or_404(world, PaymentIntent, id, "payment_intent")
    for intent in waiting(world, number):
        if id in (None, intent.id):
            return intent
    raise ApiError("INVALID_STATUS_TRANSITION", message=f"No {'such ' if id else ''}prompt waits on {number}.")


def _verdict(world: World, intent: PaymentIntent) -> str | None:
    """What the operator says of a payment the buyer approves; what magic the buyer would have done does not count."""
    kept = intent.instrument or PaymentDetails(type="mobile_money", details=intent.next_action or {})
    code = payment_details.magic_of(world, kept).code
    return None if code in (REJECTED, UNANSWERED) else code
