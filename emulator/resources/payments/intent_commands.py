"""The cashier: what a merchant may do with payments: open one, confirm it, capture it, take it back (B-51)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.handlers import get_or_404
from emulator.core.records import R
from emulator.core.world import World
from emulator.errors import ApiError, invalid_field
from emulator.resources.app import amounts, security_profiles
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.customers.records import Customer
from emulator.resources.payments import payment_intents, transactions
from emulator.resources.payments.payment_intents import LIFECYCLE, PaymentIntent
from emulator.resources.payments.transactions import Transaction


def create(world: World, body: Mapping[str, Any]) -> PaymentIntent:
    """POST /payment-intents/: nothing is charged until it is confirmed (B-51)."""
    currency = amounts.enabled(world, body["currency"])
    amounts.chargeable(world, body["amount"], currency, "amount")
    customer = _named(world, Customer, body, "customer")
    method = _named(world, PaymentMethod, body, "payment_method")
    types = payment_details.allowed(body.get("payment_method_types", ()))
    if method is not None:
        _permit(world, method, customer, types)
        customer = customer or world.get(Customer, method.customer)
    buyer = {} if customer is None else {"customer": customer.id, "customer_email": customer.email}
    given = {name: body[name] for name in COPIED_FIELDS if name in body}
    return payment_intents.start(world, method, payment_method_types=types, **{**buyer, **given})


COPIED_FIELDS = ("amount", "currency", "capture_method", "customer_email", "description", "metadata")
"""The fields of a new intent that are what the body says."""


def _named(world: World, kind: type[R], body: Mapping[str, Any], param: str) -> R | None:
    """The object whose id the body gives, if it gives one."""
    return get_or_404(world, kind, body[param], param) if param in body else None


def _permit(world: World, method: PaymentMethod, customer: Customer | None, types: tuple[str, ...]) -> None:
    """A stored method may pay if it is active, this customer's and of a type that is allowed (B-15, B-55)."""
    if method.status != "active":
        raise invalid_field("payment_method", f"this method is {method.status}")
    if customer is not None and method.customer != customer.id:
        raise invalid_field("payment_method", "this method belongs to another customer")
    if method.type not in types:
        raise invalid_field("payment_method", f"{method.type} is not allowed here", "PAYMENT_METHOD_NOT_SUPPORTED")
    security_profiles.refuse_method(world, method.type)


def confirm(world: World, id: str, body: Mapping[str, Any]) -> PaymentIntent:
    """POST …/confirm/: charge the intent's method, or the one sent along."""
    intent = get_or_404(world, PaymentIntent, id)
    chosen = body.get("payment_method") or intent.payment_method
    if chosen is None or not LIFECYCLE.allows(intent, "choose"):
        raise ApiError("PAYMENT_INTENT_NOT_CONFIRMABLE", status=intent.status)
    method = get_or_404(world, PaymentMethod, chosen, "payment_method")
    _permit(world, method, world.get(Customer, intent.customer), intent.payment_method_types)
    security_profiles.refuse_amount(world, intent.amount)
    return payment_intents.confirm(world, intent, method)


def capture(world: World, id: str, body: Mapping[str, Any]) -> PaymentIntent:
    """POST …/capture/: all that was authorised, or less."""
    intent = get_or_404(world, PaymentIntent, id)
    if not LIFECYCLE.allows(intent, "capture"):
        raise ApiError("PAYMENT_INTENT_NOT_CAPTURABLE", status=intent.status)
    amount = body.get("amount", intent.amount_capturable)
    if amount > intent.amount_capturable:
        raise ApiError(
            "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL",
            param="amount",
            errors={"amount": [f"must be at most {intent.amount_capturable}"]},
            available=intent.amount_capturable,
        )
    return payment_intents.take(world, intent, "capture", amount)


def cancel(world: World, id: str) -> PaymentIntent:
    """POST …/cancel/: the merchant takes a payment back that is not yet taken; no event tells (B-50)."""
    intent = get_or_404(world, PaymentIntent, id)
    if not LIFECYCLE.allows(intent, "cancel"):
        raise ApiError("PAYMENT_INTENT_UNCANCELABLE", status=intent.status)
    world.cancel_jobs(intent, "payment_intent.answer")
    payment_intents.close_deposit(world, intent, "cancel")
    if intent.checkout_session is not None:
        # No event tells of it, so a job tells the session, which waits for this payment.
        world.schedule(world.now, "payment_intent.canceled", intent)
    return LIFECYCLE.transition(world, intent, "cancel", amount_capturable=0, canceled_at=world.now, next_action=None)


def cancel_transaction(world: World, id: str) -> Transaction:
    """POST /transactions/{id}/cancel/: money that is still awaited; its payment fails (B-56)."""
    deposit = transactions.LIFECYCLE.transition(world, get_or_404(world, Transaction, id), "cancel")
    intent = world.get(PaymentIntent, deposit.payment_intent)
    if intent is not None and LIFECYCLE.allows(intent, "fail"):
        world.cancel_jobs(intent, "payment_intent.answer")
        payment_intents.fail(world, intent, "INSUFFICIENT_FUNDS", CANCELED)
    return deposit


CANCELED = "The transaction was canceled before its funds arrived."
"""Why a payment failed whose pending transaction the merchant canceled."""

OPERATIONS = {
    "createPaymentIntent": create,
    "confirmPaymentIntent": confirm,
    "capturePaymentIntent": capture,
    "cancelPaymentIntent": cancel,
    "cancelTransaction": cancel_transaction,
}
