"""Money under way: invoice, session and one-time link are paid once in any case (B-61, B-62)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, RunningServer, Sandbox
from contract_tests.surfaces.pages.buyer import CARD as FORM_CARD
from contract_tests.surfaces.pages.buyer import buyer

SETTLING = {**CARD, "number": "4000 0000 0000 0077"}
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}
STEP = {**CARD, "number": "4000 0000 0000 3220"}
BOTH = pytest.mark.parametrize("assumption", ["intent", "transaction"])


def deposits(sandbox: Sandbox) -> list[tuple[int, str]]:
    return [
        (deposit["amount"], deposit["status"])
        for deposit in sandbox.api.get("/transactions/")["data"]
    ]


# -- received with the intent, or with the transaction


def test_an_invoice_is_paid_once_its_payment_is_received(
    server: RunningServer, world_name: str
) -> None:
    """Invoice states: payment received → paid; totals, receipt, ``transaction.succeeded`` wait.

    By ``payment_received: transaction`` it is paid once that is completed; until then nothing else
    is taken for it, nor can it be voided. Every browser sees the payment that was made.
    """
    early, late = ["payment_intent.succeeded"], ["transaction.succeeded"]
    for assumption, state, events in (
        ("intent", "paid", ([*early, "invoice.paid"], late)),
        ("transaction", "waiting", (early, [*late, "invoice.paid"])),
    ):
        with server.world(f"{world_name}-{assumption}") as sandbox:
            sandbox.settings(assumptions={"payment_received": assumption})
            customer = sandbox.customer()
            invoice = sandbox.invoice(customer)
            with buyer(sandbox, invoice) as awa, buyer(sandbox, invoice) as ama:
                with sandbox.expect(*events[0]):
                    awa.pay(**FORM_CARD | {"number": SETTLING["number"]})
                assert ama.open().state == ama.twin()["state"] == awa.open().state == state
            received = assumption == "intent"
            assert (sandbox.status(invoice), sandbox.shown(invoice)["amount_paid"]) == (
                ("paid", 5000) if received else ("open", 0)
            )
            assert sandbox.api.get("/receipts/")["data"] == []
            sandbox.buy_rejected(invoice)
            for action in ("void", "pay"):
                path = f"/invoices/{invoice['id']}/{action}/"
                error = sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION")
                expected = (
                    error["message"]
                    == "A payment of this invoice has succeeded and is being settled."
                )
                assert expected != received
            with sandbox.expect(*events[1]):
                sandbox.advance("60d")
            assert (sandbox.status(invoice), deposits(sandbox)) == ("paid", [(5000, "completed")])
            assert sandbox.shown(customer)["total_spent"] == 5000


@BOTH
def test_a_session_is_complete_once_its_payment_is_received(
    sandbox: Sandbox, assumption: str
) -> None:
    """CheckoutSession states: complete and the redirect to ``success_url`` are one transition."""
    sandbox.settings(assumptions={"payment_received": assumption})
    received, done = assumption == "intent", ("checkout.session.completed",)
    session = sandbox.session(customer=sandbox.customer()["id"])
    with buyer(sandbox, session) as awa:
        with sandbox.expect("payment_intent.succeeded", *(done if received else ())):
            response = awa.pay(**FORM_CARD | {"number": SETTLING["number"]})
        assert sandbox.status(session) == ("complete" if received else "processing")
        assert response.headers["location"].startswith("https://shop.example.com") == received
        assert received or awa.follow(response).state == "waiting"
    sandbox.buy_rejected(session)
    with sandbox.expect("transaction.succeeded", *(() if received else done)):
        sandbox.advance("1d")
    assert deposits(sandbox) == [(30000, "completed")]


@BOTH
def test_a_session_paid_by_a_settling_card_has_one_subscription_with_one_invoice(
    sandbox: Sandbox, assumption: str
) -> None:
    """B-61, B-67, B-97: it begins when the payment is received, which names nothing before it."""
    sandbox.settings(assumptions={"payment_received": assumption})
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"])
    intent = sandbox.buy(session, SETTLING)
    begun = [made["id"] for made in sandbox.api.get("/subscriptions/")["data"]]
    assert begun == ([intent["subscription"]] if assumption == "intent" else [])
    assert (intent["subscription"] is None) == (intent["invoice"] is None) == (begun == [])
    sandbox.advance("2d")
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (sandbox.invoices("status"), deposits(sandbox)) == (["paid"], [(30000, "completed")])
    named = sandbox.shown(intent)["subscription"]
    assert (subscription["status"], named) == ("active", subscription["id"])


# -- a payment under way


def test_a_one_time_link_is_paid_once(sandbox: Sandbox) -> None:
    """PaymentLink: ``one_time`` is ``max_usage`` 1; a payment's start counts as a use."""
    link = sandbox.link(validity_type="one_time", collect_customer_info=False)
    sandbox.buy(link, IBAN)
    sandbox.buy_rejected(link)
    sandbox.advance("2d")
    assert deposits(sandbox) == [(25000, "completed")]


@pytest.mark.parametrize("method", [IBAN, SLOW, STEP], ids=["transfer", "phone", "card check"])
@pytest.mark.parametrize(("action", "status", "paid"), [("void", "void", 0), ("pay", "paid", 5000)])
def test_an_invoice_that_is_settled_cancels_what_is_under_way(
    sandbox: Sandbox, method: Any, action: str, status: str, paid: int
) -> None:
    """Void is irreversible and no action is possible on a paid invoice, so no money may follow."""
    invoice = sandbox.invoice()
    intent = sandbox.buy(invoice, method)
    sandbox.buy_rejected(invoice)
    with sandbox.expect(*(["invoice.paid"] if action == "pay" else [])):
        sandbox.api.post(f"/invoices/{invoice['id']}/{action}/")
        sandbox.advance("3d")
    assert (sandbox.status(invoice), sandbox.shown(invoice)["amount_paid"]) == (status, paid)
    canceled = sandbox.shown(intent)
    assert (canceled["status"], canceled["last_error"]) == ("canceled", None)
    assert all(deposit[1] == "canceled" for deposit in deposits(sandbox))
