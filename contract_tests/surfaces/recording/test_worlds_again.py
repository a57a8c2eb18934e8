"""A recording brings another world to the same end: what jobs made, a clock that ran, whole walks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.simulator.population import Walker
from contract_tests.surfaces.recording.conftest import RATE, Played
from contract_tests.surfaces.recording.story import PastDue
from contract_tests.surfaces.recording.test_record import RUNNABLE, call
from contract_tests.surfaces.recording.test_record import run as run_file
from emulator.core import calendar
from emulator.testing import Emulator, LocalServer


@pytest.fixture
def world(local_server: LocalServer) -> Iterator[Played]:
    """A world in which nothing was done yet."""
    with Emulator(key="sk_test_again", clock="2026-01-01T00:00:00Z", seed=3, server=local_server) as payments:
        yield Played(payments, PastDue("", ""))


def recorded(world: Played) -> str:
    """The test for pytest."""
    ended = world.cli("record", "--as", "pytest")
    assert ended.status == 0, ended.errors
    return ended.output


def test_a_test_account_stands_for_an_account(world: Played, local_server: LocalServer) -> None:
    customer = world.payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})["id"]
    account = {"type": "bank_transfer", "iban": "GB33BUKB20201555555555"}
    world.payments.api.post("/v1/payment-methods/", {"customer": customer, **account})
    text = recorded(world)
    assert "GB33BUKB20201555555555" not in text
    call(text, local_server)


def test_an_inbox_that_failed_stays_what_it_is(world: Played) -> None:
    """Its answers are steps of the recording already."""
    body = {"name": "Shop", "url": f"{world.payments.url}/_emulator/inbox/shop", "events": ["customer.created"]}
    world.payments.api.post("/v1/webhooks/", body)
    assert world.payments.client.put("/_emulator/inbox/shop/response", json={"status": 503}).is_success
    world.payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})
    world.payments.clock.advance("30d")
    text = recorded(world)
    assert text.count("/response") == 1
    assert "recorded-" not in text


def subscribe(payments: Emulator, customer: str, plan: str) -> Any:
    return payments.api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})


def subscribe_by_checkout(payments: Emulator, customer: str, plan: str) -> Any:
    """The buyer pays on the hosted page."""
    body = {"mode": "subscription", "currency": "XAF", "customer": customer, "line_items": [{"plan": plan}]}
    session = payments.api.post("/v1/checkout-sessions/", body)
    headers = {"Accept": "application/json"}
    form = payments.client.get(session["url"], headers=headers).json()
    buyer = {"name": "Awa", "email": "a@example.com", "method": "mobile_money", "phone": "+24177000000"}
    assert payments.client.post(session["url"], headers=headers, data={"token": form["token"], **buyer}).is_success
    return payments.api.get("/v1/subscriptions/")["data"][0]


def let_a_second_pass(payments: Emulator) -> None:
    """Wait until the running clock has gone on by more than a second: some milliseconds of real time."""
    start = calendar.parse(payments.clock.now)
    while (calendar.parse(payments.clock.now) - start).total_seconds() <= 1:
        pass


@pytest.mark.parametrize("form", RUNNABLE)
@pytest.mark.parametrize("subscribing", [subscribe, subscribe_by_checkout])
def test_what_was_done_while_the_clock_ran_is_done_again(
    form: str, subscribing: Callable[..., Any], world: Played, local_server: LocalServer, tmp_path: Path
) -> None:
    """Each request came more than a second after the one before; the test that is written passes."""
    payments = world.payments
    payments.api.post("/_emulator/clock/run", {"rate": RATE * 10})
    body = {"email": "a@example.com", "name": "Awa", "phone": "+24177000000"}
    customer = payments.api.post("/v1/customers/", body)["id"]
    let_a_second_pass(payments)
    body = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
    plan = payments.api.post("/v1/subscription-plans/", body)["id"]
    let_a_second_pass(payments)
    subscription = subscribing(payments, customer, plan)
    assert subscription["created_at"] > "2026-01-01T00:00:02"
    let_a_second_pass(payments)
    payments.api.patch(f"/v1/customers/{customer}/", {"phone": "+24177000001"})
    assert world.cli("clock", "advance", "32d").status == 0
    file = tmp_path / {"pytest": "test_it.py", "node": "it.test.mjs", "curl": "it.sh"}[form]
    assert world.cli("record", "--as", form, "--out", str(file)).status == 0
    assert "subscription.payment_failed" in file.read_text("utf-8")
    done = run_file(form, file, local_server)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_walk_that_is_recorded_causes_the_same_events(seed: int, local_server: LocalServer) -> None:
    with Emulator(key="sk_test_walked", clock="2026-01-31T00:00:00Z", seed=7, server=local_server) as payments:
        walker = Walker(payments, seed)
        for _ in range(120):
            assert walker.step() is None
        text, events = payments.recording("pytest"), payments.events.types
    assert call(text, local_server) == events


PAST = "this world holds objects from before its journal: it was loaded, imported or read from a state file"


def reopened(world: Played, how: str) -> Played:
    """The world after its past was taken out of its journal."""
    client, api = world.payments.client, world.payments.api
    api.post("/_emulator/snapshots", {"name": "before"})
    if how == "import":
        snapshot = client.get("/_emulator/snapshots/before").content
        api.post("/_emulator/reset")
        assert client.put("/_emulator/snapshots/before", content=snapshot, headers=JSON).is_success
    api.post("/_emulator/snapshots/before/restore")
    return world


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("how", ["load", "import"])
def test_what_needs_a_past_without_its_journal_is_refused(how: str, world: Played) -> None:
    """It would be a test that cannot pass: its world has no such customer, and no subscription that renews."""
    world.payments.trigger("subscription.created")
    subscription = world.payments.api.get("/v1/subscriptions/")["data"][0]["id"]
    reopened(world, how)
    world.payments.clock.advance("31d")
    nothing = f"No request changed anything by itself, and {PAST}"
    assert nothing in world.cli("record", "--as", "pytest").usage_error
    world.payments.api.patch(f"/v1/subscriptions/{subscription}/", {"metadata": {"a": "b"}})
    assert f"depends on {subscription}, and {PAST}" in world.cli("record", "--as", "pytest").usage_error


def test_what_needs_no_past_is_recorded_beside_it(world: Played, local_server: LocalServer) -> None:
    world.payments.trigger("subscription.created")
    payments = reopened(world, "load").payments
    payments.clock.advance("40d")
    customer = payments.api.post("/v1/customers/", {"email": "b@example.com", "name": "B", "phone": "+24177000000"})[
        "id"
    ]
    body = {"customer": customer, "unit_amount": 5000, "interval": "month", "currency": "XAF"}
    payments.api.post("/v1/subscriptions/", body)
    payments.clock.advance("31d")
    assert call(recorded(world), local_server).count("invoice.paid") == 2
