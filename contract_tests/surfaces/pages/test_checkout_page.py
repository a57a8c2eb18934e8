"""A checkout session's page by HTTP: paid once by every method, in every state (B-58)."""

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
    session,
)

PAID = ("payment_intent.succeeded", "transaction.succeeded", "checkout.session.completed")


def now(sandbox: Sandbox, made: Any) -> Any:
    return sandbox.api.get(f"/checkout-sessions/{made['id']}/")


def intents(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.api.pages("/payment-intents/"))


def test_it_shows_who_is_paid_what_for_by_whom(sandbox: Sandbox) -> None:
    """Addresses: the default one is pre-selected in hosted forms. ``customer_email`` prefills."""
    with buyer(sandbox, session(sandbox)) as awa:
        page, none = awa.open(), awa.open("/checkout/sess_000000000000000000000000")
    assert (none.status, none.state) == (404, "unknown")
    assert (page.status, page.state, page.language) == (200, "payable", "en")
    assert page.text_of("merchant").endswith(sandbox.key.removeprefix("sk_test_"))
    assert page.text_of("total") == "30,000 XAF"
    assert "Raphia basket" in page.text_of("lines")
    assert page.elements["cancel"]["href"] == "https://shop.example.com/cart"
    customer = sandbox.customer(phone="+24177000000")
    address = {
        "line1": "12 rue des Palmiers",
        "city": "Libreville",
        "country": "GA",
        "is_default": True,
    }
    sandbox.api.post(f"/customers/{customer['id']}/addresses/", address)
    with buyer(sandbox, session(sandbox, customer=customer["id"])) as awa:
        page = awa.open()
    assert page.text_of("address") == "12 rue des PalmiersLibrevilleGabon"
    assert (page.fields["phone"], page.has("email")) == ("+24177000000", False)
    with buyer(
        sandbox, session(sandbox, customer_email="new@example.com", payment_method_types=["paypal"])
    ) as awa:
        page = awa.open()
        assert awa.pay(**CARD).status_code == 422
    assert page.fields["email"] == "new@example.com"
    assert (page.has("method-paypal"), page.has("method-bank_card")) == (True, False)


@pytest.mark.parametrize(("language", "words"), [("en", "has given"), ("fr", "a indiqué")])
def test_the_email_that_the_merchant_gave_is_the_customers(
    sandbox: Sandbox, language: str, words: str
) -> None:
    """B-58: it makes the customer at payment; another one is refused where it stands."""
    made = session(sandbox, customer_email="Awa@example.com")
    with buyer(sandbox, made, **{"Accept-Language": language}) as awa:
        page = awa.open()
        assert "readonly" in page.elements["email"]
        changed = Page(awa.pay(**CARD, name="Awa", email="other@example.com"))
        assert (changed.status, words in changed.text_of("email-error")) == (422, True)
        assert changed.fields["email"] == "Awa@example.com"
        assert awa.pay(**CARD, name="Awa", email="awa@example.com").status_code == 303
    customer = sandbox.api.get(f"/customers/{now(sandbox, made)['customer']}/")
    assert customer["email"] == "Awa@example.com"


@pytest.mark.parametrize(
    ("fields", "after", "problem"),
    [
        (TRANSFER, "1d", None),
        ({**PHONE, "phone": "+24177000006"}, "60s", None),
        ({**PHONE, "phone": "+24177000003"}, "180s", "MOBILE_MONEY_TIMEOUT"),
    ],
    ids=["transfer", "slow phone", "silent phone"],
)
def test_a_payment_under_way_is_waited_for(
    sandbox: Sandbox, fields: dict[str, str], after: str, problem: str | None
) -> None:
    """B-54: …0006 succeeds after 60 s."""
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        response = awa.pay(**fields)
        waiting = awa.follow(response)
        assert (waiting.status, waiting.state) == (200, "waiting")
        assert '<noscript><meta http-equiv="refresh" content="' in waiting.html
        assert fields.get("phone", "2606") in waiting.text
        assert now(sandbox, made)["status"] == "processing"
        with sandbox.expect(*(["payment_intent.failed"] if problem else PAID)):
            sandbox.advance(after)
        again, page = awa.http.get(response.headers["location"]), awa.open()
    if problem:
        assert page.elements["problem"]["data-code"] == problem
        return
    assert (page.state, again.status_code) == ("paid", 303)
    assert again.headers["location"].endswith(made["id"])
    assert str(page.elements["return"]["href"]).endswith(made["id"])


def test_a_failure_lets_the_buyer_try_again(sandbox: Sandbox) -> None:
    """CheckoutSession states: payment_failed, the session stays open; each attempt is a new intent.

    The form that failed makes no other. Success leads to the merchant, with the id for
    ``{CHECKOUT_SESSION_ID}``.
    """
    made = session(sandbox)
    with buyer(sandbox, made) as awa:
        for fields, code, says in (
            (DECLINED, "PAYMENT_METHOD_NOT_SUPPORTED", "declined"),
            ({**PHONE, "phone": "+24177000002"}, "MOBILE_MONEY_REJECTED", "rejected on the phone"),
            ({**PHONE, "phone": "+24177000007"}, "UPSTREAM_ERROR", "not available"),
            (
                {**PAYPAL, "paypal_email": "fail@example.com"},
                "PAYMENT_METHOD_NOT_SUPPORTED",
                "declined",
            ),
        ):
            form = {**awa.open().fields, "do": "pay", **fields}
            page = awa.follow(awa.send(form))
            assert (page.state, page.elements["problem"]["data-code"]) == ("payable", code)
            assert says in page.text_of("problem")
            assert now(sandbox, made)["status"] == "payment_failed"
            awa.send(form)
        with sandbox.expect(*PAID):
            response = awa.pay(**CARD)
    assert response.headers["location"] == SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"])
    assert len(intents(sandbox)) == 5


def test_a_decision_on_the_page_ends_a_payment_under_way(sandbox: Sandbox) -> None:
    """B-54: …3220 is requires_action until it is confirmed on the page. A decision is made once."""
    for fields in (TRANSFER, {**PHONE, "phone": "+24177000003"}, STEP):
        for do, status in (("approve", "complete"), ("refuse", "payment_failed")):
            made = session(sandbox)
            with buyer(sandbox, made) as awa:
                page = awa.follow(awa.pay(**fields))
                assert page.state == ("step" if fields is STEP else "waiting")
                assert fields is not STEP or "3220" in page.text
                for decision in (do, "approve"):
                    assert awa.send({**page.fields, "do": decision}).status_code == 303
                    assert now(sandbox, made)["status"] == status


def test_the_same_form_pays_once(sandbox: Sandbox) -> None:
    """From many connections at once, by double click, back button, reload; or another browser."""
    made = session(sandbox)
    with (
        buyer(sandbox, made) as awa,
        buyer(sandbox, made) as ama,
        sandbox.expect("customer.created", *PAID),
    ):
        form, late = ({**person.open().fields, "do": "pay", **CARD} for person in (awa, ama))
        with ThreadPoolExecutor(8) as pool:
            responses = list(pool.map(awa.send, [form] * 8))
        responses += [awa.send(form), ama.send(late)]
        assert awa.open().state == "paid"
    assert {response.headers["location"] for response in responses} == {
        SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"])
    }
    assert len(intents(sandbox)) == 1


def test_an_expired_page_says_so(sandbox: Sandbox) -> None:
    """The page shows an expiration message; an expired session cannot be reactivated."""
    made = session(sandbox, expires_in=300)
    with buyer(sandbox, made) as awa:
        form = {**awa.open().fields, "do": "pay", **CARD}
        sandbox.advance("300s")
        page = awa.open()
        late = awa.follow(awa.send(form))
    assert (page.status, page.state, late.state) == (410, "expired", "expired")
    assert "expired" in page.text_of("closed")
    assert page.elements["cancel"]["href"] == "https://shop.example.com/cart"
    assert intents(sandbox) == []


def test_a_setup_saves_the_method_without_a_charge(sandbox: Sandbox) -> None:
    """B-54, B-58: a checked card is saved once the buyer confirms: magic values decide."""
    customer = sandbox.customer()["id"]
    for do, ends, saved in (
        ("refuse", "payment_failed", 0),
        (None, "complete", 1),
        ("approve", "complete", 2),
    ):
        made = session(sandbox, mode="setup", customer=customer)
        with buyer(sandbox, made) as awa:
            page = awa.open()
            assert (page.text_of("pay"), page.text_of("due-today")) == (
                "Save the payment method",
                "0 XAF",
            )
            assert "30,000 XAF" not in page.text
            response = awa.pay(**(STEP if do else CARD))
            if do:
                page = awa.follow(response)
                assert (page.state, page.has("card-step"), now(sandbox, made)["status"]) == (
                    "step",
                    True,
                    "processing",
                )
                response = awa.send({**page.fields, "do": do})
            assert now(sandbox, made)["status"] == ends
            if ends == "complete":
                assert response.headers["location"].endswith(made["id"])
                assert "saved" in awa.open().text_of("confirmation")
        assert len(sandbox.api.get(f"/customers/{customer}/payment-methods/")["data"]) == saved
    assert intents(sandbox) == []


def test_a_buyer_is_told_until_when_to_confirm_a_card(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        page = awa.follow(awa.pay(**STEP))
    assert page.text_of("until") == "You have until 00:15:00 UTC."


def test_a_subscription_announces_its_charges(sandbox: Sandbox) -> None:
    """After a canceled subscription's last period nothing is charged, so nothing is announced."""
    plan = sandbox.plan(trial_period_days=7)
    customer = sandbox.customer()["id"]
    body = {
        "mode": "subscription",
        "line_items": [{"plan": plan["id"]}],
        "currency": "XAF",
        "customer": customer,
    }
    with buyer(sandbox, sandbox.api.post("/checkout-sessions/", body)) as awa:
        page = awa.open()
        assert page.text_of("terms").startswith("7 days free, then 5,000 XAF every month")
        assert page.text_of("pay") == "Start the free trial"
        assert (page.text_of("due-today"), page.text_of("due-later")) == (
            "0 XAF",
            "5,000 XAF / month",
        )
        assert "From January 8, 2026" in page.text
        done = awa.follow(awa.pay(**CARD))
        assert done.text_of("next-charge") == "The next payment of 5,000 XAF is on January 8, 2026."
        [subscription] = sandbox.api.get("/subscriptions/")["data"]
        assert subscription["status"] == "trialing"
        sandbox.api.post(
            f"/subscriptions/{subscription['id']}/cancel/", {"cancel_at_period_end": True}
        )
        assert "next-charge" not in awa.open().elements


def test_a_wrong_field_is_marked_without_a_payment(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        for fields, wrong in (
            ({**CARD, "number": "4242 4242 4242 4241"}, "number"),
            ({**CARD, "expiry": "13/30"}, "expiry"),
            ({**CARD, "cvc": "12"}, "cvc"),
            ({**PHONE, "phone": "077 00 00 00"}, "phone"),
            ({**TRANSFER, "iban": "FR14 2004 1010 0505 0001 3M02 607"}, "iban"),
            ({**PAYPAL, "paypal_email": "awa"}, "paypal_email"),
        ):
            response = awa.pay(**fields)
            assert (response.status_code, f'id="{wrong}-wrong"' in response.text) == (422, True), (
                wrong
            )
            assert response.text.count('aria-invalid="true"') == 1
    assert intents(sandbox) == []
