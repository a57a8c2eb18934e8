"""Every subscription state with every action, job and event: handled, rejected or silenced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from emulator.core.errors import ApiError
from emulator.core.unit_of_work import Event
from emulator.resources.billing import renewals

Step = Callable[[RulesHarness, str], Any]


def made(
    phone: str = "+24177000000", then: str = "", days: int = 0, **fields: Any
) -> Callable[[RulesHarness], str]:
    """Return a maker of subscriptions for an action, done then or by the days that go by."""

    def make(harness: RulesHarness) -> str:
        id = harness.subscribe(phone, **fields).id
        if then:
            harness.do(then, id)
        harness.advance(days=days)
        return id

    return make


STATES = {
    "trialing": made(trial_period_days=14),
    "active": made(),
    "past_due": made(FAILING_PHONE),
    "behind": made(
        collection_method="send_invoice", days=31
    ),  # past due because an invoice is overdue
    "unpaid": made(FAILING_PHONE, days=7),
    "paused": made(then="pauseSubscription"),
    "canceled": made(then="cancelSubscription"),
    "expired": made(ends_at="2026-01-02T00:00:00Z", days=1),
}


def operation(name: str, **body: Any) -> Step:
    return lambda harness, about: harness.do(name, about, **body)


def job(name: str) -> Step:
    return lambda harness, about: harness.job(name, about)


def other_plan(harness: RulesHarness, id: str) -> None:
    plan = harness.do("createSubscriptionPlan", interval="month", amount=900)
    harness.do("updateSubscription", id, plan=plan.id)


def other_method(harness: RulesHarness, id: str) -> None:
    own = {
        "customer": harness.subscription(id).customer,
        "type": "mobile_money",
        "phone": "+24177000000",
    }
    method = harness.do("createPaymentMethod", **own, is_default=False)
    harness.do("updateSubscription", id, payment_method=method.id)


def take_back(harness: RulesHarness, id: str) -> None:
    """A cancellation that was scheduled before is taken back."""
    subscription = harness.subscription(id)
    if subscription.status not in ("canceled", "expired"):
        harness.run(lambda world: world.replace(subscription, cancel_at_period_end=True))
    harness.do("updateSubscription", id, cancel_at_period_end=False)


def charge_fails(harness: RulesHarness, id: str) -> None:
    """An attempt to collect one more invoice of the subscription fails."""
    subscription = harness.subscription(id)
    harness.do("updateCustomer", subscription.customer, phone=FAILING_PHONE)
    invoice = harness.open_invoice(subscription)
    harness.run(renewals.collect, subscription=subscription, invoice=invoice)


def latest_invoice(operation: str) -> Step:
    """Something is done to an invoice of the subscription: one that it owes, or a further one."""

    def step(harness: RulesHarness, id: str) -> None:
        subscription = harness.subscription(id)
        owes = subscription.status in ("past_due", "unpaid")
        owed = (
            [one for one in harness.invoices() if one.subscription == id and one.status != "paid"]
            if owes
            else []
        )
        invoice = owed[0] if owed else harness.open_invoice(subscription)
        harness.do(operation, invoice.id)

    return step


def overdue(harness: RulesHarness, id: str) -> None:
    harness.job("invoice.overdue", harness.open_invoice(harness.subscription(id)).id)


def customer_goes(harness: RulesHarness, id: str) -> None:
    harness.do("deleteCustomer", harness.subscription(id).customer)


STEPS: dict[str, Step] = {
    "patch-metadata": operation("updateSubscription", metadata={"key": "value"}),
    "patch-collection": operation("updateSubscription", collection_method="send_invoice"),
    "patch-method": other_method,
    "patch-plan": other_plan,
    "patch-schedule": operation("updateSubscription", cancel_at_period_end=True),
    "patch-nothing": operation("updateSubscription", cancel_at_period_end=False),
    "patch-take-back": take_back,
    "cancel": operation("cancelSubscription"),
    "cancel-later": operation("cancelSubscription", cancel_at_period_end=True),
    "pause": operation("pauseSubscription"),
    "resume": operation("resumeSubscription"),
    "reactivate": operation("reactivateSubscription"),
    "job-charge": job("subscription.charge"),
    "job-renew": job("subscription.renew"),
    "job-retry": job("subscription.retry"),
    "job-notice": job("subscription.trial_notice"),
    "job-expire": job("subscription.expire"),
    "charge-fails": charge_fails,
    "falls-overdue": overdue,
    "invoice-paid": latest_invoice("payInvoice"),
    "invoice-voided": latest_invoice("voidInvoice"),
    "customer-goes": customer_goes,
}

# What becomes of it: a state, "=" when something is done and the state stays, "." when nothing at
# all happens, "!" when it is rejected with INVALID_STATUS_TRANSITION, "!!" when with
# SUBSCRIPTION_ALREADY_CANCELED.
TABLE = """
                  trialing  active    past_due  behind    unpaid    paused    canceled  expired
patch-metadata    =         =         =         =         =         =         =         =
patch-collection  =         =         =         =         =         =         !         !
patch-method      =         =         =         =         =         =         !         !
patch-plan        =         =         =         =         =         =         !         !
patch-schedule    =         =         !         !         !         !         !         !
patch-nothing     .         .         .         .         .         .         !         !
patch-take-back   =         =         =         =         =         =         !         !
cancel            canceled  canceled  canceled  canceled  canceled  !         !!        !
cancel-later      =         =         canceled  canceled  !         !         !!        !
pause             paused    paused    !         !         !         !         !         !
resume            !         !         !         !         !         active    !         !
reactivate        !         !         !         !         !         !         active    !
job-charge        .         =         .         .         .         .         .         .
job-renew         active    =         =         =         =         =         .         .
job-retry         .         .         =         .         .         .         .         .
job-notice        =         .         .         .         .         .         .         .
job-expire        expired   expired   expired   expired   expired   expired   .         .
charge-fails      =         past_due  =         =         =         =         =         =
falls-overdue     =         =         =         =         =         =         =         =
invoice-paid      =         =         active    active    active    =         =         =
invoice-voided    =         =         active    active    !         =         =         =
customer-goes     canceled  canceled  canceled  canceled  canceled  canceled  =         =
"""

COLUMNS, *LINES = (line.split() for line in TABLE.strip().splitlines())
CELLS = {
    (state, line[0]): outcome
    for line in LINES
    for state, outcome in zip(COLUMNS, line[1:], strict=True)
}

REJECTED = {"INVALID_STATUS_TRANSITION": "!", "SUBSCRIPTION_ALREADY_CANCELED": "!!"}


def test_the_table_is_complete() -> None:
    """Each state, each step, and each job about subscriptions that there is."""
    assert set(COLUMNS) == set(STATES)
    assert {line[0] for line in LINES} == set(STEPS)
    walked = {
        "subscription.charge",
        "subscription.renew",
        "subscription.retry",
        "subscription.trial_notice",
    }
    assert set(renewals.JOBS) == walked | {"subscription.expire"}


def cancellations(harness: RulesHarness) -> int:
    """Return how many were announced by an event."""
    return sum(event.type == "subscription.canceled" for event in harness.world.table(Event))


def becomes(state: str, step: str) -> str:
    """Return what becomes of a state by a step, in the words of the table."""
    harness = RulesHarness()
    id = STATES[state](harness)
    harness.advance(hours=1)
    before, everything, announced = (
        harness.subscription(id),
        harness.everything(),
        cancellations(harness),
    )
    try:
        STEPS[step](harness, id)
    except ApiError as error:
        return (
            REJECTED.get(error.code, error.code)
            if harness.subscription(id) == before
            else "changed"
        )
    after = harness.subscription(id)
    ended = after.status == "canceled" != before.status
    if cancellations(harness) != announced + ended or (
        ended and (after.failed_at, after.failures) != (None, 0)
    ):
        return "announced"
    done = (
        "."
        if harness.everything() == everything
        else after.status
        if after.status != before.status
        else "="
    )
    harness.advance(days=400)
    return "failed jobs" if harness.failed_jobs() else done


def test_each_state_meets_each_step() -> None:
    """B-47: a command outside the table is rejected with its code; a job or an event never is."""
    assert {cell: actual for cell in CELLS if (actual := becomes(*cell)) != CELLS[cell]} == {}


# -- what creation and PATCH accept and reject


MONTHLY = {"unit_amount": 5000, "interval": "month"}


def test_a_plan_bears_its_own_terms_in_the_body(sandbox: Sandbox) -> None:
    """B-40."""
    made = sandbox.subscribe(
        plan=sandbox.plan()["id"], interval="month", interval_count=1, currency="XAF"
    )
    assert (made["unit_amount"], made["interval"], made["interval_count"]) == (5000, "month", 1)


def test_the_currency_is_the_bodys_or_else_the_apps_main_one(sandbox: Sandbox) -> None:
    """B-40, B-23: in another than the main currency an amount starts at 1."""
    assert sandbox.subscribe(**MONTHLY)["currency"] == "XAF"
    assert sandbox.subscribe(unit_amount=1, interval="month", currency="EUR")["currency"] == "EUR"


def test_the_currency_of_a_product_is_that_of_its_subscription(sandbox: Sandbox) -> None:
    """B-40: without a plan."""
    terms = {**MONTHLY, "product": sandbox.product(currency="EUR")["id"]}
    assert sandbox.subscribe(**terms)["currency"] == "EUR"
    body = {"customer": sandbox.customer()["id"], **terms, "currency": "XAF"}
    error = sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)
    assert error["param"] == "currency"


@pytest.mark.parametrize("source", ["currency", "product", "plan"])
def test_a_currency_that_is_not_enabled_any_more_takes_no_new_subscribers(
    sandbox: Sandbox, source: str
) -> None:
    """B-24: wherever a subscription has its currency from, as B-40 says."""
    terms = {
        "currency": {**MONTHLY, "currency": "EUR"},
        "product": {**MONTHLY, "product": sandbox.product(currency="EUR")["id"]},
        "plan": {"plan": sandbox.plan(currency="EUR")["id"]},
    }
    body = {"customer": sandbox.customer()["id"], **terms[source]}
    sandbox.settings(currencies=["XAF"])
    error = sandbox.api.rejected("POST", "/subscriptions/", 403, "CURRENCY_NOT_IN_PLAN", json=body)
    assert error["param"] == source


def test_a_method_that_cannot_be_charged_takes_no_new_subscribers(sandbox: Sandbox) -> None:
    """Create body: it must belong to the customer and be active."""
    method = sandbox.method()
    sandbox.control.patch(f"/objects/{method['id']}", {"status": "inactive"})
    body = {"customer": method["customer"], "unit_amount": 500, "interval": "month"}
    error = sandbox.api.rejected(
        "POST",
        "/subscriptions/",
        422,
        "INVALID_FIELD",
        json={**body, "payment_method": method["id"]},
    )
    assert error["param"] == "payment_method"


def test_an_end_date_is_later_than_now(sandbox: Sandbox) -> None:
    """B-40."""
    body = {"customer": sandbox.customer()["id"], "unit_amount": 500, "interval": "month"}
    error = sandbox.api.rejected(
        "POST", "/subscriptions/", 422, "INVALID_FIELD", json={**body, "ends_at": sandbox.now}
    )
    assert error["param"] == "ends_at"
    ends_at = sandbox.now.replace(".000Z", ".001Z")
    assert sandbox.api.post("/subscriptions/", {**body, "ends_at": ends_at})["ends_at"] == ends_at


def test_a_subscription_is_canceled_once(sandbox: Sandbox) -> None:
    """B-47: a second cancellation has its own code, whichever way it is asked; an explicit false
    cancels at once.
    """
    subscription = sandbox.subscribe()
    response = sandbox.act(subscription, "cancel", cancel_at_period_end=False)
    assert (response["status"], response["canceled_at"]) == ("canceled", "2026-01-01T00:00:00.000Z")
    for body in ({}, {"cancel_at_period_end": True}):
        path = f"/subscriptions/{subscription['id']}/cancel/"
        sandbox.api.rejected("POST", path, 422, "SUBSCRIPTION_ALREADY_CANCELED", json=body)
    assert [event["type"] for event in sandbox.events()].count("subscription.canceled") == 1


def test_metadata_goes_with_the_events(sandbox: Sandbox) -> None:
    """Create body: subscription metadata in created and canceled, plan metadata beside it."""
    plan = sandbox.plan(metadata={"tier": "gold"})["id"]
    subscription = sandbox.subscribe(plan=plan, metadata={"seat": 7})
    sandbox.act(subscription, "cancel", cancel_at_period_end=False)
    events = [
        event for event in sandbox.events() if event["data"]["object"]["object"] == "subscription"
    ]
    assert [event["type"] for event in events] == ["subscription.created", "subscription.canceled"]
    for event in events:
        assert event["data"]["object"]["metadata"] == {"seat": 7}
        assert event["data"]["metadata"] == {"plan": {"tier": "gold"}}
    assert events[1]["data"]["object"] == sandbox.shown(subscription)


def test_a_deactivated_plan_takes_no_new_subscribers(sandbox: Sandbox) -> None:
    """Other resources: it cannot be attached to new subscriptions; existing ones continue."""
    kept, other = sandbox.subscribe(), sandbox.subscribe()
    sandbox.control.patch(f"/objects/{kept['plan']}", {"active": False})
    for method, path, body in (
        ("POST", "/subscriptions/", {"customer": other["customer"], "plan": kept["plan"]}),
        ("PATCH", f"/subscriptions/{other['id']}/", {"plan": kept["plan"]}),
    ):
        assert (
            sandbox.api.rejected(method, path, 422, "INVALID_FIELD", json=body)["param"] == "plan"
        )
    assert sandbox.status(other) == "active"
