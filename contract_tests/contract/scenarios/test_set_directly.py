"""Direct changes are obeyed: planned work follows an object's status and dates (B-89)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import CARD, FAILING_PHONE, Sandbox
from emulator.core import calendar
from emulator.resources.registry import STATE_MACHINES

THREE_STEP = {**CARD, "number": "4000 0000 0000 3220"}
FEBRUARY = "2026-02-01T00:00:00.000Z"


def put(sandbox: Sandbox, what: Any, **fields: Any) -> Any:
    """Set fields, which sends no event; work that is due at once is done after the answer."""
    return sandbox.control.patch(f"/objects/{what['id']}", fields)


def planned(sandbox: Sandbox) -> list[tuple[str, str]]:
    return [(job["kind"], job["due_at"]) for job in sandbox.control.get("/schedule")["data"]]


def rejected(sandbox: Sandbox, what: Any, **fields: Any) -> Any:
    return sandbox.control.rejected(
        "PATCH", f"/objects/{what['id']}", 422, "INVALID_FIELD", json=fields
    )


# -- subscriptions


def test_a_trial_ends_when_either_of_its_dates_says(sandbox: Sandbox) -> None:
    """The other follows it, and a notice that was sent is not sent again."""
    for field in ("trial_end", "current_period_end"):
        subscription = sandbox.subscribe(trial_period_days=10)
        start = sandbox.now
        early, late = calendar.plus(start, days=4), calendar.plus(start, days=8)
        with sandbox.expect():
            changed = put(sandbox, subscription, **{field: early})
            assert changed["trial_end"] == changed["current_period_end"] == early
        with sandbox.expect("subscription.trial_will_end"):
            sandbox.advance("3d")
        with sandbox.expect():
            assert put(sandbox, subscription, **{field: late})["trial_end"] == late
            sandbox.advance("4d")
        sandbox.act(subscription, "cancel")


def test_a_trial_that_a_payment_brings_back_is_announced(sandbox: Sandbox) -> None:
    """B-43: the end of the trial is ahead again, and what comes then is charged."""
    sandbox.settings(assumptions={"past_due_periods": "charged"})
    subscription = sandbox.subscribe(trial_period_days=45)
    put(sandbox, subscription, status="past_due", current_period_end="2025-12-15")
    sandbox.advance("1h")
    assert sandbox.shown(subscription)["status"] == "active"
    sandbox.advance("44d")
    types = [event["type"] for event in sandbox.events()]
    assert types.count("subscription.trial_will_end") == 1


def test_one_that_is_set_active_again_is_canceled_no_more(sandbox: Sandbox) -> None:
    """``canceled_at`` comes and goes with the status."""
    subscription = sandbox.subscribe()
    assert put(sandbox, subscription, status="canceled")["canceled_at"] == sandbox.now
    assert put(sandbox, subscription, status="active")["canceled_at"] is None


@pytest.mark.parametrize(
    ("actions", "fields", "day", "next_day"),
    [
        (["cancel"], {"status": "active"}, "2026-02-01", "2026-03-01"),
        ([], {"current_period_end": "2026-01-09"}, "2026-01-09", "2026-02-09"),
    ],
    ids=["status", "current_period_end"],
)
def test_a_subscription_renews_when_its_fields_say(
    sandbox: Sandbox, actions: list[str], fields: dict[str, Any], day: str, next_day: str
) -> None:
    """The boundary that is set is the anchor of those after it."""
    subscription = sandbox.subscribe()
    for action in actions:
        sandbox.act(subscription, action)
    put(sandbox, subscription, **fields)
    sandbox.advance_to(day)
    assert sandbox.invoices("status") == ["paid", "paid"]
    assert sandbox.shown(subscription)["current_period_end"].startswith(next_day)


def test_a_trial_whose_cancellation_is_set_off_is_announced(sandbox: Sandbox) -> None:
    trial = sandbox.subscribe(trial_period_days=10, cancel_at_period_end=True)
    put(sandbox, trial, cancel_at_period_end=False)
    with sandbox.expect("subscription.trial_will_end"):
        sandbox.advance_to("2026-01-09")


def test_an_end_date_is_obeyed(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe()
    for ends_at in ("2026-01-05", "2026-01-09"):
        put(sandbox, subscription, ends_at=ends_at)
    for day, status in (("2026-01-08", "active"), ("2026-01-09", "expired")):
        sandbox.advance_to(day)
        assert sandbox.status(subscription) == status


@pytest.mark.parametrize("status", ["paid", "void"])
def test_a_subscription_that_owes_nothing_any_more_is_active(sandbox: Sandbox, status: str) -> None:
    """B-45: as after the operations, but without their events."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    with sandbox.expect():
        put(sandbox, sandbox.api.get("/invoices/")["data"][0], status=status)
    assert sandbox.status(subscription) == "active"


def test_two_different_ends_of_a_trial_contradict(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe(trial_period_days=10)
    both = {"trial_end": "2026-01-05", "current_period_end": "2026-01-06"}
    assert rejected(sandbox, subscription, **both)["param"] == "trial_end"
    assert sandbox.shown(subscription) == subscription
    both["current_period_end"] = both["trial_end"]
    assert put(sandbox, subscription, **both)["trial_end"] == "2026-01-05T00:00:00.000Z"


def test_the_price_is_set_where_it_is_decided(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe()
    error = rejected(sandbox, subscription, unit_amount=700)
    assert error["param"] == "unit_amount"
    assert subscription["plan"] in error["message"]
    assert put(sandbox, subscription, plan=None, unit_amount=700)["unit_amount"] == 700


# -- invoices and sessions


def test_a_due_date_is_obeyed(sandbox: Sandbox) -> None:
    invoice = sandbox.invoice()
    for due, until, events in (
        ("2026-01-05", "2026-01-05", 0),
        ("2026-01-05", "2026-01-20", 1),
        ("2026-01-25", "2026-03-20", 1),
        ("2026-03-01", "2026-03-20", 1),
    ):
        with sandbox.expect(*["invoice.payment_overdue"] * events):
            put(sandbox, invoice, due_date=due)
            sandbox.advance_to(until)
    put(sandbox, invoice, description="Nothing planned follows this")
    put(sandbox, invoice, due_date="2026-04-01", status="void")
    assert planned(sandbox) == []


@pytest.mark.parametrize("status", ["open", "paid", "void", "uncollectible"])
def test_a_draft_whose_status_is_set_is_finalized(sandbox: Sandbox, status: str) -> None:
    """B-65: with a due date and links."""
    invoice = put(sandbox, sandbox.draft(), status=status)
    assert invoice["due_date"] == "2026-01-31"
    assert invoice["payment_url"].endswith(f"/invoice/{invoice['id']}")
    assert sandbox.api.request("GET", invoice["pdf_url"]).status_code == 200


def test_an_expiry_is_obeyed(sandbox: Sandbox) -> None:
    session = sandbox.session()
    put(sandbox, session, expires_at="2026-05-01")
    sandbox.advance_to("2026-04-30")
    path = f"/checkout-sessions/{session['id']}/"
    assert sandbox.api.get(path)["status"] == "open"
    put(sandbox, session, expires_at="2026-04-01")
    assert sandbox.api.get(path)["status"] == "expired"
    put(sandbox, session, status="open", expires_at="2026-06-01")
    sandbox.buy(session, CARD)
    assert sandbox.api.get(path)["status"] == "complete"
    link = sandbox.link(validity_type="limited", expires_at="2026-09-01")
    put(sandbox, link, expires_at="2026-04-02")
    sandbox.control.rejected(
        "POST",
        f"/payment-links/{link['id']}/pay",
        422,
        "INVALID_STATUS_TRANSITION",
        json={"method": CARD},
    )


def test_an_attempt_ends_with_the_session(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    sessions = [
        sandbox.session(customer=customer),
        sandbox.session(mode="setup", customer=customer, line_items=[]),
    ]
    for session in sessions:
        sandbox.buy(session, THREE_STEP)
        put(sandbox, session, expires_at="2026-01-01T00:05:00Z")
    sandbox.advance("5m")
    paths = [f"/checkout-sessions/{session['id']}/" for session in sessions]
    assert [sandbox.api.get(path)["status"] for path in paths] == ["expired"] * 2


# -- payments, refunds, methods, deliveries


@pytest.mark.parametrize("status", ["open", "payment_failed", "expired"])
def test_a_session_is_processing_by_its_buyers_payment_alone(sandbox: Sandbox, status: str) -> None:
    """Its page and its words are those of a payment under way; the refusal says how to have one."""
    session = sandbox.session()
    put(sandbox, session, status=status)
    assert "+24177000006" in rejected(sandbox, session, status="processing")["message"]
    put(sandbox, session, status="open")
    sandbox.buy(session, {"type": "mobile_money", "phone": "+24177000006"})
    assert sandbox.status(session) == "processing"


def test_an_approved_payment_of_a_session_does_not_end_with_it(sandbox: Sandbox) -> None:
    """B-61: its buyer has no step left, so an earlier expiry changes nothing."""
    sandbox.settings(assumptions={"payment_received": "transaction"})
    session = sandbox.session()
    sandbox.buy(session, {**CARD, "number": "4000 0000 0000 0077"})
    put(sandbox, session, expires_at="2026-01-01T01:00:00Z")
    sandbox.advance("2h")
    assert sandbox.status(session) == "processing"
    sandbox.advance("10d")
    assert sandbox.status(session) == "complete"


def test_how_a_dispute_ends(sandbox: Sandbox) -> None:
    """B-56: won: completed; lost: the total loses the unrefunded part till won; the count stays."""
    sandbox.settings(refund_timing="instant")
    method = sandbox.method()
    deposit = sandbox.deposit(method)
    path = f"/customers/{method['customer']}/"
    sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 1000})
    ends = [
        ("disputed", 4000),
        ("completed", 4000),
        ("disputed", 4000),
        ("failed", 0),
        ("completed", 4000),
    ]
    for status, total in ends:
        put(sandbox, deposit, status=status)
        now = sandbox.api.get(path)
        assert (now["total_spent"], now["transactions_count"]) == (total, 1)
    assert sandbox.control.get("/ledger")["balanced"] is True


@pytest.mark.parametrize("review", [False, True])
def test_a_lost_dispute_fails_the_refunds_under_way(review: bool, sandbox: Sandbox) -> None:
    """B-56: as the first job after the answer; a buyer has the money back once.

    What was lost may be won later.
    """
    sandbox.settings(refund_review=review)
    method = sandbox.method()
    deposit = sandbox.deposit(method)
    for amount in (1000, 500):
        refund = sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": amount})
        sandbox.advance("8d" if amount == 1000 else "0s")
    put(sandbox, deposit, status="disputed")
    with sandbox.expect("refund.failed"):
        put(sandbox, deposit, status="failed")
        sandbox.settle()
    refund = sandbox.shown(refund)
    assert (refund["status"], refund["failure_reason"]) == ("failed", "dispute_lost")
    assert "refund" not in str(planned(sandbox))
    ledger = sandbox.control.get("/ledger")
    assert {total["account"]: total["amount"] for total in ledger["totals"]} == {
        "buyers": 0,
        "merchant": 0,
    }
    put(sandbox, deposit, status="completed")
    with sandbox.expect("refund.succeeded"):
        sandbox.api.post("/refunds/", {"transaction": deposit["id"]})
        sandbox.advance("8d")
    assert sandbox.api.get(f"/customers/{method['customer']}/")["total_spent"] == 0
    assert sandbox.control.get("/ledger")["balanced"] is True


def test_only_money_that_arrived_is_lost(sandbox: Sandbox) -> None:
    """Of a payment that failed there is nothing to win back."""
    transfer = sandbox.pay(sandbox.method(type="bank_transfer", iban="FR1420041010050500013M02606"))
    deposit = {"id": transfer["transaction"]}
    assert "answer" in rejected(sandbox, deposit, status="completed")["message"]
    sandbox.answer(transfer, "failed")
    for status in ("completed", "disputed"):
        assert rejected(sandbox, deposit, status=status)["param"] == "status"


def test_the_rest_follows_its_status_too(sandbox: Sandbox) -> None:
    deposit = sandbox.deposit()
    refund = sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 1000})
    put(sandbox, refund, status="pending")
    assert planned(sandbox)[0] == ("refund.send", "2026-01-01T01:00:00.000Z")
    put(sandbox, refund, status="failed")
    assert "refund" not in str(planned(sandbox))
    method = sandbox.method()
    put(sandbox, method, details={**method["details"], "exp_year": 2026, "exp_month": 1})
    for status, is_planned in ((None, True), ("expired", False), ("active", True)):
        if status:
            put(sandbox, method, status=status)
        assert (("payment_method.expire", FEBRUARY) in planned(sandbox)) is is_planned


def test_a_delivery_follows_its_next_attempt(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses = [500]
    sandbox.customer()
    [delivery] = sandbox.deliveries(endpoint)
    put(sandbox, delivery, next_attempt_at="2026-01-01T03:00:00Z")
    sandbox.advance("2h")
    assert len(receiver.deliveries) == 1
    sandbox.advance("1h")
    assert [delivery["status"] for delivery in sandbox.deliveries(endpoint)] == ["succeeded"]
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    put(sandbox, endpoint, enabled=False)
    assert {delivery["status"] for delivery in sandbox.deliveries(endpoint)} == {
        "succeeded",
        "failed",
    }


# -- the step of a buyer


PHONE = {"type": "mobile_money", "phone": "+24177000000"}
IN_TIME = {"type": "confirm_on_phone", "phone": "+24177000000"}


@pytest.mark.parametrize(
    ("method", "step", "minutes", "code"),
    [
        (PHONE, IN_TIME, 3, "MOBILE_MONEY_TIMEOUT"),
        ({}, {"type": "confirm_card"}, 15, "PAYMENT_METHOD_NOT_SUPPORTED"),
    ],
    ids=["phone", "card"],
)
def test_a_payment_that_is_set_to_wait_for_its_buyer_asks_for_the_methods_step(
    sandbox: Sandbox, method: dict[str, Any], step: dict[str, Any], minutes: int, code: str
) -> None:
    """B-54: it fails when the time of that step is over, as the payment and explain say."""
    intent = put(sandbox, sandbox.intent(sandbox.method(**method)), status="requires_action")
    ends = calendar.plus(sandbox.now, seconds=60 * minutes)
    assert intent["next_action"] == {**step, "expires_at": ends}
    [waiting] = sandbox.control.get(f"/explain/{intent['id']}")["under_way"]
    assert (waiting["until"], planned(sandbox)[0]) == (ends, ("payment_intent.unconfirmed", ends))
    sandbox.advance(f"{minutes}m")
    assert sandbox.shown(intent)["last_error"]["code"] == code


def test_a_prompt_that_is_set_is_on_the_phone(sandbox: Sandbox) -> None:
    sandbox.settings(mobile_money="handset")
    intent = put(sandbox, sandbox.intent(sandbox.method(**PHONE)), status="requires_action")
    [prompt] = sandbox.control.get("/phones/+24177000000")["data"]
    assert prompt["payment_intent"] == intent["id"]
    sandbox.control.post("/phones/+24177000000/answer", {"answer": "approve"})
    assert sandbox.status(intent) == "succeeded"


def test_a_payment_waits_until_the_time_of_its_step(sandbox: Sandbox) -> None:
    """Also where the operator would have answered later."""
    for phone, minutes in (("+24177000003", 5), ("+24177000006", 0.5)):
        intent = sandbox.pay(sandbox.method(type="mobile_money", phone=phone))
        ends = calendar.plus(sandbox.now, seconds=60 * minutes)
        step = {**intent["next_action"], "expires_at": ends}
        put(sandbox, intent, next_action=step)
        sandbox.advance_to(ends)
        assert sandbox.shown(intent)["last_error"]["code"] == "MOBILE_MONEY_TIMEOUT"


@pytest.mark.parametrize(
    ("method", "fields", "param"),
    [
        (None, {"status": "requires_action"}, "payment_method"),
        ({"type": "paypal", "email": "awa@example.com"}, {"status": "requires_action"}, "status"),
        ({}, {"next_action": {"type": "confirm_card"}}, "next_action"),
        ({}, {"next_action": IN_TIME}, "next_action.type"),
        (PHONE, {"next_action": IN_TIME}, "next_action.expires_at"),
        (PHONE, {"next_action": {"type": "redirect"}}, "next_action.type"),
        ({}, {"next_action": {"type": "redirect"}}, "next_action.url"),
        (
            {},
            {"next_action": {"type": "confirm_card", "expires_at": FEBRUARY, "a": 1}},
            "next_action.a",
        ),
    ],
    ids=str,
)
def test_a_payment_asks_for_a_step_that_it_can_have(
    sandbox: Sandbox, method: dict[str, Any] | None, fields: dict[str, Any], param: str
) -> None:
    intent = sandbox.intent(None if method is None else sandbox.method(**method))
    if param != "next_action":
        fields = {"status": "requires_action", **fields}
    path = f"/objects/{intent['id']}"
    response = sandbox.control.request("PATCH", path, json=fields)
    assert (response.status_code, response.json()["param"]) == (422, param)
    assert sandbox.control.get(path) == intent


def test_a_step_goes_with_the_wait_for_it(sandbox: Sandbox) -> None:
    intent = sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000006"))
    assert rejected(sandbox, intent, next_action=None)["param"] == "next_action"
    assert put(sandbox, intent, status="processing")["next_action"] is None


@pytest.mark.parametrize(
    ("method", "waits_for", "after", "status"),
    [
        (
            {"type": "bank_transfer", "iban": "FR1420041010050500013M02606"},
            "funds",
            "1d",
            "succeeded",
        ),
        ({"type": "mobile_money", "phone": "+24177000001"}, "operator", "10m", "canceled"),
    ],
    ids=["transfer", "refused"],
)
def test_a_payment_that_is_set_to_wait_for_the_operator_is_answered(
    sandbox: Sandbox, method: dict[str, Any], waits_for: str, after: str, status: str
) -> None:
    """As late as the operator answers; one who answers at once leaves the payment as it is."""
    sandbox.settings(operator_delay=600)
    intent = put(sandbox, sandbox.intent(sandbox.method(**method)), status="processing")
    [waiting] = sandbox.control.get(f"/explain/{intent['id']}")["under_way"]
    assert (waiting["waits_for"], waiting["until"]) == (waits_for, planned(sandbox)[0][1])
    sandbox.advance(after)
    assert sandbox.status(intent) == status
    sandbox.settings(operator_delay=0)
    intent = put(sandbox, sandbox.intent(sandbox.method()), status="processing")
    sandbox.advance("2d")
    assert sandbox.status(intent) == "processing"


# -- no state without an end: something planned, or a request of a client, leads on from each


PLANNED = "planned"
WAYS: Mapping[tuple[str, str], str] = {
    ("subscription", "trialing"): PLANNED,
    ("subscription", "active"): PLANNED,
    ("subscription", "past_due"): "/subscriptions/{id}/cancel/",
    ("subscription", "unpaid"): "/subscriptions/{id}/cancel/",
    ("subscription", "paused"): "/subscriptions/{id}/resume/",
    ("subscription", "canceled"): "/subscriptions/{id}/reactivate/",
    ("invoice", "draft"): "/invoices/{id}/finalize/",
    ("invoice", "open"): "/invoices/{id}/void/",
    ("invoice", "uncollectible"): "/invoices/{id}/pay/",
    ("payment_intent", "requires_payment_method"): "/payment-intents/{id}/cancel/",
    ("payment_intent", "requires_confirmation"): "/payment-intents/{id}/cancel/",
    ("payment_intent", "requires_action"): PLANNED,
    ("payment_intent", "processing"): "/payment-intents/{id}/cancel/",
    ("payment_intent", "requires_capture"): "/payment-intents/{id}/cancel/",
    ("payment_method", "active"): PLANNED,
    ("transaction", "pending"): "/transactions/{id}/cancel/",
    ("transaction", "approved"): PLANNED,
    ("transaction", "completed"): "B-57: it is refunded, which is an object of its own",
    (
        "transaction",
        "disputed",
    ): "B-56: until a refund under way makes it fully refunded or it is set directly",
    ("refund", "pending"): PLANNED,
    ("refund", "processing"): PLANNED,
    ("checkout_session", "open"): PLANNED,
    ("checkout_session", "processing"): PLANNED,
    ("checkout_session", "payment_failed"): PLANNED,
    ("payment_link", "active"): "/payment-links/{id}/archive/",
    ("payment_link", "archived"): "/payment-links/{id}/restore/",
    ("webhook_delivery", "pending"): PLANNED,
    ("webhook_delivery", "failed"): "/webhooks/{webhook}/deliveries/{id}/retry/",
}
"""The way out of each state that is left at all, by the kind of object."""


def test_each_state_that_can_be_left_is_listed() -> None:
    rows = [(machine.kind.kind, row) for machine in STATE_MACHINES for row in machine.rows]
    left = {(kind, row.source) for kind, row in rows if row.source not in (None, row.target)}
    assert left == WAYS.keys()


def saving(sandbox: Sandbox) -> Any:
    """A session whose method is being saved."""
    session = sandbox.session(mode="setup", customer=sandbox.customer()["id"], line_items=[])
    sandbox.buy(session, {"type": "mobile_money", "phone": "+24177000006"})
    return session


def delivery(sandbox: Sandbox) -> Any:
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/ways", "customer.created")
    sandbox.customer()
    return sandbox.deliveries(endpoint)[0]


def paid(sandbox: Sandbox, **method: Any) -> Any:
    return sandbox.api.get(f"/transactions/{sandbox.pay(sandbox.method(**method))['transaction']}/")


MADE: Mapping[str, Callable[[Sandbox], Any]] = {
    "subscription": Sandbox.subscribe,
    "invoice": Sandbox.draft,
    "payment_intent": lambda sandbox: sandbox.intent(sandbox.method()),
    "payment_method": Sandbox.method,
    "transaction": Sandbox.deposit,
    "transaction pending": lambda sandbox: paid(
        sandbox, type="bank_transfer", iban="FR1420041010050500013M02606"
    ),
    "transaction approved": lambda sandbox: paid(sandbox, number="4000 0000 0000 0077"),
    "subscription trialing": lambda sandbox: sandbox.subscribe(trial_period_days=10),
    "refund": lambda sandbox: sandbox.api.post(
        "/refunds/", {"transaction": sandbox.deposit()["id"]}
    ),
    "checkout_session": Sandbox.session,
    "checkout_session processing": saving,
    "payment_link": Sandbox.link,
    "webhook_delivery": delivery,
}
"""How an object of each kind is made, or one that has a status that cannot be set directly."""


@pytest.mark.parametrize(("kind", "status"), WAYS, ids=str)
def test_each_state_has_a_way_out(sandbox: Sandbox, kind: str, status: str) -> None:
    """Also where a tester put the object into it (B-89)."""
    make = MADE.get(f"{kind} {status}", MADE[kind])
    made, way = make(sandbox), WAYS[kind, status]
    sandbox.settle()
    sandbox.control.patch(f"/objects/{made['id']}", {"status": status})
    if way == PLANNED:
        planned = [
            job["due_at"]
            for job in sandbox.control.get("/schedule")["data"]
            if job["object"] == made["id"]
        ]
        sandbox.advance_to(max(planned, default=sandbox.now))
    elif way.startswith("/"):
        sandbox.api.post(way.format(**made))
    if way == PLANNED or way.startswith("/"):
        assert (
            sandbox.control.get(f"/objects/{made['id']}")["status"] != status
            or kind == "subscription"
        )
    else:
        assert way.startswith("B-")


def test_nothing_under_way_waits_for_good(sandbox: Sandbox) -> None:
    """As buyers leave it: every waiting payment, of any method, has a planned end."""
    methods: list[Any] = [
        {"type": "mobile_money", "phone": "+24177000003"},
        {"type": "mobile_money", "phone": "+24177000006"},
        {
            "type": "bank_card",
            "number": "4000 0000 0000 3220",
            "exp_month": 12,
            "exp_year": 2030,
            "cvc": "123",
        },
        {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"},
    ]
    trial = {"interval": "month", "trial_period_days": 7}
    for method in methods:
        buyer = {"customer": sandbox.customer()["id"]}
        for fields in (
            {},
            {"mode": "setup"},
            {"mode": "subscription"},
            {"mode": "subscription", "subscription_data": trial},
        ):
            sandbox.buy(sandbox.session(**buyer, **fields), method)
        sandbox.buy(sandbox.link(collect_customer_info=False), method)
    sandbox.advance("P1Y")
    waiting = sandbox.api.get("/payment-intents/", status="requires_action,processing")["data"]
    assert (
        waiting
        == sandbox.api.get("/checkout-sessions/", status="open,processing,payment_failed")["data"]
        == []
    )
