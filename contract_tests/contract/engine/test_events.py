"""The event log of the control API: filters, pages, and waiting for what has not happened yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from contract_tests.support.sandbox import Sandbox


def test_events_are_listed_newest_first_and_by_type_and_object(sandbox: Sandbox) -> None:
    first, second = sandbox.customer(), sandbox.customer()
    body = {"customer": first["id"], "unit_amount": 500, "interval": "week"}
    subscription = sandbox.api.post("/subscriptions/", body)

    def listed(**query: object) -> list[str]:
        return [event["data"]["object"]["id"] for event in sandbox.control.get("/events", **query)["data"]]

    assert listed() == [subscription["id"], second["id"], first["id"]]
    assert listed(type="customer.created") == [second["id"], first["id"]]
    assert listed(object=first["id"]) == [first["id"]]
    assert listed(type="subscription.created", object=first["id"]) == []
    assert listed(page=2, page_size=1) == [second["id"]]
    assert listed(page=9**9) == []


@pytest.mark.parametrize(
    "query", [{"type": "pigs.fly"}, {"wait": "31"}, {"wait": "-1"}, {"wait": "soon"}, {"page": "0"}, {"colour": "red"}]
)
def test_a_wrong_filter_is_rejected(sandbox: Sandbox, query: dict[str, str]) -> None:
    rejected = sandbox.control.rejected("GET", "/events", 422, "INVALID_FILTER_PARAM", params=query)
    assert rejected["param"] in query


def test_waiting_is_over_at_once_when_there_is_one_and_in_vain_after_its_time(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    assert sandbox.control.get("/events", object=customer["id"], wait=30)["pagination"]["count"] == 1
    assert sandbox.control.get("/events", type="invoice.paid", wait=0)["data"] == []


def test_waiting_ends_with_the_event_that_was_waited_for(sandbox: Sandbox) -> None:
    """Others do not end it."""
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(sandbox.control.get, "/events", type="subscription.created", wait=30)
        customer = sandbox.customer()
        assert not waiting.done()
        body = {"customer": customer["id"], "unit_amount": 500, "interval": "week"}
        subscription = sandbox.api.post("/subscriptions/", body)
        (event,) = waiting.result(timeout=60)["data"]
    assert event["data"]["object"]["id"] == subscription["id"]
