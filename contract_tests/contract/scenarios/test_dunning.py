"""Renewals that fail: retries, the ways back, and the end as unpaid (B-45, B-96)."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import httpx
import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CARD, CHARGED, FAILED, FAILING_PHONE, Sandbox

HEALTHY_PHONE = "+24177000000"


def failures(sandbox: Sandbox) -> list[str]:
    """Return the day of each failed attempt."""
    return [each["created_at"][:10] for each in sandbox.events() if each["type"] == "subscription.payment_failed"]


def test_dunning_to_unpaid_and_no_further_charge(sandbox: Sandbox) -> None:
    """Retries 1, 3, 5 and 7 days after the first failure; while unpaid no new period is charged. B-45: "the last failure
    makes it `unpaid` and its invoice `uncollectible`, and its event shows it so".
    """
    with sandbox.expect("customer.created", "subscription.created", *FAILED):
        subscription = sandbox.subscribe(FAILING_PHONE)
    for day in ("2026-01-02", "2026-01-04", "2026-01-06"):
        with sandbox.expect(*FAILED):
            sandbox.advance_to(day)
        assert sandbox.status(subscription) == "past_due"
        assert sandbox.invoices("status") == ["open"]
    with sandbox.expect(*FAILED):
        sandbox.advance_to("2026-01-08")
    shown = [each["data"]["object"] for each in sandbox.events() if each["type"] == "subscription.payment_failed"]
    assert [each["status"] for each in shown] == ["past_due"] * 4 + ["unpaid"]
    with sandbox.expect():
        sandbox.advance("P1Y")
    assert (sandbox.status(subscription), sandbox.invoices("status")) == ("unpaid", ["uncollectible"])


@pytest.mark.parametrize(
    ("day", "action", "end"),
    [
        ("2026-01-03", "pay", "2026-02-01"),
        ("2026-01-03", "void", "2026-02-01"),
        ("2026-02-10", "pay", "2026-03-01"),
    ],
    ids=["open", "void", "uncollectible"],
)
def test_settling_the_invoice_manually_recovers(sandbox: Sandbox, day: str, action: str, end: str) -> None:
    """The retries stop, and the next boundary charges again; after a boundary that is the next one (B-96)."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance_to(day)
    with sandbox.expect(*["invoice.paid"] * (action == "pay")):
        sandbox.api.post(f"/invoices/{sandbox.invoices('id')[0]}/{action}/")
    now = sandbox.subscription(subscription["id"])
    assert (now["status"], now["current_period_end"][:10]) == ("active", end)
    with sandbox.expect():
        sandbox.advance("18d")
    with sandbox.expect(*FAILED):
        sandbox.advance_to(end)


def test_a_canceled_one_is_not_tried_again(sandbox: Sandbox) -> None:
    """States table: past_due, POST cancel, canceled. Its open invoice stays, and falls overdue."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    with sandbox.expect("subscription.canceled", "invoice.payment_overdue"):
        sandbox.act(subscription, "cancel")
        sandbox.advance("P1Y")
    assert sandbox.invoices("status") == ["open"]


def test_a_buyer_who_does_not_answer_fails_the_charge_after_three_minutes(sandbox: Sandbox) -> None:
    """B-54, B-45: the retry days count from the failure, not from the attempt."""
    subscription = sandbox.subscribe("+24177000003")
    assert sandbox.status(subscription) == "active"
    with sandbox.expect(*FAILED):
        sandbox.advance("180s")
    assert sandbox.status(subscription) == "past_due"
    with sandbox.expect():
        sandbox.advance("1d")
    with sandbox.expect(*FAILED):
        sandbox.advance("180s")


@pytest.mark.parametrize("by_phone", [True, False])
def test_recovery_on_a_retry(by_phone: bool) -> None:
    """By a changed number on the stored method (B-31), or by another one; the next boundary charges again."""
    harness = RulesHarness()
    subscription = harness.subscribe(FAILING_PHONE)
    with harness.expect(*FAILED):
        harness.advance(days=1)
    if by_phone:
        harness.change_phone(subscription.customer, HEALTHY_PHONE)
    else:
        other = harness.method(subscription.customer, HEALTHY_PHONE)
        harness.do("updateSubscription", subscription.id, payment_method=other.id)
    for days, events in ((1, ()), (1, CHARGED), (27, ()), (1, CHARGED)):
        with harness.expect(*events):
            harness.advance(days=days)
    assert harness.subscription(subscription.id).status == "active"
    assert [invoice.status for invoice in harness.invoices()] == ["paid", "paid"]


@pytest.mark.parametrize(("days", "attempts"), [([], 1), ([2], 2), ([1, 2, 3], 4)])
def test_the_retry_days_are_a_setting(sandbox: Sandbox, days: list[int], attempts: int) -> None:
    """B-45, B-90: "`renewal_retry_days` ascends strictly, else 422"."""
    for wrong in ([5, 1], [1, 1], [1, 3, 2]):
        change = {"settings": {"renewal_retry_days": wrong}}
        error = sandbox.control.rejected("PATCH", "/app", 422, "INVALID_FIELD", json=change)
        assert "renewal_retry_days" in error["message"]
    sandbox.settings(renewal_retry_days=days)
    with sandbox.expect("customer.created", "subscription.created", *FAILED * attempts):
        subscription = sandbox.subscribe(FAILING_PHONE)
        sandbox.advance("20d")
    assert sandbox.status(subscription) == "unpaid"


def test_retries_of_a_settled_charge_do_not_mix_with_those_of_the_next() -> None:
    """B-45: each failure has its own retry days; what was planned for a charge paid manually is forgotten."""
    harness = RulesHarness()
    harness.subscribe(FAILING_PHONE, unit_amount=500, interval="day")
    harness.advance(days=1.5)
    with harness.expect("invoice.paid", *FAILED):
        harness.do("payInvoice", harness.invoices()[0].id)
        harness.advance(days=0.5)
    with harness.expect(*FAILED):
        harness.advance(days=1)


# -- collected by invoice


def invoiced(sandbox: Sandbox) -> Any:
    return sandbox.subscribe(unit_amount=5000, interval="month", collection_method="send_invoice")


def test_an_overdue_invoice_makes_past_due_and_its_payment_active(sandbox: Sandbox) -> None:
    """B-44, B-96: the overdue comes before the boundary at the same instant, invoicing goes on, and it is active again
    only once none is overdue; voiding settles like paying. No payment is ever attempted.
    """
    with sandbox.expect("customer.created", "subscription.created"):
        subscription = invoiced(sandbox)
        sandbox.advance_to("2026-01-31T23:59:59.999Z")
    assert sandbox.status(subscription) == "active"
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to("2026-02-01")
    now = sandbox.subscription(subscription["id"])
    assert (now["status"], now["current_period_start"]) == ("past_due", "2026-02-01T00:00:00.000Z")
    assert sandbox.invoices("status", "due_date") == [("open", "2026-01-31"), ("open", "2026-03-03")]
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to("2026-03-10")
    first, second, third = sandbox.invoices("id")
    for invoice, action, status in (
        (third, "pay", "past_due"),
        (first, "pay", "past_due"),
        (second, "void", "active"),
    ):
        sandbox.api.post(f"/invoices/{invoice}/{action}/")
        assert sandbox.status(subscription) == status
    with sandbox.expect(*["invoice.payment_overdue"] * 8):
        sandbox.advance_to("2026-12-15")
    assert sandbox.status(subscription) == "past_due"
    assert sandbox.invoices("status")[3:] == ["open"] * 9
    assert sandbox.api.get("/payment-intents/")["data"] == []


def test_the_overdue_comes_before_the_boundary(sandbox: Sandbox) -> None:
    """B-96: at one instant, after the first charge and after a renewal (due 31 March, renewed on 1 April)."""
    invoiced(sandbox)
    for day in ("2026-02-01", "2026-04-01"):
        jobs = sandbox.control.get("/schedule")["data"]
        kinds = [job["kind"] for job in jobs if job["due_at"].startswith(day)]
        assert kinds == ["invoice.overdue", "subscription.renew"]
        sandbox.advance_to("2026-03-01")


def test_a_subscription_without_a_method_is_collected_by_invoice_or_fails(sandbox: Sandbox) -> None:
    """B-41, B-44, ``renewal_without_method``: as with send_invoice; but an overdue invoice does nothing to it."""
    subscription = sandbox.subscribe(phone=None, unit_amount=5000, interval="month")
    assert (subscription["payment_method"], sandbox.invoices("status")) == (None, ["open"])
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to("2026-02-01")
    assert sandbox.status(subscription) == "active"
    sandbox.settings(assumptions={"renewal_without_method": "fail"})
    with sandbox.expect("customer.created", "subscription.created", "subscription.payment_failed"):
        subscription = sandbox.subscribe(phone=None, unit_amount=5000, interval="month")
    assert sandbox.status(subscription) == "past_due"


def test_the_collection_method_changes_from_the_next_period_on(sandbox: Sandbox) -> None:
    """PATCH collection_method, both ways."""
    subscription = sandbox.subscribe()
    path = f"/subscriptions/{subscription['id']}/"
    assert sandbox.api.patch(path, {"collection_method": "send_invoice"})["collection_method"] == "send_invoice"
    with sandbox.expect():
        sandbox.advance_to("2026-02-01")
    sandbox.api.patch(path, {"collection_method": "charge_automatically"})
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-03-01")
    assert sandbox.invoices("status") == ["paid", "open", "paid"]


# -- payments under way, and the end


@pytest.mark.parametrize(
    ("ends", "attempts", "now"),
    [
        ("2026-01-05", ["2026-01-01", "2026-01-05", "2026-01-06", "2026-01-08"], "past_due"),
        ("2026-01-10", ["2026-01-01", "2026-01-10"], "unpaid"),
    ],
)
def test_retries_that_waited_for_a_payment_are_one(sandbox: Sandbox, ends: str, attempts: list[str], now: str) -> None:
    """B-45: "Retries whose day came while a payment of the invoice was under way are one retry, made when that payment
    ended without success; later days stand".
    """
    subscription = sandbox.subscribe(FAILING_PHONE)
    [invoice] = sandbox.invoices("id")
    sandbox.settings(operator_delay=30 * 86400)
    payment = sandbox.buy(sandbox.api.get(f"/invoices/{invoice}/"))
    sandbox.settings(operator_delay=0)
    sandbox.advance_to(ends)
    assert failures(sandbox) == ["2026-01-01"]
    sandbox.control.post(f"/payment-intents/{payment['id']}/answer", {"result": "failed"})
    assert (failures(sandbox), sandbox.status(subscription)) == (attempts[:2], now)
    sandbox.advance("20d")
    assert (failures(sandbox), sandbox.status(subscription)) == (attempts, "unpaid")


def test_a_retry_that_takes_longer_than_to_the_next_day_is_followed_by_one(sandbox: Sandbox) -> None:
    """B-45: its own payment is one under way, too."""
    sandbox.settings(operator_delay=4 * 86400, renewal_retry_days=[1, 3, 5, 20])
    sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("60d")
    assert failures(sandbox) == ["2026-01-05", "2026-01-10", "2026-01-14", "2026-01-29"]


@pytest.mark.parametrize("ending", ["canceled", "expired"])
def test_no_email_of_one_that_has_ended_speaks_of_keeping_it(sandbox: Sandbox, ending: str) -> None:
    """B-45: "No email of a canceled or expired subscription speaks of keeping it"."""
    end = {"ends_at": "2026-01-01T00:01:00Z"} if ending == "expired" else {}
    subscription = sandbox.subscribe("+24177000003", **end)
    if ending == "canceled":
        sandbox.act(subscription, "cancel")
    sandbox.advance("3m")
    assert sandbox.status(subscription) == ending
    [email] = [each["id"] for each in sandbox.control.get("/emails")["data"] if each["kind"] == "renewal_failed"]
    text = sandbox.control.request("GET", f"/emails/{email}/html").text
    assert "has ended" in text
    assert [words for words in ("To keep", "last attempt", "try again") if words in text] == []


def test_a_check_that_nobody_passes_does_not_end_dunning(sandbox: Sandbox) -> None:
    """B-54, B-62: of the retries that waited for it one is made when it ends; the phone has money again."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    sandbox.settings(confirmation_timeout=86_400)
    sandbox.advance("23h")
    sandbox.buy(invoice, {**CARD, "number": "4000 0000 0000 3220"})
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": HEALTHY_PHONE})
    with sandbox.expect("payment_intent.failed", *CHARGED):
        sandbox.advance("1d")
    assert sandbox.status(subscription) == "active"


FUNDS = "enough funds"


def assert_cause(sandbox: Sandbox, subscription: Any, for_testers: str, for_buyers: str) -> None:
    """Raise unless ``explain``, the console and the email name the cause of the last failure, each in its way."""
    explained = sandbox.control.get(f"/explain/{subscription['id']}")
    assert for_testers in explained["summary"].replace("\N{NO-BREAK SPACE}", " ")
    assert for_testers in [step["summary"] for step in explained["chain"] if " by `" in step["summary"]][-1]
    key = {"app": sandbox.key.removeprefix("sk_test_")}
    page = httpx.get(f"{sandbox.url}/_emulator/console/objects/{subscription['id']}", params=key).text
    assert for_testers in unescape(page).replace("\N{NO-BREAK SPACE}", " ")
    last = next(sandbox.control.pages("/emails", kind="renewal_failed"))
    html = sandbox.control.request("GET", f"/emails/{last['id']}/html").text
    text = " ".join(unescape(re.sub("<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)).split())
    assert for_buyers in text
    assert (FUNDS in text) == (for_testers == "INSUFFICIENT_FUNDS")
    assert "Night shift" not in text


def with_card(change: dict[str, Any] | None = None, **fields: Any) -> Callable[[Sandbox], Any]:
    """Return what makes a customer with a card, and then changes something of it."""

    def made(sandbox: Sandbox) -> Any:
        method = sandbox.method(**fields)
        if change:
            sandbox.control.patch(f"/objects/{method['id']}", change)
        return {"id": method["customer"]}

    return made


def with_removed(sandbox: Sandbox) -> Any:
    method = sandbox.method()
    sandbox.api.delete(f"/payment-methods/{method['id']}/")
    return {"id": method["customer"]}


def without_any(sandbox: Sandbox) -> Any:
    sandbox.settings(assumptions={"renewal_without_method": "fail"})
    return sandbox.customer()


def with_profile(**fields: Any) -> Callable[[Sandbox], Any]:
    def made(sandbox: Sandbox) -> Any:
        sandbox.api.post("/security-profiles/", {"name": "Night shift", **fields})
        return sandbox.customer(phone=HEALTHY_PHONE)

    return made


CAUSES: dict[str, tuple[Callable[[Sandbox], Any], str, str]] = {
    "operator": (lambda sandbox: sandbox.customer(phone=FAILING_PHONE), "INSUFFICIENT_FUNDS", "Insufficient funds."),
    "rejected": (
        lambda sandbox: sandbox.customer(phone="+24177000002"),
        "MOBILE_MONEY_REJECTED",
        "The payment was rejected on the phone.",
    ),
    "no default": (with_card(is_default=False), "no default payment method", "You have no default payment method."),
    "unconfirmed": (with_card(number="4000 0000 0000 3220"), "did not confirm", "was not confirmed in time"),
    "never one": (without_any, "no payment method ever", "You have no payment method yet."),
    "removed": (with_removed, "the payment method is gone", "Your payment method was removed."),
    "expired": (with_card({"status": "expired"}), "the payment method has expired", "Your payment method has expired."),
    "inactive": (with_card({"status": "inactive"}), "the payment method is inactive", "cannot be used at present."),
    "max_amount": (
        with_profile(max_amount=1000),
        "the security profile 'Night shift' allows at most 1,000 XAF",
        "cannot accept this payment at present.",
    ),
    "methods": (
        with_profile(allowed_payment_methods=["bank_transfer"]),
        "the security profile 'Night shift' does not allow mobile_money",
        "cannot accept this payment method at present.",
    ),
}


@pytest.mark.parametrize(("made", "for_testers", "for_buyers"), CAUSES.values(), ids=CAUSES)
def test_each_failure_has_a_cause(
    sandbox: Sandbox, made: Callable[[Sandbox], Any], for_testers: str, for_buyers: str
) -> None:
    """B-45: by code and profile for testers, in words for the buyer, who is told of funds only where they lacked."""
    body = {"customer": made(sandbox)["id"], "unit_amount": 5000, "interval": "month"}
    subscription = sandbox.api.post("/subscriptions/", body)
    sandbox.advance("900s")
    assert sandbox.status(subscription) == "past_due"
    assert_cause(sandbox, subscription, for_testers, for_buyers)


@pytest.mark.parametrize("path", ["payment-intents", "transactions"])
def test_a_charge_that_its_merchant_takes_back_has_failed_and_speaks_of_no_funds(sandbox: Sandbox, path: str) -> None:
    """B-45, B-56: canceled by its intent, which no event reports (B-50), or by its transaction, of which the code speaks
    of funds; it is retried.
    """
    customer = sandbox.customer()
    sandbox.method(customer, "bank_transfer", iban="FR14 2004 1010 0505 0001 3M02 606")
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    subscription = sandbox.api.post("/subscriptions/", body)
    [charge] = sandbox.api.get(f"/{path}/")["data"]
    with sandbox.expect("subscription.payment_failed", *["payment_intent.failed"] * (path == "transactions")):
        sandbox.api.post(f"/{path}/{charge['id']}/cancel/")
    assert sandbox.status(subscription) == "past_due"
    assert_cause(sandbox, subscription, "the payment was canceled", "The payment was canceled.")
    with sandbox.expect(*CHARGED):
        sandbox.advance("2d")
    assert sandbox.status(subscription) == "active"
