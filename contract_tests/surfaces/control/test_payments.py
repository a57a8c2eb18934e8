"""Payments without a method: the control API takes one that works."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox


def paid(sandbox: Sandbox, path: str, **body: Any) -> Any:
    return sandbox.control.post(f"{path}/pay", body)


@pytest.mark.parametrize("type", ["mobile_money", "bank_card", "paypal"])
def test_by_what_the_session_allows(sandbox: Sandbox, type: str) -> None:
    """No body at all will do."""
    session = sandbox.session(payment_method_types=[type])
    intent = sandbox.control.request("POST", f"/checkout-sessions/{session['id']}/pay").json()
    assert (intent["status"], intent["payment_method_types"]) == ("succeeded", [type])


def test_the_default_method_of_the_customer_goes_first(sandbox: Sandbox) -> None:
    """Unless it is not allowed; a stored card behaves as it did. A link and an invoice are paid alike."""
    poor, card = sandbox.customer(phone=FAILING_PHONE), sandbox.customer()
    sandbox.method(card, number="4000 0000 0000 9995", is_default=True)
    for customer, types, code in [
        (poor, [], "INSUFFICIENT_FUNDS"),
        (card, [], "INSUFFICIENT_FUNDS"),
        (poor, ["bank_card"], None),
    ]:
        session = sandbox.session(customer=customer["id"], payment_method_types=types)
        intent = paid(sandbox, f"/checkout-sessions/{session['id']}")
        assert (intent["last_error"] or {}).get("code") == code
    link = sandbox.link(collect_customer_info=False)
    assert paid(sandbox, f"/payment-links/{link['id']}")["status"] == "succeeded"
    sandbox.subscribe(collection_method="send_invoice")
    (invoice,) = sandbox.invoices("id")
    assert paid(sandbox, f"/invoices/{invoice}")["status"] == "succeeded"
    sandbox.settings(mobile_money="handset")  # which no handset has to approve
    assert paid(sandbox, f"/checkout-sessions/{sandbox.session()['id']}")["status"] == "succeeded"


# -- Phones: buyers' handsets, as programs and as people use them


PHONE = "+24177123456"


@pytest.fixture
def handset(sandbox: Sandbox) -> Sandbox:
    """A world whose buyers answer on their phones."""
    sandbox.settings(mobile_money="handset")
    return sandbox


def asked(sandbox: Sandbox, phone: str = PHONE, **fields: Any) -> Any:
    intent = sandbox.pay(sandbox.method(type="mobile_money", phone=phone), **fields)
    assert intent["status"] == "requires_action"
    return intent


def prompts(sandbox: Sandbox, phone: str = PHONE) -> list[Any]:
    return list(sandbox.control.get(f"/phones/{phone}")["data"])


def answer(sandbox: Sandbox, body: Any, phone: str = PHONE) -> Any:
    return sandbox.control.post(f"/phones/{phone}/answer", body)


def test_a_prompt_says_what_is_asked(handset: Sandbox) -> None:
    intent = asked(handset, description="Raphia basket")
    (prompt,) = prompts(handset)
    assert prompt == {
        "object": "prompt",
        "payment_intent": intent["id"],
        "merchant": handset.key.removeprefix("sk_test_"),
        "amount": 5000,
        "currency": "XAF",
        "description": "Raphia basket",
        "created_at": handset.now,
        "expires_at": intent["next_action"]["expires_at"],
    }
    assert prompts(handset, PHONE.removeprefix("+")) == [prompt]
    assert prompts(handset, "+24177000000") == []


@pytest.mark.parametrize(
    ("given", "phone", "code"),
    [
        ({"answer": "approve"}, PHONE, None),
        ({"answer": "approve", "pin": "9173"}, PHONE, None),
        ({"answer": "reject"}, PHONE, "MOBILE_MONEY_REJECTED"),
        ({"answer": "approve"}, "+24177000001", "INSUFFICIENT_FUNDS"),
        ({"answer": "approve"}, "+24177000002", None),
        ({"answer": "approve"}, "+24177000003", None),
        ({"answer": "approve"}, "+24177000007", "UPSTREAM_ERROR"),
    ],
    ids=str,
)
def test_what_the_buyer_says_counts_at_once(handset: Sandbox, given: Any, phone: str, code: str | None) -> None:
    """Once it is approved the operator goes by the number (B-54); no PIN is stored."""
    intent = asked(handset, phone)
    response = answer(handset, given, phone)
    assert (response["id"], response["status"]) == (intent["id"], "canceled" if code else "succeeded")
    assert (response["last_error"] or {}).get("code") == code
    assert response == handset.api.get(f"/payment-intents/{intent['id']}/")
    assert prompts(handset, phone) == []
    entry = handset.control.get("/requests", operation="answerPrompt")["data"][0]
    assert "9173" not in str(handset.control.get(f"/requests/{entry['id']}"))


@pytest.mark.parametrize(("phone", "mode"), [(PHONE, "handset"), ("+24177000006", "auto")])
def test_a_prompt_that_is_ignored_times_out(sandbox: Sandbox, phone: str, mode: str) -> None:
    """Without a handset an operator that takes its time would succeed by itself (B-54)."""
    sandbox.settings(mobile_money=mode)
    intent = asked(sandbox, phone)
    assert answer(sandbox, {"answer": "ignore"}, phone)["status"] == "requires_action"
    assert [prompt["payment_intent"] for prompt in prompts(sandbox, phone)] == [intent["id"]]
    with sandbox.expect("payment_intent.failed"):
        sandbox.advance("1h")
    failed = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert failed["last_error"]["code"] == "MOBILE_MONEY_TIMEOUT"
    assert prompts(sandbox, phone) == []


def test_of_several_prompts_the_newest_or_the_one_that_is_named(handset: Sandbox) -> None:
    first, second, third = (asked(handset) for _ in range(3))
    assert [prompt["payment_intent"] for prompt in prompts(handset)] == [third["id"], second["id"], first["id"]]
    assert answer(handset, {"answer": "reject"})["id"] == third["id"]
    assert answer(handset, {"answer": "approve", "payment_intent": first["id"]})["id"] == first["id"]
    again = {"answer": "approve", "payment_intent": first["id"]}
    path = f"/phones/{PHONE}/answer"
    error = handset.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=again)
    assert error["message"] == f"No such prompt waits on {PHONE}."
    handset.control.rejected("POST", path, 404, "PAYMENT_INTENT_NOT_FOUND", json={**again, "payment_intent": "pi_1"})
    page = handset.control.get(f"/phones/{PHONE}", page=2, page_size=1)
    assert (page["data"], page["pagination"]["count"]) == ([], 1)


def test_a_phone_that_asks_nothing_cannot_be_answered(handset: Sandbox) -> None:
    path = f"/phones/{PHONE}/answer"
    error = handset.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json={"answer": "approve"})
    assert error["message"] == f"No prompt waits on {PHONE}."
    for number in ("7", "abc", "+0241", "+2417712345678901234"):
        handset.control.rejected("GET", f"/phones/{number}", 404, "NOT_FOUND")
        handset.control.rejected("POST", f"/phones/{number}/answer", 404, "NOT_FOUND", json={"answer": "approve"})


@pytest.mark.parametrize(
    "body", [{}, {"answer": "maybe"}, {"answer": "reject", "pin": "1234"}, {"answer": "approve", "pin": "12"}], ids=str
)
def test_an_answer_is_one_of_three(handset: Sandbox, body: Any) -> None:
    asked(handset)
    assert handset.control.request("POST", f"/phones/{PHONE}/answer", json=body).status_code == 422
    assert len(prompts(handset)) == 1
