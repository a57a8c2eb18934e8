"""Falling behind and recovering: no failed attempt, no period and no way back to active is lost (B-41, B-44, B-45)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, Sandbox

SILENT_PHONE = "+24177000003"
GOOD_PHONE = "+24177001234"
BY_CHARGE, BY_INVOICE = {"collection_method": "charge_automatically"}, {"collection_method": "send_invoice"}


def change(sandbox: Sandbox, subscription: Any, **fields: Any) -> Any:
    return sandbox.api.patch(f"/subscriptions/{subscription['id']}/", fields)


def change_phone(sandbox: Sandbox, subscription: Any, phone: str | None) -> None:
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": phone})


def invoices(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Status and day of each invoice, oldest first."""
    return [(status, created_at[:10]) for status, created_at in sandbox.invoices("status", "created_at")]


# -- overdue


def test_an_overdue_invoice_does_nothing_to_one_that_is_charged(sandbox: Sandbox) -> None:
    """B-44: with an open invoice of before, it stays active while every month is paid; one that fell behind under
    ``send_invoice`` is held by it no longer.
    """
    subscription = sandbox.subscribe(GOOD_PHONE, **BY_INVOICE)
    behind = sandbox.subscribe(GOOD_PHONE, **BY_INVOICE)
    change(sandbox, subscription, **BY_CHARGE)
    with sandbox.expect("invoice.payment_overdue", "invoice.payment_overdue", *CHARGED):
        sandbox.advance_to("2026-02-02")
    assert (sandbox.status(subscription), sandbox.status(behind)) == ("active", "past_due")
    change(sandbox, behind, **BY_CHARGE)
    sandbox.advance_to("2026-03-02")
    assert (sandbox.status(subscription), sandbox.status(behind)) == ("active", "active")
    of = sandbox.api.get("/invoices/", subscription=subscription["id"], ordering="created_at")["data"]
    assert [each["status"] for each in of] == ["open", "paid", "paid"]


def test_one_whose_failed_charge_is_paid_stays_past_due_while_an_invoice_is_overdue(sandbox: Sandbox) -> None:
    """B-96: "is `active` again once none of its invoices is overdue"."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    change(sandbox, subscription, **BY_INVOICE)
    sandbox.advance("70d")
    assert invoices(sandbox) == [("open", "2026-01-01"), ("open", "2026-02-01"), ("open", "2026-03-01")]
    for number, now in ((0, "past_due"), (1, "active")):
        sandbox.api.post(f"/invoices/{sandbox.invoices('id')[number]}/pay/")
        assert sandbox.status(subscription) == now


# -- given up, canceled, reactivated


@pytest.mark.parametrize("pays", [True, False])
def test_one_that_was_given_up_is_retried_again_once_it_is_reactivated(sandbox: Sandbox, pays: bool) -> None:
    """B-45, B-48: the next charge that fails has its own retries, though an earlier one was given up; the payment of the
    new invoice makes it active, as what was given up holds it no longer.
    """
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance_to("2026-01-20")
    assert (sandbox.status(subscription), invoices(sandbox)) == ("unpaid", [("uncollectible", "2026-01-01")])
    sandbox.act(subscription, "cancel")
    assert sandbox.act(subscription, "reactivate")["status"] == "active"
    with sandbox.expect(*FAILED):
        sandbox.advance_to("2026-02-01T12:00:00Z")
    assert sandbox.status(subscription) == "past_due"
    with sandbox.expect(*(["invoice.paid"] if pays else FAILED * 4)):
        if pays:
            sandbox.api.post(f"/invoices/{sandbox.invoices('id')[1]}/pay/")
        sandbox.advance_to("2026-02-09")
    assert sandbox.status(subscription) == ("active" if pays else "unpaid")
    assert sandbox.invoices("status") == ["uncollectible", "paid" if pays else "uncollectible"]


# -- paused, canceled


@pytest.mark.parametrize("phone", [GOOD_PHONE, FAILING_PHONE])
def test_an_attempt_that_fails_while_paused_is_reported_and_tried_again_on_resume(sandbox: Sandbox, phone: str) -> None:
    """Events: one per failed attempt; B-45: the retry days count from the failure on resume; those that went by during
    the pause are not made up.
    """
    subscription = sandbox.subscribe(SILENT_PHONE)
    sandbox.act(subscription, "pause")
    with sandbox.expect(*FAILED):
        sandbox.advance("20d")
    assert sandbox.status(subscription) == "paused"
    change_phone(sandbox, subscription, phone)
    with sandbox.expect(*(CHARGED if phone == GOOD_PHONE else FAILED)):
        assert sandbox.act(subscription, "resume")["status"] == "active"
        sandbox.advance("23h")
    if phone == GOOD_PHONE:
        assert invoices(sandbox) == [("paid", "2026-01-01")]
        sandbox.advance("100d")
        assert (sandbox.status(subscription), len(invoices(sandbox))) == ("active", 5)
        return
    assert sandbox.status(subscription) == "past_due"
    with sandbox.expect(*FAILED * 4):
        sandbox.advance("7d")
    assert sandbox.status(subscription) == "unpaid"


# -- methods that cannot be charged


def test_an_expired_card_fails_the_renewal_and_of_a_deleted_one_the_default_is_charged(sandbox: Sandbox) -> None:
    """B-41: one that is expired is failing, whatever the customer's default is; null means the default (B-52)."""
    of_card = []
    for year in (2026, 2030):
        customer = sandbox.customer(phone=GOOD_PHONE)
        card = sandbox.method(customer, exp_month=1, exp_year=year)
        body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month", "payment_method": card["id"]}
        of_card.append(sandbox.api.post("/subscriptions/", body))
    sandbox.api.delete(f"/payment-methods/{card['id']}/")
    expired, other = of_card
    assert sandbox.subscription(other["id"])["payment_method"] is None
    with sandbox.expect(*["subscription.payment_failed"] * 5, *CHARGED):
        sandbox.advance("45d")
    assert (sandbox.status(expired), sandbox.status(other)) == ("unpaid", "active")
    types = [each["payment_method_type"] for each in sandbox.api.get("/transactions/")["data"]]
    assert types == ["mobile_money", "bank_card", "bank_card"]


def test_a_removed_method_is_null_and_fails_the_renewal(sandbox: Sandbox) -> None:
    """B-41: null once deleted, with its phone; and the customer had a method, so the period is not simply invoiced."""
    subscription = sandbox.subscribe(GOOD_PHONE)
    change_phone(sandbox, subscription, None)
    assert sandbox.subscription(subscription["id"])["payment_method"] is None
    with sandbox.expect("subscription.payment_failed"):
        sandbox.advance("31d")
    assert sandbox.status(subscription) == "past_due"


# -- retries


def test_after_a_change_to_send_invoice_every_retry_emails_the_invoice(sandbox: Sandbox) -> None:
    """B-45: the stored card is charged no more; a retry that only emails counts as one that did not help, so the next
    one follows, until none is left.
    """
    subscription = sandbox.subscribe(FAILING_PHONE)
    card = sandbox.method({"id": subscription["customer"]})
    change(sandbox, subscription, **BY_INVOICE, payment_method=card["id"])
    for span, emails in (("2d", 1), ("10d", 4)):
        with sandbox.expect():
            sandbox.advance(span)
        kinds = [email["kind"] for email in sandbox.control.get("/emails", page_size=100)["data"]]
        assert kinds.count("invoice") == emails
    sandbox.buy(sandbox.api.get("/invoices/")["data"][0])
    assert sandbox.status(subscription) == "active"


def test_a_retry_comes_before_the_boundary_of_the_same_instant(sandbox: Sandbox) -> None:
    """B-45: it recovers, so the period that begins then is charged too."""
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day", interval_count=3)
    sandbox.advance("2d")
    change_phone(sandbox, subscription, GOOD_PHONE)
    with sandbox.expect(*CHARGED * 2):
        sandbox.advance("3d")
    assert sandbox.status(subscription) == "active"
    assert invoices(sandbox) == [("paid", "2026-01-01"), ("paid", "2026-01-04")]


@pytest.mark.parametrize(("assumption", "charges", "paid"), [("skipped", 1, 2), ("charged", 3, 4)])
def test_periods_while_past_due_are_skipped_or_charged(
    sandbox: Sandbox, assumption: str, charges: int, paid: int
) -> None:
    """B-45, ``past_due_periods``; each failed attempt has its event. What was charged is charged again after recovery,
    so that no period is given away.
    """
    sandbox.settings(assumptions={"past_due_periods": assumption}, renewal_retry_days=[3])
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day")
    sandbox.advance("2d")
    assert (sandbox.status(subscription), sandbox.invoices("status")) == ("past_due", ["open"] * charges)
    failed = sandbox.control.get("/events", type="subscription.payment_failed")
    assert failed["pagination"]["count"] == charges
    change_phone(sandbox, subscription, GOOD_PHONE)
    sandbox.advance("1d")
    assert (sandbox.status(subscription), sandbox.invoices("status")) == ("active", ["paid"] * paid)


def test_one_that_still_fails_after_recovery_is_past_due_again(sandbox: Sandbox) -> None:
    """B-45, ``past_due_periods: charged``."""
    sandbox.settings(assumptions={"past_due_periods": "charged"}, renewal_retry_days=[30])
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="day")
    sandbox.advance("1d")
    with sandbox.expect("invoice.paid", *FAILED):
        sandbox.api.post(f"/invoices/{sandbox.invoices('id')[0]}/pay/")
    assert sandbox.status(subscription) == "past_due"


def test_unpaid_recovers_with_the_next_period_that_is_paid(sandbox: Sandbox) -> None:
    """B-45: a success makes it active; the invoice that was written off stays so."""
    sandbox.settings(assumptions={"past_due_periods": "charged"})
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("8d")
    assert sandbox.status(subscription) == "unpaid"
    change_phone(sandbox, subscription, GOOD_PHONE)
    sandbox.advance("31d")
    assert (sandbox.status(subscription), sandbox.invoices("status")) == ("active", ["uncollectible", "paid"])


@pytest.mark.parametrize("scheduled", [True, False])
def test_a_cancellation_is_taken_back_while_past_due(sandbox: Sandbox, scheduled: bool) -> None:
    """B-47: also beside the new method that repairs it; where nothing was scheduled nothing changes."""
    subscription = sandbox.subscribe(FAILING_PHONE, cancel_at_period_end=scheduled)
    card = sandbox.method({"id": subscription["customer"]})
    changed = change(sandbox, subscription, payment_method=card["id"], cancel_at_period_end=False)
    assert (changed["payment_method"], changed["cancel_at_period_end"]) == (card["id"], False)
    sandbox.advance("60d")
    assert sandbox.status(subscription) == "active"
