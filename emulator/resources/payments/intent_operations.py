"""Merchants' and buyers' actions on intents: create, confirm, capture, cancel, phone prompt (B-51).

A mobile money payment is confirmed by the buyer on a prompt (B-55).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import get_or_404
from emulator.core.records import R, pick
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app import amounts, security_profiles
from emulator.resources.app.settings import merchant_name
from emulator.resources.customers import payment_details
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE, PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import operator, payment_intents, transactions
from emulator.resources.payments.payment_intents import STATE_MACHINE, PaymentIntent
from emulator.resources.payments.transactions import Transaction

# -- operations


@with_rules
def create(world: World, body: Body) -> PaymentIntent:
    """POST /payment-intents/: nothing is charged until it is confirmed (B-51)."""
    violations = Violations(body)
    currency = amounts.currency_of(violations, world, body)
    with violations:
        amounts.chargeable(world, body["amount"], currency, "amount")
    with violations:
        types = payment_details.offered(world, body)
    with violations:
        customer = _optional(world, Customer, body, "customer")
        method = _method(world, body, customer)
    violations.done()
    if method is not None:
        customer = customer or world.get(Customer, method.customer)
    buyer = {} if customer is None else {"customer": customer.id, "customer_email": customer.email}
    copied = {name: body[name] for name in COPIED_FIELDS if name in body}
    return payment_intents.start(world, method, payment_method_types=types, **{**buyer, **copied})


COPIED_FIELDS = (
    "amount",
    "currency",
    "capture_method",
    "customer_email",
    "description",
    "metadata",
)
"""The fields of the request that the new intent takes over unchanged."""


def _optional(world: World, kind: type[R], body: Mapping[str, Any], param: str) -> R | None:
    return get_or_404(world, kind, body[param], param) if param in body else None


def _method(
    world: World, body: Mapping[str, Any], customer: Customer | None
) -> PaymentMethod | None:
    """Return the method of the body, if it names one; it must be usable."""
    method = _optional(world, PaymentMethod, body, "payment_method")
    if method is not None:
        _require_usable(world, method, customer)
        _require_type(method, body.get("payment_method_types") or EVERY_TYPE)
    return method


def _require_usable(world: World, method: PaymentMethod, customer: Customer | None) -> None:
    """Raise 422 for an inactive method or another customer's, 403 for a forbidden one (B-55)."""
    if method.status != "active":
        raise invalid_field("payment_method", f"this method is {method.status}")
    if customer is not None and method.customer != customer.id:
        raise invalid_field("payment_method", "this method belongs to another customer")
    security_profiles.check_method(world, method.type)


def _require_type(method: PaymentMethod, types: tuple[str, ...]) -> None:
    """Raise 422 for a method of another type (B-15)."""
    if method.type not in types:
        raise invalid_field(
            "payment_method", f"{method.type} is not allowed here", "PAYMENT_METHOD_NOT_SUPPORTED"
        )


@with_rules
def confirm(world: World, id: str, body: Body) -> PaymentIntent:
    """POST …/confirm/: charge the intent's method, or the one in the body."""
    intent = get_or_404(world, PaymentIntent, id)
    violations = Violations(body)
    with violations:
        if STATE_MACHINE.allows(intent, "choose"):
            chosen = _optional(world, PaymentMethod, body, "payment_method")
            if chosen is not None:
                _require_usable(world, chosen, world.get(Customer, intent.customer))
                _require_type(chosen, intent.payment_method_types)
    violations.done()
    method_id = body.get("payment_method") or intent.payment_method
    if method_id is None or not STATE_MACHINE.allows(intent, "choose"):
        raise ApiError("PAYMENT_INTENT_NOT_CONFIRMABLE", status=intent.status)
    copy = (
        intent.instrument
        if method_id == intent.payment_method and intent.customer is None
        else None
    )
    if copy is not None and not world.get(PaymentMethod, method_id):
        # The method was deleted with its customer: the copy that the intent has of it is charged
        # (B-32).
        security_profiles.check_method(world, copy.type)
        security_profiles.check_amount(world, intent.amount)
        return payment_intents.charge(world, intent, copy, payment_method=method_id)
    method = get_or_404(world, PaymentMethod, method_id, "payment_method")
    _require_usable(world, method, world.get(Customer, intent.customer))
    _require_type(method, intent.payment_method_types)
    security_profiles.check_amount(world, intent.amount)
    return payment_intents.confirm(world, intent, method)


@with_rules
def capture(world: World, id: str, body: Body) -> PaymentIntent:
    """POST …/capture/: the whole authorised amount, or less (minor units)."""
    intent = get_or_404(world, PaymentIntent, id)
    if not STATE_MACHINE.allows(intent, "capture"):
        raise ApiError("PAYMENT_INTENT_NOT_CAPTURABLE", status=intent.status)
    violations, most = Violations(body), intent.amount_capturable
    with violations:
        amount = body.get("amount", most)
        if amount > most:
            errors = {"amount": [f"must be at most {most}"]}
            raise ApiError(
                "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL", param="amount", errors=errors, available=most
            )
    violations.done()
    return payment_intents.succeed(world, intent, "capture", amount)


def cancel(world: World, id: str) -> PaymentIntent:
    """POST …/cancel/: the merchant cancels a payment not yet collected, without an event (B-50)."""
    intent = get_or_404(world, PaymentIntent, id)
    if not STATE_MACHINE.allows(intent, "cancel"):
        raise ApiError("PAYMENT_INTENT_UNCANCELABLE", status=intent.status)
    canceled = payment_intents.cancel(world, intent)
    world.signal("payment canceled", canceled)
    return canceled


def cancel_transaction(world: World, id: str) -> Transaction:
    """POST /transactions/{id}/cancel/: only while pending; its payment intent fails (B-56)."""
    transaction = transactions.STATE_MACHINE.transition(
        world, get_or_404(world, Transaction, id), "cancel"
    )
    intent = world.get(PaymentIntent, transaction.payment_intent)
    if intent is not None and STATE_MACHINE.allows(intent, "fail"):
        world.cancel_jobs(intent, "payment_intent.answer")
        payment_intents.fail(world, intent, "INSUFFICIENT_FUNDS", payment_intents.CANCELED)
    return transaction


OPERATIONS = {
    "createPaymentIntent": create,
    "confirmPaymentIntent": confirm,
    "capturePaymentIntent": capture,
    "cancelPaymentIntent": cancel,
    "cancelTransaction": cancel_transaction,
}


# -- mobile money prompts on a buyer's phone, and the buyer's answers


REJECTED, UNANSWERED = "MOBILE_MONEY_REJECTED", operator.UNANSWERED
"""The codes a payment fails with if the buyer rejects its prompt, or does not answer it."""

_NUMBER = re.compile(r"\+?([1-9][0-9]{6,14})", re.ASCII)


def phone_number(text: str) -> str:
    """Return a path's E.164 number, with or without plus; 404 for any other text (B-35)."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ApiError("NOT_FOUND", message="A phone has a number in E.164, such as +24177123456.")
    return f"+{match[1]}"


def waiting_prompts(world: World, number: str) -> list[PaymentIntent]:
    waiting = world.table(PaymentIntent).where("status", "requires_action")
    return [intent for intent in waiting if (intent.next_action or {}).get("phone") == number][::-1]


def prompt_of(world: World, intent: PaymentIntent) -> dict[str, Any]:
    return {
        "object": "prompt",
        "payment_intent": intent.id,
        "merchant": merchant_name(world),
        **pick(intent, "amount", "currency", "description", "created_at"),
        "expires_at": (intent.next_action or {})["expires_at"],
    }


def answer_prompt(world: World, number: str, body: Mapping[str, Any]) -> PaymentIntent:
    """POST /_emulator/phones/{number}/answer: to the newest prompt or the given payment's.

    After an approval the operator decides by the magic value of the number (B-54). An ignored
    prompt expires in time.
    """
    if "pin" in body and body["answer"] != "approve":
        raise invalid_field("pin", "is taken with the answer approve only")
    intent = _prompted(world, number, body.get("payment_intent"))
    if body["answer"] == "ignore":
        world.cancel_jobs(intent, *payment_intents.ENDINGS)
        ends = (intent.next_action or {})["expires_at"]
        payment_intents.end_unanswered(world, intent, ends)
        return intent
    return payment_intents.answer(
        world, intent, _verdict(world, intent) if body["answer"] == "approve" else REJECTED
    )


def _prompted(world: World, number: str, id: str | None) -> PaymentIntent:
    if id is not None:
        get_or_404(world, PaymentIntent, id, "payment_intent")
    for intent in waiting_prompts(world, number):
        if id in (None, intent.id):
            return intent
    message = f"No such prompt waits on {number}." if id else f"No prompt waits on {number}."
    raise ApiError("INVALID_STATUS_TRANSITION", message=message)


def _verdict(world: World, intent: PaymentIntent) -> str | None:
    """Return an approved payment's operator error, if any; without codes of buyers' acts."""
    instrument = intent.instrument or PaymentDetails(
        type="mobile_money", details=intent.next_action or {}
    )
    code = payment_details.magic_of(world, instrument).code
    return None if code in (REJECTED, UNANSWERED) else code
