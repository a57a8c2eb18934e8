"""The introduction of the service's document: its first checkout works as it is written."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx

from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles

BLOCK = re.compile(r"```http\n(?P<method>\S+) /v1(?P<path>\S+)\n(?P<headers>(?:\S+: .*\n)*)(?:\n(?P<body>[^`]*))?```")
PLACEHOLDER = re.compile(r"\b([a-z]+_)…")


def requests() -> list[re.Match[str]]:
    return list(BLOCK.finditer(bundles.load("service-3.0")["info"]["description"]))


def test_the_first_checkout_ends_with_a_session_that_is_complete(sandbox: Sandbox) -> None:
    ids: dict[str, str] = {}
    answer: Any = {}
    assert len(requests()) == 5
    for request in requests():
        if request["method"] == "GET":
            card = {
                "type": "bank_card",
                "number": "4242 4242 4242 4242",
                "exp_month": 12,
                "exp_year": 2040,
                "cvc": "123",
            }
            sandbox.control.post(f"/checkout-sessions/{answer['id']}/pay", {"method": card})
        answer = _answer(sandbox, request, ids).json()
        ids[answer["id"].partition("_")[0] + "_"] = answer["id"]
    assert (answer["status"], answer["amount_total"]) == ("complete", 30000)
    sandbox.control.post("/clock/advance", {"by": "1s"})
    arrived = [json.loads(each["body"]) for each in sandbox.control.get("/inbox/shop")["data"]]
    assert "checkout.session.completed" in {event["type"] for event in arrived}


def _answer(sandbox: Sandbox, request: re.Match[str], ids: dict[str, str]) -> httpx.Response:
    def filled(text: str) -> str:
        return PLACEHOLDER.sub(lambda found: ids[found[1]], text).replace("http://127.0.0.1:4747", sandbox.url)

    headers = dict(line.split(": ") for line in request["headers"].splitlines())
    body = json.loads(filled(request["body"])) if request["body"] else None
    answer = sandbox.api.request(request["method"], filled(request["path"]), headers=headers, json=body)
    assert answer.is_success, answer.text
    return answer


def test_it_has_a_section_for_whatever_every_client_needs() -> None:
    headings = re.findall("^## (.*)$", bundles.load("service-3.0")["info"]["description"], re.MULTILINE)
    assert {"Authentication", "Errors", "Idempotency", "Pagination", "Webhooks", "Test values"} <= set(headings)
