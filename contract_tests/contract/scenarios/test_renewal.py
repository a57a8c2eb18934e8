"""The thin path: a customer subscribes, a month goes by, and the merchant gets the events, signed and in order."""

from __future__ import annotations

from typing import Any

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import CHARGED, RunningServer, Sandbox


def test_a_subscription_renews_and_the_receiver_holds_signed_events_in_order(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-44, B-56: each period has an invoice and a transaction with fee and net; 2.9 % of 5000 is 145. The customer
    counts what was paid (B-30).
    """
    endpoint = sandbox.endpoint(receiver.url)
    subscription = sandbox.subscribe()
    assert (subscription["status"], subscription["current_period_end"]) == ("active", "2026-02-01T00:00:00.000Z")
    answer = sandbox.advance("31d")
    assert (answer["from"], answer["now"]) == ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")
    assert answer["events"] == dict.fromkeys(CHARGED, 1)
    renewed = sandbox.subscription(subscription["id"])
    assert (renewed["status"], renewed["current_period_start"]) == ("active", "2026-02-01T00:00:00.000Z")
    assert renewed["current_period_end"] == "2026-03-01T00:00:00.000Z"
    bills = sandbox.invoices("status", "invoice_number")
    assert bills == [("paid", "INV-2026-000001"), ("paid", "INV-2026-000002")]
    paid = sandbox.api.get("/transactions/")["data"]
    assert [each["created_at"][:10] for each in paid] == ["2026-02-01", "2026-01-01"]
    for each in paid:
        assert (each["amount"], each["fee"], each["net_amount"]) == (5000, 145, 4855)
        assert (each["type"], each["customer"]) == ("deposit", subscription["customer"])
    customer = sandbox.api.get(f"/customers/{subscription['customer']}/")
    assert (customer["transactions_count"], customer["total_spent"]) == (2, 10000)
    types = ["customer.created", "subscription.created", *CHARGED, *CHARGED]
    assert [event["type"] for event in receiver.events] == types
    assert receiver.events == sandbox.events()
    assert all(item.signed_with(endpoint["secret"]) for item in receiver.received)


# -- Years go by: every charge on its day, counted from the anchor (B-42), and not an event too many


def charged_on(sandbox: Sandbox) -> list[str]:
    return [created_at[:10] for created_at in sandbox.invoices("created_at")]


def subscribe_on(sandbox: Sandbox, day: str, **plan: Any) -> Any:
    """Return a subscription to a plan made on that day, charged for its first period."""
    sandbox.advance_to(day)
    with sandbox.expect("customer.created", "subscription.created", *CHARGED):
        return sandbox.subscribe(plan=sandbox.plan(**plan)["id"])


PERIODS = [
    ("day", 10, "2026-02-01", ["2026-01-01", "2026-01-11", "2026-01-21", "2026-01-31"]),
    ("week", 2, "2026-02-01", ["2026-01-01", "2026-01-15", "2026-01-29"]),
    ("month", 3, "2027-11-30", ["2026-11-30", "2027-02-28", "2027-05-30", "2027-08-30", "2027-11-30"]),
    ("year", 1, "2032-02-29", ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]),
    ("year", 1, "9999-12-31T23:59:59.998Z", ["9997-06-01", "9998-06-01", "9999-06-01"]),
]
"""Interval, count, until when, and the days of the charges; an advance works to the end of the calendar (B-92)."""


def test_intervals_and_counts(server: RunningServer, world_name: str) -> None:
    """Subscription fields: interval month with a count of 3 gives quarterly billing, each period ended as B-42 says."""
    for interval, count, until, expected in PERIODS:
        with server.world(f"{world_name}-{until[:4]}") as sandbox:
            subscribe_on(sandbox, expected[0], interval=interval, interval_count=count)
            with sandbox.expect(*CHARGED * (len(expected) - 1)):
                sandbox.advance_to(until)
            assert charged_on(sandbox) == expected


# -- trials: one that converts, and one of a plan (B-43)


CREATED = ("customer.created", "subscription.created")
NOTICE = "subscription.trial_will_end"


def test_the_end_of_a_trial_is_announced(sandbox: Sandbox) -> None:
    """The trial is the first period; its end is announced three days before."""
    with sandbox.expect(*CREATED):
        subscription = sandbox.subscribe(trial_period_days=14)
        sandbox.advance_to("2026-01-11T23:59:59.999Z")
    assert subscription["status"] == "trialing"
    assert subscription["trial_start"] == subscription["current_period_start"] == "2026-01-01T00:00:00.000Z"
    assert subscription["trial_end"] == subscription["current_period_end"] == "2026-01-15T00:00:00.000Z"
    with sandbox.expect(NOTICE):
        sandbox.advance_to("2026-01-12")
        sandbox.advance_to("2026-01-14T23:59:59.999Z")
    assert sandbox.invoices() == []


def test_a_plan_brings_its_trial_and_the_body_overrules_it(sandbox: Sandbox) -> None:
    """Create body: trial_period_days overrides the plan trial; 0 is no trial, whatever the plan says (B-43)."""
    plan = sandbox.plan(trial_period_days=7)["id"]
    assert sandbox.subscribe(plan=plan)["trial_end"] == "2026-01-08T00:00:00.000Z"
    assert sandbox.subscribe(plan=plan, trial_period_days=1)["trial_end"] == "2026-01-02T00:00:00.000Z"
    untried = sandbox.subscribe(plan=plan, trial_period_days=0)
    assert (untried["status"], untried["trial_end"], untried["trial_start"]) == ("active", None, None)
