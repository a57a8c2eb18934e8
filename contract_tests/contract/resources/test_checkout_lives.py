"""Random lives of a checkout session: whatever its buyer and its merchant do, it is paid once at most (B-58)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CARD, FAILING_PHONE
from emulator.core.errors import ApiError
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.payments import payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction

AWA = {"name": "Awa Diop", "email": "awa@example.com"}
METHODS = [
    CARD,
    {"type": "mobile_money", "phone": FAILING_PHONE},
    {"type": "mobile_money", "phone": "+24177000003"},
    {"type": "mobile_money", "phone": "+24177000006"},
    {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"},
    {**CARD, "number": "4000 0000 0000 3220"},
    {**CARD, "number": "4000 0000 0000 0077"},
    {**CARD, "number": "4000 0000 0000 9995"},
]
ACTS = st.one_of(
    st.tuples(st.just("pay"), st.sampled_from(METHODS)),
    st.tuples(st.just("wait"), st.sampled_from([30, 60, 180, 900, 86400])),
    st.tuples(st.sampled_from(["expire", "take back", "confirm", "decline", "delete customer"]), st.none()),
)


def opened(harness: RulesHarness, mode: str = "payment") -> CheckoutSession:
    """Return a session of 5000 XAF, monthly where it subscribes."""
    body: dict[str, Any] = {
        "mode": mode,
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
        "line_items": [{"description": "Basket", "unit_amount": 5000, "quantity": 1}],
        "expires_in": 1800,
        "metadata": {},
    }
    if mode == "subscription":
        body["subscription_data"] = {"interval": "month", "interval_count": 1, "trial_period_days": 0}
    session: CheckoutSession = harness.do("createCheckoutSession", **body)
    return session


def pay(harness: RulesHarness, session: CheckoutSession, method: Any) -> Any:
    return harness.run(hosted_payments.pay_session, id=session.id, payment={"method": method, "customer": AWA})


def act(harness: RulesHarness, session: CheckoutSession, what: str, how: Any) -> None:
    """One thing that happens; what the state forbids is rejected."""
    now = harness.world.require(CheckoutSession, session.id)
    acts = {
        "pay": lambda: pay(harness, session, how),
        "wait": lambda: harness.advance(seconds=how),
        "expire": lambda: harness.do("expireCheckoutSession", session.id),
        "take back": lambda: harness.do("cancelPaymentIntent", str(now.payment_intent)),
        "confirm": lambda: harness.run(payment_intents.answer_now, id=now.payment_intent, code=None),
        "decline": lambda: harness.run(payment_intents.answer_now, id=now.payment_intent, code="INSUFFICIENT_FUNDS"),
        "delete customer": lambda: harness.delete_customer(str(now.customer)),
    }
    try:
        acts[what]()
    except (ApiError, KeyError):
        return  # nothing to act on, or not in this state: part of the play


@settings(max_examples=150, deadline=None)
@given(mode=st.sampled_from(["payment", "subscription"]), acts=st.lists(ACTS, max_size=12))
def test_a_session_is_paid_once_at_most_and_ends_as_its_payments_do(mode: str, acts: list[Any]) -> None:
    harness = RulesHarness()
    session = opened(harness, mode)
    for what, how in acts:
        act(harness, session, what, how)
    harness.advance(seconds=2 * 86400)
    now = harness.world.require(CheckoutSession, session.id)
    intents = [each for each in harness.world.table(PaymentIntent) if each.checkout_session == session.id]
    paid = [each.id for each in intents if each.status == "succeeded"]
    waiting = [each.id for each in intents if each.status == "requires_action"]
    assert harness.failed_jobs() == []
    assert len(paid) <= 1
    assert (now.status == "complete") == (paid == [now.payment_intent])
    assert (now.status == "processing") == (waiting == [now.payment_intent])
    assert now.status in ("complete", "processing", "expired")
    deposits = [each.amount for each in harness.world.table(Transaction) if each.status == "completed"]
    assert deposits == [5000] * len(paid)
    assert len(harness.world.table(Subscription)) == len(harness.world.table(Invoice)) <= len(paid)
