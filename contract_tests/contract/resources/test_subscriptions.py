"""Subscriptions: what creation, PATCH and lists accept and reject."""

from __future__ import annotations

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CHARGED, Sandbox
from emulator.core.errors import ApiError

MONTHLY = {"unit_amount": 5000, "interval": "month"}


def test_a_plan_bears_no_other_terms_but_its_own(sandbox: Sandbox) -> None:
    """B-40: plan beside unit_amount, or beside a period or currency that is not the plan's: 422. The end lies ahead,
    and this instant does not.
    """
    body = {"customer": sandbox.customer()["id"], "plan": sandbox.plan()["id"]}
    for field, value in (
        ("unit_amount", 5000),
        ("interval", "year"),
        ("interval_count", 2),
        ("currency", "EUR"),
        ("ends_at", sandbox.now),
    ):
        error = sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json={**body, field: value})
        assert error["param"] == field
    made = sandbox.api.post("/subscriptions/", {**body, "interval": "month", "interval_count": 1, "currency": "XAF"})
    assert (made["unit_amount"], made["interval"], made["interval_count"]) == (5000, "month", 1)


def test_the_currency_is_the_bodys_or_the_apps_main_one(sandbox: Sandbox) -> None:
    """B-40, B-23: in another than the main currency an amount starts at 1."""
    assert sandbox.subscribe(**MONTHLY)["currency"] == "XAF"
    assert sandbox.subscribe(unit_amount=1, interval="month", currency="EUR")["currency"] == "EUR"


def test_the_answer_is_active_and_the_charge_follows_before_any_later_request(sandbox: Sandbox) -> None:
    """B-41."""
    with sandbox.expect("customer.created", "subscription.created", *CHARGED):
        made = sandbox.subscribe()
        assert made["status"] == "active"
        assert sandbox.invoices("status") == ["paid"]


def test_metadata_goes_with_the_events_and_it_is_canceled_once(sandbox: Sandbox) -> None:
    """Create body: subscription metadata in created and canceled; plan metadata carried beside it. B-47: a second
    cancellation has its own code, whichever way it is asked; an explicit false cancels at once.
    """
    plan = sandbox.plan(metadata={"tier": "gold"})["id"]
    subscription = sandbox.subscribe(plan=plan, metadata={"seat": 7})
    answer = sandbox.act(subscription, "cancel", cancel_at_period_end=False)
    assert (answer["status"], answer["canceled_at"]) == ("canceled", "2026-01-01T00:00:00.000Z")
    for body in ({}, {"cancel_at_period_end": True}):
        path = f"/subscriptions/{subscription['id']}/cancel/"
        sandbox.api.rejected("POST", path, 422, "SUBSCRIPTION_ALREADY_CANCELED", json=body)
    events = [event for event in sandbox.events() if event["data"]["object"]["object"] == "subscription"]
    assert [event["type"] for event in events] == ["subscription.created", "subscription.canceled"]
    for event in events:
        assert event["data"]["object"]["metadata"] == {"seat": 7}
        assert event["data"]["metadata"] == {"plan": {"tier": "gold"}}
    assert events[1]["data"]["object"] == sandbox.subscription(subscription["id"])


def test_a_product_gives_its_currency_and_its_name() -> None:
    """B-40: the product's currency, else the App's; its name is on the invoices."""
    harness = RulesHarness()
    product = harness.product(name="Oil", currency="EUR")
    subscription = harness.subscribe(product=product.id)
    assert (subscription.currency, subscription.product) == ("EUR", product.id)
    [line] = harness.invoices()[0].line_items
    assert (line.product, line.description, line.unit_amount) == (product.id, "Oil", 5000)
    with pytest.raises(ApiError) as raised:
        harness.subscribe(product=product.id, currency="XAF")
    assert (raised.value.code, raised.value.param) == ("INVALID_FIELD", "currency")


def test_a_deactivated_plan_takes_no_new_subscribers(sandbox: Sandbox) -> None:
    """Other resources: it cannot be attached to new subscriptions; existing ones continue."""
    kept, other = sandbox.subscribe(), sandbox.subscribe()
    sandbox.control.patch(f"/objects/{kept['plan']}", {"active": False})
    for method, path, body in (
        ("POST", "/subscriptions/", {"customer": other["customer"], "plan": kept["plan"]}),
        ("PATCH", f"/subscriptions/{other['id']}/", {"plan": kept["plan"]}),
    ):
        assert sandbox.api.rejected(method, path, 422, "INVALID_FIELD", json=body)["param"] == "plan"
    with sandbox.expect(*CHARGED * 2):
        sandbox.advance("31d")


def test_a_rejected_patch_changes_nothing(sandbox: Sandbox) -> None:
    """A unit of work is all or nothing: what was right in the body is not stored either."""
    subscription = sandbox.subscribe()
    other = sandbox.subscribe()["payment_method"]
    path = f"/subscriptions/{subscription['id']}/"
    body = {"metadata": {"new": 1}, "collection_method": "send_invoice", "payment_method": other}
    sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json=body)
    assert sandbox.subscription(subscription["id"]) == subscription
