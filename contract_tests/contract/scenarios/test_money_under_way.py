"""Money under way: an invoice, a session or a one-time link is paid once, whatever happens on the way (B-61, B-62)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.pages.buyer import CARD as FORM_CARD
from contract_tests.surfaces.pages.buyer import buyer

SETTLING = {**CARD, "number": "4000 0000 0000 0077"}
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}
STEP = {**CARD, "number": "4000 0000 0000 3220"}
BOTH = pytest.mark.parametrize("assumption", ["intent", "transaction"])


def now(sandbox: Sandbox, invoice: Any) -> Any:
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def deposits(sandbox: Sandbox) -> list[tuple[int, str]]:
    return [(each["amount"], each["status"]) for each in sandbox.api.get("/transactions/")["data"]]


def second_payment_is_rejected(sandbox: Sandbox, what: Any) -> None:
    kind = {"invoice": "invoices", "checkout_session": "checkout-sessions", "payment_link": "payment-links"}
    path = f"/{kind[what['object']]}/{what['id']}/pay"
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
    sandbox.settings(assumptions={"payment_received": "transaction"})
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


@BOTH
def test_every_browser_sees_the_payment_that_was_made(sandbox: Sandbox, assumption: str) -> None:
    """CheckoutSession states: complete and the redirect to ``success_url`` are one transition."""
    sandbox.settings(assumptions={"payment_received": assumption})
    received = assumption == "intent"
    invoice, session = sandbox.invoice(), sandbox.session(customer=sandbox.customer()["id"])
    form = {**FORM_CARD, "number": SETTLING["number"]}
    with buyer(sandbox, invoice) as awa, buyer(sandbox, invoice) as ama:
        awa.pay(**form)
        assert ama.open().state == ama.twin()["state"] == awa.open().state == ("paid" if received else "waiting")
    early, late = ("payment_intent.succeeded",), ("transaction.succeeded",)
    done = ("checkout.session.completed",)
    with buyer(sandbox, session) as awa:
        with sandbox.expect(*early, *(done if received else ())):
            answer = awa.pay(**form)
        status = sandbox.api.get(f"/checkout-sessions/{session['id']}/")["status"]
        assert status == ("complete" if received else "processing")
        assert answer.headers["location"].startswith("https://shop.example.com") == received
        assert received or awa.follow(answer).state == "waiting"
    second_payment_is_rejected(sandbox, session)
    with sandbox.expect(*late * 2, *(() if received else ("invoice.paid", *done))):
        sandbox.advance("1d")
    assert deposits(sandbox) == [(30000, "completed"), (5000, "completed")]


@BOTH
def test_a_session_paid_by_a_settling_card_has_one_subscription_with_one_invoice(
    sandbox: Sandbox, assumption: str
) -> None:
    """B-61, B-97: the subscription begins when the payment is received, and its period is paid once."""
    sandbox.settings(assumptions={"payment_received": assumption})
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"])
    sandbox.buy(session, SETTLING)
    assert len(sandbox.api.get("/subscriptions/")["data"]) == (1 if assumption == "intent" else 0)
    sandbox.advance("2d")
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (sandbox.invoices("status"), deposits(sandbox)) == (["paid"], [(30000, "completed")])
    assert subscription["status"] == "active"


# -- a payment under way


def test_a_one_time_link_is_paid_once(sandbox: Sandbox) -> None:
    """PaymentLink: ``one_time`` is ``max_usage`` 1, and a use counts when the payment is initiated."""
    link = sandbox.link(validity_type="one_time", collect_customer_info=False)
    sandbox.buy(link, IBAN)
    second_payment_is_rejected(sandbox, link)
    sandbox.advance("2d")
    assert deposits(sandbox) == [(25000, "completed")]


@pytest.mark.parametrize("method", [IBAN, SLOW, STEP], ids=["transfer", "phone", "card check"])
@pytest.mark.parametrize(("action", "status", "paid"), [("void", "void", 0), ("pay", "paid", 5000)])
def test_void_and_pay_cancel_what_is_under_way(
    sandbox: Sandbox, method: Any, action: str, status: str, paid: int
) -> None:
    """Void is irreversible and no action is possible on a paid invoice, so no money may follow."""
    invoice = sandbox.invoice()
    intent = sandbox.buy(invoice, method)
    second_payment_is_rejected(sandbox, invoice)
    with sandbox.expect(*(["invoice.paid"] if action == "pay" else [])):
        sandbox.api.post(f"/invoices/{invoice['id']}/{action}/")
        sandbox.advance("3d")
    assert (now(sandbox, invoice)["status"], now(sandbox, invoice)["amount_paid"]) == (status, paid)
    canceled = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert (canceled["status"], canceled["last_error"]) == ("canceled", None)
    assert all(each[1] == "canceled" for each in deposits(sandbox))
