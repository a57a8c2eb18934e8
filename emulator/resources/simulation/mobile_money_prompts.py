"""Mobile money prompts on a buyer's phone, and the buyer's answers (B-55)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import get_or_404
from emulator.core.world import World
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.payments import charging
from emulator.resources.payments.payment_intents import PaymentIntent

REJECTED, UNANSWERED = "MOBILE_MONEY_REJECTED", "MOBILE_MONEY_TIMEOUT"
"""The codes a payment fails with if the buyer rejects its prompt, or does not answer it."""

_NUMBER = re.compile(r"\+?([1-9][0-9]{6,14})", re.ASCII)


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A payment that the buyer is asked to confirm. ``amount`` is in minor units, ``merchant`` the name of the App."""

    object: str = "prompt"
    payment_intent: str
    merchant: str
    amount: int
    currency: str
    description: str | None
    created_at: str
    expires_at: str


def number_in(text: str) -> str:
    """The E.164 number in a path, where the plus may be missing; 404 for any other text (B-35)."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ApiError("NOT_FOUND", message="A phone has a number in E.164, such as +24177123456.")
    return f"+{match[1]}"


def waiting(world: World, number: str) -> list[PaymentIntent]:
    """The payments whose prompts are waiting on a phone, newest first."""
    asked = world.table(PaymentIntent).where("status", "requires_action")
    return [intent for intent in asked if (intent.next_action or {}).get("phone") == number][::-1]


def shown(world: World, intent: PaymentIntent) -> Prompt:
    """The prompt of a payment."""
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
    """POST /_emulator/phones/{number}/answer: to the newest prompt, or to that of the given payment.

    After an approval the operator decides by the magic value of the number (B-54). An ignored prompt expires in time.
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
    raise ApiError(
        "INVALID_STATUS_TRANSITION",
        message=f"No such prompt waits on {number}." if id else f"No prompt waits on {number}.",
    )


def _verdict(world: World, intent: PaymentIntent) -> str | None:
    """The operator's error code for an approved payment, if any; codes for what buyers do are left out."""
    instrument = intent.instrument or PaymentDetails(type="mobile_money", details=intent.next_action or {})
    code = payment_details.magic_of(world, instrument).code
    return None if code in (REJECTED, UNANSWERED) else code
