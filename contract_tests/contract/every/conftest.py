"""The means of trying every operation: its objects' factory, as in ``compare document``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.contract.every.values import SERVICE
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver


@pytest.fixture(scope="session")
def hook() -> Iterator[str]:
    """The address of one receiver for all tests."""
    with webhook_receiver() as receiver:
        yield f"{receiver.url}/hook"


def factory_in(sandbox: Sandbox, hook: str) -> ObjectFactory:
    factory = ObjectFactory(
        f"{sandbox.url}/v1", {"Authorization": f"Bearer {sandbox.key}"}, hook, "every"
    )
    factory.learn(SERVICE)
    return factory


@pytest.fixture
def factory(sandbox: Sandbox, hook: str) -> Iterator[ObjectFactory]:
    factory = factory_in(sandbox, hook)
    yield factory
    factory.connections.disconnect()
