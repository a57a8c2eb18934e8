"""What every test can ask for: a server, a world of its own, a receiver."""

from __future__ import annotations

import hashlib
import json
import os
import pkgutil
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import emulator
from contract_tests import postgres
from contract_tests.contract import Contract
from contract_tests.coverage.plugin import (  # noqa: F401  # pytest finds its hooks here
    pytest_addoption,
    pytest_configure,
    pytest_runtest_setup,
    pytest_sessionfinish,
    pytest_testnodedown,
)
from contract_tests.coverage.watch import WATCH
from contract_tests.crash_recovery import proxy
from contract_tests.receiver import Receiver
from contract_tests.sandbox import RunningServer, Sandbox

pytest_plugins = ["pytester"]

# A busy machine is no defect: property tests are not timed. They try the same examples every time, so that a verdict on
# a change is about the change; `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")

# Hypothesis also tries the constants of those of our modules that are loaded. Which ones some test has loaded before is
# chance, so all of them are.
for _module in pkgutil.walk_packages(emulator.__path__, "emulator."):
    import_module(_module.name)


# The browser tests need Debian's Chromium (apt-get install chromium). Where it is missing they are not collected,
# unless PAYMENTS_EMULATOR_BROWSER_TESTS=required, as in CI: then they fail.
collect_ignore = []
if shutil.which("chromium") is None and os.environ.get("PAYMENTS_EMULATOR_BROWSER_TESTS") != "required":
    collect_ignore.append("browser")

# So do those of shared worlds: Debian's postgresql and nginx, and PAYMENTS_EMULATOR_SHARED_TESTS=required.
HAS_SERVERS = postgres.programs() is not None and proxy.PROGRAM is not None
if not HAS_SERVERS and os.environ.get("PAYMENTS_EMULATOR_SHARED_TESTS") != "required":
    collect_ignore.append("shared")


FAST = {
    "core": ("essay", "handlers", "money", "state_machine"),
    "document": ("answers", "bundler", "examples", "schemas"),
    "drift": (
        *("command_line", "decisions", "examiner", "faces", "golden", "imports", "kinds", "life_cycles", "magic"),
        *("operations", "records", "settings", "vocabulary"),
    ),
    "engine": ("events", "failures", "http_client", "masking"),
    "http": ("keys", "order"),
    "resources": (
        "checkout_sessions",
        "invoices",
        "payment_intents",
        "payment_methods",
        "subscription_states",
        "subscriptions",
    ),
    "web": ("streaming", "uvicorn", "write_coalescing"),
}
"""The test modules, by folder, that are quick and together touch every part: ``pytest -m fast -n 2``."""

HERE = Path(__file__).parent

FAST_MODULES = {HERE / folder / f"test_{name}.py" for folder, names in FAST.items() for name in names}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing every module alone takes longer than the fast ones: with ``-m fast`` the others are not collected."""
    fast_only = config.option.markexpr == "fast"
    return True if fast_only and collection_path.is_file() and collection_path not in FAST_MODULES else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the fast modules carry the marker."""
    for item in items:
        if item.path in FAST_MODULES:
            item.add_marker(pytest.mark.fast)


@pytest.fixture(autouse=True)
def _every_answer(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every answer of every server in this process is one the documents allow, whatever client asked for it."""
    yield
    assert list(WATCH.faults(judges=request.node.get_closest_marker("breaks_the_document") is None)) == []


@pytest.fixture(scope="session")
def service_contract() -> Contract:
    return Contract("service")


@pytest.fixture(scope="session")
def control_contract() -> Contract:
    return Contract("control")


@pytest.fixture(scope="session")
def contracts(service_contract: Contract, control_contract: Contract) -> tuple[Contract, Contract]:
    """The service's and the control API's, as a :class:`Sandbox` takes them."""
    return service_contract, control_contract


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """One server for the whole run: each test has a world of its own (B-01)."""
    server = RunningServer()
    yield server
    server.stop()


@pytest.fixture
def world_name(request: pytest.FixtureRequest) -> str:
    """A name for the world of this test alone."""
    return hashlib.sha1(request.node.nodeid.encode(), usedforsecurity=False).hexdigest()[:20]


@pytest.fixture
def sandbox(world_name: str, server: RunningServer, contracts: tuple[Contract, Contract]) -> Iterator[Sandbox]:
    """A fresh world, its clock frozen at the start of 2026."""
    with server.world(world_name, *contracts) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def impatient_server() -> Iterator[RunningServer]:
    """A server that gives webhook receivers a second and a half instead of ten."""
    server = RunningServer(answer_time=1.5)
    yield server
    server.stop()


@pytest.fixture
def impatient(
    world_name: str, impatient_server: RunningServer, contracts: tuple[Contract, Contract]
) -> Iterator[Sandbox]:
    """A fresh world on the impatient server."""
    with impatient_server.world(world_name, *contracts) as sandbox:
        yield sandbox


@pytest.fixture
def with_settings(
    tmp_path: Path, service_contract: Contract, control_contract: Contract
) -> Iterator[Callable[..., Sandbox]]:
    """Opens a sandbox, on a server of its own, whose App starts with other settings (B-90)."""
    with ExitStack() as cleanup:

        def open_sandbox(**settings: Any) -> Sandbox:
            fixtures = tmp_path / "settings.yaml"
            fixtures.write_text(json.dumps({"settings": settings}), "utf-8")
            server = RunningServer(fixtures=(fixtures,))
            cleanup.callback(server.stop)
            sandbox = Sandbox(server.url, "sk_test_settings", service_contract, control_contract)
            cleanup.callback(sandbox.close)
            return sandbox

        yield open_sandbox


@pytest.fixture
def receiver(request: pytest.FixtureRequest, service_contract: Contract) -> Iterator[Receiver]:
    """A webhook receiver; every payload it got is one the document allows, unless breaking it is the test's point."""
    receiver = Receiver()
    yield receiver
    receiver.close()
    if request.node.get_closest_marker("breaks_the_document"):
        return
    faults = {item.body: service_contract.event_faults(item.body) for item in receiver.received}
    assert {body: found for body, found in faults.items() if found} == {}
