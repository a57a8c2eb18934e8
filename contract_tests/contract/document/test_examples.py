"""Every example matches its schema, formats included, and shows nothing that the schema does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx

from contract_tests.contract.document.formats import FORMATS
from contract_tests.contract.document.judges import Judge
from contract_tests.contract.document.reader import (
    Document,
    Part,
    at,
    examples,
    operations,
    parts,
    properties,
    resolved,
    responses,
)
from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles
from emulator.document.tree import fragment


def test_every_example_matches_its_schema(document: Document, judge: Judge) -> None:
    every = list(examples(document))
    assert len(every) > 20
    faults = {fragment(each.pointer): judge.faults(each.schema, each.value) for each in every}
    assert {place: found for place, found in faults.items() if found} == {}


def test_no_example_shows_a_field_its_schema_does_not_know(document: Document) -> None:
    every = list(examples(document))
    assert every
    shown = [_strangers(document, Part(each.schema, at(document, each.schema)), each.value) for each in every]
    assert [place for places in shown for place in places] == []


def _strangers(document: Document, schema: Part, value: Any) -> Iterator[str]:
    """Yield the fields of a value, at any depth, that its schema leaves undeclared without meaning to."""
    schema = resolved(document, schema)
    if isinstance(value, list) and "items" in schema.node:
        for item in value:
            yield from _strangers(document, Part((*schema.pointer, "items"), schema.node["items"]), item)
    known = properties(document, schema)
    if isinstance(value, dict) and known and not isinstance(schema.node.get("additionalProperties"), dict):
        yield from (f"{fragment(schema.pointer)}: {name}" for name in value.keys() - known)
        for name in value.keys() & known:
            yield from _strangers(document, known[name], value[name])


def test_examples_of_errors_and_of_parameters_are_among_them(service: Document) -> None:
    places = [each.pointer for each in examples(service)]
    for kind in ("schemas", "parameters", "headers", "responses"):
        assert sum(place[:2] == ("components", kind) for place in places) > 2, kind
    assert sum(place[0] == "paths" and "requestBody" in place for place in places) > 20
    assert sum(place[0] == "paths" and "responses" in place for place in places) > 40
    assert sum(place[0] == "x-webhooks" for place in places) >= 14


def test_every_json_body_has_an_example(document: Document) -> None:
    bodies = [part for part in parts(document) if part.pointer[-2:] == ("content", "application/json")]
    assert bodies
    assert [fragment(part.pointer) for part in bodies if not {"example", "examples"} & part.node.keys()] == []


def test_an_error_example_has_the_status_it_stands_under(service: Document) -> None:
    shown = [
        (f"{operation.name} {status}", status, example)
        for operation in operations(service)
        for status, response in responses(service, operation)
        if status >= "400"
        for example in _values(response)
    ]
    assert len(shown) > 87
    wrong = [name for name, status, example in shown if "error" not in example and str(example["status"]) != status]
    assert wrong == []


def _values(response: Part) -> Iterator[dict[str, Any]]:
    for media in response.node["content"].values():
        yield from [media["example"]] if "example" in media else ()
        yield from (example["value"] for example in media.get("examples", {}).values())


GOOD_AND_BAD = {
    "date-time": ("2026-01-31T10:00:00.000Z", "2026-01-31T10:00:00"),
    "date": ("2026-01-31", "2026-02-30"),
    "email": ("ada@example.com", "ada"),
    "uri": ("http://127.0.0.1:8000/hook", "/hook"),
    "https-uri": ("https://example.com/a.png", "http://example.com/a.png"),
    "page-url": ("http://localhost:3000/cart", "http://example.com/cart"),
    "app-url": ("myapp://thanks/{CHECKOUT_SESSION_ID}", "ftp://example.com"),
    "currency": ("XAF", "xaf"),
    "country": ("GA", "Gabon"),
    "e164": ("+24177000000", "077000000"),
    "ipv4-network": ("10.0.0.0/8", "10.0.0.1/8"),
    "domain": ("shop.example.com", "https://shop.example.com"),
    "not-blank": (" Awa ", "  "),
}


def test_the_formats_distinguish_good_from_bad() -> None:
    assert set(GOOD_AND_BAD) | {"binary"} == set(FORMATS)
    verdicts = {name: (FORMATS[name](good), FORMATS[name](bad)) for name, (good, bad) in GOOD_AND_BAD.items()}
    assert verdicts == dict.fromkeys(GOOD_AND_BAD, (True, False))


# -- The introduction of the service's document: its first checkout works as it is written


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
