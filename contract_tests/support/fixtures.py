"""What every test can ask for: a server, a world of its own, a receiver."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from contract_tests.contract.document.judges import Judge
from contract_tests.support.contract import Contract, contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.run import whole
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.coverage.watch import WATCH


def pytest_configure(config: pytest.Config) -> None:
    """In a long run let the slow validator judge every response, to check the quick one."""
    Judge.enough = not config.option.long


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether each combination is tried: in a run that is long, or names its tests, or tells which
    part of the document has a test, as CI does.
    """
    options = pytestconfig.option
    return bool(options.long or options.spec_coverage) or not whole(pytestconfig)


@pytest.fixture(autouse=True)
def _every_response(request: pytest.FixtureRequest) -> Iterator[None]:
    """The documents allow every response of all servers in this process, to any client."""
    yield
    assert (
        list(WATCH.faults(judges=request.node.get_closest_marker("breaks_the_document") is None))
        == []
    )


@pytest.fixture(scope="session")
def service_contract() -> Contract:
    return contract("service")


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """One server for the whole run: each test has a world of its own (B-01)."""
    with RunningServer() as server:
        yield server


@pytest.fixture
def world_name(request: pytest.FixtureRequest) -> str:
    return hashlib.sha1(request.node.nodeid.encode(), usedforsecurity=False).hexdigest()[:20]


@pytest.fixture
def sandbox(world_name: str, server: RunningServer) -> Iterator[Sandbox]:
    """A fresh world, its clock frozen at the start of 2026."""
    with server.world(world_name) as sandbox:
        yield sandbox


@pytest.fixture
def live(sandbox: Sandbox) -> Iterator[Sandbox]:
    """The live side of the sandbox's App."""
    with closing(Sandbox(sandbox.url, sandbox.key.replace("sk_test_", "sk_prod_"))) as live:
        yield live


@pytest.fixture
def unanswered(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No look-up of ``*.unanswered.example`` ends before the event is set; then: 127.0.0.1."""
    system, response = socket.getaddrinfo, threading.Event()

    def look_up(host: Any, *arguments: Any, **options: Any) -> Any:
        if str(host).endswith(".unanswered.example"):
            assert response.wait(60)
        return system("127.0.0.1", *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield response
    response.set()


@pytest.fixture
def other_world(sandbox: Sandbox) -> Iterator[Sandbox]:
    """The world of another App on the same server."""
    with closing(Sandbox(sandbox.url, f"{sandbox.key}-other")) as other:
        yield other


@pytest.fixture(scope="session")
def impatient_server() -> Iterator[RunningServer]:
    """A server that gives webhook receivers a second and a half instead of ten."""
    with RunningServer(response_time=1.5) as server:
        yield server


@pytest.fixture
def impatient(world_name: str, impatient_server: RunningServer) -> Iterator[Sandbox]:
    with impatient_server.world(world_name) as sandbox:
        yield sandbox


@pytest.fixture
def receiver(request: pytest.FixtureRequest, service_contract: Contract) -> Iterator[Receiver]:
    """A webhook receiver; the documents allow all its payloads, unless a test is about breaches."""
    receiver = Receiver()
    yield receiver
    receiver.close()
    if request.node.get_closest_marker("breaks_the_document"):
        return
    faults = {item.body: service_contract.event_faults(item.body) for item in receiver.received}
    assert {body: wrong for body, wrong in faults.items() if wrong} == {}
