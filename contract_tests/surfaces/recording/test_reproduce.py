"""``record ID``: the shortest story that brings an object to its state; the longer run is a command of its own."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.walker import Walker
from contract_tests.surfaces.cli.terminal import run
from contract_tests.surfaces.recording.conftest import RATE, Played
from contract_tests.surfaces.recording.stories import STORIES, newest
from contract_tests.surfaces.recording.test_record import RUNNABLE
from contract_tests.surfaces.recording.test_record import run as run_file
from emulator.control.recording.model import Recording
from emulator.control.recording.reproduction import play
from emulator.core import calendar
from emulator.resources.registry import STATE_MACHINES
from emulator.testing import Emulator, LocalServer
from emulator.testing.fresh_world import FreshWorld

KINDS = ("customer", "payment_method", "product", "subscription_plan", "subscription", "refund", "receipt", "event")


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_of_each_kind_is_reproduced(kind: str, played: Played) -> None:
    """The command itself compares the object in a fresh world with the one in the recorded world."""
    newest = played.payments.api.get("/_emulator/objects", kind=kind)["data"][0]
    ended = played.cli("record", newest["id"], "--as", "curl", "--seconds", "60")
    assert ended.status == 0, ended.errors
    calls = [line for line in ended.output.splitlines() if line.startswith("call ") and "reset" not in line]
    assert len(calls) <= 8, ended.output


def test_each_state_of_an_invoice_is_reproduced(played: Played) -> None:
    """Also where the invoice was made by a job, and no request shows its id."""
    invoices = played.payments.api.get("/_emulator/objects", kind="invoice")["data"]
    states = {invoice["status"]: invoice["id"] for invoice in invoices}
    assert set(states) == {"open", "paid"}
    for id in states.values():
        ended = played.cli("record", id, "--as", "pytest", "--seconds", "60")
        assert ended.status == 0, ended.errors
        assert 'invoices = payments.api.get(f"/_emulator/objects?kind=invoice&related={' in ended.output


def test_an_object_that_is_not_there_is_a_mistake(played: Played) -> None:
    assert "There is no object sub_1" in played.cli("record", "sub_1", "--as", "pytest").usage_error


def test_what_a_recording_cannot_have_is_no_difference(local_server: LocalServer, played: Played) -> None:
    """A test account stands for an account, a call of the control API for a buyer's page, an inbox for an endpoint."""
    with Emulator(key="sk_test_masked", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        customer = payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})["id"]
        account = {"type": "bank_transfer", "iban": "GB33BUKB20201555555555"}
        method = payments.api.post("/v1/payment-methods/", {"customer": customer, **account})
        lines = [{"description": "Basket", "unit_amount": 2000}]
        session = payments.api.post("/v1/checkout-sessions/", {"currency": "XAF", "line_items": lines})
        headers = {"Accept": "application/json"}
        token = payments.client.get(session["url"], headers=headers).json()["token"]
        form = {
            "token": token,
            "name": "Awa",
            "email": "a@example.com",
            "method": "mobile_money",
            "phone": "+24177000000",
        }
        assert payments.client.post(session["url"], headers=headers, data=form).is_success
        paid = payments.api.get("/v1/payment-intents/")["data"][0]["id"]
        payments.settle()
        events = payments.api.get("/_emulator/events", object=paid)["data"]
        assert events[0]["request"]
        assert payments.webhooks.secret
        endpoint = payments.api.get("/v1/webhooks/")["data"][0]
        payments.api.post(f"/v1/webhooks/{endpoint['id']}/test/", {})
        tried = payments.api.get("/_emulator/events")["data"][0]
        world = Played(payments, played.story)
        for id in (method["id"], events[0]["id"], tried["id"]):
            ended = world.cli("record", id, "--as", "pytest", "--seconds", "60")
            assert ended.status == 0, ended.errors


def test_a_delivery_that_failed_is_reproduced(local_server: LocalServer, played: Played) -> None:
    """The inbox in the place of the receiver fails as that one did, until the delivery is given up."""
    with (
        closing(Receiver()) as receiver,
        Emulator(key="sk_test_failing", clock="2026-01-01T00:00:00Z", server=local_server) as payments,
    ):
        receiver.reply = lambda received: Reply(200 if received.is_ping else 503)
        body = {"name": "Shop", "url": receiver.url, "events": ["customer.created"]}
        payments.api.post("/v1/webhooks/", body)
        payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})
        payments.clock.advance("30d")
        failed = payments.api.get("/_emulator/objects", kind="webhook_delivery", status="failed")["data"][0]
        assert {attempt["status_code"] for attempt in failed["attempts"]} == {503}
        ended = Played(payments, played.story).cli("record", failed["id"], "--as", "pytest", "--seconds", "60")
        assert ended.status == 0, ended.errors
        assert '"status": 503' in ended.output


def test_an_inbox_that_failed_stays_what_it_is(local_server: LocalServer, played: Played) -> None:
    """Its answers are steps of the recording already."""
    with Emulator(key="sk_test_inbox", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        body = {"name": "Shop", "url": f"{payments.url}/_emulator/inbox/shop", "events": ["customer.created"]}
        payments.api.post("/v1/webhooks/", body)
        assert payments.client.put("/_emulator/inbox/shop/response", json={"status": 503}).is_success
        payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})
        payments.clock.advance("30d")
        failed = payments.api.get("/_emulator/objects", kind="webhook_delivery", status="failed")["data"][0]
        expected = f"{failed['id']}.status=failed"
        text = Played(payments, played.story).cli("record", "--as", "pytest", "--expect", expected).output
        assert text.count("/response") == 1
        assert "recorded-" not in text


def subscribe(payments: Emulator, customer: str, plan: str) -> Any:
    return payments.api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})


def subscribe_by_checkout(payments: Emulator, customer: str, plan: str) -> Any:
    """Return the buyer pays on the hosted page."""
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
def test_what_was_done_while_the_clock_ran_is_reproduced(
    form: str, subscribing: Callable[..., Any], local_server: LocalServer, played: Played, tmp_path: Path
) -> None:
    """Each request came more than a second after the one before; the test that is written passes."""
    with Emulator(key="sk_test_plain", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
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
        world = Played(payments, played.story)
        assert world.cli("clock", "advance", "32d").status == 0
        file = tmp_path / {"pytest": "test_it.py", "node": "it.test.mjs", "curl": "it.sh"}[form]
        ended = world.cli("record", subscription["id"], "--as", form, "--seconds", "60", "--out", str(file))
    assert ended.status == 0, ended.errors
    text = file.read_text("utf-8")
    assert ("past_due" in text, "advance(to" in text) == (True, False), text
    done = run_file(form, file, local_server)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_journal_does_not_explain_is_said_with_a_way_out(local_server: LocalServer, played: Played) -> None:
    with Emulator(key="sk_test_restored", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        customer = payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})["id"]
        world = Played(payments, played.story)
        assert world.cli("world", "save", "before").status == world.cli("world", "load", "before").status == 0
        payments.api.patch(f"/v1/customers/{customer}/", {"name": "Awa Diop"})
        ended = world.cli("record", customer, "--as", "pytest")
    assert (ended.status, ended.output) == (1, "")
    assert "In a fresh world it ends in another way: " in ended.errors
    way_out = f"'record --as pytest --expect {customer}.status=active' writes all that was done instead"
    assert ended.errors.splitlines()[-1] == way_out


# -- ``record ID``: an object of each kind in each state of its life cycle, from a world in which it was reached


BECAME = re.compile(r"^\d+ steps became (\d+) after \d+ replays$", re.MULTILINE)
"""What the command says when it had time for everything."""

MOST_STEPS = 7


def reproduced(sandbox: Sandbox, id: str) -> int:
    """Return the number of steps of the story; the command itself compares the object with the one in a fresh world."""
    ended = run("record", id, "--as", "curl", "--seconds", "60", "--url", sandbox.url, "--key", sandbox.key)
    assert ended.status == 0, ended.errors
    became = BECAME.search(ended.errors)
    assert became, ended.errors
    return int(became[1])


def test_every_state_is_in_a_story() -> None:
    reached = {(kind, state) for states in STORIES.values() for kind in states for state in states[kind]}
    assert reached == {(machine.kind.kind, row.target) for machine in STATE_MACHINES for row in machine.rows}


def test_each_state_is_reproduced_in_few_steps(
    server: RunningServer, contracts: tuple[Contract, Contract], world_name: str
) -> None:
    steps: dict[tuple[str, str], int] = {}
    for number, (story, states) in enumerate(STORIES.items()):
        with server.world(f"{world_name}-{number}", *contracts) as sandbox:
            # As on a plain ``serve``; a fast clock would make minutes of the pauses of a busy machine.
            sandbox.control.post("/clock/run", {"rate": 1})
            story(sandbox)
            for each in [(kind, state) for kind in states for state in states[kind]]:
                steps[each] = reproduced(sandbox, newest(sandbox, *each)["id"])
    assert statistics.median(steps.values()) <= 4, steps
    assert max(steps.values()) <= MOST_STEPS, steps


# -- A world after a random walk, recorded: the steps cause the same events in another world


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_walk_recorded_as_steps_causes_the_same_events(seed: int, local_server: LocalServer) -> None:
    with Emulator(key="sk_test_walked", clock="2026-01-31T00:00:00Z", seed=7, server=local_server) as payments:
        walker = Walker(payments, seed)
        for _ in range(120):
            assert walker.step() is None
        recording = msgspec.convert(payments.client.get("/_emulator/recording").json(), Recording)
        events = recording.events or payments.events.types()[-100:]
    with FreshWorld("another", recording.url) as world:
        assert play(msgspec.structs.replace(recording, events=None), world).difference is None
        listed = json.loads(world.exchange("GET", "/_emulator/events?page_size=100", {}, b"")[1])["data"]
    assert [event["type"] for event in reversed(listed)] == events
