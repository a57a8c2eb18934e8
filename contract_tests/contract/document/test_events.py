"""What the documents say of events is made from the table of events: a row is all that an event needs."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract.document.reader import Document
from emulator.core.event_types import EVENTS, EventSpec
from emulator.document.event_schemas import object_kinds, with_enumerations, with_events
from emulator.document.tree import DocumentError, resolve

PROBES = ["webhook.ping", "webhook.test"]


def enumeration(document: Document, *path: str) -> Any:
    schemas = document["components"]["schemas"]
    return (schemas[path[0]]["properties"][path[1]] if path[1:] else schemas[path[0]])["enum"]


def test_the_enumerations_are_those_of_the_table(documents: dict[str, Document]) -> None:
    service, control = documents["service"], documents["control"]
    assert list(service["x-webhooks"]) == [*EVENTS, *PROBES]
    assert enumeration(service, "EventType") == [*EVENTS, *PROBES]
    assert enumeration(service, "EventSelector") == ["*", *EVENTS]
    assert enumeration(control, "TriggerInput", "event") == [*EVENTS]
    assert enumeration(control, "ObjectKind") == object_kinds(service)


def test_a_row_becomes_a_webhook_with_a_schema_and_an_example(
    service: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = EventSpec(
        "payment_link", "A link was used", "A link was used up.", metadata="Its own.", example={"usage_count": 3}
    )
    monkeypatch.setitem(EVENTS, "payment_link.used_up", spec)
    made = with_events(service)
    webhook = made["x-webhooks"]["payment_link.used_up"]["post"]
    assert (webhook["summary"], webhook["description"]) == ("A link was used", "A link was used up.")
    media = webhook["requestBody"]["content"]["application/json"]
    assert media["schema"] == {"$ref": "#/components/schemas/PaymentLinkUsedUpEvent"}
    data = resolve(made, media["schema"])["allOf"][1]["properties"]["data"]["properties"]
    assert data["object"] == {"$ref": "#/components/schemas/PaymentLink"}
    assert data["metadata"]["description"] == "Its own."
    example = media["example"]
    assert (example["type"], example["data"]["object"]["usage_count"]) == ("payment_link.used_up", 3)
    assert example["data"]["object"]["object"] == "payment_link"


def test_a_row_about_an_object_that_is_not_documented_is_a_mistake(
    service: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EVENTS, "voucher.used", EventSpec("voucher", "A voucher was used", "A voucher was used."))
    with pytest.raises(DocumentError, match=r"voucher\.used shows .*Voucher"):
        with_events(service)


def test_only_entries_of_enumerations_are_replaced() -> None:
    node = {"enum": ["x-each-event", "b"], "example": ["x-each-event"], "properties": {"enum": {"type": "string"}}}
    filled = with_enumerations(node, {"x-each-event": ["a"]})
    assert filled == {**node, "enum": ["a", "b"]}
