"""What the table of coverage showed to be missing: the limit of metadata at each creation."""

from __future__ import annotations

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.links import headers
from emulator.checks.document.object_factory import PREREQUISITES, ObjectFactory, Scene

KINDS = ("session", "invoice", "intent", "link", "method", "refund", "subscription", "webhook", "customer", "product")


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_has_fifty_keys_at_most(sandbox: Sandbox, receiver: Receiver, kind: str) -> None:
    """Metadata: 50 keys."""
    stage = ObjectFactory(f"{sandbox.url}/v1", headers(sandbox.key), receiver.url, "metadata")
    scene: Scene = {}
    body = stage.filled(PREREQUISITES[kind].body, scene)
    fifty = {f"key{number}": number for number in range(50)}
    path = PREREQUISITES[kind].path
    sandbox.api.rejected("POST", path, 422, "INVALID_FIELD", json=body | {"metadata": {**fifty, "one more": 51}})
    assert len(sandbox.api.post(path, body | {"metadata": fifty})["metadata"]) == 50
