"""The judge of every answer judges: what the document does not allow is found, in each part of an answer and in webhooks."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox


@pytest.fixture
def answer(sandbox: Sandbox) -> httpx.Response:
    return sandbox.api.request("POST", "/customers/", json={"email": "awa@example.com", "name": "Awa Diop"})


def judged(contract: Contract, answer: httpx.Response, status: int = 201, **headers: str | None) -> list[str]:
    """What is wrong with an answer, once its status or headers are others; a header that is None is left out."""
    others = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in {**answer.headers, **others}.items() if value is not None}
    return contract.faults("POST", "/v1/customers/", status, sent, answer.content)


@pytest.mark.parametrize(
    "fields",
    [
        {"created_at": ...},
        {"note": "?"},
        {"livemode": "no"},
        {"metadata": None},
        {"object": "client"},
        {"created_at": "2026-01-01 00:00"},
    ],
    ids=["missing", "undeclared", "of another type", "null", "outside its enum", "without a zone"],
)
def test_a_field_that_the_document_does_not_allow_is_found(
    fields: dict[str, Any], answer: httpx.Response, service_contract: Contract
) -> None:
    """One that is ``...`` is left out."""
    [name] = fields
    body = {name: value for name, value in {**answer.json(), **fields}.items() if value is not ...}
    faults = service_contract.faults("POST", "/v1/customers/", 201, answer.headers, json.dumps(body).encode())
    assert faults
    assert name in str(faults)


def test_status_headers_and_content_type_are_judged(answer: httpx.Response, service_contract: Contract) -> None:
    assert judged(service_contract, answer) == []
    assert "does not document status 202" in str(judged(service_contract, answer, 202))
    assert "no Request-Id header" in judged(service_contract, answer, request_id=None)
    assert "content type 'text/plain'" in judged(service_contract, answer, content_type="text/plain")
    path = f"/v1/customers/{answer.json()['id']}/"
    found = service_contract.faults("DELETE", path, 204, answer.headers, b"{}")
    assert found == ["a body where none is documented"]


def test_a_webhook_that_the_document_does_not_allow_is_found(
    sandbox: Sandbox, receiver: Receiver, service_contract: Contract
) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer()
    sandbox.deliveries(endpoint)
    [sent, *_] = receiver.received
    assert service_contract.event_faults(sent.body) == []
    assert "note" in str(service_contract.event_faults(json.dumps({**sent.event, "note": "?"}).encode()))
