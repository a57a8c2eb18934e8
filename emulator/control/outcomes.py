"""The operator as testers control it: outcomes arranged in advance, and immediate answers (B-94)."""

from __future__ import annotations

from emulator.core.handlers import Page, Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.checkout import fulfilment
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.payments import charging, outcomes, refunds
from emulator.resources.payments.outcomes import Outcome
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund


async def arrange(engine: Engine, runtime: Runtime, query: Query, body: Query) -> Outcome:
    """POST /outcomes: the next matching payments, refunds or deliveries have this outcome."""
    outcome: Outcome = await runtime.serve(outcomes.arrange, {"body": body}, None)
    return outcome


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Outcome]:
    """GET /outcomes: those that are not used up."""
    paging = {name: value for name, value in query.items() if name != "app"}
    page: Page[Outcome] = await runtime.serve(outcomes.index, {"query": paging}, None)
    return page


async def clear(engine: Engine, runtime: Runtime, query: Query) -> None:
    """DELETE /outcomes."""
    await runtime.serve(outcomes.clear, {}, None)


async def answer_payment(engine: Engine, runtime: Runtime, id: str, query: Query, body: Query) -> PaymentIntent:
    """POST /payment-intents/{id}/answer."""
    arguments = {"id": id, "code": outcomes.failure_code(body, "payment")}
    intent: PaymentIntent = await runtime.serve(charging.answer_now, arguments, None)
    return intent


async def answer_session(engine: Engine, runtime: Runtime, id: str, query: Query, body: Query) -> CheckoutSession:
    """POST /checkout-sessions/{id}/answer."""
    arguments = {"id": id, "code": outcomes.failure_code(body, "payment")}
    session: CheckoutSession = await runtime.serve(fulfilment.answer_now, arguments, None)
    return session


async def answer_refund(engine: Engine, runtime: Runtime, id: str, query: Query, body: Query) -> Refund:
    """POST /refunds/{id}/answer."""
    arguments = {"id": id, "code": outcomes.failure_code(body, "refund")}
    refund: Refund = await runtime.serve(refunds.answer_now, arguments, None)
    return refund


OPERATIONS = {
    "arrangeOutcome": arrange,
    "listOutcomes": index,
    "clearOutcomes": clear,
    "answerPaymentIntent": answer_payment,
    "answerCheckoutSession": answer_session,
    "answerRefund": answer_refund,
}
