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


def test_what_is_not_there_is_not_found(sandbox: Sandbox) -> None:
    sandbox.control.rejected("POST", "/checkout-sessions/sess_0/pay", 404, "CHECKOUT_SESSION_NOT_FOUND")
