"""Money under way: an invoice, a session or a one-time link is paid once, whatever happens on the way (B-61, B-62)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, CHARGED, FAILING_PHONE, Sandbox
from contract_tests.surfaces.pages.buyer import CARD as FORM_CARD
from contract_tests.surfaces.pages.buyer import buyer

SETTLING = {**CARD, "number": "4000 0000 0000 0077"}
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}
STEP = {**CARD, "number": "4000 0000 0000 3220"}
UNDER_WAY = pytest.mark.parametrize("method", [IBAN, SLOW, STEP], ids=["transfer", "phone", "card check"])
BOTH = pytest.mark.parametrize("assumption", ["intent", "transaction"])


def read(sandbox: Sandbox, **assumptions: str) -> None:
    sandbox.settings(assumptions=assumptions)


def now(sandbox: Sandbox, invoice: Any) -> Any:
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def deposits(sandbox: Sandbox) -> list[tuple[int, str]]:
    return [(each["amount"], each["status"]) for each in sandbox.api.get("/transactions/")["data"]]


def second_payment_is_rejected(sandbox: Sandbox, invoice: Any) -> None:
    path = f"/invoices/{invoice['id']}/pay"
    sandbox.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json={"method": CARD})


# -- received with the intent, or with the transaction


def test_an_invoice_is_paid_once_its_intent_succeeded(sandbox: Sandbox) -> None:
    """Invoice states: payment received → paid; totals, receipt and ``transaction.succeeded`` wait for the money."""
    customer = sandbox.customer()
    invoice = sandbox.invoice(customer)
    with sandbox.expect("payment_intent.succeeded", "invoice.paid"):
        sandbox.buy(invoice, SETTLING)
    assert (now(sandbox, invoice)["status"], now(sandbox, invoice)["amount_paid"]) == ("paid", 5000)
    assert sandbox.api.get("/receipts/")["data"] == []
    second_payment_is_rejected(sandbox, invoice)
    sandbox.api.rejected("POST", f"/invoices/{invoice['id']}/void/", 422, "INVALID_STATUS_TRANSITION")
    with sandbox.expect("transaction.succeeded"):
        sandbox.advance("60d")
    assert deposits(sandbox) == [(5000, "completed")]
    assert sandbox.api.get(f"/customers/{customer['id']}/")["total_spent"] == 5000


def test_by_the_other_assumption_it_is_paid_once_its_transaction_is_completed(sandbox: Sandbox) -> None:
    """``payment_received: transaction``: until then nothing else is taken for it, nor can it be voided."""
    read(sandbox, payment_received="transaction")
    invoice = sandbox.invoice()
    with sandbox.expect("payment_intent.succeeded"):
        sandbox.buy(invoice, SETTLING)
    assert now(sandbox, invoice)["status"] == "open"
    second_payment_is_rejected(sandbox, invoice)
    for action in ("void", "pay"):
        path = f"/invoices/{invoice['id']}/{action}/"
        error = sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION")
        assert error["message"] == "A payment of this invoice has succeeded and is being settled."
    with sandbox.expect("transaction.succeeded", "invoice.paid"):
        sandbox.advance("1d")
    assert deposits(sandbox) == [(5000, "completed")]


@pytest.mark.parametrize(("assumption", "state"), [("intent", "paid"), ("transaction", "waiting")])
def test_another_browser_sees_the_payment_that_was_made(sandbox: Sandbox, assumption: str, state: str) -> None:
    read(sandbox, payment_received=assumption)
    invoice = sandbox.invoice()
    with buyer(sandbox, invoice) as awa, buyer(sandbox, invoice) as ama:
        awa.pay(**{**FORM_CARD, "number": SETTLING["number"]})
        assert ama.open().state == ama.twin()["state"] == awa.open().state == state
    sandbox.advance("1d")
    assert deposits(sandbox) == [(5000, "completed")]


@pytest.mark.parametrize(("assumption", "state"), [("intent", "complete"), ("transaction", "processing")])
def test_no_buyer_is_redirected_before_the_session_is_complete(sandbox: Sandbox, assumption: str, state: str) -> None:
    """CheckoutSession states: complete and the redirect to ``success_url`` are one transition."""
    read(sandbox, payment_received=assumption)
    session = sandbox.session()
    with buyer(sandbox, session) as awa:
        answer = awa.pay(**{**FORM_CARD, "number": SETTLING["number"]})
        assert sandbox.api.get(f"/checkout-sessions/{session['id']}/")["status"] == state
        redirected = answer.headers["location"].startswith("https://shop.example.com")
        assert redirected == (state == "complete")
        if not redirected:
            assert awa.follow(answer).state == "waiting"


@BOTH
def test_a_session_paid_by_a_settling_card_has_one_subscription_with_one_invoice(
    sandbox: Sandbox, assumption: str
) -> None:
    """B-61, B-97: the subscription begins when the payment is received, and its first period is paid once."""
    read(sandbox, payment_received=assumption)
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"])
    sandbox.buy(session, SETTLING)
    assert len(sandbox.api.get("/subscriptions/")["data"]) == (1 if assumption == "intent" else 0)
    sandbox.advance("2d")
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    [invoice] = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    assert (invoice["status"], deposits(sandbox)) == ("paid", [(30000, "completed")])


@BOTH
def test_renewals_on_a_settling_card_are_never_payable_twice(sandbox: Sandbox, assumption: str) -> None:
    read(sandbox, payment_received=assumption)
    customer = sandbox.customer()
    sandbox.api.post("/payment-methods/", {"customer": customer["id"], "is_default": True, **SETTLING})
    subscription = sandbox.api.post(
        "/subscriptions/", {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    )
    [invoice] = sandbox.api.get("/invoices/")["data"]
    second_payment_is_rejected(sandbox, invoice)
    sandbox.advance("32d")
    assert [each["status"] for each in sandbox.api.get("/invoices/")["data"]].count("paid") >= 1
    assert sandbox.status(subscription) == "active"


def test_a_one_time_link_is_paid_once(sandbox: Sandbox) -> None:
    """PaymentLink: ``one_time`` is ``max_usage`` 1, and a use counts when the payment is initiated."""
    link = sandbox.link(validity_type="one_time", collect_customer_info=False)
    sandbox.buy(link, IBAN)
    path = f"/payment-links/{link['id']}/pay"
    sandbox.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json={"method": CARD})
    sandbox.advance("2d")
    assert deposits(sandbox) == [(25000, "completed")]


# -- what a payment under way does to other actions


@UNDER_WAY
def test_a_second_attempt_is_rejected(sandbox: Sandbox, method: Any) -> None:
    invoice = sandbox.invoice()
    sandbox.buy(invoice, method)
    second_payment_is_rejected(sandbox, invoice)


@UNDER_WAY
@pytest.mark.parametrize(("action", "status", "paid"), [("void", "void", 0), ("pay", "paid", 5000)])
def test_void_and_pay_cancel_what_is_under_way(
    sandbox: Sandbox, method: Any, action: str, status: str, paid: int
) -> None:
    """Void is irreversible and no action is possible on a paid invoice, so no money may follow."""
    invoice = sandbox.invoice()
    intent = sandbox.buy(invoice, method)
    with sandbox.expect(*(["invoice.paid"] if action == "pay" else [])):
        sandbox.api.post(f"/invoices/{invoice['id']}/{action}/")
        sandbox.advance("3d")
    assert (now(sandbox, invoice)["status"], now(sandbox, invoice)["amount_paid"]) == (status, paid)
    canceled = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert (canceled["status"], canceled["last_error"]) == ("canceled", None)
    assert all(each[1] == "canceled" for each in deposits(sandbox))


# -- retries


def past_due(sandbox: Sandbox) -> tuple[Any, Any]:
    """Return a subscription whose first charge failed, now with a card that pays; and its open invoice."""
    customer = sandbox.customer(phone=FAILING_PHONE)
    subscription = sandbox.api.post(
        "/subscriptions/", {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    )
    [invoice] = sandbox.api.get("/invoices/")["data"]
    card = sandbox.method(customer)
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"payment_method": card["id"]})
    return subscription, invoice


def test_a_retry_waits_for_the_buyers_own_payment(sandbox: Sandbox) -> None:
    subscription, invoice = past_due(sandbox)
    sandbox.advance("12h")
    sandbox.buy(invoice, IBAN)
    with sandbox.expect(*CHARGED):
        sandbox.advance("2d")
    assert deposits(sandbox) == [(5000, "completed")]
    assert sandbox.status(subscription) == "active"


def fail(sandbox: Sandbox, intent: Any) -> None:
    sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": "failed"})


def take_back(sandbox: Sandbox, intent: Any) -> None:
    sandbox.api.post(f"/payment-intents/{intent['id']}/cancel/")


@pytest.mark.parametrize("end", [fail, take_back])
def test_a_retry_that_waited_runs_once_the_buyers_payment_failed(
    sandbox: Sandbox, end: Callable[[Sandbox, Any], None]
) -> None:
    _, invoice = past_due(sandbox)
    sandbox.advance("12h")
    intent = sandbox.buy(invoice, IBAN)
    sandbox.advance("13h")
    events = (*CHARGED, "payment_intent.failed") if end is fail else CHARGED
    with sandbox.expect(*events):
        end(sandbox, intent)
    assert now(sandbox, invoice)["status"] == "paid"


def test_a_buyers_failed_payment_before_the_retry_changes_nothing(sandbox: Sandbox) -> None:
    _, invoice = past_due(sandbox)
    intent = sandbox.buy(invoice, IBAN)
    with sandbox.expect("payment_intent.failed"):
        fail(sandbox, intent)
        sandbox.advance("1h")
    with sandbox.expect(*CHARGED):
        sandbox.advance("1d")


@pytest.mark.parametrize("what", ["intent", "transaction"])
def test_canceling_a_charge_is_a_failure_of_it(sandbox: Sandbox, what: str) -> None:
    """B-45: whichever of the two the merchant cancels, the subscription is past due and retried."""
    customer = sandbox.customer()
    sandbox.api.post("/payment-methods/", {"customer": customer["id"], "is_default": True, **IBAN})
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    subscription = sandbox.api.post("/subscriptions/", body)
    [intent] = sandbox.api.get("/payment-intents/")["data"]
    # The merchant's own cancel of an intent sends no event of the intent (B-50).
    own = [] if what == "intent" else ["payment_intent.failed"]
    with sandbox.expect("subscription.payment_failed", *own):
        path = f"/payment-intents/{intent['id']}" if what == "intent" else f"/transactions/{intent['transaction']}"
        sandbox.api.post(f"{path}/cancel/")
    assert sandbox.status(subscription) == "past_due"
    with sandbox.expect(*CHARGED):
        sandbox.advance("2d")
    assert sandbox.status(subscription) == "active"
