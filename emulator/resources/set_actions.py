"""The step of a buyer that follows a payment's status, as a tester sets either (B-50, B-54, B-89).

A payment that is set to wait for its buyer asks for the step of its method. One that waits for
nothing asks for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core import calendar
from emulator.core.errors import invalid_field, missing_field
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import payment_details
from emulator.resources.payments import operator, payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent

FIELDS: Mapping[str, tuple[str, ...]] = {
    "confirm_on_phone": ("phone", "expires_at"),
    "confirm_card": ("expires_at",),
    "redirect": ("url",),
}
"""The fields that each type of step always has."""

MAY_HAVE: Mapping[str, tuple[str, ...]] = {"confirm_card": ("url",), "redirect": ("expires_at",)}
"""The fields that a type of step may have besides."""

STEPS: Mapping[str | None, tuple[str, ...]] = {
    "mobile_money": ("confirm_on_phone",),
    "bank_card": ("confirm_card", "redirect"),
}
"""The types of step by the type of method; any other payment can be sent on only."""

ELSEWHERE = ("redirect",)


def follow(
    world: World, old: PaymentIntent, new: PaymentIntent, changed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the ``next_action`` of an intent as set; 422 for a step that it cannot have."""
    sent = changed.get("next_action")
    if new.status != "requires_action":
        if sent is not None:
            raise invalid_field(
                "next_action", "goes with the status requires_action: set status as well"
            )
        return {"next_action": None}
    if sent is not None:
        _check(new, sent)
        return {}
    if old.status == new.status:
        if "next_action" in changed:
            raise invalid_field(
                "next_action", "is what the payment waits for: set status to another one"
            )
        return {}
    return {"next_action": _step_of(world, new)}


def _check(new: PaymentIntent, sent: Mapping[str, Any]) -> None:
    type = sent["type"]
    possible = STEPS.get(new.payment_method_type, ELSEWHERE)
    if type not in possible:
        method = new.payment_method_type or "no method"
        raise invalid_field(
            "next_action.type", f"must be {' or '.join(possible)} for a payment with {method}"
        )
    own = FIELDS[type]
    for name in own:
        if name not in sent:
            raise missing_field(f"next_action.{name}")
    for name in sent:
        if name not in ("type", *own, *MAY_HAVE.get(type, ())):
            raise invalid_field(f"next_action.{name[:60]}", f"does not belong to {type}")


def _step_of(world: World, new: PaymentIntent) -> dict[str, Any]:
    """Return the step that the operator asks the buyer of a payment for, from now on."""
    details = new.instrument
    if details is None:
        raise invalid_field(
            "payment_method", "is required for requires_action: send it, or a next_action"
        )
    if details.type == "mobile_money":
        ends = calendar.plus(world.now, seconds=operator.PROMPT_SECONDS)
        phone = details.details["phone"]
        return {"type": "confirm_on_phone", "phone": phone, "expires_at": ends}
    if details.type == "bank_card":
        session = world.get(CheckoutSession, new.checkout_session)
        ends = calendar.plus(world.now, seconds=settings(world).confirmation_timeout)
        return {
            "type": "confirm_card",
            "expires_at": ends if session is None else min(ends, session.expires_at),
        }
    raise invalid_field(
        "status", f"requires_action is no status of a payment by {details.type}: set processing"
    )


def plan(world: World, old: PaymentIntent, new: PaymentIntent) -> None:
    """Plan the end of a payment that waits for its buyer, or for an operator who takes time."""
    if new.status == "processing" and old.status != new.status:
        _plan_answer(world, new)
    if new.status != "requires_action":
        return
    action = new.next_action or {}
    ends = action.get("expires_at") or calendar.plus(
        world.now, seconds=settings(world).confirmation_timeout
    )
    own = world.jobs.where("about", new.id)
    if any(job.name == "payment_intent.answer" and job.due <= ends for job in own):
        return
    world.cancel_jobs(new, *payment_intents.ENDINGS)
    if action.get("type") == "confirm_on_phone":
        payment_intents.end_unanswered(world, new, ends)
    else:
        world.schedule(ends, "payment_intent.unconfirmed", new)


def _plan_answer(world: World, new: PaymentIntent) -> None:
    """Plan the operator's answer. One who answers at once leaves the payment to the tester."""
    if new.instrument is None:
        return
    magic = payment_details.magic_of(world, new.instrument)
    delay = operator.answers_after(world, magic)
    if delay:
        due = calendar.plus(world.now, seconds=delay.total_seconds())
        world.schedule(
            due, "payment_intent.answer", new, **({"code": magic.code} if magic.code else {})
        )
