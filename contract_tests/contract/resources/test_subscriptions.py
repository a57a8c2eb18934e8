"""Subscriptions: what creation, PATCH and lists accept and reject."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CHARGED, Sandbox
from emulator.core.errors import ApiError

MONTHLY = {"unit_amount": 5000, "interval": "month"}


# -- create (B-40)


def test_it_does_not_end_as_it_begins(sandbox: Sandbox) -> None:
    """B-40: the end lies ahead, and this instant does not."""
    body = {"customer": sandbox.customer()["id"], **MONTHLY, "ends_at": sandbox.now}
    assert sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)["param"] == "ends_at"


@pytest.mark.parametrize(
    ("field", "value"), [("unit_amount", 5000), ("interval", "year"), ("interval_count", 2), ("currency", "EUR")]
)
def test_a_plan_does_not_bear_other_terms(sandbox: Sandbox, field: str, value: Any) -> None:
    """B-40: plan beside unit_amount, or beside a period or currency that is not the plan's: 422."""
    body = {"customer": sandbox.customer()["id"], "plan": sandbox.plan()["id"], field: value}
    assert sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)["param"] == field


def test_a_plan_may_be_repeated(sandbox: Sandbox) -> None:
    """B-40: interval, count and currency equal to the plan's are taken."""
    made = sandbox.subscribe(plan=sandbox.plan()["id"], interval="month", interval_count=1, currency="XAF")
    assert (made["unit_amount"], made["interval"], made["interval_count"], made["currency"]) == (
        5000,
        "month",
        1,
        "XAF",
    )


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


def test_metadata_goes_with_the_events(sandbox: Sandbox) -> None:
    """Create body: subscription metadata in created and canceled; plan metadata carried beside it."""
    plan = sandbox.plan(metadata={"tier": "gold"})["id"]
    subscription = sandbox.subscribe(plan=plan, metadata={"seat": 7})
    sandbox.api.post(f"/subscriptions/{subscription['id']}/cancel/")
    events = [event for event in sandbox.events() if event["data"]["object"]["object"] == "subscription"]
    assert [event["type"] for event in events] == ["subscription.created", "subscription.canceled"]
    for event in events:
        assert event["data"]["object"]["metadata"] == {"seat": 7}
        assert event["data"]["metadata"] == {"plan": {"tier": "gold"}}
    assert events[1]["data"]["object"] == sandbox.subscription(subscription["id"])


# -- products (B-40)


def test_a_product_gives_its_currency_and_its_name() -> None:
    """B-40: the product's currency, else the App's; its name is on the invoices."""
    harness = RulesHarness()
    product = harness.product(name="Oil", currency="EUR")
    subscription = harness.subscribe(product=product.id)
    assert (subscription.currency, subscription.product) == ("EUR", product.id)
    [line] = harness.invoices()[0].line_items
    assert (line.product, line.description, line.unit_amount) == (product.id, "Oil", 5000)


@pytest.mark.parametrize(
    ("product", "fields", "param"),
    [({"active": False}, {}, "product"), ({"currency": "EUR"}, {"currency": "XAF"}, "currency")],
)
def test_a_product_that_will_not_do(product: dict[str, Any], fields: dict[str, Any], param: str) -> None:
    """B-15, B-40: archived, or beside another currency."""
    harness = RulesHarness()
    with pytest.raises(ApiError) as raised:
        harness.subscribe(product=harness.product(**product).id, **fields)
    assert (raised.value.code, raised.value.param) == ("INVALID_FIELD", param)


def test_a_deactivated_plan_takes_no_new_subscribers() -> None:
    """Other resources: it cannot be attached to new subscriptions; existing ones continue."""
    harness = RulesHarness()
    plan = harness.do("createSubscriptionPlan", interval="month")
    kept = harness.subscribe(plan=plan.id)
    other = harness.subscribe()
    harness.run(lambda world: world.replace(plan, active=False))
    for rejected in (
        lambda: harness.subscribe(plan=plan.id),
        lambda: harness.do("updateSubscription", other.id, plan=plan.id),
    ):
        with pytest.raises(ApiError) as raised:
            rejected()
        assert (raised.value.code, raised.value.param) == ("INVALID_FIELD", "plan")
    with harness.expect(*CHARGED * 2):
        harness.advance(days=31)
    assert harness.subscription(kept.id).status == "active"


# -- PATCH


def test_a_rejected_patch_changes_nothing(sandbox: Sandbox) -> None:
    """A unit of work is all or nothing: what was right in the body is not stored either."""
    subscription = sandbox.subscribe()
    other = sandbox.subscribe()["payment_method"]
    path = f"/subscriptions/{subscription['id']}/"
    body = {"metadata": {"new": 1}, "collection_method": "send_invoice", "payment_method": other}
    sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json=body)
    assert sandbox.subscription(subscription["id"]) == subscription


def test_canceling_twice_has_its_own_code(sandbox: Sandbox) -> None:
    """B-47: SUBSCRIPTION_ALREADY_CANCELED, whichever way it is asked; an explicit false cancels at once."""
    path = f"/subscriptions/{sandbox.subscribe()['id']}/cancel/"
    with sandbox.expect("subscription.canceled"):
        answer = sandbox.api.post(path, {"cancel_at_period_end": False})
    assert (answer["status"], answer["canceled_at"]) == ("canceled", "2026-01-01T00:00:00.000Z")
    for body in ({}, {"cancel_at_period_end": True}):
        sandbox.api.rejected("POST", path, 422, "SUBSCRIPTION_ALREADY_CANCELED", json=body)
