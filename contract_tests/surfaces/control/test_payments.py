"""Payments without a method: the control API takes one that works."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox


def paid(sandbox: Sandbox, path: str, **body: Any) -> Any:
    return sandbox.control.post(f"{path}/pay", body)


@pytest.mark.parametrize("type", ["mobile_money", "bank_card", "paypal"])
def test_by_what_the_session_allows(sandbox: Sandbox, type: str) -> None:
    session = sandbox.session(payment_method_types=[type])
    intent = paid(sandbox, f"/checkout-sessions/{session['id']}")
    assert (intent["status"], intent["payment_method_types"]) == ("succeeded", [type])


def test_a_link_and_an_invoice_alike(sandbox: Sandbox) -> None:
    link = sandbox.link(collect_customer_info=False)
    assert paid(sandbox, f"/payment-links/{link['id']}")["status"] == "succeeded"
    sandbox.subscribe(collection_method="send_invoice")
    (invoice,) = sandbox.invoices("id")
    assert paid(sandbox, f"/invoices/{invoice}")["status"] == "succeeded"


def test_no_body_at_all_will_do(sandbox: Sandbox) -> None:
    response = sandbox.control.request("POST", f"/checkout-sessions/{sandbox.session()['id']}/pay")
    assert response.json()["status"] == "succeeded"


def test_the_default_method_of_the_customer_goes_first(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone=FAILING_PHONE)
    session = sandbox.session(customer=customer["id"])
    assert paid(sandbox, f"/checkout-sessions/{session['id']}")["last_error"]["code"] == "INSUFFICIENT_FUNDS"


def test_unless_it_is_not_allowed(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone=FAILING_PHONE)
    session = sandbox.session(customer=customer["id"], payment_method_types=["bank_card"])
    assert paid(sandbox, f"/checkout-sessions/{session['id']}")["status"] == "succeeded"


def test_a_stored_card_behaves_as_it_did(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.method(customer, number="4000 0000 0000 9995", is_default=True)
    session = sandbox.session(customer=customer["id"])
    assert paid(sandbox, f"/checkout-sessions/{session['id']}")["last_error"]["code"] == "INSUFFICIENT_FUNDS"


def test_no_handset_has_to_approve(sandbox: Sandbox) -> None:
    sandbox.settings(mobile_money="handset")
    assert paid(sandbox, f"/checkout-sessions/{sandbox.session()['id']}")["status"] == "succeeded"


# -- Phones: buyers' handsets, as programs and as people use them


PHONE = "+24177123456"


@pytest.fixture
def handset(sandbox: Sandbox) -> Sandbox:
    """A world whose buyers answer on their phones."""
    sandbox.settings(mobile_money="handset")
    return sandbox


def asked(sandbox: Sandbox, phone: str = PHONE, **fields: Any) -> Any:
    """Return a payment that waits for its buyer."""
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
    ("given", "status", "code"),
    [
        ({"answer": "approve"}, "succeeded", None),
        ({"answer": "approve", "pin": "1234"}, "succeeded", None),
        ({"answer": "reject"}, "canceled", "MOBILE_MONEY_REJECTED"),
    ],
    ids=str,
)
def test_what_the_buyer_says_counts_at_once(handset: Sandbox, given: Any, status: str, code: str | None) -> None:
    intent = asked(handset)
    response = answer(handset, given)
    assert (response["id"], response["status"], (response["last_error"] or {}).get("code")) == (
        intent["id"],
        status,
        code,
    )
    assert response == handset.api.get(f"/payment-intents/{intent['id']}/")
    assert prompts(handset) == []


def test_a_prompt_that_is_ignored_times_out(handset: Sandbox) -> None:
    intent = asked(handset)
    assert answer(handset, {"answer": "ignore"})["status"] == "requires_action"
    assert [prompt["payment_intent"] for prompt in prompts(handset)] == [intent["id"]]
    with handset.expect("payment_intent.failed"):
        handset.advance("3m")
    failed = handset.api.get(f"/payment-intents/{intent['id']}/")
    assert failed["last_error"]["code"] == "MOBILE_MONEY_TIMEOUT"
    assert prompts(handset) == []


def test_who_ignores_a_slow_operator_has_not_paid(sandbox: Sandbox) -> None:
    """Without a handset an operator that takes its time would succeed by itself (B-54)."""
    intent = asked(sandbox, phone="+24177000006")
    answer(sandbox, {"answer": "ignore"}, "+24177000006")
    sandbox.advance("1h")
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["last_error"]["code"] == "MOBILE_MONEY_TIMEOUT"


@pytest.mark.parametrize(
    ("phone", "code"),
    [
        ("+24177000001", "INSUFFICIENT_FUNDS"),
        ("+24177000002", None),
        ("+24177000003", None),
        ("+24177000007", "UPSTREAM_ERROR"),
    ],
)
def test_once_it_is_approved_the_operator_goes_by_the_number(handset: Sandbox, phone: str, code: str | None) -> None:
    """B-54; what the buyer of a magic number would have done is the tester's to do."""
    asked(handset, phone=phone)
    response = answer(handset, {"answer": "approve"}, phone)
    assert (response["last_error"] or {}).get("code") == code


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


def test_no_pin_is_stored(handset: Sandbox) -> None:
    asked(handset)
    answer(handset, {"answer": "approve", "pin": "9173"})
    entry = handset.control.get("/requests", operation="answerPrompt")["data"][0]
    assert "9173" not in str(handset.control.get(f"/requests/{entry['id']}"))
