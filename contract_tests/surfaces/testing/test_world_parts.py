"""What the helpers show of a world: events, emails, the ledger, and the report of a failure."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE
from emulator.testing import Emulator, Ledger
from emulator.testing.world_parts import WorldClock


def test_the_story_of_a_new_world_is_empty(world: Emulator) -> None:
    assert "No requests and no events." in world.story()


def test_an_expectation_leaves_the_failure_of_its_block_alone(world: Emulator) -> None:
    with pytest.raises(ZeroDivisionError), world.expect("invoice.paid"):
        raise ZeroDivisionError


def test_no_event_may_be_expected(world: Emulator) -> None:
    world.subscription()
    with world.expect():
        world.clock.advance("1s")


def test_an_expectation_without_any_event_says_so(world: Emulator) -> None:
    with (
        pytest.raises(AssertionError, match="No event happened inside"),
        world.expect("invoice.paid"),
    ):
        pass


def test_events_that_come_as_expected_pass(world: Emulator) -> None:
    world.subscription()
    with world.expect(*CHARGED):
        world.clock.advance("31d")


def test_an_expectation_names_events_that_are_missing_or_more(world: Emulator) -> None:
    world.subscription()
    with (
        pytest.raises(AssertionError) as raised,
        world.expect(*["invoice.paid"] * 3, "refund.succeeded", "transaction.succeeded"),
    ):
        world.clock.advance("62d")
    lines = str(raised.value).splitlines()
    assert lines[:3] == [
        "did not happen: invoice.paid, refund.succeeded",
        "happened, but was not expected: 2 × payment_intent.succeeded, transaction.succeeded",
        "Events inside:",
    ]
    assert [line.split()[:2] for line in lines[3:6]] == [
        ["2026-02-01T00:00:00.000Z", type] for type in CHARGED
    ]
    assert "next job, at 2026-04-01T00:00:00.000Z: subscription.renew sub_" in lines[9]


def test_an_event_that_was_not_expected_fails_by_itself(world: Emulator) -> None:
    with (
        pytest.raises(AssertionError, match=r"^happened, but was not expected: customer\.created"),
        world.expect(),
    ):
        world.customer()


@pytest.fixture
def unpaid(world: Emulator) -> Any:
    """A subscription whose first charge has failed."""
    return world.subscription(customer=world.customer(phone=FAILING_PHONE))


def test_events_are_listed_oldest_first(world: Emulator, unpaid: Any) -> None:
    assert world.events.types == ["customer.created", "subscription.created", *FAILED]
    assert (len(world.events), world.events[0]["type"]) == (4, "customer.created")
    assert [event["type"] for event in world.events] == world.events.types


def test_events_are_found_by_object(world: Emulator, unpaid: Any) -> None:
    assert [event["type"] for event in world.events.of(object=unpaid)] == [
        "subscription.created",
        FAILED[1],
    ]


def test_an_event_that_came_is_not_waited_for(world: Emulator, unpaid: Any) -> None:
    event = world.events.wait_for("subscription.created", unpaid["id"])
    assert event["data"]["object"]["status"] == "active"


def test_an_event_that_is_missing_fails_with_the_events_so_far(
    world: Emulator, unpaid: Any
) -> None:
    with pytest.raises(AssertionError) as raised:
        world.events.last("refund.succeeded")
    message = str(raised.value)
    assert message.startswith("refund.succeeded did not happen.\nEvents so far:\n")
    assert "customer.created  cust_" in message
    assert "next job, at 2026-01-02T00:00:00.000Z: subscription.retry" in message


def test_a_message_says_how_many_jobs_follow_the_next(world: Emulator) -> None:
    for _ in range(3):
        world.subscription()
    with pytest.raises(AssertionError, match=r"subscription\.renew sub_\w+ and 2 more\."):
        world.events.last("refund.succeeded")


def test_an_event_is_triggered(world: Emulator) -> None:
    assert world.trigger("refund.failed") in list(world.events)
    assert world.trigger("invoice.paid", wait=False)["type"] == "invoice.paid"


def test_an_email_is_found_by_its_address(world: Emulator) -> None:
    world.subscription()
    (receipt,) = world.emails.to("customer-1@example.com")
    assert receipt["kind"] == "receipt"
    assert world.emails.wait_for("receipt", to="customer-1@example.com") == receipt


def test_an_email_is_found_by_its_kind(world: Emulator) -> None:
    world.subscription()
    kinds = [email["kind"] for email in world.emails.of("receipt")]
    assert (kinds, world.emails.of("refund"), len(world.emails)) == (["receipt"], [], 1)


def test_an_email_has_its_page(world: Emulator) -> None:
    world.subscription()
    (receipt,) = world.emails.of("receipt")
    assert "Awa" in world.emails.html(receipt)


def test_an_email_has_its_message(world: Emulator) -> None:
    world.subscription()
    (receipt,) = world.emails.of("receipt")
    assert b"customer-1@example.com" in world.emails.raw(receipt)


def test_an_email_that_is_missing_fails_with_the_emails_so_far(world: Emulator) -> None:
    world.subscription()
    with pytest.raises(AssertionError) as raised:
        world.emails.wait_for("refund", timeout=0)
    assert str(raised.value).startswith(
        "no refund to anyone was sent within 0 s.\nEmails so far:\n  2026-01-01T"
    )


def test_the_ledger_sums_up_by_currency(world: Emulator) -> None:
    world.subscription()
    assert world.ledger.totals == {
        "XAF": {"buyers": -5000, "merchant": 4855, "fees": 145, "commissions": 0}
    }
    world.ledger.assert_balanced()


def test_the_ledger_lists_the_entries_of_an_object(world: Emulator) -> None:
    customer = world.subscription()["customer"]
    amounts = [entry["amount"] for entry in world.ledger.entries(object=customer)]
    assert sorted(amounts) == [-5000, 5000]
    assert world.ledger.entries(currency="EUR") == []


def test_a_ledger_that_is_not_balanced_names_the_cause() -> None:
    broken = {"at": "2026-01-15T09:30:00.000Z", "summary": "payments of inv_1 is off by 5,000 XAF"}
    response = {"balanced": False, "broken_by": [broken]}
    with pytest.raises(
        AssertionError, match=r"09:30:00\.000Z  payments of inv_1 is off by 5,000 XAF"
    ):
        Ledger(Mock(get=lambda *_, **__: response)).assert_balanced()


def test_to_move_the_clock_past_a_job_that_fails_is_a_failure() -> None:
    failure = {"kind": "invoice.overdue", "error": "ArithmeticError: does not add up"}
    moved = {"now": "2026-01-15T09:30:00.000Z", "failures": [failure]}
    with pytest.raises(AssertionError, match=r"failed before .*09:30:00\.000Z: .*does not add up"):
        WorldClock(Mock(post=lambda *_: moved)).advance("1d")


@pytest.fixture
def report(world: Emulator) -> str:
    """The report of a failure after a renewal, a rejected request and a triggered event."""
    world.subscription()
    world.clock.advance("31d")
    world.client.post("/v1/customers/", json={"email": "customer-1@example.com", "name": "Awa"})
    world.api.post("/_emulator/trigger", {"event": "customer.created"})
    world.clock.advance("0s")
    return world.story()


def test_a_failure_report_has_an_event_between_its_cause_and_the_next_request(report: str) -> None:
    order = ("POST /_emulator/trigger", "customer.created", "POST /_emulator/clock/advance")
    assert sorted(order, key=report.rindex) == [*order]


def test_a_failure_report_begins_with_its_world(world: Emulator, report: str) -> None:
    assert report.startswith(
        f"world {world.key} at {world.url}\nclock: 2026-02-01T00:00:00.000Z, frozen\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        (
            "2026-01-01T00:00:00.000Z  POST /v1/customers/ -> 201\n  2026-01-01T00:00:00.000Z  └"
            " customer.created  cust_"
        ),
        "2026-01-01T00:00:00.000Z  POST /v1/subscriptions/ -> 201\n",
        "2026-02-01T00:00:00.000Z  · invoice.paid  inv_",
        "-> 409 customer_email_exists: ",
        "How the objects of the last events stand:\n",
        "\n  Awa Diop · Premium · 5,000\N{NO-BREAK SPACE}XAF / month (sub_",
        "It renews on 1 Mar 2026",
    ],
)
def test_a_failure_report_tells_the_story(report: str, words: str) -> None:
    """Requests with what they caused, what came with time, and how objects stand."""
    assert words in report


def test_the_report_of_a_failure_names_a_refund_that_is_under_way(world: Emulator) -> None:
    """Its payment has succeeded: by its status it would be left out beside others."""
    subscription = world.subscription()
    world.clock.settle()
    [paid] = world.api.get("/v1/transactions/")["data"]
    world.api.post("/v1/refunds/", {"transaction": paid["id"], "amount": 100})
    world.api.patch(f"/v1/customers/{subscription['customer']}/", {"name": "Awa Ndong"})
    assert "100\N{NO-BREAK SPACE}XAF is being refunded to " in world.story()
