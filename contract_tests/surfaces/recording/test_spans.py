"""``record --start`` and ``--stop``: a part of the journal becomes a test that passes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from contract_tests.surfaces.recording.conftest import Played
from contract_tests.surfaces.recording.story import PastDue, customers
from contract_tests.surfaces.recording.test_record import call
from emulator.testing import Emulator, LocalServer

FAILING_PHONE = "+24177000001"


@pytest.fixture
def world(local_server: LocalServer) -> Iterator[Played]:
    """A world with things that are no part of the recording."""
    with Emulator(key="sk_test_span", clock="2026-01-01T00:00:00Z", seed=3, server=local_server) as payments:
        customers(payments, 1, 4)
        yield Played(payments, PastDue("", ""))


def subscribed(payments: Emulator) -> str:
    body = {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"}
    customer = payments.api.post("/v1/customers/", body)["id"]
    terms = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
    plan = payments.api.post("/v1/subscription-plans/", terms)["id"]
    payments.api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})
    return str(customer)


def test_what_lies_between_start_and_stop_is_recorded(world: Played, local_server: LocalServer) -> None:
    started = world.cli("record", "--start")
    assert (started.status, started.output) == (0, "")
    assert "record --stop'" in started.errors
    subscribed(world.payments)
    world.payments.clock.advance("1d")
    stopped = world.cli("record", "--stop", "--as", "pytest")
    world.payments.api.post("/v1/customers/", {"email": "late@example.com", "name": "Late"})
    assert ("buyer1@" in stopped.output, "late@" in stopped.output) == (False, False)
    assert "awa@example.com" in stopped.output
    call(stopped.output, local_server)
    assert "No recording is under way" in world.cli("record", "--stop", "--as", "pytest").usage_error


def test_a_stop_that_writes_nothing_stops_nothing(world: Played) -> None:
    def state() -> bool:
        return bool(world.payments.api.get("/_emulator/recording/state")["is_recording"])

    world.cli("record", "--start")
    assert "Nothing is recorded yet" in world.cli("record", "--stop", "--as", "pytest").usage_error
    world.payments.api.get("/v1/customers/")
    assert "no request changed anything" in world.cli("record", "--stop", "--as", "pytest").usage_error
    assert state()
    subscribed(world.payments)
    assert world.cli("record", "--stop", "--as", "curl").status == 0
    assert not state()


def moved_on(payments: Emulator) -> None:
    payments.clock.advance("31d")


def changed_before(payments: Emulator) -> None:
    """What fails is due to a change that came before the span."""
    customer = payments.api.get("/v1/customers/")["data"][0]["id"]
    payments.api.patch(f"/v1/customers/{customer}/", {"name": "Other"})
    payments.clock.advance("31d")


def nothing_more(payments: Emulator) -> None:
    subscription = payments.api.get("/v1/subscriptions/")["data"][0]["id"]
    payments.api.post(f"/v1/subscriptions/{subscription}/pause/")


@pytest.mark.parametrize("then", [moved_on, changed_before, nothing_more])
def test_what_a_span_depends_on_is_in_it(
    then: Callable[[Emulator], None], world: Played, local_server: LocalServer
) -> None:
    """Also where the span only moves the clock, and where objects were changed before it."""
    payments = world.payments
    customer = subscribed(payments)
    payments.api.patch(f"/v1/customers/{customer}/", {"phone": FAILING_PHONE})
    payments.clock.advance("2d")
    world.cli("record", "--start")
    then(payments)
    recorded = world.cli("record", "--as", "pytest", "--stop")
    assert recorded.status == 0, recorded
    assert FAILING_PHONE in recorded.output
    assert "buyer1@" not in recorded.output
    call(recorded.output, local_server)


def test_the_state_counts_what_is_recorded(world: Played) -> None:
    api = world.payments.api
    before = api.get("/_emulator/recording/state")
    assert before == {"is_recording": False, "since_request": None, "until_request": None, "request_count": 0}
    last = api.get("/_emulator/requests")["data"][0]["id"]
    assert api.post("/_emulator/recording/start")["since_request"] == last
    customers(world.payments, 5, 1)
    under_way = api.get("/_emulator/recording/state")
    assert (under_way["is_recording"], under_way["request_count"]) == (True, 2)
    stopped = api.post("/_emulator/recording/stop")
    assert stopped == {**under_way, "is_recording": False} == api.get("/_emulator/recording/state")
    answer = world.payments.client.post("/_emulator/recording/stop")
    assert (answer.status_code, "No recording is under way" in answer.text) == (404, True)
    query = {"since": under_way["until_request"], "until": last}
    assert world.payments.client.get("/_emulator/recording", params=query).status_code == 422
