"""One seed of each store, and what the oracle notices; ``… simulator durability`` plays more."""

from __future__ import annotations

import random

import pytest

from contract_tests.simulator.durability import run
from contract_tests.simulator.durability.client import LOST, TORN, Client
from contract_tests.simulator.durability.faults import FAULTS
from contract_tests.support.sandbox import RunningServer
from contract_tests.support.servers import CLIENT

SHORT = (
    "advanceClock",
    "arrangeFault",
    "createCustomer",
    "createSnapshot",
    "freezeClock",
    "resetWorld",
    "restoreSnapshot",
    "rewind",
    "runClock",
    "updateApp",
    "updateObject",
)
"""Operations of the ordinary run: one of each way in which worlds are stored."""


def test_every_operation_that_changes_something_has_a_model() -> None:
    assert run.without_model() == set()


def test_what_had_its_response_is_kept_in_sqlite() -> None:
    """With kill -9 after the last response. Of full disks there are tests in ``engine/state``."""
    tally = run.Tally()
    run.play("sqlite", 7, tally, SHORT, ("calm",))
    assert tally.wrong == []
    assert tally.total("answered") >= len(SHORT)


@pytest.mark.long
@pytest.mark.parametrize(
    "store",
    ["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgresql"))],
)
def test_every_operation_is_kept_under_every_fault(store: str) -> None:
    tally = run.Tally()
    run.play(store, 7, tally)
    assert tally.wrong == []
    assert tally.unreached(FAULTS[store]) == []


# -- the oracle itself


def behind_its_back(client: Client, url: str, method: str, path: str, body: object = None) -> None:
    headers = {"Authorization": f"Bearer {client.key}"}
    address = f"{url}/_emulator/{path}"
    response = CLIENT.request(method, address, json=body, headers=headers)
    assert response.is_success, response.text


@pytest.mark.parametrize(
    "name",
    ["advanceClock", "updateApp", "arrangeOutcome", "createInvoice", "deleteProduct"],
)
def test_a_change_that_is_taken_back_is_lost(server: RunningServer, name: str) -> None:
    client = Client(name, f"sk_test_lost{name}", random.Random(1))
    client.prepare(server.url, "")
    behind_its_back(client, server.url, "POST", "snapshots", {"name": "before"})
    client.ask(name)
    behind_its_back(client, server.url, "POST", "snapshots/before/restore")
    behind_its_back(client, server.url, "DELETE", "snapshots/before")
    verdicts = [*client.look(server.url, restarted=False)]
    client.close()
    assert [(verdict.name, verdict.verdict) for verdict in verdicts] == [(name, LOST)]


def test_a_change_that_nobody_was_told_of_is_torn(server: RunningServer) -> None:
    client = Client("stopRecording", "sk_test_torn", random.Random(1))
    client.prepare(server.url, "")
    settings = {"settings": {"operator_delay": 9}}
    behind_its_back(client, server.url, "PATCH", "app", settings)
    verdicts = {verdict.verdict for verdict in client.look(server.url, restarted=False)}
    client.close()
    assert verdicts & {LOST, TORN}
