"""Failed renewals beside the model: settings, causes for testers and buyers (B-45, B-96)."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CARD, CHARGED, FAILED, FAILING_PHONE, Sandbox
from contract_tests.support.servers import CLIENT
from emulator.core import calendar
from emulator.resources.payments.payment_intents import PaymentIntent

HEALTHY_PHONE = "+24177000000"


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


def test_each_retry_comes_so_many_days_after_the_first_failure(sandbox: Sandbox) -> None:
    """B-45: by default 1, 3, 5 and 7."""
    sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("20d")
    failures = [
        event["created_at"][:10]
        for event in sandbox.events()
        if event["type"] == "subscription.payment_failed"
    ]
    assert failures == [f"2026-01-0{day}" for day in (1, 2, 4, 6, 8)]


def test_a_retry_that_is_due_at_a_boundary_comes_before_it(sandbox: Sandbox) -> None:
    """B-45: what it pays for goes on with the period that begins there."""
    subscription = sandbox.subscribe(FAILING_PHONE, unit_amount=500, interval="week")
    sandbox.advance("6d")
    card = sandbox.method({"id": subscription["customer"]})
    change = {"payment_method": card["id"]}
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", change)
    sandbox.advance("1d")
    assert sandbox.invoices("status") == ["paid", "paid"]


@pytest.mark.parametrize(("reading", "invoices"), [("skipped", 1), ("charged", 2)])
def test_periods_are_charged_while_one_is_owed_by_an_assumption(
    sandbox: Sandbox, reading: str, invoices: int
) -> None:
    """B-45, ``past_due_periods``."""
    sandbox.settings(renewal_retry_days=[60], assumptions={"past_due_periods": reading})
    sandbox.subscribe(FAILING_PHONE)
    sandbox.advance_to("2026-02-02")
    assert len(sandbox.invoices("status")) == invoices


# -- collected by invoice


def test_it_is_active_again_once_no_invoice_is_overdue() -> None:
    """B-44, B-96: voiding settles like paying, in whatever order. No payment is ever attempted."""
    harness = RulesHarness()
    subscription = harness.subscribe(collection_method="send_invoice")
    for _ in range(2):
        harness.open_invoice(subscription)
    with harness.expect(*["invoice.payment_overdue"] * 3):
        harness.advance(days=30)
        assert harness.subscription(subscription.id).status == "active"
        harness.advance(days=1)
    first, second, third, *_ = harness.invoices()
    for invoice, operation, status in (
        (third, "payInvoice", "past_due"),
        (first, "payInvoice", "past_due"),
        (second, "voidInvoice", "active"),
    ):
        harness.do(operation, invoice.id)
        assert harness.subscription(subscription.id).status == status
    assert len(harness.world.table(PaymentIntent)) == 0


def test_no_period_is_charged_while_an_invoice_is_overdue_that_was_sent(sandbox: Sandbox) -> None:
    """B-45, B-96: the change to ``charge_automatically`` leaves the invoices to the buyer."""
    subscription = sandbox.subscribe(unit_amount=500, interval="day", interval_count=20)
    path = f"/subscriptions/{subscription['id']}/"
    sandbox.api.patch(path, {"collection_method": "send_invoice"})
    sandbox.advance_to("2026-02-21T12:00:00Z")
    sandbox.api.patch(path, {"collection_method": "charge_automatically"})
    overdue = sandbox.api.get("/invoices/", status="open", ordering="created_at")["data"]
    with sandbox.expect():
        sandbox.advance("60d")
    for invoice, status in zip(overdue, ("past_due", "active"), strict=True):
        assert sandbox.status(subscription) == "past_due"
        sandbox.act(invoice, "pay")
        assert sandbox.status(subscription) == status
    with sandbox.expect(*CHARGED):
        sandbox.advance("20d")


def test_an_invoice_on_its_due_date_keeps_nobody_past_due(sandbox: Sandbox) -> None:
    """B-65, B-96: that day is the last one on which it is not overdue."""
    subscription = sandbox.subscribe(
        None, unit_amount=500, interval="day", interval_count=2, collection_method="send_invoice"
    )
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to("2026-02-01")
    assert sandbox.status(subscription) == "past_due"
    sandbox.advance_to("2026-02-02T12:00:00Z")
    oldest = sandbox.api.get("/invoices/", ordering="created_at")["data"]
    assert (oldest[0]["due_date"], oldest[1]["due_date"]) == ("2026-01-31", "2026-02-02")
    sandbox.act(oldest[0], "pay")
    assert sandbox.status(subscription) == "active"


def test_a_subscription_without_a_method_is_collected_by_invoice_or_fails(sandbox: Sandbox) -> None:
    """B-41, B-44, ``renewal_without_method``: as send_invoice; overdue invoices change nothing."""
    subscription = sandbox.subscribe(phone=None, unit_amount=5000, interval="month")
    assert (subscription["payment_method"], sandbox.invoices("status")) == (None, ["open"])
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to("2026-02-01")
    assert sandbox.status(subscription) == "active"
    sandbox.settings(assumptions={"renewal_without_method": "fail"})
    with sandbox.expect("customer.created", "subscription.created", "subscription.payment_failed"):
        subscription = sandbox.subscribe(phone=None, unit_amount=5000, interval="month")
    assert sandbox.status(subscription) == "past_due"


# -- payments under way, and the end


@pytest.mark.parametrize("ending", ["canceled", "expired"])
def test_no_email_of_one_that_has_ended_speaks_of_keeping_it(sandbox: Sandbox, ending: str) -> None:
    """B-45: "No email of a canceled or expired subscription speaks of keeping it"."""
    end = {"ends_at": "2026-01-01T00:01:00Z"} if ending == "expired" else {}
    subscription = sandbox.subscribe("+24177000003", **end)
    if ending == "canceled":
        sandbox.act(subscription, "cancel")
    sandbox.advance("3m")
    assert sandbox.status(subscription) == ending
    [email] = [
        email["id"]
        for email in sandbox.control.get("/emails")["data"]
        if email["kind"] == "renewal_failed"
    ]
    text = sandbox.control.request("GET", f"/emails/{email}/html").text
    assert "has ended" in text
    assert [words for words in ("To keep", "last attempt", "try again") if words in text] == []


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({}, "To keep your subscription, pay the invoice"),
        (
            {"cancel_at_period_end": True},
            "To keep your subscription until it ends on February 1, 2026, pay the invoice",
        ),
        (
            {"ends_at": "2026-03-15T00:00:00Z"},
            "To keep your subscription until it ends on March 15, 2026, pay the invoice",
        ),
    ],
)
def test_the_last_email_says_how_long_a_payment_keeps_the_subscription(
    sandbox: Sandbox, end: dict[str, Any], words: str
) -> None:
    """B-45, B-47: paid, a subscription keeps the end that was planned for it."""
    subscription = sandbox.subscribe(FAILING_PHONE, **end)
    sandbox.advance("7d")
    assert sandbox.status(subscription) == "unpaid"
    email = next(sandbox.control.pages("/emails", kind="renewal_failed"))["id"]
    html = sandbox.control.request("GET", f"/emails/{email}/html").text
    assert words in " ".join(html.split())


FUNDS = "enough funds"


def assert_cause(sandbox: Sandbox, subscription: Any, for_testers: str, for_buyers: str) -> None:
    """Raise unless ``explain``, the console and the email name the last failure's cause."""
    explained = sandbox.control.get(f"/explain/{subscription['id']}")
    assert for_testers in explained["summary"].replace("\N{NO-BREAK SPACE}", " ")
    assert (
        for_testers
        in [step["summary"] for step in explained["chain"] if " by `" in step["summary"]][-1]
    )
    key = {"app": sandbox.key.removeprefix("sk_test_")}
    page = CLIENT.get(
        f"{sandbox.url}/_emulator/console/objects/{subscription['id']}", params=key
    ).text
    assert for_testers in unescape(page).replace("\N{NO-BREAK SPACE}", " ")
    french = sandbox.control.get(f"/explain/{subscription['id']}", language="fr")
    steps = [step["summary"] for step in french["chain"]]
    is_code = for_testers.isupper()
    assert is_code or for_testers not in " ".join([french["summary"], *steps])
    last = next(sandbox.control.pages("/emails", kind="renewal_failed"))
    html = sandbox.control.request("GET", f"/emails/{last['id']}/html").text
    text = " ".join(
        unescape(re.sub("<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)).split()
    )
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
    "operator": (
        lambda sandbox: sandbox.customer(phone=FAILING_PHONE),
        "INSUFFICIENT_FUNDS",
        "Insufficient funds.",
    ),
    "rejected": (
        lambda sandbox: sandbox.customer(phone="+24177000002"),
        "MOBILE_MONEY_REJECTED",
        "The payment was rejected on the phone.",
    ),
    "no default": (
        with_card(is_default=False),
        "the customer has no default payment method",
        "You have no default payment method.",
    ),
    "unconfirmed": (
        with_card(number="4000 0000 0000 3220"),
        "did not confirm",
        "was not confirmed in time",
    ),
    "never one": (
        without_any,
        "the customer has never had a payment method",
        "You have no payment method yet.",
    ),
    "removed": (with_removed, "the payment method is gone", "Your payment method was removed."),
    "expired": (
        with_card({"status": "expired"}),
        "the payment method has expired",
        "Your payment method has expired.",
    ),
    "inactive": (
        with_card({"status": "inactive"}),
        "the payment method is inactive",
        "cannot be used at present.",
    ),
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
    """B-45: code and profile for testers, words for buyers, who hear of funds only if they lack."""
    body = {"customer": made(sandbox)["id"], "unit_amount": 5000, "interval": "month"}
    subscription = sandbox.api.post("/subscriptions/", body)
    sandbox.advance("900s")
    assert sandbox.status(subscription) == "past_due"
    assert_cause(sandbox, subscription, for_testers, for_buyers)


ANSWERED = ("operator", "rejected", "unconfirmed")
"""Causes that another answer to the next charge cures."""


@pytest.mark.parametrize("cause", CAUSES)
def test_a_charge_is_promised_only_where_one_can_be_made(sandbox: Sandbox, cause: str) -> None:
    """B-45, B-102: otherwise the step says why the charge fails at once."""
    made, for_testers, _ = CAUSES[cause]
    body = {"customer": made(sandbox)["id"], "unit_amount": 5000, "interval": "month"}
    subscription = sandbox.api.post("/subscriptions/", body)
    sandbox.advance("900s")

    def steps() -> dict[str, str]:
        explained = sandbox.control.get(f"/explain/{subscription['id']}")
        return {step["name"]: step["consequence"] for step in explained["next_steps"]}

    assert ("outcome_succeeded" in steps()) == (cause in ANSWERED)
    sandbox.act(subscription, "cancel")
    if cause in ANSWERED:
        assert "is charged again at once" in steps()["reactivate_charged"]
    else:
        assert "reactivate_charged" not in steps()
        consequence = steps()["reactivate_failing"].replace("\N{NO-BREAK SPACE}", " ")
        assert consequence.endswith(f"is tried again at once and fails: {for_testers}.")
        with sandbox.expect("subscription.payment_failed"):
            sandbox.act(subscription, "reactivate")
            sandbox.settle()


@pytest.mark.parametrize("path", ["payment-intents", "transactions"])
def test_a_charge_that_its_merchant_takes_back_has_failed_for_that_cause(
    sandbox: Sandbox, path: str
) -> None:
    """B-45, B-56: canceled by its intent or its transaction, the charge is tried again.

    The intent's cancel has no event (B-50); the transaction's code speaks of funds.
    """
    customer = sandbox.customer()
    sandbox.method(customer, "bank_transfer", iban="FR14 2004 1010 0505 0001 3M02 606")
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    subscription = sandbox.api.post("/subscriptions/", body)
    [charge] = sandbox.api.get(f"/{path}/")["data"]
    with sandbox.expect(
        "subscription.payment_failed", *["payment_intent.failed"] * (path == "transactions")
    ):
        sandbox.api.post(f"/{path}/{charge['id']}/cancel/")
    assert sandbox.status(subscription) == "past_due"
    assert_cause(sandbox, subscription, "the payment was canceled", "The payment was canceled.")
    if path == "transactions":
        [invoice] = sandbox.api.get("/invoices/")["data"]
        for owner in (invoice["id"], charge["payment_intent"]):
            summary = sandbox.control.get(f"/explain/{owner}")["summary"]
            assert "INSUFFICIENT_FUNDS: the payment was canceled." in summary
            french = sandbox.control.get(f"/explain/{owner}", language="fr")["summary"]
            assert french.count("le paiement a été annulé") == 1
    with sandbox.expect(*CHARGED):
        sandbox.advance("2d")


# -- retries


@pytest.fixture
def by_card(sandbox: Sandbox) -> Any:
    """A subscription that a failing card pays, of a customer whose default is a healthy phone."""
    customer = sandbox.customer(phone=HEALTHY_PHONE)
    card = sandbox.method(customer, number="4000 0000 0000 9995")
    body = {
        "customer": customer["id"],
        "unit_amount": 5000,
        "interval": "month",
        "payment_method": card["id"],
    }
    subscription = sandbox.api.post("/subscriptions/", body)
    sandbox.settle()
    return subscription


def test_a_deleted_card_gives_way_to_the_default(sandbox: Sandbox, by_card: Any) -> None:
    """B-41, B-52: null is the default."""
    sandbox.api.delete(f"/payment-methods/{by_card['payment_method']}/")
    assert sandbox.shown(by_card)["payment_method"] is None
    with sandbox.expect(*CHARGED):
        sandbox.advance("10d")
    [paid] = sandbox.api.get("/transactions/")["data"]
    assert (paid["customer"], paid["payment_method_type"]) == (by_card["customer"], "mobile_money")


def test_an_expired_card_fails_whatever_the_default(sandbox: Sandbox, by_card: Any) -> None:
    """B-41."""
    sandbox.control.patch(f"/objects/{by_card['payment_method']}", {"status": "expired"})
    with sandbox.expect(*["subscription.payment_failed"] * 4):
        sandbox.advance("10d")
    assert sandbox.status(by_card) == "unpaid"
    assert sandbox.api.get("/transactions/")["data"] == []


def test_retries_whose_days_came_while_the_buyer_was_paying_are_one(sandbox: Sandbox) -> None:
    """B-45: it is made when that payment ended without success; later days stand."""
    sandbox.settings(renewal_retry_days=[1, 2, 6])
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    sandbox.control.post("/faults", {"then": {"outage": "silent"}, "ends_at": "55h"})
    sandbox.buy(
        sandbox.api.get("/invoices/")["data"][0], {"type": "mobile_money", "phone": FAILING_PHONE}
    )
    for span, events, status in (
        ("54h", (), "past_due"),
        ("2h", ("payment_intent.failed", *FAILED), "past_due"),
        ("4d", FAILED, "unpaid"),
    ):
        with sandbox.expect(*events):
            sandbox.advance(span)
        assert sandbox.status(subscription) == status


def test_a_retry_of_the_instant_at_which_the_payment_ends_is_one_with_those_before(
    sandbox: Sandbox,
) -> None:
    """B-45."""
    sandbox.settings(renewal_retry_days=[1, 2, 6])
    sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    sandbox.control.post("/faults", {"then": {"outage": "silent"}, "ends_at": "48h"})
    sandbox.buy(
        sandbox.api.get("/invoices/")["data"][0], {"type": "mobile_money", "phone": FAILING_PHONE}
    )
    with sandbox.expect("payment_intent.failed", *FAILED):
        sandbox.advance("3d")


@pytest.mark.parametrize(("stop", "go_on"), [("pause", "resume"), ("cancel", "reactivate")])
def test_what_is_open_is_tried_again_at_once_when_it_goes_on(
    sandbox: Sandbox, stop: str, go_on: str
) -> None:
    """B-45, B-48: the charge failed meanwhile."""
    sandbox.settings(operator_delay=60)
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.act(subscription, stop)
    sandbox.advance("2m")
    with sandbox.expect(*FAILED):
        sandbox.act(subscription, go_on)
        sandbox.advance("2m")
    assert sandbox.status(subscription) == "past_due"


@pytest.mark.parametrize("ending", ["canceled", "expired"])
@pytest.mark.parametrize("pays", ["pay", "buy"])
@pytest.mark.parametrize("retries", ["1d", "8d"])
def test_one_that_has_ended_stays_so_when_its_invoice_is_paid(
    sandbox: Sandbox, ending: str, pays: str, retries: str
) -> None:
    """B-45: the open or the uncollectible invoice; the money is taken."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance(retries)
    sandbox.control.patch(f"/objects/{subscription['id']}", {"status": ending})
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert invoice["status"] == ("open" if retries == "1d" else "uncollectible")
    if pays == "pay":
        sandbox.act(invoice, "pay")
    else:
        sandbox.buy(invoice, CARD)
    assert (sandbox.status(invoice), sandbox.status(subscription)) == ("paid", ending)
    assert sandbox.shown(invoice)["amount_paid"] == invoice["total"]


@pytest.mark.parametrize(("waits", "charges"), [("30d", 1), ("31d", 1), ("32d", 1)])
def test_a_period_that_begins_at_the_reactivation_is_free(
    sandbox: Sandbox, waits: str, charges: int
) -> None:
    """B-48: at the instant of the boundary too; a plan that was deactivated meanwhile goes on."""
    sandbox.settings(reactivation_days=90)
    subscription = sandbox.subscribe()
    sandbox.advance("1d")
    sandbox.act(subscription, "cancel")
    sandbox.api.delete(f"/subscription-plans/{subscription['plan']}/")
    sandbox.advance_to(calendar.plus(subscription["created_at"], days=int(waits[:-1])))
    now = sandbox.act(subscription, "reactivate")
    assert now["current_period_end"] > sandbox.now
    assert len(sandbox.invoices("id")) == charges
    sandbox.advance_to(now["current_period_end"])
    assert len(sandbox.invoices("id")) == charges + 1


def test_after_a_change_to_send_invoice_every_retry_emails_the_invoice(sandbox: Sandbox) -> None:
    """B-45: the stored card is not charged; a retry that only emails counts as a failed one.

    So the next one follows, until none is left.
    """
    subscription = sandbox.subscribe(FAILING_PHONE)
    card = sandbox.method({"id": subscription["customer"]})
    change = {"collection_method": "send_invoice", "payment_method": card["id"]}
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", change)
    for span, emails in (("2d", 1), ("10d", 4)):
        with sandbox.expect():
            sandbox.advance(span)
        kinds = [email["kind"] for email in sandbox.control.get("/emails", page_size=100)["data"]]
        assert kinds.count("invoice") == emails
