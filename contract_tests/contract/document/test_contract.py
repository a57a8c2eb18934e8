"""The judge of every answer judges: what the document does not allow is found, in each part of an answer and in webhooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox

Faults = list[str]


def judged(contract: Contract, answer: httpx.Response, status: int = 0, **headers: str | None) -> Faults:
    """What is wrong with an answer, once its status or headers are others; a header that is None is left out."""
    others = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in {**answer.headers, **others}.items() if value is not None}
    return contract.faults("POST", answer.request.url.path, status or answer.status_code, sent, answer.content)


def changed(contract: Contract, answer: httpx.Response, fields: Mapping[str, Any]) -> Faults:
    """What is wrong with an answer once some of its fields are others; one that is ``...`` is left out."""
    body = {name: value for name, value in {**answer.json(), **fields}.items() if value is not ...}
    headers = dict(answer.headers)
    return contract.faults("POST", answer.request.url.path, answer.status_code, headers, json.dumps(body).encode())


@pytest.fixture
def answer(sandbox: Sandbox) -> httpx.Response:
    """The answer to the creation of a customer, which is sound."""
    return sandbox.api.request("POST", "/customers/", json={"email": "awa@example.com", "name": "Awa Diop"})


def test_an_answer_of_the_service_is_sound(answer: httpx.Response, service_contract: Contract) -> None:
    assert judged(service_contract, answer) == changed(service_contract, answer, {}) == []


@pytest.mark.parametrize(
    "fields",
    [{"created_at": ...}, {"note": "?"}, {"livemode": "no"}, {"metadata": None}, {"object": "client"}],
    ids=["missing", "undeclared", "of another type", "null", "outside its enum"],
)
def test_a_field_that_the_document_does_not_allow_is_found(
    fields: dict[str, Any], answer: httpx.Response, service_contract: Contract
) -> None:
    (name,) = fields
    faults = changed(service_contract, answer, fields)
    assert faults
    assert name in str(faults)


def test_an_instant_has_its_zone(answer: httpx.Response, service_contract: Contract) -> None:
    assert "2026-01-01 00:00" in str(changed(service_contract, answer, {"created_at": "2026-01-01 00:00"}))


def test_status_headers_and_content_type_are_judged(answer: httpx.Response, service_contract: Contract) -> None:
    assert "does not document status 202" in str(judged(service_contract, answer, 202))
    assert "no Request-Id header" in judged(service_contract, answer, request_id=None)
    assert "content type 'text/plain'" in judged(service_contract, answer, content_type="text/plain")


def test_a_body_where_none_is_documented_is_found(answer: httpx.Response, service_contract: Contract) -> None:
    path = f"/v1/customers/{answer.json()['id']}/"
    assert service_contract.faults("DELETE", path, 204, dict(answer.headers), b"{}") == [
        "a body where none is documented"
    ]


def test_a_webhook_that_the_document_does_not_allow_is_found(
    sandbox: Sandbox, receiver: Receiver, service_contract: Contract
) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer()
    sandbox.deliveries(endpoint)
    (sent, *_) = receiver.received
    assert service_contract.event_faults(sent.body) == []
    assert "note" in str(service_contract.event_faults(json.dumps({**json.loads(sent.body), "note": "?"}).encode()))
