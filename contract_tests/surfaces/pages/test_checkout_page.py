"""The page of a checkout session, over HTTP: paying by every method, every state, once and only once (B-58)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import (
    CARD,
    DECLINED,
    PAYPAL,
    PHONE,
    STEP,
    SUCCESS,
    TRANSFER,
    buyer,
    intent_of,
    path_of,
    session,
)

MADE = ("customer.created",)
"""A buyer who gives no email becomes an anonymous customer (B-58)."""

PAID = ("payment_intent.succeeded", "transaction.succeeded", "checkout.session.completed")


def now(sandbox: Sandbox, made: Any) -> Any:
    return sandbox.api.get(f"/checkout-sessions/{made['id']}/")


def intents(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.api.pages("/payment-intents/"))


def test_it_shows_who_is_paid_what_for(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        page = awa.open()
    assert (page.status, page.state, page.language) == (200, "payable", "en")
    assert page.said("merchant").endswith(sandbox.key.removeprefix("sk_test_"))
    assert page.said("total") == "30,000 XAF"
    assert "Raphia basket" in page.said("lines")
    assert page.elements["cancel"]["href"] == "https://shop.example.com/cart"


@pytest.mark.parametrize("method", [CARD, PHONE, PAYPAL], ids=lambda fields: fields["method"])
def test_success_leads_to_success_url_with_the_session_id(sandbox: Sandbox, method: dict[str, str]) -> None:
    """CheckoutSession states: processing → complete; the literal {CHECKOUT_SESSION_ID} is replaced."""
    made = session(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect(*MADE, *PAID):
        answer = awa.pay(**method)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"]),
    )
    assert now(sandbox, made)["status"] == "complete"


def test_a_transfer_waits_for_its_funds_and_then_leads_on(sandbox: Sandbox) -> None:
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        answer = awa.pay(**TRANSFER)
        waiting = awa.follow(answer)
        assert (waiting.status, waiting.state) == (200, "waiting")
        assert '<noscript><meta http-equiv="refresh" content="30"></noscript>' in waiting.html
        assert now(sandbox, made)["status"] == "processing"
        with sandbox.expect(*PAID):
            sandbox.advance("1d")
        again = awa.http.get(answer.headers["location"])
    assert again.status_code == 303
    assert again.headers["location"].endswith(made["id"])


def test_a_phone_that_takes_its_time_is_waited_for(sandbox: Sandbox) -> None:
    """B-54: …0006 succeeds after 60 s."""
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        page = awa.follow(awa.pay(**{**PHONE, "phone": "+24177000006"}))
        assert page.state == "waiting"
        assert "+24177000006" in page.text
        sandbox.advance("60s")
        done = awa.open()
    assert done.state == "paid"
    assert done.elements["return"]["href"].endswith(made["id"])


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        (DECLINED, "PAYMENT_METHOD_NOT_SUPPORTED", "declined"),
        ({**CARD, "number": "4000000000009995"}, "INSUFFICIENT_FUNDS", "Insufficient funds"),
        ({**PHONE, "phone": "+24177000001"}, "INSUFFICIENT_FUNDS", "Insufficient funds"),
        ({**PHONE, "phone": "+24177000002"}, "MOBILE_MONEY_REJECTED", "rejected on the phone"),
        ({**PHONE, "phone": "+24177000004"}, "MOBILE_MONEY_NUMBER_INVALID", "does not know this mobile money number"),
        ({**PHONE, "phone": "+24177000005"}, "MOBILE_MONEY_LIMIT_REACHED", "limit"),
        ({**PHONE, "phone": "+24177000007"}, "UPSTREAM_ERROR", "not available"),
        ({**PAYPAL, "paypal_email": "fail@example.com"}, "PAYMENT_METHOD_NOT_SUPPORTED", "declined"),
    ],
)
def test_failure_says_what_happened_and_lets_the_buyer_try_again(
    sandbox: Sandbox, fields: dict[str, str], code: str, says: str
) -> None:
    """CheckoutSession states: payment_failed, the session stays open for a retry; each attempt is a new intent."""
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        with sandbox.expect(*MADE, "payment_intent.failed"):
            page = awa.follow(awa.pay(**fields))
        assert page.state == "payable"
        assert page.elements["problem"]["data-code"] == code
        assert says in page.said("problem")
        assert now(sandbox, made)["status"] == "payment_failed"
        with sandbox.expect(*PAID):
            assert awa.pay(**CARD).headers["location"].endswith(made["id"])
    assert len(intents(sandbox)) == 2


def test_a_phone_that_never_answers_times_out(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        awa.pay(**{**PHONE, "phone": "+24177000003"})
        sandbox.advance("180s")
        page = awa.open()
    assert page.elements["problem"]["data-code"] == "MOBILE_MONEY_TIMEOUT"


@pytest.mark.parametrize(("do", "status"), [("approve", "complete"), ("refuse", "payment_failed")])
def test_a_card_may_ask_for_a_step_of_its_own(sandbox: Sandbox, do: str, status: str) -> None:
    """B-54: …3220 is requires_action until it is confirmed on the page."""
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        page = awa.follow(awa.pay(**STEP))
        assert page.state == "step"
        assert "3220" in page.text
        answer = awa.send({**page.fields, "do": do})
        assert now(sandbox, made)["status"] == status
        again = awa.send({**page.fields, "do": "approve"})
    assert answer.status_code == again.status_code == 303
    assert now(sandbox, made)["status"] == status, "a decision is made once"


@pytest.mark.parametrize(("do", "status"), [("approve", "complete"), ("refuse", "payment_failed")])
@pytest.mark.parametrize("fields", [TRANSFER, {**PHONE, "phone": "+24177000003"}])
def test_a_tester_may_answer_in_place_of_phone_and_bank(
    sandbox: Sandbox, fields: dict[str, str], do: str, status: str
) -> None:
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        page = awa.follow(awa.pay(**fields))
        awa.send({**page.fields, "do": do})
    assert now(sandbox, made)["status"] == status


def test_the_same_form_twice_pays_once(sandbox: Sandbox) -> None:
    """A double click, and a form sent again by the back button or a reload."""
    made = session(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect(*MADE, *PAID):
        form = {**awa.open().fields, "do": "pay", **CARD}
        answers = [awa.send(form) for _ in range(3)]
        assert awa.open().state == "paid"
    assert {answer.headers["location"] for answer in answers} == {SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"])}
    assert len(intents(sandbox)) == 1


def test_the_same_form_at_once_from_many_connections_pays_once(sandbox: Sandbox) -> None:
    made = session(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect(*MADE, *PAID), ThreadPoolExecutor(8) as pool:
        form = {**awa.open().fields, "do": "pay", **CARD}
        answers = list(pool.map(awa.send, [form] * 8))
    assert {answer.status_code for answer in answers} == {303}
    assert len(intents(sandbox)) == 1


def test_a_failed_form_sent_again_shows_the_same_failure(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        form = {**awa.open().fields, "do": "pay", **DECLINED}
        first, second = awa.send(form), awa.send(form)
    assert intent_of(first.headers["location"]) == intent_of(second.headers["location"])
    assert len(intents(sandbox)) == 1


def test_two_browsers_pay_once(sandbox: Sandbox) -> None:
    made = session(sandbox)
    with buyer(sandbox, made) as awa, buyer(sandbox, made) as ama, sandbox.expect(*MADE, *PAID):
        late = {**ama.open().fields, "do": "pay", **CARD}
        awa.pay(**CARD)
        assert ama.send(late).headers["location"].endswith(made["id"])
    assert len(intents(sandbox)) == 1


@pytest.mark.parametrize("how", ["expire", "time"])
def test_an_expired_page_says_so(sandbox: Sandbox, how: str) -> None:
    """The page shows an expiration message; an expired session cannot be reactivated."""
    made = session(sandbox, expires_in=300)
    with buyer(sandbox, made) as awa:
        form = {**awa.open().fields, "do": "pay", **CARD}
        if how == "time":
            sandbox.advance("300s")
        else:
            sandbox.api.post(f"/checkout-sessions/{made['id']}/expire/")
        page = awa.open()
        late = awa.follow(awa.send(form))
    assert (page.status, page.state, late.state) == (410, "expired", "expired")
    assert "expired" in page.said("closed")
    assert page.elements["cancel"]["href"] == "https://shop.example.com/cart"
    assert intents(sandbox) == []


def test_the_customer_is_shown_with_the_default_address(sandbox: Sandbox) -> None:
    """Addresses: the default address is pre-selected in hosted payment forms."""
    customer = sandbox.customer(phone="+24177000000")
    address = {"line1": "12 rue des Palmiers", "city": "Libreville", "country": "GA", "is_default": True}
    sandbox.api.post(f"/customers/{customer['id']}/addresses/", address)
    with buyer(sandbox, session(sandbox, customer=customer["id"])) as awa:
        page = awa.open()
    assert page.said("address") == "12 rue des PalmiersLibrevilleGabon"
    assert page.fields["phone"] == "+24177000000"
    assert not page.has("email")


def test_customer_email_fills_the_form_and_the_customer_is_made(sandbox: Sandbox) -> None:
    """customer_email: prefills the form; the matching customer is created or found."""
    made = session(sandbox, customer_email="new@example.com")
    with buyer(sandbox, made) as awa:
        assert awa.open().fields["email"] == "new@example.com"
        awa.pay(**CARD, name="Nouveau Venu")
    customer = sandbox.api.get(f"/customers/{now(sandbox, made)['customer']}/")
    assert (customer["email"], customer["firstname"], customer["lastname"]) == ("new@example.com", "Nouveau", "Venu")


def test_only_the_methods_of_the_session_are_offered_and_taken(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox, payment_method_types=["paypal"])) as awa:
        page = awa.open()
        assert page.has("method-paypal")
        assert not page.has("method-bank_card")
        rejected = awa.pay(**CARD)
    assert rejected.status_code == 422
    assert intents(sandbox) == []


def test_setup_saves_the_method_and_charges_nothing(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    made = session(sandbox, mode="setup", line_items=[], customer=customer["id"])
    with buyer(sandbox, made) as awa:
        page = awa.open()
        assert page.said("pay") == "Save the payment method"
        answer = awa.pay(**CARD)
        assert answer.headers["location"].endswith(made["id"])
        assert "saved" in awa.open().said("confirmation")
    assert intents(sandbox) == []
    assert len(sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]) == 1


@pytest.mark.parametrize(("do", "ends"), [("approve", "complete"), ("refuse", "payment_failed")])
def test_a_card_that_is_checked_is_saved_once_its_buyer_confirms(sandbox: Sandbox, do: str, ends: str) -> None:
    """B-54, B-58: magic values decide what is saved, as they decide what is paid."""
    customer = sandbox.customer()
    made = session(sandbox, mode="setup", line_items=[], customer=customer["id"])
    with buyer(sandbox, made) as awa:
        page = awa.follow(awa.pay(**STEP))
        assert (page.state, page.has("card-step")) == ("step", True)
        assert "3220" in page.text
        assert now(sandbox, made)["status"] == "processing"
        awa.send({**page.fields, "do": do})
    assert now(sandbox, made)["status"] == ends
    methods = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert len(methods) == (1 if ends == "complete" else 0)


def test_a_subscription_needs_an_email_and_no_name(sandbox: Sandbox) -> None:
    """B-58: both are asked for; renewals are notified by email."""
    made = session(sandbox, mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}])
    with buyer(sandbox, made) as awa:
        assert awa.pay(**CARD, name="Awa Diop").status_code == 422
        assert awa.pay(**CARD, email="awa@example.com").status_code == 303
    assert sandbox.api.get("/customers/")["data"][0]["firstname"] == "awa"


def test_a_subscription_says_what_it_will_charge(sandbox: Sandbox) -> None:
    plan = sandbox.plan(trial_period_days=7)
    made = session(sandbox, mode="subscription", line_items=[{"plan": plan["id"]}], customer=sandbox.customer()["id"])
    with buyer(sandbox, made) as awa:
        page = awa.open()
        assert page.said("terms").startswith("7 days free, then 5,000 XAF every month")
        assert page.said("pay") == "Start the free trial"
        assert (page.said("due-today"), page.said("due-later")) == ("0 XAF", "5,000 XAF / month")
        assert "From January 8, 2026" in page.text
        assert awa.pay(**CARD).status_code == 303
    assert sandbox.api.get("/subscriptions/")["data"][0]["status"] == "trialing"


def test_success_says_when_the_next_charge_is(sandbox: Sandbox) -> None:
    """After a canceled subscription's last period nothing is charged, so nothing is announced."""
    sandbox.settings(tax_rate=18)
    plan = sandbox.plan()
    lines = [{"plan": plan["id"]}, {"description": "Setup", "unit_amount": 1000}]
    body = {"mode": "subscription", "line_items": lines, "currency": "XAF", "customer": sandbox.customer()["id"]}
    made = sandbox.api.post("/checkout-sessions/", body)
    with buyer(sandbox, made) as awa:
        page = awa.open()
        assert (page.said("due-today"), page.said("due-later")) == ("7,080 XAF", "5,900 XAF / month")
        done = awa.follow(awa.pay(**CARD))
        assert done.said("next-charge") == "The next payment of 5,900 XAF is on February 1, 2026."
        [subscription] = sandbox.api.get("/subscriptions/")["data"]
        sandbox.api.post(f"/subscriptions/{subscription['id']}/cancel/", {"cancel_at_period_end": True})
        assert "next-charge" not in awa.open().elements
    [email] = sandbox.control.get("/emails", kind="receipt")["data"]
    written = Page(sandbox.control.request("GET", f"/emails/{email['id']}/html")).text
    for name, amount in ((f"1 × {plan['name']}", "5,000 XAF"), ("1 × Setup", "1,000 XAF"), ("Tax", "1,080 XAF")):
        assert f"{name}{amount}" in written


def test_setup_shows_no_prices(sandbox: Sandbox) -> None:
    made = session(sandbox, mode="setup", customer=sandbox.customer()["id"])
    with buyer(sandbox, made) as awa:
        page = awa.open()
    assert page.said("due-today") == "0 XAF"
    assert "30,000 XAF" not in page.text


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({**CARD, "number": "4242 4242 4242 4241"}, "number"),
        ({**CARD, "number": ""}, "number"),
        ({**CARD, "expiry": "13/30"}, "expiry"),
        ({**CARD, "expiry": "12/25"}, "expiry"),
        ({**CARD, "cvc": "12"}, "cvc"),
        ({**PHONE, "phone": "077 00 00 00"}, "phone"),
        ({**TRANSFER, "iban": "FR14 2004 1010 0505 0001 3M02 607"}, "iban"),
        ({**TRANSFER, "iban": ""}, "iban"),
        ({**PAYPAL, "paypal_email": "awa"}, "paypal_email"),
        ({**CARD, "email": "awa"}, "email"),
    ],
)
def test_a_wrong_field_is_marked_and_nothing_is_made(sandbox: Sandbox, fields: dict[str, str], wrong: str) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        answer = awa.pay(**fields)
    assert answer.status_code == 422
    assert f'id="{wrong}-wrong"' in answer.text
    assert answer.text.count('aria-invalid="true"') == 1
    assert intents(sandbox) == []


def test_a_form_with_a_wrong_field_may_be_sent_again(sandbox: Sandbox) -> None:
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        form = {**awa.open().fields, "do": "pay", **CARD}
        assert awa.send({**form, "cvc": "1"}).status_code == 422
        assert awa.send(form).headers["location"].endswith(made["id"])


def test_the_page_of_no_session_is_not_there(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        page = awa.open("/checkout/sess_000000000000000000000000")
        assert (page.status, page.state) == (404, "unknown")
        assert awa.twin("/checkout/sess_000000000000000000000000")["code"] == "NOT_FOUND"


def test_the_journal_says_what_a_buyer_caused_and_it_can_be_undone(sandbox: Sandbox) -> None:
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        form = {**CARD, "token": awa.twin()["token"]}
        assert awa.http.post(path_of(made), json=form, headers={"Accept": "application/json"}).json()["state"] == "paid"
    paid = next(each for each in sandbox.control.get("/requests")["data"] if each["path"] == path_of(made))
    logged = sandbox.control.get(f"/requests/{paid['id']}")
    caused = {each["type"] for each in sandbox.control.get("/events")["data"] if each["id"] in logged["event_ids"]}
    assert "checkout.session.completed" in caused
    assert ("payment_intent", "created") in {(each["kind"], each["change"]) for each in logged["changes"]}
    sandbox.control.post("/rewind", {"to": paid["id"]})
    assert sandbox.api.get(f"/checkout-sessions/{made['id']}/")["status"] == "open"
