"""Falling behind and recovering: no failed attempt, no period and no way back to active is lost (B-41, B-44, B-45)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, Sandbox

SILENT_PHONE = "+24177000003"
GOOD_PHONE = "+24177001234"


def subscribe(sandbox: Sandbox, customer: Any, **fields: Any) -> Any:
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month", **fields}
    return sandbox.api.post("/subscriptions/", body)


def invoices(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Status and day of each invoice, oldest first."""
    return [(each["status"], each["created_at"][:10]) for each in sandbox.api.get("/invoices/")["data"]][::-1]


# -- overdue


def test_an_overdue_invoice_does_nothing_to_one_that_is_charged(sandbox: Sandbox) -> None:
    """B-44: with an open invoice of before, it stays active while every month is paid."""
    subscription = sandbox.subscribe(GOOD_PHONE, collection_method="send_invoice")
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"collection_method": "charge_automatically"})
    with sandbox.expect("invoice.payment_overdue", *CHARGED * 3):
        sandbox.advance("100d")
    assert sandbox.status(subscription) == "active"
    assert [state for state, _ in invoices(sandbox)] == ["open", "paid", "paid", "paid"]


def test_one_that_is_charged_again_recovers_with_its_next_charge(sandbox: Sandbox) -> None:
    """B-44: it fell behind under ``send_invoice``; charged automatically, the overdue invoice holds it no longer."""
    subscription = sandbox.subscribe(GOOD_PHONE, collection_method="send_invoice")
    sandbox.advance_to("2026-02-02")
    assert sandbox.status(subscription) == "past_due"
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"collection_method": "charge_automatically"})
    sandbox.advance_to("2026-03-02")
    assert sandbox.status(subscription) == "active"


def test_one_whose_failed_charge_is_paid_stays_past_due_while_an_invoice_is_overdue(sandbox: Sandbox) -> None:
    """B-96: "is `active` again once none of its invoices is overdue"."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"collection_method": "send_invoice"})
    sandbox.advance("70d")
    assert invoices(sandbox) == [("open", "2026-01-01"), ("open", "2026-02-01"), ("open", "2026-03-01")]
    for number, now in ((-1, "past_due"), (-2, "active")):
        sandbox.api.post(f"/invoices/{sandbox.api.get('/invoices/')['data'][number]['id']}/pay/")
        assert sandbox.status(subscription) == now


# -- given up, canceled, reactivated


def test_one_that_was_given_up_is_retried_again_once_it_is_reactivated(sandbox: Sandbox) -> None:
    """B-45, B-48: the next charge that fails has its own retries, though an earlier one was given up."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance_to("2026-01-20")
    assert (sandbox.status(subscription), invoices(sandbox)) == ("unpaid", [("uncollectible", "2026-01-01")])
    sandbox.act(subscription, "cancel")
    assert sandbox.act(subscription, "reactivate")["status"] == "active"
    with sandbox.expect(*FAILED):
        sandbox.advance_to("2026-02-01T12:00:00Z")
    with sandbox.expect(*FAILED * 4):
        sandbox.advance_to("2026-02-09")
    assert sandbox.status(subscription) == "unpaid"
    assert [state for state, _ in invoices(sandbox)] == ["uncollectible", "uncollectible"]


def test_the_payment_of_its_new_invoice_makes_a_reactivated_one_active(sandbox: Sandbox) -> None:
    """B-45, B-48: what was given up before holds it no longer."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance_to("2026-01-20")
    sandbox.act(subscription, "cancel")
    sandbox.act(subscription, "reactivate")
    sandbox.advance_to("2026-02-01T12:00:00Z")
    assert sandbox.status(subscription) == "past_due"
    sandbox.api.post(f"/invoices/{sandbox.api.get('/invoices/')['data'][0]['id']}/pay/")
    assert sandbox.status(subscription) == "active"


# -- paused


def test_an_attempt_that_fails_while_paused_is_reported_and_tried_again_on_resume(sandbox: Sandbox) -> None:
    """Events: one per failed attempt; B-45."""
    subscription = sandbox.subscribe(SILENT_PHONE)
    sandbox.act(subscription, "pause")
    with sandbox.expect(*FAILED):
        sandbox.advance("20d")
    assert sandbox.status(subscription) == "paused"
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": GOOD_PHONE})
    with sandbox.expect(*CHARGED):
        assert sandbox.act(subscription, "resume")["status"] == "active"
    assert invoices(sandbox) == [("paid", "2026-01-01")]
    sandbox.advance("100d")
    assert (sandbox.status(subscription), len(invoices(sandbox))) == ("active", 5)


def test_one_that_fails_again_on_resume_is_retried_from_then_on(sandbox: Sandbox) -> None:
    """B-45: the retry days count from the failure on resume; those that went by during the pause are not made up."""
    subscription = sandbox.subscribe(SILENT_PHONE)
    sandbox.act(subscription, "pause")
    sandbox.advance("20d")
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": FAILING_PHONE})
    with sandbox.expect(*FAILED):
        sandbox.act(subscription, "resume")
    assert sandbox.status(subscription) == "past_due"
    with sandbox.expect():
        sandbox.advance("23h")
    with sandbox.expect(*FAILED * 4):
        sandbox.advance("7d")
    assert sandbox.status(subscription) == "unpaid"


def test_what_is_paid_while_paused_is_not_charged_on_resume(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe(SILENT_PHONE)
    sandbox.act(subscription, "pause")
    sandbox.advance("1h")
    [invoice] = sandbox.api.get("/invoices/")["data"]
    sandbox.buy(invoice)
    with sandbox.expect():
        sandbox.act(subscription, "resume")


def test_an_attempt_that_fails_after_the_cancellation_is_reported(sandbox: Sandbox) -> None:
    """Events: one per failed attempt, whatever has become of the subscription."""
    subscription = sandbox.subscribe(SILENT_PHONE)
    with sandbox.expect("subscription.canceled", *FAILED):
        sandbox.act(subscription, "cancel")
        sandbox.advance("10d")
    assert sandbox.status(subscription) == "canceled"


# -- methods that cannot be charged


def test_an_expired_card_fails_the_renewal(sandbox: Sandbox) -> None:
    """B-41: a method that is expired is a failing one, whatever the customer's default is."""
    customer = sandbox.customer(phone=GOOD_PHONE)
    card = sandbox.method(customer, exp_month=1, exp_year=2026)
    subscription = subscribe(sandbox, customer, payment_method=card["id"])
    with sandbox.expect(*["subscription.payment_failed"] * 5):
        sandbox.advance("45d")
    assert sandbox.status(subscription) == "unpaid"
    assert [each["payment_method_type"] for each in sandbox.api.get("/transactions/")["data"]] == ["bank_card"]


@pytest.mark.parametrize("gone", ["method", "phone"])
def test_a_removed_method_is_null_and_fails_the_renewal(sandbox: Sandbox, gone: str) -> None:
    """B-41: null once deleted; and the customer had a method, so the period is not simply invoiced."""
    subscription = sandbox.subscribe(GOOD_PHONE)
    if gone == "phone":
        sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": None})
    else:
        sandbox.api.delete(f"/payment-methods/{subscription['payment_method']}/")
    assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["payment_method"] is None
    with sandbox.expect("subscription.payment_failed"):
        sandbox.advance("31d")
    assert sandbox.status(subscription) == "past_due"


def test_with_the_method_gone_the_customers_default_is_charged(sandbox: Sandbox) -> None:
    """B-41, B-52: null means the customer's default."""
    customer = sandbox.customer(phone=GOOD_PHONE)
    card = sandbox.method(customer)
    subscription = subscribe(sandbox, customer, payment_method=card["id"])
    sandbox.api.delete(f"/payment-methods/{card['id']}/")
    sandbox.advance("31d")
    types = [each["payment_method_type"] for each in sandbox.api.get("/transactions/")["data"]]
    assert (types, sandbox.status(subscription)) == (["mobile_money", "bank_card"], "active")


def test_nothing_stays_planned_for_the_cards_of_a_deleted_customer(sandbox: Sandbox) -> None:
    """B-32: everything planned for its methods goes with them."""
    customer = sandbox.customer()
    sandbox.method(customer)
    sandbox.api.delete(f"/customers/{customer['id']}/")
    assert sandbox.control.get("/schedule")["data"] == []


# -- retries


def test_after_a_change_to_send_invoice_a_retry_emails_the_invoice(sandbox: Sandbox) -> None:
    """B-45: the stored card is charged no more."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    card = sandbox.method({"id": subscription["customer"]})
    changes = {"collection_method": "send_invoice", "payment_method": card["id"]}
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", changes)
    with sandbox.expect():
        sandbox.advance("2d")
    assert sandbox.control.get("/emails")["data"][0]["kind"] == "invoice"
    [invoice] = sandbox.api.get("/invoices/")["data"]
    sandbox.buy(invoice)
    assert sandbox.status(subscription) == "active"


def test_every_retry_emails_the_invoice_again(sandbox: Sandbox) -> None:
    """B-45: a retry that only emails counts as one that did not help, so the next one follows, until none is left."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"collection_method": "send_invoice"})
    sandbox.advance("2d")
    assert emails(sandbox) == 1
    sandbox.advance("10d")
    assert emails(sandbox) == 4


def emails(sandbox: Sandbox) -> int:
    """Return how many emails with an invoice the customer got."""
    return sum(email["kind"] == "invoice" for email in sandbox.control.get("/emails", page_size=100)["data"])


def test_a_retry_comes_before_the_boundary_of_the_same_instant(sandbox: Sandbox) -> None:
    """B-45: it recovers, so the period that begins then is charged too."""
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day", interval_count=3)
    sandbox.advance("2d")
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": GOOD_PHONE})
    with sandbox.expect(*CHARGED * 2):
        sandbox.advance("3d")
    assert sandbox.status(subscription) == "active"
    assert invoices(sandbox) == [("paid", "2026-01-01"), ("paid", "2026-01-04")]


@pytest.mark.parametrize(("assumption", "charges"), [("skipped", 1), ("charged", 3)])
def test_periods_while_past_due_are_skipped_or_charged(sandbox: Sandbox, assumption: str, charges: int) -> None:
    """B-45, ``past_due_periods``; each failed attempt has its event."""
    sandbox.settings(assumptions={"past_due_periods": assumption}, renewal_retry_days=[30])
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day")
    sandbox.advance("2d")
    assert (sandbox.status(subscription), len(invoices(sandbox))) == ("past_due", charges)
    failed = sandbox.control.get("/events", type="subscription.payment_failed")
    assert failed["pagination"]["count"] == charges


EVERY_PERIOD = {"assumptions": {"past_due_periods": "charged"}}


def test_periods_charged_while_past_due_are_charged_again_after_recovery(sandbox: Sandbox) -> None:
    """B-45, ``past_due_periods: charged``: no period is given away."""
    sandbox.settings(**EVERY_PERIOD, renewal_retry_days=[3])
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day")
    sandbox.advance("2d")
    assert [status for status, _ in invoices(sandbox)] == ["open"] * 3
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": GOOD_PHONE})
    sandbox.advance("1d")
    assert [status for status, _ in invoices(sandbox)] == ["paid"] * 4
    assert sandbox.status(subscription) == "active"


def test_one_that_still_fails_after_recovery_is_past_due_again(sandbox: Sandbox) -> None:
    sandbox.settings(**EVERY_PERIOD, renewal_retry_days=[30])
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day")
    sandbox.advance("1d")
    (first, _) = sandbox.api.get("/invoices/", ordering="created_at")["data"]
    with sandbox.expect("invoice.paid", *FAILED):
        sandbox.api.post(f"/invoices/{first['id']}/pay/")
    assert sandbox.status(subscription) == "past_due"


def test_unpaid_recovers_with_the_next_period_that_is_paid(sandbox: Sandbox) -> None:
    """B-45: a success makes it active; the invoice that was written off stays so."""
    sandbox.settings(**EVERY_PERIOD)
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("8d")
    assert sandbox.status(subscription) == "unpaid"
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": GOOD_PHONE})
    sandbox.advance("31d")
    assert sandbox.status(subscription) == "active"
    assert [status for status, _ in invoices(sandbox)] == ["uncollectible", "paid"]


# -- scheduled cancellations


@pytest.mark.parametrize("scheduled", [True, False])
def test_a_cancellation_is_taken_back_while_past_due(sandbox: Sandbox, scheduled: bool) -> None:
    """B-47: also beside the new method that repairs it; where nothing was scheduled nothing changes."""
    subscription = sandbox.subscribe(FAILING_PHONE, cancel_at_period_end=scheduled)
    card = sandbox.method({"id": subscription["customer"]})
    body = {"payment_method": card["id"], "cancel_at_period_end": False}
    changed = sandbox.api.patch(f"/subscriptions/{subscription['id']}/", body)
    assert (changed["payment_method"], changed["cancel_at_period_end"]) == (card["id"], False)
    sandbox.advance("60d")
    assert sandbox.status(subscription) == "active"
