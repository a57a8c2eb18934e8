"""The judge of every answer judges: what the document does not allow is found, in each part of an answer and in webhooks."""

from __future__ import annotations

import json
from typing import Any

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import Sandbox

WRONG: tuple[dict[str, Any], ...] = (
    *({"created_at": ...}, {"note": "?"}, {"livemode": "no"}, {"metadata": None}, {"object": "client"}),
    {"created_at": "2026-01-01 00:00"},
)
"""Fields that are missing (``...``), undeclared, of another type, null, outside an enum, or without a zone."""


def test_what_the_document_does_not_allow_is_found(sandbox: Sandbox, service_contract: Contract) -> None:
    sent = {"email": "awa@example.com", "name": "Awa Diop"}
    answer = sandbox.api.request("POST", "/customers/", json=sent)

    def faults(status: int = 201, content: Any = None, **headers: str) -> str:
        body = json.dumps(content).encode() if content else answer.content
        found = service_contract.faults("POST", "/v1/customers/", status, {**answer.headers, **headers}, body)
        return str(found)

    assert faults() == "[]"
    for fields in WRONG:
        body = {name: value for name, value in {**answer.json(), **fields}.items() if value is not ...}
        assert next(iter(fields)) in faults(content=body)
    assert "does not document status 202" in faults(202)
    assert "no Request-Id header" in faults(**{"request-id": ""})
    assert "content type 'text/plain'" in faults(**{"content-type": "text/plain"})
    [event] = sandbox.events()
    assert service_contract.event_faults(json.dumps(event).encode()) == []
    assert "note" in str(service_contract.event_faults(json.dumps({**event, "note": "?"}).encode()))
