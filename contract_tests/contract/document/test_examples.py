"""Examples match their schemas and agree in themselves and together: ids, amounts, instants."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from contract_tests.contract.document.reader import Document, examples, operations, parts, responses
from contract_tests.support.contract import contract
from contract_tests.support.sandbox import CARD, Sandbox
from emulator.document import bundles
from emulator.document.tree import fragment


@pytest.mark.parametrize("name", bundles.SOURCES)
def test_every_example_matches_its_schema(name: str) -> None:
    """And shows nothing that the schema does not know."""
    judge, document = contract(name), contract(name).document
    every = list(examples(document))
    assert len(every) > 20
    for example in every:
        assert judge.judge.faults(example.schema, example.value) == [], fragment(example.pointer)
        assert list(judge.undeclared(example.schema, example.value)) == [], fragment(
            example.pointer
        )


def test_every_json_body_has_an_example(document: Document) -> None:
    bodies = [
        part for part in parts(document) if part.pointer[-2:] == ("content", "application/json")
    ]
    assert bodies
    assert [
        fragment(part.pointer) for part in bodies if not {"example", "examples"} & part.node.keys()
    ] == []


def test_an_error_example_has_the_status_it_stands_under(service: Document) -> None:
    bodies = [
        (f"{operation.name} {status}", status, example)
        for operation in operations(service)
        for status, response in responses(service, operation)
        if status >= "400"
        for media in response.node["content"].values()
        for example in (
            media.get("example"),
            *(example["value"] for example in media.get("examples", {}).values()),
        )
        if example
    ]
    assert len(bodies) > 87
    assert [
        name
        for name, status, body in bodies
        if "error" not in body and str(body["status"]) != status
    ] == []


# -- The introduction of the service's document: its first checkout works as it is written


BLOCK = re.compile(
    r"```http\n(?P<method>\S+) /v1(?P<path>\S+)\n(?P<headers>(?:\S+:"
    r" .*\n)*)(?:\n(?P<body>[^`]*))?```"
)
PLACEHOLDER = re.compile(r"\b([a-z]+_)…")


def test_the_first_checkout_ends_with_a_session_that_is_complete(sandbox: Sandbox) -> None:
    introduction = bundles.load("service-3.0")["info"]["description"]
    headings = re.findall("^## (.*)$", introduction, re.MULTILINE)
    assert {
        "Authentication",
        "Errors",
        "Idempotency",
        "Pagination",
        "Webhooks",
        "Test values",
    } <= set(headings)
    ids: dict[str, str] = {}
    response: Any = {}
    requests = list(BLOCK.finditer(introduction))
    assert len(requests) == 5
    for request in requests:
        if request["method"] == "GET":
            sandbox.control.post(f"/checkout-sessions/{response['id']}/pay", {"method": CARD})
        response = _response(sandbox, request, ids).json()
        ids[response["id"].partition("_")[0] + "_"] = response["id"]
    assert (response["status"], response["amount_total"]) == ("complete", 30000)
    sandbox.control.post("/clock/advance", {"by": "1s"})
    arrived = [
        json.loads(delivery["body"]) for delivery in sandbox.control.get("/inbox/shop")["data"]
    ]
    assert "checkout.session.completed" in {event["type"] for event in arrived}


def _response(sandbox: Sandbox, request: re.Match[str], ids: dict[str, str]) -> httpx.Response:
    def filled(text: str) -> str:
        return PLACEHOLDER.sub(lambda placeholder: ids[placeholder[1]], text).replace(
            "http://127.0.0.1:4747", sandbox.url
        )

    headers = dict(line.split(": ") for line in request["headers"].splitlines())
    body = json.loads(filled(request["body"])) if request["body"] else None
    response = sandbox.api.request(
        request["method"], filled(request["path"]), headers=headers, json=body
    )
    assert response.is_success, response.text
    return response


# -- the examples of a document tell one story


KINDS = """
app:app customer:cust address:addr product:prod subscription_plan:plan plan:plan subscription:sub
security_profile:sp invoice:inv refund:refd checkout_session:sess payment_link:link
transaction:trans webhook_endpoint:wh webhook:wh webhook_delivery:whd event:evt request:req
request_id:req payment_intent:pi payment_method:meth receipt:rcpt email:mail clock_advance:adv
"""
PREFIXES = dict(pair.split(":") for pair in KINDS.split())
"""How the ids of each kind begin (B-18), and of each field that holds the id of another object."""

ID = re.compile(r"[a-z]+_[0-9A-Za-z]{24}")

LATER = (
    "updated_at",
    "canceled_at",
    "processed_at",
    "refunded_at",
    "expires_at",
    "current_period_end",
    "ends_at",
)
"""Instants that are not before the creation."""


def test_an_example_agrees_with_itself(document: Document) -> None:
    """Ids have their kind's prefix; amounts, counts and the order of instants are right."""
    objects = [
        (fragment(example.pointer), value)
        for example in examples(document)
        for value in _objects(example.value)
    ]
    assert [
        f"{place}: {fault}" for place, value in objects for fault in _contradictions(value)
    ] == []


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield each object as an example shows it, at any depth."""
    if isinstance(value, dict):
        yield value
    for child in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _objects(child)


def _contradictions(value: dict[str, Any]) -> Iterator[str]:
    for field, id in value.items():
        kind = value.get("object") if field == "id" else field
        if (
            isinstance(id, str)
            and ID.fullmatch(id)
            and kind in PREFIXES
            and _prefix(id) != PREFIXES[kind]
        ):
            yield f"{field} is {id}"
    for key, compute in _sums(value).items():
        try:
            right = compute()
        except KeyError:
            continue
        if value.get(key, right) != right:
            yield f"{key} is {value[key]}, not {right}"
    if "pagination" in value and not _is_page(len(value["data"]), value["pagination"]):
        yield f"{len(value['data'])} of {value['pagination']}"
    since = value.get("created_at")
    yield from (
        f"{field} is before {since}"
        for field in LATER
        if since and value.get(field) and value[field] < since
    )


def _is_page(count: int, page: dict[str, Any]) -> bool:
    is_only_one = page["next"] is None and page["previous"] is None
    pages = max(-(-page["count"] // page["page_size"]), 1)
    return page["total_pages"] == pages and (page["count"] == count or not is_only_one)


def _sums(value: dict[str, Any]) -> dict[str, Any]:
    number = {key: number for key, number in value.items() if isinstance(number, int | float)}
    sums = {
        "subtotal": lambda: sum(line["amount"] for line in value["line_items"]),
        "amount_subtotal": lambda: sum(line["amount_total"] for line in value["line_items"]),
        "amount_total": lambda: (
            sum(line["amount"] for line in value["lines"]) or number["amount_total"]
        ),
        "total": lambda: number["subtotal"] - number["discount_amount"] + number["tax_amount"],
        "amount_remaining": lambda: number["total"] - number["amount_paid"],
        "net_amount": lambda: number["amount"] - number["fee"] - number["commission"],
        "fee": lambda: round(number["amount"] * number["fee_rate"] / 100),
    }
    if {"quantity", "unit_amount"} <= value.keys():
        sums |= {
            key: lambda: number["quantity"] * number["unit_amount"]
            for key in ("amount", "amount_total")
        }
    return {key: compute for key, compute in sums.items() if key in number}


def _prefix(id: str) -> str:
    return id.split("_", maxsplit=1)[0]
