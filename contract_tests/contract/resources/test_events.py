"""Events: what each says of its cause and of its object (B-80, B-86)."""

from __future__ import annotations

from typing import Any

from contract_tests.support.sandbox import Sandbox


def event_of(sandbox: Sandbox, type: str) -> Any:
    [event] = [event for event in sandbox.events() if event["type"] == type]
    return event


def test_an_event_names_the_request_that_caused_it(sandbox: Sandbox) -> None:
    """B-80."""
    body = {"email": "awa@example.com", "name": "Awa Diop"}
    response = sandbox.api.request("POST", "/customers/", json=body)
    event = event_of(sandbox, "customer.created")
    assert event["request"] == response.headers["request-id"]


def test_an_event_of_a_job_names_no_request(sandbox: Sandbox) -> None:
    """B-80: null."""
    sandbox.subscribe(trial_period_days=5)
    sandbox.advance("3d")
    assert event_of(sandbox, "subscription.trial_will_end")["request"] is None


def test_an_event_shows_its_object_as_it_was_then(sandbox: Sandbox) -> None:
    """B-80: as GET showed it."""
    customer = sandbox.customer()
    sandbox.api.patch(f"/customers/{customer['id']}/", {"name": "Ben Diop"})
    assert event_of(sandbox, "customer.created")["data"]["object"] == customer


def test_the_event_of_a_deleted_object_stays_readable(sandbox: Sandbox) -> None:
    """B-86."""
    customer = sandbox.customer()
    sandbox.api.delete(f"/customers/{customer['id']}/")
    created, deleted = (
        event_of(sandbox, f"customer.{what}")["data"]["object"] for what in ("created", "deleted")
    )
    assert created["id"] == deleted["id"] == customer["id"]
