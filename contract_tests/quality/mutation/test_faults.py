"""The tests tested: the suite notices every mutation of the emulator."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

import pytest

from contract_tests.quality.mutation.faults import DOCUMENT, FAULTS, Fault
from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer

Attempt = Callable[[str, str], None]


@pytest.fixture(scope="module")
def plain_server() -> Iterator[RunningServer]:
    """A server that does not check its own answers: here the tests alone are to notice."""
    server = RunningServer(strict=False)
    yield server
    server.stop()


@pytest.fixture
def attempt(plain_server: RunningServer, contracts: tuple[Contract, Contract]) -> Attempt:
    """Runs one test of the suite, by its name, in a world of that name; what it raises comes through."""

    def run(test: str, world: str) -> None:
        module, _, name = test.rpartition(".")
        function = getattr(import_module(f"contract_tests.{module}"), name)
        wanted = inspect.signature(function).parameters
        receiver = Receiver()
        try:
            with plain_server.world(world, *contracts) as sandbox:
                known = {
                    "sandbox": sandbox,
                    "receiver": receiver,
                    "server": plain_server,
                    "service_contract": contracts[0],
                }
                function(**{name: known[name] for name in wanted})
        finally:
            receiver.close()
        faults = [fault for item in receiver.received for fault in contracts[0].event_faults(item.body)]
        assert not faults, f"a webhook breaks the document: {faults}"

    return run


@pytest.fixture
def no_remembered_results() -> Iterator[None]:
    """What the rules computed before a mutation is forgotten, and after it what they computed under it."""

    def clear() -> None:
        rules = [
            module for name, module in sys.modules.items() if name.startswith(("emulator.core", "emulator.resources"))
        ]
        for value in [value for module in rules for value in vars(module).values()]:
            if hasattr(value, "cache_clear"):
                value.cache_clear()

    clear()
    yield
    clear()


@pytest.mark.parametrize("test", sorted({fault.caught_by for fault in FAULTS}))
def test_without_a_mutation_there_is_nothing_to_notice(test: str, world_name: str, attempt: Attempt) -> None:
    attempt(test, world_name)


@pytest.mark.breaks_the_document
@pytest.mark.usefixtures("no_remembered_results")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_mutation_is_noticed(
    fault: Fault, world_name: str, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _, name = fault.target.rpartition(".")
    holder: Any = resolve_name(owner)
    monkeypatch.setattr(holder, name, fault.swap(getattr(holder, name)))
    with pytest.raises(Exception) as noticed:  # noqa: PT011  # each test notices in its own way
        attempt(fault.caught_by, world_name)
    assert ("breaks the document" in str(noticed.value)) == (fault.breaks == DOCUMENT), noticed.value


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20
