"""Payment intents: made, confirmed, answered, captured, canceled, and rejected everywhere else (B-50, B-51, B-55)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

THREE_STEP = "4000 0000 0000 3220"
IBAN = "FR14 2004 1010 0505 0001 3M02 606"
EVERY_TYPE = ["mobile_money", "bank_card", "bank_transfer", "paypal"]
PAID = ("payment_intent.succeeded", "transaction.succeeded")


def test_without_a_method_it_waits_for_one(sandbox: Sandbox) -> None:
    """B-51: ``requires_payment_method``; nothing is charged."""
    with sandbox.expect():
        intent = sandbox.intent(description="Order 7", metadata={"order": "7"}, customer_email="awa@example.com")
    assert intent["status"] == "requires_payment_method"
    assert (intent["amount"], intent["amount_capturable"], intent["amount_received"]) == (5000, 0, 0)
    assert (intent["description"], intent["metadata"]) == ("Order 7", {"order": "7"})
    assert (intent["customer"], intent["customer_email"]) == (None, "awa@example.com")
    assert (intent["payment_method"], intent["payment_method_type"]) == (None, None)
    assert intent["payment_method_types"] == EVERY_TYPE
    assert intent["capture_method"] == "automatic"
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/") == intent


def test_with_a_method_it_waits_to_be_confirmed_and_is_its_customers(sandbox: Sandbox) -> None:
    """B-51: ``requires_confirmation``."""
    customer = sandbox.customer()
    intent = sandbox.intent(sandbox.method(customer))
    assert intent["status"] == "requires_confirmation"
    assert (intent["customer"], intent["customer_email"]) == (customer["id"], customer["email"])
    assert intent["payment_method_type"] == "bank_card"


def test_a_card_pays_at_once(sandbox: Sandbox) -> None:
    """The intent reports first, then its transaction (B-44); the transaction carries what the intent said."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    with sandbox.expect(*PAID):
        intent = sandbox.pay(method, description="Order 7", metadata={"order": "7"})
    assert [event["type"] for event in sandbox.events()][-2:] == list(PAID)
    assert (intent["status"], intent["amount_received"], intent["last_error"]) == ("succeeded", 5000, None)
    transaction = sandbox.api.get(f"/transactions/{intent['transaction']}/")
    assert (transaction["payment_intent"], transaction["customer"]) == (intent["id"], customer["id"])
    assert (transaction["description"], transaction["metadata"]) == ("Order 7", {"order": "7"})
    assert (transaction["status"], transaction["type"], transaction["operator"]) == ("completed", "deposit", "visa")


def test_confirm_may_bring_the_method(sandbox: Sandbox) -> None:
    """B-51; the intent is then its customer's."""
    intent, method = sandbox.intent(), sandbox.method()
    paid = sandbox.api.post(f"/payment-intents/{intent['id']}/confirm/", {"payment_method": method["id"]})
    assert (paid["status"], paid["payment_method"], paid["customer"]) == ("succeeded", method["id"], method["customer"])


def test_a_method_that_was_deleted_is_not_charged(sandbox: Sandbox) -> None:
    method = sandbox.method()
    intent = sandbox.intent(method)
    sandbox.api.delete(f"/payment-methods/{method['id']}/")
    path = f"/payment-intents/{intent['id']}/confirm/"
    error = sandbox.api.rejected("POST", path, 404, "PAYMENT_METHOD_NOT_FOUND")
    assert error["param"] == "payment_method"


def test_confirm_may_bring_another_method(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    intent = sandbox.intent(sandbox.method(customer, number="4000 0000 0000 0002"))
    good = sandbox.method(customer)
    paid = sandbox.api.post(f"/payment-intents/{intent['id']}/confirm/", {"payment_method": good["id"]})
    assert (paid["status"], paid["payment_method"]) == ("succeeded", good["id"])


def test_a_failed_payment_is_an_outcome_and_no_error(sandbox: Sandbox) -> None:
    """B-14, B-50: 200, ``canceled`` with ``last_error`` and ``payment_intent.failed``; no transaction."""
    with sandbox.expect("customer.created", "payment_intent.failed"):
        intent = sandbox.pay(sandbox.method(number="4000000000009995"))
    assert (intent["status"], intent["last_error"]["code"]) == ("canceled", "INSUFFICIENT_FUNDS")
    assert (intent["canceled_at"], intent["transaction"]) == (sandbox.now, None)
    assert sandbox.api.get("/transactions/")["data"] == []


@pytest.mark.parametrize("change", [{"is_blacklisted": True}, {"status": "blocked"}])
def test_a_blacklisted_customers_attempt_is_an_intent_that_fails(sandbox: Sandbox, change: Any) -> None:
    """B-32, B-55: ``CUSTOMER_BLACKLISTED``."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    sandbox.control.patch(f"/objects/{customer['id']}", change)
    with sandbox.expect("payment_intent.failed"):
        intent = sandbox.pay(method)
    assert (intent["status"], intent["last_error"]["code"]) == ("canceled", "CUSTOMER_BLACKLISTED")


# -- rejected, and nothing created


def test_a_type_that_is_not_allowed_is_rejected_and_nothing_is_made(sandbox: Sandbox) -> None:
    """B-55: 422 ``PAYMENT_METHOD_NOT_SUPPORTED``."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    fields = {"amount": 5000, "currency": "XAF", "payment_method_types": ["mobile_money", "mobile_money"]}
    body = {**fields, "payment_method": method["id"]}
    sandbox.api.rejected("POST", "/payment-intents/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    assert sandbox.api.get("/payment-intents/")["data"] == []
    intent = sandbox.intent(**fields)
    assert intent["payment_method_types"] == ["mobile_money"]
    path, choice = f"/payment-intents/{intent['id']}/confirm/", {"payment_method": method["id"]}
    sandbox.api.rejected("POST", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=choice)
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/") == intent


def test_an_empty_list_of_types_allows_all(sandbox: Sandbox) -> None:
    assert sandbox.intent(payment_method_types=[])["payment_method_types"] == EVERY_TYPE


# -- waiting for an answer


def test_mobile_money_asks_the_buyer(sandbox: Sandbox) -> None:
    """B-55: ``requires_action`` until the operator answers, ⚙ ``operator_delay`` seconds later."""
    sandbox.settings(operator_delay=30)
    method = sandbox.method(type="mobile_money", phone="+24177123456")
    with sandbox.expect():
        intent = sandbox.pay(method)
    assert intent["status"] == "requires_action"
    assert intent["next_action"] == {
        "type": "confirm_on_phone",
        "phone": "+24177123456",
        "expires_at": "2026-01-01T00:03:00.000Z",
    }
    with sandbox.expect():
        sandbox.advance("29s")
    with sandbox.expect(*PAID):
        sandbox.advance("1s")
    paid = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert (paid["status"], paid["next_action"]) == ("succeeded", None)


def test_a_phone_in_the_buyers_hand_is_answered_there_or_times_out(sandbox: Sandbox) -> None:
    """⚙ ``mobile_money: handset``: no answer comes by itself; after three minutes it is ``MOBILE_MONEY_TIMEOUT``."""
    sandbox.settings(mobile_money="handset")
    method = sandbox.method(type="mobile_money", phone="+24177123456")
    answered, left = sandbox.pay(method), sandbox.pay(method)
    with sandbox.expect(*PAID):
        sandbox.control.post(f"/payment-intents/{answered['id']}/answer", {"result": "succeeded"})
    with sandbox.expect("payment_intent.failed"):
        sandbox.advance("3m")
    assert sandbox.api.get(f"/payment-intents/{left['id']}/")["last_error"]["code"] == "MOBILE_MONEY_TIMEOUT"


def test_an_answer_takes_the_place_of_the_one_that_was_to_come(sandbox: Sandbox) -> None:
    method = sandbox.method(type="mobile_money", phone="+24177000003")
    intent = sandbox.pay(method)
    with sandbox.expect("payment_intent.failed"):
        body = {"result": "failed", "code": "MOBILE_MONEY_REJECTED"}
        answered = sandbox.control.post(f"/payment-intents/{intent['id']}/answer", body)
        sandbox.advance("1d")
    assert answered["last_error"]["code"] == "MOBILE_MONEY_REJECTED"


def test_a_removed_method_does_not_disturb_a_payment_under_way(sandbox: Sandbox) -> None:
    method = sandbox.method(type="mobile_money", phone="+24177000006")
    intent = sandbox.pay(method)
    sandbox.api.delete(f"/payment-methods/{method['id']}/")
    with sandbox.expect(*PAID):
        sandbox.advance("60s")
    transaction = sandbox.api.get(f"/payment-intents/{intent['id']}/")["transaction"]
    assert sandbox.api.get(f"/transactions/{transaction}/")["operator"] == method["details"]["operator"]


def test_a_bank_transfer_is_pending_for_a_day(sandbox: Sandbox) -> None:
    """B-54, B-56: intent ``processing``, transaction ``pending``, then ``transaction.succeeded``."""
    customer = sandbox.customer()
    intent = sandbox.pay(sandbox.method(customer, "bank_transfer", iban=IBAN))
    assert intent["status"] == "processing"
    waiting = sandbox.api.get(f"/transactions/{intent['transaction']}/")
    assert (waiting["status"], waiting["processed_at"]) == ("pending", None)
    assert sandbox.api.get(f"/customers/{customer['id']}/")["total_spent"] == 0
    with sandbox.expect(*PAID):
        sandbox.advance("1d")
    done = sandbox.api.get(f"/transactions/{intent['transaction']}/")
    assert (done["status"], done["processed_at"]) == ("completed", sandbox.now)
    assert sandbox.api.get(f"/customers/{customer['id']}/")["total_spent"] == 5000


def test_a_bank_transfer_that_is_not_funded_fails_with_its_transaction(sandbox: Sandbox) -> None:
    """B-56."""
    intent = sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN))
    with sandbox.expect("payment_intent.failed"):
        sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": "failed"})
    transaction = sandbox.api.get(f"/transactions/{intent['transaction']}/")
    assert (transaction["status"], transaction["processed_at"]) == ("failed", sandbox.now)
    with sandbox.expect():
        sandbox.advance("2d")


# -- manual capture


def authorised(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.pay(sandbox.method(**fields), capture_method="manual")


def test_manual_capture_waits_with_the_money_authorised(sandbox: Sandbox) -> None:
    """B-50, B-51: ``requires_capture``, no event and no transaction before the capture."""
    with sandbox.expect("customer.created"):
        intent = authorised(sandbox)
    assert (intent["status"], intent["amount_capturable"], intent["amount_received"]) == ("requires_capture", 5000, 0)
    assert intent["transaction"] is None
    with sandbox.expect(*PAID):
        taken = sandbox.api.post(f"/payment-intents/{intent['id']}/capture/")
    assert (taken["status"], taken["amount_capturable"], taken["amount_received"]) == ("succeeded", 0, 5000)


@pytest.mark.parametrize("amount", [1, 4999, 5000])
def test_a_part_may_be_captured(sandbox: Sandbox, amount: int) -> None:
    """B-51: ``amount`` ≤ amount; the transaction is of what was taken."""
    intent = authorised(sandbox)
    taken = sandbox.api.post(f"/payment-intents/{intent['id']}/capture/", {"amount": amount})
    assert (taken["status"], taken["amount"], taken["amount_received"]) == ("succeeded", 5000, amount)
    assert sandbox.api.get(f"/transactions/{taken['transaction']}/")["amount"] == amount


@pytest.mark.parametrize(
    ("amount", "code"), [(5001, "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL"), (0, "INVALID_FIELD"), (-1, "INVALID_FIELD")]
)
def test_more_than_authorised_or_nothing_is_not_captured(sandbox: Sandbox, amount: int, code: str) -> None:
    """Business codes; B-51."""
    intent = authorised(sandbox)
    path = f"/payment-intents/{intent['id']}/capture/"
    assert sandbox.api.rejected("POST", path, 422, code, json={"amount": amount})["param"] == "amount"
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/") == intent


def test_mobile_money_and_transfers_may_be_captured_manually_too(sandbox: Sandbox) -> None:
    mobile = authorised(sandbox, type="mobile_money", phone="+24177123456")
    transfer = authorised(sandbox, type="bank_transfer", iban=IBAN)
    assert (mobile["status"], transfer["status"]) == ("requires_capture", "processing")
    with sandbox.expect():
        sandbox.advance("1d")
    assert sandbox.api.get(f"/payment-intents/{transfer['id']}/")["status"] == "requires_capture"
    assert sandbox.api.get("/transactions/")["data"] == []


# -- every state and every action


def _canceled(sandbox: Sandbox) -> Any:
    return sandbox.api.post(f"/payment-intents/{sandbox.intent()['id']}/cancel/")


STATES: dict[str, Callable[[Sandbox], Any]] = {
    "requires_payment_method": lambda sandbox: sandbox.intent(),
    "requires_confirmation": lambda sandbox: sandbox.intent(sandbox.method()),
    "requires_action": lambda sandbox: sandbox.pay(sandbox.method(number=THREE_STEP)),
    "processing": lambda sandbox: sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN)),
    "requires_capture": authorised,
    "succeeded": lambda sandbox: sandbox.pay(),
    "canceled": _canceled,
}
"""How a payment intent comes into each of its states."""

ALLOWED = {
    "confirm": {"requires_confirmation"},
    "capture": {"requires_capture"},
    "cancel": STATES.keys() - {"succeeded", "canceled"},
    "answer": {"requires_action", "processing"},
}
REJECTION_CODE = {
    "confirm": "PAYMENT_INTENT_NOT_CONFIRMABLE",
    "capture": "PAYMENT_INTENT_NOT_CAPTURABLE",
    "cancel": "PAYMENT_INTENT_UNCANCELABLE",
    "answer": "INVALID_STATUS_TRANSITION",
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("action", ALLOWED)
def test_each_action_in_each_state_works_or_is_rejected_with_its_code(
    sandbox: Sandbox, state: str, action: str
) -> None:
    """B-51: what may not be done changes nothing and emits nothing."""
    intent = STATES[state](sandbox)
    assert intent["status"] == state
    client, slash = (sandbox.control, "") if action == "answer" else (sandbox.api, "/")
    path = f"/payment-intents/{intent['id']}/{action}{slash}"
    body = {"result": "succeeded"} if action == "answer" else {}
    if state in ALLOWED[action]:
        assert client.post(path, body)["status"] == ("canceled" if action == "cancel" else "succeeded")
        return
    with sandbox.expect():
        client.rejected("POST", path, 422, REJECTION_CODE[action], json=body)
        assert sandbox.api.get(f"/payment-intents/{intent['id']}/") == intent


@pytest.mark.parametrize("state", sorted(ALLOWED["cancel"]))
def test_the_merchants_own_cancel_sends_no_event_and_no_money_comes_later(sandbox: Sandbox, state: str) -> None:
    """B-50; the pending transaction of a transfer is canceled with it."""
    intent = STATES[state](sandbox)
    with sandbox.expect():
        canceled = sandbox.api.post(f"/payment-intents/{intent['id']}/cancel/")
        sandbox.advance("2d")
    assert (canceled["status"], canceled["amount_capturable"], canceled["last_error"]) == ("canceled", 0, None)
    assert canceled["canceled_at"] == "2026-01-01T00:00:00.000Z"
    if canceled["transaction"]:
        assert sandbox.api.get(f"/transactions/{canceled['transaction']}/")["status"] == "canceled"
