"""The documents as a whole: valid, and with the operations that the specification names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

from contract_tests.contract.document import specification
from contract_tests.contract.document.reader import Document, Operation, operations, parameters
from contract_tests.support.sandbox import Sandbox
from emulator.core.event_types import EVENTS, EventSpec
from emulator.core.limits import ITEMS, STRING
from emulator.document import bundles
from emulator.document.bundle import BOUNDED, COMPONENT_FOLDERS, FINITE
from emulator.document.event_schemas import object_kinds, with_enumerations, with_events
from emulator.document.paths import openapi_folder
from emulator.document.tree import DocumentError, resolve
from emulator.engine.reference_data import numbered_assumptions
from emulator.web.routing import definitions


def test_it_is_openapi_3_0(document: Document) -> None:
    assert document["openapi"] == "3.0.3"
    assert [error.message for error in OpenAPIV30SpecValidator(document).iter_errors()] == []


def test_its_twin_is_openapi_3_1(twin: Document) -> None:
    assert twin["openapi"] == "3.1.0"
    assert [error.message for error in OpenAPIV31SpecValidator(twin).iter_errors()] == []


def test_every_part_is_used(documents: dict[str, Document]) -> None:
    """A part that no document reaches goes stale unseen."""
    used = {
        (kind, name) for document in documents.values() for kind, of in document["components"].items() for name in of
    }
    parts = set(_written_components())
    assert len(parts) > 150
    assert parts - used == set()


def _written_components() -> Iterator[tuple[str, str]]:
    """Kind and name of every component that is written in a file."""
    for path in openapi_folder().rglob("*.yaml"):
        if path.parent.name in COMPONENT_FOLDERS:
            yield path.parent.name, path.stem
        else:
            for kind, named in (yaml.safe_load(path.read_text("utf-8")).get("components") or {}).items():
                yield from ((kind, name) for name in named)


def test_the_service_has_the_operations_of_the_specification(service: Document) -> None:
    documented, added = specification.table(specification.DOCUMENTED), specification.table(specification.ADDED)
    assert (len(documented), len(added)) == (75, 12)
    assert Counter(documented + added) <= Counter((each.method, each.path) for each in operations(service))


def test_what_is_added_to_the_specification_says_so(service: Document) -> None:
    unmarked = {(each.method, each.path) for each in operations(service) if "x-assumption" not in each.node}
    assert unmarked <= set(specification.table(specification.DOCUMENTED))


def test_paths_of_the_service_end_with_a_slash(service: Document) -> None:
    assert [path for path in service["paths"] if not re.fullmatch(r"(/[a-z{}_-]+)+/", path)] == ["/reset"]


def test_the_webhooks_are_the_event_types_of_the_specification(service: Document) -> None:
    webhooks = service["x-webhooks"]
    assert len(specification.EVENT_TYPES) == 14
    assert specification.EVENT_TYPES - set(webhooks) == set()
    others = [each for each in operations(service, "x-webhooks") if each.path not in specification.EVENT_TYPES]
    assert [each.path for each in others if "x-assumption" not in each.node] == []


def test_operation_ids_are_unique_and_camel_case(document: Document) -> None:
    every = [*operations(document), *operations(document, "x-webhooks")]
    ids = [each.node["operationId"] for each in every if "operationId" in each.node]
    assert {each.node["operationId"] for each in operations(document)} <= set(ids)
    assert ids
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert [name for name in ids if not re.fullmatch(r"[a-z]+([A-Z][a-z0-9]+)*", name)] == []


def test_every_operation_has_one_declared_tag(document: Document) -> None:
    tags = [each.node["tags"] for each in operations(document)]
    assert tags
    assert {len(of) for of in tags} == {1}
    of_events = {tag for each in operations(document, "x-webhooks") for tag in each.node["tags"]}
    assert of_events <= {"Events"}, "clients of generators put what shares a tag into one file"
    assert {tag for (tag,) in tags} | of_events == {tag["name"] for tag in document["tags"]}


def test_every_operation_has_a_summary_and_a_description(document: Document) -> None:
    assert [each.name for each in operations(document) if not 0 < len(each.node["summary"]) <= 60] == []
    assert [each.name for each in operations(document) if not each.node.get("description")] == []


def test_security_schemes_in_use_are_declared(document: Document) -> None:
    declared = set(document["components"].get("securitySchemes", {}))
    asked = [document.get("security", []), *(each.node.get("security", []) for each in operations(document))]
    names = {name for requirements in asked for requirement in requirements for name in requirement}
    assert names - declared == set()
    assert declared - names == set()


def test_every_operation_of_the_service_asks_for_a_key(service: Document) -> None:
    assert service["security"] == [{"secretKey": []}]
    assert [each.name for each in operations(service) if each.node.get("security") == []] == []


def test_every_post_of_the_service_takes_an_idempotency_key(service: Document) -> None:
    posts = [each for each in operations(service) if each.method == "POST"]
    assert len(posts) > 30
    assert [each.name for each in posts if "Idempotency-Key" not in _names(service, each, "header")] == []


def test_the_parameters_of_a_path_are_those_in_its_braces(document: Document) -> None:
    wanted = [(each, set(re.findall(r"{(\w+)}", each.path))) for each in operations(document)]
    assert wanted
    assert [each.name for each, names in wanted if _names(document, each, "path") != names] == []


def _names(document: Document, operation: Operation, place: str) -> set[str]:
    return {each["name"] for each in parameters(document, operation) if each["in"] == place}


def test_assumptions_name_an_assumption(document: Document) -> None:
    marks = list(_marks(document))
    assert marks
    assert set(marks) - numbered_assumptions().keys() == set()


def _marks(node: Any) -> Iterator[Any]:
    """Yield every value of an ``x-assumption``, one at a time where there is a list."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if isinstance(node, dict):
        mark = node.get("x-assumption", [])
        yield from mark if isinstance(mark, list) else [mark]
        for child in node.values():
            yield from _marks(child)


# -- What the documents say of events is made from the table of events: a row is all that an event needs


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


# -- Bounds: no array and no string of a request is without one, and the sandbox's own hold (B-26)


class Field(NamedTuple):
    """One place of a request body, by operation and dotted path."""

    operation: str
    path: str
    schema: dict[str, Any]


def fields(document: str) -> Iterator[Field]:
    for operation, definition in definitions(bundles.load(document)).items():
        for media in definition.get("requestBody", {}).get("content", {}).values():
            yield from _inside(Field(operation, "", media["schema"]))


def _inside(field: Field) -> Iterator[Field]:
    yield field
    operation, path, schema = field
    for name, part in schema.get("properties", {}).items():
        yield from _inside(Field(operation, f"{path}.{name}", part))
    for word in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(word, ()):
            yield from _inside(Field(operation, path, part))
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _inside(Field(operation, f"{path}.*", schema[word]))


@pytest.mark.parametrize("document", ["service", "control"])
def test_every_array_and_string_of_a_request_is_bounded(document: str) -> None:
    every = list(fields(document))
    assert len(every) > 100
    for field in every:
        if field.schema.get("type") == "array":
            of_few = field.schema.get("uniqueItems") and field.schema["items"].get("format") in FINITE
            assert of_few or "maxItems" in field.schema, field
        if field.schema.get("type") == "string":
            own = field.schema.get("format") in BOUNDED or "enum" in field.schema
            assert own or "maxLength" in field.schema, field


def test_the_bounds_hold(sandbox: Sandbox) -> None:
    url = {"cancel_url": "https://shop.example.com/" + "a" * (STRING.most - 25)}
    assert sandbox.session(**url)["cancel_url"] == url["cancel_url"]
    wrong = sandbox.session_body(cancel_url=url["cancel_url"] + "a")
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=wrong)
    assert list(error["errors"]) == ["cancel_url"]

    networks = [f"10.0.{number}.0/24" for number in range(ITEMS.most + 1)]
    profile = {"name": "Office", "allowed_ips": [*networks[1:], "127.0.0.1"]}
    error = sandbox.api.rejected("POST", "/security-profiles/", 422, "INVALID_FIELD", json=profile)
    assert list(error["errors"]) == ["allowed_ips"]
    profile["allowed_ips"] = profile["allowed_ips"][1:]
    assert len(sandbox.api.post("/security-profiles/", profile)["allowed_ips"]) == ITEMS.most
