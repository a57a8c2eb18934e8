"""A tester's decisions on payments: arranged outcomes, prompts, buyers' payments (B-94)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emulator.control.objects import clearing, listing, page_of
from emulator.core.lists import Page, Query
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.runtime import Runtime
from emulator.insight.state.working_method import CARD, WORKING, working_method
from emulator.resources.app import security_profiles
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout import checkout_sessions, hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import payment_details, payment_methods
from emulator.resources.customers.payment_details import EVERY_TYPE, Fields
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import intent_operations, operator, payment_intents, refunds
from emulator.resources.payments.operator import Outcome
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink

# -- the operator as testers control it


async def arrange(runtime: Runtime, body: Query) -> Outcome:
    """POST /outcomes: the next matching payments, refunds or deliveries have this outcome."""
    outcome: Outcome = await runtime.serve(operator.arrange, {"body": body}, None)
    return outcome


def answering(answer_now: Callable[..., Any], operation: str) -> Callable[..., Any]:
    """Return the handler of POST …/{id}/answer for a payment or refund that awaits the operator."""

    def answered(world: World, id: str, body: Query) -> Any:
        code = operator.failure_code(body, operation)
        if operation == "payment" and code is not None:
            code = body.get("code") or operator.rejection_code(world, id, _type_of(world, id))
        return answer_now(world, id, code)

    async def answer(runtime: Runtime, id: str, body: Query) -> Any:
        return await runtime.serve(answered, {"id": id, "body": body}, None)

    return answer


def _type_of(world: World, id: str) -> str | None:
    """Return the type of the method that a payment or a session that saves one (id) is made with.

    None if there is none.
    """
    if (intent := world.get(PaymentIntent, id)) is not None:
        return intent.payment_method_type
    session = world.get(CheckoutSession, id)
    return session.instrument.type if session is not None and session.instrument else None


# -- buyers' phones: the prompts waiting on one, and the answers to them


async def list_prompts(runtime: Runtime, number: str, query: Query) -> Page[Any]:
    """GET /phones/{number}: the prompts waiting on the phone, newest first."""
    await runtime.catch_up()
    waiting = intent_operations.waiting_prompts(
        runtime.world, intent_operations.phone_number(number)
    )
    return page_of(
        waiting, query, lambda intent: intent_operations.prompt_of(runtime.world, intent)
    )


async def answer(runtime: Runtime, number: str, body: Query) -> PaymentIntent:
    """POST /phones/{number}/answer: approve, reject or ignore a prompt."""
    arguments = {"number": intent_operations.phone_number(number), "body": body}
    intent: PaymentIntent = await runtime.serve(intent_operations.answer_prompt, arguments, None)
    return intent


# -- the method that a payment is made with when the tester names none


def choose(world: World, customer: str | None, allowed: Sequence[str] = EVERY_TYPE) -> Fields:
    """Return a payment's ``method``: the customer's (id) default, or one of ``allowed`` types.

    The App's security profiles permit it, unless they permit none of these.
    """
    default = None if customer is None else payment_methods.default(world, customer)
    permitted = security_profiles.permitted(world, allowed)
    if default is not None and default.status == "active" and default.type in permitted:
        return {"type": default.type, **_entered(world, default)}
    return working_method(world, allowed)


def _entered(world: World, method: PaymentMethod) -> Fields:
    """Return the stored part of a buyer's input; for a card or account a number that acts alike."""
    details = method.details
    if method.type == "bank_card":
        number = (
            payment_details.named_magic(world, method.type, method.magic).value or CARD["number"]
        )
        return {
            **CARD,
            "number": number,
            "exp_month": details["exp_month"],
            "exp_year": details["exp_year"],
        }
    return {name: details.get(name, value) for name, value in WORKING[method.type].items()}


# -- payments of a session, a link or an invoice


async def buyer_returns_early(runtime: Runtime, session: str) -> None:
    """Open the ``success_url`` before a session (id) is paid, where that is arranged (B-94)."""
    if checkout_sessions.is_returning_early(runtime.world, session):
        await runtime.serve(checkout_sessions.return_early, {"id": session}, None)


def paying(kind: type[Record], command: Callable[..., Any]) -> Callable[..., Any]:
    """Return POST …/{id}/pay's handler: the buyer's command; a missing ``method`` is chosen."""

    def pay_somehow(world: World, id: str, payment: Query) -> Any:
        target: Any = world.get(kind, id)
        if target is not None and "method" not in payment:
            allowed = getattr(target, "payment_method_types", EVERY_TYPE)
            method = choose(world, getattr(target, "customer", None), allowed)
            payment = {**payment, "method": method}
        return command(world, id, payment)

    async def pay(runtime: Runtime, id: str, body: Query) -> Any:
        await buyer_returns_early(runtime, id)
        return await runtime.serve(pay_somehow, {"id": id, "payment": body}, None)

    return pay


OPERATIONS = {
    "arrangeOutcome": arrange,
    "listOutcomes": listing(Outcome),
    "clearOutcomes": clearing(Outcome),
    "answerPaymentIntent": answering(payment_intents.answer_now, "payment"),
    "answerCheckoutSession": answering(hosted_payments.answer_now, "payment"),
    "answerRefund": answering(refunds.answer_now, "refund"),
    "listPrompts": list_prompts,
    "answerPrompt": answer,
    "payCheckoutSession": paying(CheckoutSession, hosted_payments.pay_session),
    "payPaymentLink": paying(PaymentLink, hosted_payments.pay_link),
    "payInvoicePage": paying(Invoice, hosted_payments.pay_invoice),
}
