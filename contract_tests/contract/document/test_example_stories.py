"""The examples of a document agree, each in itself and with the others: ids, amounts, counts and instants."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.reader import (
    Document,
    Operation,
    Part,
    examples,
    operations,
    parameters,
    resolved,
)
from emulator.document.tree import fragment

PREFIXES = {
    "app": "app",
    "customer": "cust",
    "address": "addr",
    "product": "prod",
    "subscription_plan": "plan",
    "plan": "plan",
    "subscription": "sub",
    "security_profile": "sp",
    "invoice": "inv",
    "refund": "refd",
    "checkout_session": "sess",
    "payment_link": "link",
    "transaction": "trans",
    "webhook_endpoint": "wh",
    "webhook": "wh",
    "webhook_delivery": "whd",
    "event": "evt",
    "request": "req",
    "request_id": "req",
    "payment_intent": "pi",
    "payment_method": "meth",
    "receipt": "rcpt",
    "email": "mail",
    "clock_advance": "adv",
}
"""How the ids of each kind begin (B-18), and of each field that holds the id of another object."""

ID = re.compile(r"[a-z]+_[0-9A-Za-z]{24}")

LASTING = ("amount", "app", "currency", "created_at", "email", "livemode", "transaction", "type", "url")
"""Fields that no request changes, or none in the documents' story: every example of one object shows the same."""

LATER = ("updated_at", "canceled_at", "processed_at", "refunded_at", "expires_at", "current_period_end", "ends_at")
"""Instants that are not before the creation."""


class Shown(NamedTuple):
    """An object as an example shows it, at any depth."""

    place: str
    value: dict[str, Any]


@pytest.fixture(scope="session")
def shown(document: Document) -> list[Shown]:
    """Every object of every example."""
    return [each for example in examples(document) for each in _objects(fragment(example.pointer), example.value)]


def _objects(place: str, value: Any) -> Iterator[Shown]:
    if isinstance(value, dict):
        yield Shown(place, value)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from _objects(f"{place}/{key}", child)


def test_an_id_begins_as_those_of_its_kind(shown: list[Shown]) -> None:
    wrong = [
        f"{place}: {field} is {id}"
        for place, value in shown
        for field, id in value.items()
        if isinstance(id, str)
        and ID.fullmatch(id)
        and (kind := value.get("object") if field == "id" else field) in PREFIXES
        and _prefix(id) != PREFIXES[kind]
    ]
    assert wrong == []


def test_amounts_add_up(shown: list[Shown]) -> None:
    wrong = [f"{place}: {fact}" for place, value in shown for fact in _false_sums(value)]
    assert wrong == []


def _false_sums(value: dict[str, Any]) -> Iterator[str]:
    number = {key: each for key, each in value.items() if isinstance(each, int | float)}
    sums = {
        "subtotal": lambda: sum(line["amount"] for line in value["line_items"]),
        "amount_subtotal": lambda: sum(line["amount_total"] for line in value["line_items"]),
        "amount_total": lambda: sum(line["amount"] for line in value["lines"]) or number["amount_total"],
        "total": lambda: number["subtotal"] - number["discount_amount"] + number["tax_amount"],
        "amount_remaining": lambda: number["total"] - number["amount_paid"],
        "net_amount": lambda: number["amount"] - number["fee"] - number["commission"],
        "fee": lambda: round(number["amount"] * number["fee_rate"] / 100),
    }
    if {"quantity", "unit_amount"} <= value.keys():
        sums |= {key: lambda: number["quantity"] * number["unit_amount"] for key in ("amount", "amount_total")}
    for key, compute in sums.items():
        try:
            right = compute()
        except KeyError:
            continue
        if key in number and number[key] != right:
            yield f"{key} is {number[key]}, not {right}"


def test_lists_count_what_they_hold(shown: list[Shown]) -> None:
    lists = [(place, value["data"], value["pagination"]) for place, value in shown if "pagination" in value]
    wrong = [f"{place}: {len(data)} of {page}" for place, data, page in lists if not _is_page(data, page)]
    assert wrong == []


def _is_page(data: list[Any], page: dict[str, Any]) -> bool:
    """Return whether this many objects are on such a page."""
    is_only_one = page["next"] is None and page["previous"] is None
    pages = -(-page["count"] // page["page_size"])
    return page["total_pages"] == max(pages, 1) and (page["count"] == len(data) or not is_only_one)


def test_nothing_happens_before_it_was_made(shown: list[Shown]) -> None:
    wrong = [
        f"{place}: {field} {value[field]} is before {value['created_at']}"
        for place, value in shown
        for field in LATER
        if value.get("created_at") and value.get(field) and _instant(value[field]) < _instant(value["created_at"])
    ]
    assert wrong == []


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_one_object_is_the_same_in_every_example(shown: list[Shown]) -> None:
    seen: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place, value in shown:
        if "id" in value and "object" in value:
            for field in LASTING:
                if value.get(field) is not None:
                    seen[value["id"], field][repr(value[field])].add(place)
    assert {key: dict(values) for key, values in seen.items() if len(values) > 1} == {}


SAME_MONEY = (
    ("checkout_session", "amount_total", "payment_intent", "amount"),
    ("transaction", "amount", "payment_intent", "amount"),
    ("receipt", "amount", "transaction", "amount"),
)
"""An amount of one object, the field that refers to another one, and the same amount there."""


def test_an_amount_is_the_same_in_the_object_that_it_comes_from(shown: list[Shown]) -> None:
    known = {value["id"]: value for _, value in shown if {"id", "object", "amount"} <= value.keys()}
    wrong = [
        f"{place}: {value[amount]}, but {value[other]} has {known[value[other]][theirs]}"
        for kind, amount, other, theirs in SAME_MONEY
        for place, value in shown
        if value.get("object") == kind and value.get(other) in known and value[amount] != known[value[other]][theirs]
    ]
    assert wrong == []


def test_what_is_sent_and_asked_for_is_what_is_answered(document: Document) -> None:
    wrong = [fact for operation in operations(document) for fact in _contradictions(document, operation)]
    assert wrong == []


def _contradictions(document: Document, operation: Operation) -> Iterator[str]:
    """Yield where the example of an answer is not about the object of the path, or has not what the body's example sends."""
    answer = next((each for each in _answers(document, operation)), None)
    if not isinstance(answer, dict):
        return
    asked = {
        each["name"]: each["example"]
        for each in parameters(document, operation)
        if each["in"] == "path" and "example" in each
    }
    ids = [id for id in asked.values() if isinstance(id, str) and ID.fullmatch(id)]
    if (
        ids
        and isinstance(answer.get("id"), str)
        and _prefix(answer["id"]) == _prefix(ids[-1])
        and answer["id"] != ids[-1]
    ):
        yield f"{operation.name}: asked for {ids[-1]}, answered {answer['id']}"
    for field, sent in _body(document, operation).items():
        is_reference = ID.fullmatch(str(answer.get(field))) and not ID.fullmatch(str(sent))
        if field in answer and not is_reference and not _agrees(sent, answer[field]):
            yield f"{operation.name}: sent {field} {sent}, answered {answer[field]}"


def _prefix(id: str) -> str:
    return id.split("_", maxsplit=1)[0]


def _agrees(sent: Any, answered: Any) -> bool:
    """Return whether an answer has what was sent: of objects the fields sent, lists of objects field by field."""
    if isinstance(sent, dict) and isinstance(answered, dict):
        return all(each is None or (key in answered and _agrees(each, answered[key])) for key, each in sent.items())
    if isinstance(sent, list) and isinstance(answered, list):
        return len(sent) == len(answered) and all(map(_agrees, sent, answered))
    return bool(sent == answered)


def _body(document: Document, operation: Operation) -> dict[str, Any]:
    if "requestBody" not in operation.node:
        return {}
    body = resolved(document, Part((*operation.pointer, "requestBody"), operation.node["requestBody"])).node
    sent = body["content"].get("application/json", {}).get("example", {})
    return sent if isinstance(sent, dict) else {}


def _answers(document: Document, operation: Operation) -> Iterator[Any]:
    for status, response in operation.node["responses"].items():
        if status.startswith("2"):
            node = resolved(document, Part((*operation.pointer, "responses", status), response)).node
            media = node.get("content", {}).get("application/json", {})
            if "example" in media:
                yield media["example"]
