"""Webhooks and emails while the state cannot be stored: outcomes are recorded once it can, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from contract_tests.contract.engine.test_smtp import Mailbox, subscribe
from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.core.records import Record
from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.engine import outbox
from emulator.engine.outbox import SmtpServer
from emulator.engine.persistence import WorldPersistence
from emulator.engine.storage.store import StorageError
from emulator.engine.world_clock import Clock
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    mailbox = Mailbox()
    yield mailbox
    mailbox.close()


Start = Callable[[], Sandbox]


@pytest.fixture
def start(mailbox: Mailbox, tmp_path: Path, contracts: tuple[Contract, Contract]) -> Iterator[Start]:
    """Serves the same stored worlds, with a new server each time."""
    with ExitStack() as running:

        def serve() -> Sandbox:
            running.close()
            smtp = SmtpServer("127.0.0.1", mailbox.port, False, None, None)
            server = RunningServer(state=f"tinydb:{tmp_path}/worlds.json", smtp=smtp)
            running.callback(server.stop)
            sandbox = Sandbox(server.url, "sk_test_stored", *contracts)
            running.callback(sandbox.close)
            return sandbox

        yield serve


def fail_once(monkeypatch: pytest.MonkeyPatch, kind: type[Record]) -> None:
    """Let the first change of a record of this kind fail to be stored; creating one does not count."""
    write = WorldPersistence._write
    failed: list[Change] = []

    def write_or_fail(
        persistence: WorldPersistence, world: World, clock: Clock, changes: Iterable[Change] = ()
    ) -> None:
        hits = [change for change in changes if change.old is not None and type(change.new) is kind]
        if hits and not failed:
            failed.extend(hits)
            raise StorageError("disk full")
        write(persistence, world, clock, changes)

    monkeypatch.setattr(WorldPersistence, "_write", write_or_fail)


def test_the_outcome_of_an_email_is_recorded_a_second_later(
    start: Start, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = start()
    fail_once(monkeypatch, Email)
    subscribe(sandbox)
    sandbox.advance("2d")
    assert [bool(email["sent_at"]) for email in emails(sandbox)] == [True, True, True]
    assert len(mailbox.messages) == 3


def test_an_email_whose_outcome_is_never_recorded_is_sent_once_more_at_the_next_start(
    start: Start, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind it are sent and recorded."""
    monkeypatch.setattr(outbox, "TRIES", 0)
    sandbox = start()
    fail_once(monkeypatch, Email)
    subscribe(sandbox)
    sandbox.advance("2d")
    assert [bool(email["sent_at"]) for email in emails(sandbox)] == [False, True, True]
    assert len(mailbox.messages) == 3
    sandbox = start()
    sandbox.advance("1s")
    assert [bool(email["sent_at"]) for email in emails(sandbox)] == [True, True, True]
    assert len(mailbox.messages) == 4


def emails(sandbox: Sandbox) -> list[Any]:
    """Return all emails, oldest first."""
    found: list[Any] = sandbox.control.get("/emails")["data"]
    return found[::-1]


def test_the_outcome_of_a_delivery_is_recorded_a_second_later(
    start: Start, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not sent again, and those behind it arrive in order."""
    sandbox = start()
    endpoint = sandbox.endpoint(receiver.url)
    fail_once(monkeypatch, WebhookDelivery)
    made = [sandbox.customer()["id"] for _ in range(3)]
    sandbox.advance("1s")
    assert [delivery["status"] for delivery in sandbox.deliveries(endpoint)] == ["succeeded"] * 3
    assert sent(receiver) == made


def test_a_delivery_whose_outcome_is_never_recorded_is_sent_once_more_at_the_next_start(
    start: Start, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind it are sent and recorded."""
    monkeypatch.setattr(outbox, "TRIES", 0)
    sandbox = start()
    endpoint = sandbox.endpoint(receiver.url)
    fail_once(monkeypatch, WebhookDelivery)
    made = [sandbox.customer()["id"] for _ in range(3)]
    sandbox.advance("1s")
    statuses = [delivery["status"] for delivery in sandbox.deliveries(endpoint)]
    assert statuses == ["pending", "succeeded", "succeeded"]
    assert sent(receiver) == made
    sandbox = start()
    sandbox.advance("1s")
    assert {delivery["status"] for delivery in sandbox.deliveries(endpoint)} == {"succeeded"}
    assert sent(receiver) == [*made, made[0]]


def sent(receiver: Receiver) -> list[str]:
    """Return the customers that the receiver got events of."""
    return [event["data"]["object"]["id"] for event in receiver.events]
