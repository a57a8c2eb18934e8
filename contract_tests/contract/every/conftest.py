"""What every operation is tried with: a factory of the objects that it needs, as ``compare document`` makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
from emulator.document import bundles


@contextmanager
def factory_in(sandbox: Sandbox) -> Iterator[ObjectFactory]:
    """Yield a factory of the objects of this world."""
    with webhook_receiver() as receiver:
        headers = {"Authorization": f"Bearer {sandbox.key}"}
        factory = ObjectFactory(f"{sandbox.url}/v1", headers, f"{receiver.url}/hook", "every")
        factory.learn(bundles.load("service"))
        yield factory
        factory.connections.disconnect()


@pytest.fixture
def factory(sandbox: Sandbox) -> Iterator[ObjectFactory]:
    """Makes what operations need, in the world of this test."""
    with factory_in(sandbox) as factory:
        yield factory
