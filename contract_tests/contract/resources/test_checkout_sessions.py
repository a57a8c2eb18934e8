"""Checkout sessions: made, expired, and their terms with the buyer (B-58, B-61, B-67, B-97)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.pages.buyer import CARD as FORM_CARD
from contract_tests.surfaces.pages.buyer import buyer

EVERY_TYPE = ["mobile_money", "bank_card", "bank_transfer", "paypal"]
LINE = {"description": "Raphia basket", "unit_amount": 15000, "quantity": 2}
DEVICE = {"description": "Device", "unit_amount": 9000}
MONTHLY_TRIAL = {"interval": "month", "trial_period_days": 7}
AWA = {"name": "Awa Diop", "email": "awa@example.com"}


def subscription_of(sandbox: Sandbox) -> Any:
    """Return the one subscription there is."""
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    return subscription


# -- making one


def test_a_new_session_has_its_defaults(sandbox: Sandbox) -> None:
    """CheckoutSession fields; ``success_url`` is shown as it was given."""
    url = "https://shop.example.com/thanks?session={CHECKOUT_SESSION_ID}"
    with sandbox.expect():
        session = sandbox.session(success_url=url)
    assert (session["mode"], session["status"], session["payment_intent"]) == (
        "payment",
        "open",
        None,
    )
    assert (session["amount_total"], session["amount_subtotal"]) == (30000, 30000)
    assert (session["url"], session["success_url"]) == (
        f"{sandbox.url}/checkout/{session['id']}",
        url,
    )
    assert session["line_items"] == [{"product": None, **LINE, "amount_total": 30000}]
    expected = sandbox.session(payment_method_types=[])["payment_method_types"]
    assert session["payment_method_types"] == expected
    assert session["payment_method_types"] == EVERY_TYPE
    assert session["expires_at"] == "2026-01-01T00:30:00.000Z"


def test_each_type_of_a_session_is_listed_once(sandbox: Sandbox) -> None:
    named = sandbox.session(payment_method_types=["paypal", "bank_card", "paypal"])
    assert named["payment_method_types"] == ["paypal", "bank_card"]


def test_a_line_copies_its_product(sandbox: Sandbox) -> None:
    """B-58: "A price change does not affect checkout sessions … already created".

    A product with a free price has the line's.
    """
    product, free = sandbox.product(), sandbox.product(price_type="free")
    lines = [{"product": product["id"], "quantity": 3}, {"product": free["id"], "unit_amount": 700}]
    session = sandbox.session(line_items=lines)
    sandbox.api.patch(f"/products/{product['id']}/", {"unit_amount": 9000, "name": "Hat"})
    copied = [tuple(line.values()) for line in sandbox.shown(session)["line_items"]]
    assert copied == [(product["id"], "Basket", 3, 2000, 6000), (free["id"], "Basket", 1, 700, 700)]


def test_an_email_finds_its_customer_at_once(sandbox: Sandbox) -> None:
    """B-58: in any case of its letters."""
    customer = sandbox.customer()
    email = customer["email"].upper()
    session = sandbox.session(customer_email=email)
    assert (session["customer"], session["customer_email"]) == (customer["id"], email)


def test_a_customer_brings_its_email(sandbox: Sandbox) -> None:
    """B-58."""
    customer = sandbox.customer()
    session = sandbox.session(customer=customer["id"])
    assert (session["customer"], session["customer_email"]) == (customer["id"], customer["email"])


def test_the_email_of_a_session_wins_over_the_buyers_own(sandbox: Sandbox) -> None:
    """B-58: a nameless buyer is called after it."""
    session = sandbox.session(customer_email="new@example.com")
    assert (session["customer"], session["customer_email"]) == (None, "new@example.com")
    made = sandbox.buy(session, customer={"email": "awa@example.com"})["customer"]
    nameless = sandbox.api.get(f"/customers/{made}/")
    assert (nameless["email"], nameless["firstname"], nameless["lastname"]) == (
        "new@example.com",
        "new",
        "",
    )


def deactivated(sandbox: Sandbox) -> Any:
    plan = sandbox.plan()
    sandbox.api.delete(f"/subscription-plans/{plan['id']}/")
    return plan


def plan(sandbox: Sandbox, **fields: Any) -> dict[str, Any]:
    """Return a line with a plan."""
    return {"plan": sandbox.plan()["id"], **fields}


Lines = Callable[[Sandbox], list[dict[str, Any]]]

SUBSCRIBING = {"mode": "subscription"}
SMALL, LARGE = {**LINE, "unit_amount": 1}, {**LINE, "unit_amount": 60_000_000}
INVALID: dict[str, tuple[dict[str, Any], Lines, str]] = {
    "free": ({}, lambda world: [{"product": world.product(price_type="free")["id"]}],
             "line_items.0.unit_amount"),
    "euro": ({}, lambda world: [{"product": world.product(currency="EUR")["id"]}],
             "line_items.0.product"),
    "archived": ({}, lambda world: [{"product": world.product(active=False)["id"]}],
                 "line_items.0.product"),
    "fixed, priced": ({}, lambda world: [{"product": world.product()["id"], "unit_amount": 500}],
                      "line_items.0.unit_amount"),
    "plan, paid once": ({}, lambda world: [{"plan": world.plan()["id"]}], "line_items.0.plan"),
    "plan, priced": (SUBSCRIBING, lambda world: [plan(world, unit_amount=5)],
                     "line_items.0.unit_amount"),
    "plan, product": (SUBSCRIBING, lambda world: [plan(world, product="prod_x")],
                      "line_items.0.product"),
    "two plans": (SUBSCRIBING, lambda world: [plan(world), LINE, plan(world)], "line_items.2.plan"),
    "plan, period": (SUBSCRIBING | {"subscription_data": {"interval": "month"}},
                     lambda world: [plan(world)], "subscription_data"),
    "plan, deactivated": (SUBSCRIBING, lambda world: [{"plan": deactivated(world)["id"]}],
                          "line_items.0.plan"),
    "plan, euro": (SUBSCRIBING, lambda world: [{"plan": world.plan(currency="EUR")["id"]}],
                   "line_items.0.plan"),
    "AMOUNT_TOO_LARGE": ({"mode": "setup"}, lambda _: [LARGE, LARGE], "line_items"),
    "AMOUNT_TOO_SMALL": (SUBSCRIBING,
                         lambda world: [{"plan": world.plan(trial_period_days=7)["id"]}, SMALL],
                         "line_items"),
}  # fmt: skip
"""Fields, lines, and the rejected field, by its code unless INVALID_FIELD (B-15, B-23, B-58)."""


@pytest.mark.parametrize("name", INVALID)
def test_lines_that_will_not_do_are_rejected(sandbox: Sandbox, name: str) -> None:
    """What is paid once beside a trial is bounded, too."""
    fields, lines, param = INVALID[name]
    body = sandbox.session_body(**fields, line_items=lines(sandbox))
    code = name if name.startswith("AMOUNT") else "INVALID_FIELD"
    assert (
        sandbox.api.rejected("POST", "/checkout-sessions/", 422, code, json=body)["param"] == param
    )


def test_without_success_url_the_page_says_that_all_is_done(sandbox: Sandbox) -> None:
    """B-58: "The material names it without a required marker"."""
    session = sandbox.session(success_url=...)
    with buyer(sandbox, session) as awa:
        assert awa.follow(awa.pay(**FORM_CARD)).state == "paid"


def test_success_url_is_required_by_an_assumption(sandbox: Sandbox) -> None:
    """B-58: setup needs neither it nor lines."""
    sandbox.settings(assumptions={"success_url": "required"})
    body = sandbox.session_body(success_url=...)
    rejected = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "MISSING_FIELD", json=body)
    assert (rejected["param"], rejected["message"]) == (
        "success_url",
        "success_url: is required except in setup mode",
    )
    setup = sandbox.session(mode="setup", line_items=[], success_url=...)
    assert (setup["line_items"], setup["success_url"], setup["amount_total"]) == ([], None, 0)


def test_it_expires_by_its_merchant_or_when_its_time_is_over(sandbox: Sandbox) -> None:
    """open → expired, and no event is emitted; B-58: a second time ``CHECKOUT_SESSION_EXPIRED``."""
    session, other = sandbox.session(), sandbox.session(expires_in=300)
    path = f"/checkout-sessions/{session['id']}/expire/"
    with sandbox.expect():
        assert sandbox.api.post(path) == {**session, "status": "expired"}
        sandbox.advance("299s")
        assert sandbox.status(other) == "open"
        sandbox.advance("1s")
    sandbox.api.rejected("POST", path, 422, "CHECKOUT_SESSION_EXPIRED")
    assert sandbox.status(other) == "expired"
    assert sandbox.control.get("/schedule")["data"] == []


@pytest.mark.parametrize(
    ("fields", "events"),
    [({}, ["payment_intent.failed"]), ({"mode": "setup", "line_items": []}, [])],
    ids=["payment", "setup"],
)
def test_a_card_check_ends_with_its_session(
    sandbox: Sandbox, fields: dict[str, Any], events: list[str]
) -> None:
    """B-54: after 900 seconds, but at the end of the session at the latest."""
    session = sandbox.session(customer=sandbox.customer()["id"], expires_in=300, **fields)
    sandbox.buy(session, {**CARD, "number": "4000 0000 0000 3220"})
    sandbox.advance("299s")
    assert sandbox.status(session) == "processing"
    with sandbox.expect(*events):
        sandbox.advance("1s")
    assert sandbox.status(session) == "expired"


# -- subscription mode


@pytest.mark.parametrize(
    ("data", "quantity", "terms"),
    [
        ({}, 1, (2500, "month", 1)),
        ({"interval": "week", "interval_count": 2}, 2, (4500, "week", 2)),
    ],
    ids=["total", "period"],
)
def test_without_a_plan_the_lines_give_the_amount(
    sandbox: Sandbox, data: Any, quantity: int, terms: Any
) -> None:
    """B-58: documented fields suffice for the monthly total; ``subscription_data`` has a period."""
    basket = sandbox.product()
    lines = [
        {"product": basket["id"], "quantity": quantity},
        {"description": "Delivery", "unit_amount": 500},
    ]
    trial = {"subscription_data": data} if data else {}
    sandbox.buy(sandbox.session(mode="subscription", line_items=lines, **trial), customer=AWA)
    made = subscription_of(sandbox)
    assert (made["unit_amount"], made["interval"], made["interval_count"]) == terms
    assert (made["product"], made["plan"]) == (basket["id"], None)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert [line["description"] for line in invoice["line_items"]] == ["Basket", "Delivery"]
    assert invoice["total"] == terms[0]


@pytest.mark.parametrize("trial", [0, 7])
def test_a_line_beside_the_plan_is_paid_only_now(sandbox: Sandbox, trial: int) -> None:
    """B-58: beside the plan's amount, taxed like an invoice at the rate of the session's sum."""
    sandbox.settings(tax_rate=10)
    lines = [{"plan": sandbox.plan(amount=1000, trial_period_days=trial)["id"]}, DEVICE]
    session = sandbox.session(
        mode="subscription", customer=sandbox.customer()["id"], line_items=lines
    )
    sandbox.settings(tax_rate=20)
    now = 9900 if trial else 11000
    assert (session["amount_subtotal"], session["amount_total"]) == (10000, now)
    assert session["line_items"][0] == {
        "product": None,
        "description": "Basic",
        "quantity": 1,
        "unit_amount": 1000,
        "amount_total": 1000,
    }
    assert sandbox.buy(session, CARD)["amount"] == now
    made = subscription_of(sandbox)
    assert (made["status"], made["unit_amount"]) == ("trialing" if trial else "active", 1000)
    [bill] = sandbox.api.get("/invoices/", subscription=made["id"])["data"]
    assert (bill["status"], bill["total"]) == ("paid", now)


# -- anonymous buyers


def test_a_buyer_without_an_email_becomes_an_anonymous_customer(sandbox: Sandbox) -> None:
    """B-58: created when the buyer pays; lists order, searches find it; an invoice is made."""
    known = []
    for buyer_fields, firstname in (({}, ""), ({"customer": {"name": "Awa Diop"}}, "Awa")):
        session = sandbox.session()
        intent = sandbox.buy(session, CARD, **buyer_fields)
        customer = sandbox.api.get(f"/customers/{intent['customer']}/")
        assert (customer["email"], customer["firstname"]) == (None, firstname)
        assert (customer["transactions_count"], customer["total_spent"]) == (1, 30000)
        assert sandbox.shown(session)["customer"] == customer["id"]
        assert sandbox.api.get("/transactions/")["data"][0]["customer"] == customer["id"]
        known.append(customer)
    assert sandbox.control.get("/emails")["data"] == []
    sandbox.customer()
    for ordering in ("email", "-email"):
        emails = [
            customer["email"]
            for customer in sandbox.api.get("/customers/", ordering=ordering)["data"]
        ]
        assert sorted(map(bool, emails), reverse=ordering == "-email") == list(map(bool, emails))
    assert sandbox.api.get("/customers/", search=known[0]["id"])["pagination"]["count"] == 1
    invoice = sandbox.invoice(known[0])
    assert invoice["customer_email"] is None
    assert sandbox.api.request("GET", f"/invoices/{invoice['id']}/pdf/").status_code == 200


def test_a_subscription_needs_somebody_to_tell_of_renewals(sandbox: Sandbox) -> None:
    """B-58: rejected at creation as by ``POST /subscriptions/``; other modes need no email."""
    anonymous = sandbox.buy(sandbox.session())["customer"]
    body = sandbox.session_body(mode="subscription", customer=anonymous)
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)
    terms = {"customer": anonymous, "unit_amount": 500, "interval": "month"}
    same = sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=terms)
    assert (error["param"], error["errors"]) == ("customer", same["errors"])
    assert sandbox.session(customer=anonymous)["customer"] == anonymous


def test_a_subscription_needs_the_email_of_its_buyer(sandbox: Sandbox) -> None:
    """B-58: an anonymous customer could not be told of renewals."""
    path = f"/checkout-sessions/{sandbox.session(mode='subscription')['id']}/pay"
    body = {"method": CARD}
    error = sandbox.control.rejected("POST", path, 422, "MISSING_FIELD", json=body)
    assert (error["param"], sandbox.api.get("/customers/")["data"]) == ("customer.email", [])


def test_by_the_other_assumption_nobody_is_anonymous(sandbox: Sandbox) -> None:
    """B-58, ``anonymous_customer: none``: a saved method needs a customer, as subscriptions do."""
    sandbox.settings(assumptions={"anonymous_customer": "none"})
    assert sandbox.buy(sandbox.session(), CARD)["customer"] is None
    assert sandbox.api.get("/customers/")["data"] == []
    for mode in ("subscription", "setup"):
        path, body = f"/checkout-sessions/{sandbox.session(mode=mode)['id']}/pay", {"method": CARD}
        assert (
            sandbox.control.rejected("POST", path, 422, "MISSING_FIELD", json=body)["param"]
            == "customer.email"
        )


# -- saving a method

SAVING: dict[str, dict[str, Any]] = {
    "setup": {"mode": "setup", "line_items": []},
    "trial": {"mode": "subscription", "subscription_data": MONTHLY_TRIAL},
}
CANNOT_PAY = [
    ("setup", {**CARD, "number": "4000 0000 0000 9995"}, "1s"),
    ("trial", {**CARD, "number": "4000 0000 0000 0002"}, "1s"),
    ("setup", {"type": "mobile_money", "phone": "+24177000003"}, "180s"),
    ("trial", {"type": "paypal", "email": "fail@example.com"}, "1s"),
]


def saved(sandbox: Sandbox, customer: Any) -> list[tuple[str, bool]]:
    """Return the types of a customer's methods, and whether each is the default."""
    listed = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    return [(method["type"], method["is_default"]) for method in listed]


@pytest.mark.parametrize(
    ("mode", "method", "after"), CANNOT_PAY, ids=lambda value: str(value)[-24:]
)
def test_a_method_that_could_not_pay_is_not_saved(
    sandbox: Sandbox, mode: str, method: Any, after: str
) -> None:
    """B-58: setup and trial sessions fail and are retried like payments.

    A bank account is saved at once: no funds move, so none have to arrive (B-54).
    """
    customer = sandbox.customer()
    session = sandbox.session(customer=customer["id"], **SAVING[mode])
    with sandbox.expect():
        sandbox.buy(session, method)
        assert "The operator answers" not in str(sandbox.control.get("/schedule")["data"])
        sandbox.advance(after)
    assert (sandbox.status(session), saved(sandbox, customer)) == ("payment_failed", [])
    with buyer(sandbox, session) as awa:
        assert awa.open().elements["problem"]["data-code"]
    account = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
    assert sandbox.buy(session, account)["status"] == "complete"
    assert saved(sandbox, customer) == [("bank_transfer", True)]


def test_setup_makes_the_method_the_default(sandbox: Sandbox) -> None:
    """B-58: no intent; the session is the response. A phone that is known is not saved twice."""
    customer = sandbox.customer(phone="+24177123456")
    for method, methods in (
        (CARD, [("bank_card", True), ("mobile_money", False)]),
        (None, [("bank_card", False), ("mobile_money", True)]),
    ):
        session = sandbox.session(customer=customer["id"], **SAVING["setup"])
        with sandbox.expect("checkout.session.completed"):
            assert sandbox.buy(session, method) == {**session, "status": "complete"}
        assert saved(sandbox, customer) == methods
    assert sandbox.api.get("/payment-intents/")["data"] == []


@pytest.mark.parametrize("by_plan", [True, False])
def test_a_session_with_a_trial_only_saves_the_method(sandbox: Sandbox, by_plan: bool) -> None:
    """B-58, B-97: nothing is paid, and the session is the response."""
    fields: Any = SAVING["trial"]
    if by_plan:
        plan = sandbox.plan(trial_period_days=7)["id"]
        fields = {"mode": "subscription", "line_items": [{"plan": plan}]}
    with sandbox.expect("customer.created", "subscription.created", "checkout.session.completed"):
        response = sandbox.buy(sandbox.session(**fields), CARD, customer=AWA)
    assert (response["object"], response["status"]) == ("checkout_session", "complete")
    assert (response["payment_intent"], response["amount_total"]) == (None, 0)
    made = subscription_of(sandbox)
    assert (made["status"], made["trial_end"]) == ("trialing", "2026-01-08T00:00:00.000Z")
    assert made["payment_method"] is not None
    assert sandbox.api.get("/payment-intents/")["data"] == []


@pytest.mark.parametrize(
    "method",
    [{**CARD, "number": "4000000000003220"}, {"type": "mobile_money", "phone": "+24177000006"}],
    ids=["card check", "slow phone"],
)
@pytest.mark.parametrize(
    ("result", "ends"), [("succeeded", "complete"), ("failed", "payment_failed"), (None, None)]
)
def test_a_slow_method_keeps_the_session_processing_until_it_is_saved(
    sandbox: Sandbox, method: Any, result: str | None, ends: str | None
) -> None:
    """B-54, B-58: a session that saves a method has no intent, so a tester answers the session."""
    session = sandbox.session(customer=sandbox.customer()["id"], **SAVING["setup"])
    path = f"/checkout-sessions/{session['id']}"
    assert sandbox.buy(session, method)["status"] == "processing"
    sandbox.control.rejected(
        "POST", f"{path}/pay", 422, "INVALID_STATUS_TRANSITION", json={"method": CARD}
    )
    if result:
        answered = sandbox.control.post(f"{path}/answer", {"result": result})
        assert answered["status"] == sandbox.status(session) == ends
        again = {"json": {"result": result}}
        sandbox.control.rejected(
            "POST", f"{path}/answer", 422, "INVALID_STATUS_TRANSITION", **again
        )
    sandbox.advance("60s")
    expected = ends or ("complete" if method["type"] == "mobile_money" else "processing")
    assert sandbox.status(session) == expected
