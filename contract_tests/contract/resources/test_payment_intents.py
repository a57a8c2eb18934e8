"""Payment intents: made, confirmed, captured, canceled, else rejected (B-50, B-51, B-55)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox, path_of

THREE_STEP = "4000 0000 0000 3220"
IBAN = "FR14 2004 1010 0505 0001 3M02 606"
EVERY_TYPE = ["mobile_money", "bank_card", "bank_transfer", "paypal"]
PAID = ("payment_intent.succeeded", "transaction.succeeded")


def transaction(sandbox: Sandbox, intent: Any) -> Any:
    return sandbox.api.get(f"/transactions/{intent['transaction']}/")


def phone(sandbox: Sandbox, number: str = "+24177123456") -> Any:
    return sandbox.method(type="mobile_money", phone=number)


# -- made and confirmed


def test_an_intent_without_a_method_waits_for_one(sandbox: Sandbox) -> None:
    """B-51: nothing is charged."""
    with sandbox.expect():
        intent = sandbox.intent(customer_email="awa@example.com")
    assert intent["status"] == "requires_payment_method"
    assert (intent["amount"], intent["amount_capturable"], intent["amount_received"]) == (
        5000,
        0,
        0,
    )
    assert (intent["customer"], intent["customer_email"]) == (None, "awa@example.com")
    assert (intent["payment_method"], intent["payment_method_type"]) == (None, None)
    assert intent["payment_method_types"] == EVERY_TYPE


def test_an_intent_with_a_method_waits_to_be_confirmed(sandbox: Sandbox) -> None:
    """B-51: nothing is charged; it is the method's customer's."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    with sandbox.expect():
        chosen = sandbox.intent(method, payment_method_types=[])
    assert chosen["status"] == "requires_confirmation"
    assert chosen["payment_method_types"] == EVERY_TYPE
    assert (chosen["customer"], chosen["customer_email"]) == (customer["id"], customer["email"])
    assert chosen["payment_method_type"] == "bank_card"


def test_the_email_that_was_sent_is_the_intents(sandbox: Sandbox) -> None:
    """B-51: ``customer_email`` goes before that of the customer; the receipt goes there (B-53)."""
    given = "accounts@example.com"
    intent = sandbox.intent(sandbox.method(), customer_email=given)
    assert intent["customer_email"] == given
    assert sandbox.act(intent, "confirm")["customer_email"] == given
    assert sandbox.api.get("/receipts/")["data"][0]["customer_email"] == given


def test_a_card_pays_at_once(sandbox: Sandbox) -> None:
    """The intent reports first, then its transaction (B-44), which repeats the intent's content."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    with sandbox.expect(*PAID):
        intent = sandbox.pay(method, description="Order 7", metadata={"order": "7"})
    assert [event["type"] for event in sandbox.events()][-2:] == list(PAID)
    assert (intent["status"], intent["amount_received"], intent["last_error"]) == (
        "succeeded",
        5000,
        None,
    )
    made = transaction(sandbox, intent)
    assert (made["payment_intent"], made["customer"]) == (intent["id"], customer["id"])
    assert (made["description"], made["metadata"]) == ("Order 7", {"order": "7"})
    assert (made["status"], made["type"], made["operator"]) == ("completed", "deposit", "visa")


def test_confirm_may_bring_the_method_or_another(sandbox: Sandbox) -> None:
    """B-51; the intent is then its customer's."""
    customer = sandbox.customer()
    good = sandbox.method(customer)
    for intent in (
        sandbox.intent(),
        sandbox.intent(sandbox.method(customer, number="4000 0000 0000 0002")),
    ):
        paid = sandbox.act(intent, "confirm", payment_method=good["id"])
        assert (paid["status"], paid["payment_method"], paid["customer"]) == (
            "succeeded",
            good["id"],
            customer["id"],
        )


def test_a_method_that_was_deleted_is_not_charged(sandbox: Sandbox) -> None:
    """B-52: the intent wants a method again, and says so when it is confirmed without one."""
    method = sandbox.method()
    intent = sandbox.intent(method)
    sandbox.api.delete(f"/payment-methods/{method['id']}/")
    path = f"/payment-intents/{intent['id']}/confirm/"
    assert "param" not in sandbox.api.rejected("POST", path, 422, "PAYMENT_INTENT_NOT_CONFIRMABLE")


def test_a_payment_under_way_goes_on_after_its_method_was_deleted(sandbox: Sandbox) -> None:
    slow = phone(sandbox, "+24177000006")
    under_way = sandbox.pay(slow)
    sandbox.api.delete(f"/payment-methods/{slow['id']}/")
    with sandbox.expect(*PAID):
        sandbox.advance("60s")
    assert transaction(sandbox, sandbox.shown(under_way))["operator"] == slow["details"]["operator"]


def test_a_type_that_is_not_allowed_is_only_rejected(sandbox: Sandbox) -> None:
    """B-55: 422 ``PAYMENT_METHOD_NOT_SUPPORTED``."""
    method = sandbox.method()
    fields = {
        "amount": 5000,
        "currency": "XAF",
        "payment_method_types": ["mobile_money", "mobile_money"],
    }
    choice = {"payment_method": method["id"]}
    sandbox.api.rejected(
        "POST", "/payment-intents/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=fields | choice
    )
    assert sandbox.api.get("/payment-intents/")["data"] == []
    intent = sandbox.intent(**fields)
    assert intent["payment_method_types"] == ["mobile_money"]
    path = f"/payment-intents/{intent['id']}/confirm/"
    sandbox.api.rejected("POST", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=choice)
    assert sandbox.shown(intent) == intent


# -- waiting for an answer


def test_mobile_money_asks_the_buyer(sandbox: Sandbox) -> None:
    """B-55: ``requires_action`` until the operator answers, ⚙ ``operator_delay`` seconds later."""
    sandbox.settings(operator_delay=30)
    method = phone(sandbox)
    with sandbox.expect():
        intent = sandbox.pay(method)
        sandbox.advance("29s")
    expires_at = "2026-01-01T00:03:00.000Z"
    prompt = {"type": "confirm_on_phone", "phone": "+24177123456", "expires_at": expires_at}
    assert (intent["status"], intent["next_action"]) == ("requires_action", prompt)
    with sandbox.expect(*PAID):
        sandbox.advance("1s")
    assert (sandbox.status(intent), sandbox.shown(intent)["next_action"]) == ("succeeded", None)
    sent_on = {"type": "redirect", "url": "https://bank.example.com/check"}
    sandbox.control.patch(
        f"/objects/{sandbox.intent()['id']}", {"status": "requires_action", "next_action": sent_on}
    )
    assert sandbox.api.get("/payment-intents/")["data"][0]["next_action"] == sent_on


def test_a_failed_payment_asks_nothing_of_its_buyer(sandbox: Sandbox) -> None:
    """B-50: what a buyer had to do is over with the payment."""
    asked = sandbox.pay(sandbox.method(number=THREE_STEP))
    assert asked["next_action"]["type"] == "confirm_card"
    failed = sandbox.answer(asked, "failed")
    assert (failed["status"], failed["next_action"]) == ("canceled", None)


# -- manual capture


def authorised(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.pay(sandbox.method(**fields), capture_method="manual")


@pytest.mark.parametrize("amount", [1, 4999, 5000, None])
def test_what_was_authorised_may_be_captured_in_part(sandbox: Sandbox, amount: int | None) -> None:
    """B-50, B-51: ``requires_capture`` without event or transaction; then one of the taken part."""
    with sandbox.expect("customer.created"):
        intent = authorised(sandbox)
    assert (intent["status"], intent["amount_capturable"], intent["amount_received"]) == (
        "requires_capture",
        5000,
        0,
    )
    assert intent["transaction"] is None
    path = f"/payment-intents/{intent['id']}/capture/"
    for wrong, code in (
        (5001, "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL"),
        (0, "INVALID_FIELD"),
        (-1, "INVALID_FIELD"),
    ):
        assert (
            sandbox.api.rejected("POST", path, 422, code, json={"amount": wrong})["param"]
            == "amount"
        )
    with sandbox.expect(*PAID):
        taken = sandbox.api.post(path, {} if amount is None else {"amount": amount})
    received = amount or 5000
    assert (taken["status"], taken["amount"]) == ("succeeded", 5000)
    assert (taken["amount_capturable"], taken["amount_received"]) == (0, received)
    assert transaction(sandbox, taken)["amount"] == received


# -- every state and every action


def _canceled(sandbox: Sandbox) -> Any:
    return sandbox.act(sandbox.intent(), "cancel")


STATES: dict[str, Callable[[Sandbox], Any]] = {
    "requires_payment_method": Sandbox.intent,
    "requires_confirmation": lambda sandbox: sandbox.intent(sandbox.method()),
    "requires_action": lambda sandbox: sandbox.pay(sandbox.method(number=THREE_STEP)),
    "processing": lambda sandbox: sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN)),
    "requires_capture": authorised,
    "succeeded": Sandbox.pay,
    "canceled": _canceled,
}
"""How a payment intent comes into each of its states."""

ALLOWED = {
    "cancel": (STATES.keys() - {"succeeded", "canceled"}, "PAYMENT_INTENT_UNCANCELABLE"),
    "confirm": ({"requires_confirmation"}, "PAYMENT_INTENT_NOT_CONFIRMABLE"),
    "capture": ({"requires_capture"}, "PAYMENT_INTENT_NOT_CAPTURABLE"),
    "answer": ({"requires_action", "processing"}, "INVALID_STATUS_TRANSITION"),
}
"""The states in which an action works, and the code with which it is rejected in the others."""


@pytest.mark.parametrize("state", STATES)
def test_each_action_in_each_state_works_or_is_rejected_with_its_code(
    sandbox: Sandbox, state: str
) -> None:
    """B-51: a forbidden action changes and emits nothing.

    No event reports the merchant's own cancel, and no money comes later (B-50); the pending
    transaction of a transfer is canceled with it.
    """
    for action, (states, code) in ALLOWED.items():
        intent = STATES[state](sandbox)
        assert intent["status"] == state
        client, slash = (sandbox.control, "") if action == "answer" else (sandbox.api, "/")
        path = f"{path_of(intent)}/{action}{slash}"
        body = {"result": "succeeded"} if action == "answer" else {}
        if state not in states:
            with sandbox.expect():
                client.rejected("POST", path, 422, code, json=body)
                assert sandbox.shown(intent) == intent
        elif action != "cancel":
            assert client.post(path, body)["status"] == "succeeded"
        else:
            with sandbox.expect():
                canceled = client.post(path)
                sandbox.advance("2d")
            assert (canceled["status"], canceled["amount_capturable"], canceled["last_error"]) == (
                "canceled",
                0,
                None,
            )
            assert canceled["canceled_at"] == "2026-01-01T00:00:00.000Z"
            assert (
                canceled["transaction"] is None
                or transaction(sandbox, canceled)["status"] == "canceled"
            )


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ({"type": "mobile_money", "phone": "+24177001234"}, "MOBILE_MONEY_REJECTED"),
        ({"type": "bank_card", "number": "5555 5555 5555 4444"}, "PAYMENT_METHOD_NOT_SUPPORTED"),
        ({"type": "bank_card", "number": "4000 0000 0000 9995"}, "INSUFFICIENT_FUNDS"),
        ({"type": "paypal", "email": "awa@example.com"}, "PAYMENT_METHOD_NOT_SUPPORTED"),
    ],
)
def test_an_answer_that_fails_without_a_code_has_the_one_of_the_method(
    sandbox: Sandbox, method: dict[str, str], code: str
) -> None:
    """And a card that would have been declined keeps its own."""
    sandbox.settings(operator_delay=90)
    intent = sandbox.pay(sandbox.method(**method))
    assert sandbox.answer(intent, "failed")["last_error"]["code"] == code
