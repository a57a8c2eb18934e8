"""The documents that are served say what the written ones say, in a form that strict readers and generators accept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from openapi_schema_validator import OAS30Validator

from contract_tests.contract.document.judges import Validator31
from emulator.document import bundles
from emulator.document.published import CODES, LIMITS, published, to_openapi_3_0, to_openapi_3_1
from emulator.document.tree import resolve, with_if, with_kinds, with_not
from emulator.ui.buyer.forms import FIELDS
from emulator.ui.buyer.payables import State
from emulator.ui.buyer.request import KINDS
from emulator.web.validation import FORMATS

SERVED = [f"{source}-{version}" for source in bundles.SOURCES for version in ("3.0", "3.1")]
STANDARD_FORMATS = {"date-time", "date", "email", "uri"}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from nodes(item)
    elif isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)


def schema_of(written: dict[str, Any], **others: Any) -> dict[str, Any]:
    document = {"info": {}, "paths": {}, "components": {"schemas": {"A": written, **others}}}
    schema: dict[str, Any] = to_openapi_3_0(with_not(published(document)))["components"]["schemas"]["A"]
    return schema


def twin_of(written: dict[str, Any]) -> dict[str, Any]:
    document = {"info": {}, "paths": {}, "components": {"schemas": {"A": written}}}
    schema: dict[str, Any] = to_openapi_3_1(with_if(published(document)))["components"]["schemas"]["A"]
    return schema


REF = {"$ref": "#/components/schemas/B"}
OTHERS = [
    {"type": "object", "properties": {"x": {"type": "string"}}},
    {"type": "string", "enum": ["a"]},
    {"type": "string", "format": "date-time"},
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_strict_validator_allows_null_beside_a_reference(other: dict[str, Any]) -> None:
    schema = schema_of({"nullable": True, "allOf": [REF]}, B=other)
    resolved = {**schema, "anyOf": [other, *schema["anyOf"][1:]]} if "anyOf" in schema else schema
    assert OAS30Validator(resolved).is_valid(None)
    assert not OAS30Validator(resolved).is_valid(0)


@pytest.mark.parametrize("name", SERVED)
def test_each_schema_is_referred_to(name: str) -> None:
    """Generators make a type of each, and linters warn of one that nothing uses."""
    document = bundles.load(name)
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert document["components"]["schemas"].keys() - referred == set()


def test_an_exclusive_bound_is_no_flag() -> None:
    flags = {"exclusiveMinimum": True, "exclusiveMaximum": False}
    schema = schema_of({"type": "number", "minimum": 0, "maximum": 9, **flags})
    assert schema == {"type": "number", "minimum": 0, "maximum": 9, "not": {"enum": [0]}}
    assert [value for value in (-1, 0, 0.1, 9) if OAS30Validator(schema).is_valid(value)] == [0.1, 9]


@pytest.mark.parametrize("name", [name for name in SERVED if name.endswith("3.0")])
def test_nullable_stands_beside_a_type_and_an_enumeration_beside_it_has_null(name: str) -> None:
    for node in nodes(bundles.load(name)["components"]["schemas"]):
        if node.get("nullable") is True:
            assert "type" in node, node
            assert None in node.get("enum", [None]), node


@pytest.mark.parametrize("name", SERVED)
def test_each_default_is_published_and_no_link_has_a_body(name: str) -> None:
    """B-26: by the field, or by the schema of the object that it refers to; openapi-python-client rejects such a field."""
    document = bundles.load(name)
    written = bundles.load(name.removesuffix("-3.0").removesuffix("-3.1"))["components"]["schemas"]
    checked = 0
    for kind, schema in document["components"]["schemas"].items():
        for field, part in schema.get("properties", {}).items():
            wanted = written.get(kind, {}).get("properties", {}).get(field, {}).get("default")
            if wanted is not None:
                target = part if "default" in part else resolve(document, part["allOf"][0])
                assert target["default"] == wanted, f"{kind}.{field}"
                assert not (isinstance(part.get("default"), dict) and "allOf" in part)
                checked += 1
    assert checked > (30 if "service" in name else 0)
    links = (link for node in nodes(document["paths"]) for link in node.get("links", {}).values())
    assert [link for link in links if "requestBody" in link] == []


@pytest.mark.parametrize("name", SERVED)
def test_where_a_date_will_do_for_an_instant_the_schema_says_so(name: str) -> None:
    """B-17, B-26: in bodies and in filters; an instant that is shown is a ``date-time``."""
    taken = [node for node in nodes(bundles.load(name)) if {"date", "date-time"} <= formats(node.get("anyOf", ()))]
    assert len(taken) >= (0 if "pages" in name else 2)
    if "service" in name:
        service = bundles.load(name)
        schemas = service["components"]["schemas"]
        fields = (
            ("SubscriptionCreate", "ends_at"),
            ("PaymentLinkCreate", "expires_at"),
            ("PaymentLinkUpdate", "expires_at"),
        )
        assert all(schemas[kind]["properties"][field] in taken for kind, field in fields)
        parameters = service["components"]["parameters"]
        assert all(parameters[name]["schema"] in taken for name in ("CreatedAfter", "CreatedBefore"))
        shown = resolve(service, {"$ref": "#/components/schemas/Timestamp"})
        assert shown["format"] == "date-time"


def formats(choices: Any) -> set[str]:
    return {each.get("format") for each in choices}


@pytest.mark.parametrize("name", SERVED)
def test_an_instant_has_no_pattern(name: str) -> None:
    """The client that openapi-generator makes for PHP makes objects of instants, and then checks their pattern."""
    instants = [node for node in nodes(bundles.load(name)) if node.get("format") == "date-time"]
    assert instants
    assert [node for node in instants if "pattern" in node] == []


def test_each_format_of_our_own_has_a_pattern_or_its_values() -> None:
    named = {name for name in LIMITS if "pattern" in LIMITS[name]} | CODES.keys()
    assert named >= FORMATS.keys() - STANDARD_FORMATS


@pytest.mark.parametrize(
    ("body", "is_valid"),
    [
        ({}, False),
        ({"plan": "p"}, True),
        ({"interval": "month"}, False),
        ({"interval": "month", "unit_amount": 1}, True),
    ],
)
def test_a_field_that_is_required_unless_another_is_given(body: dict[str, Any], is_valid: bool) -> None:
    unless = {"unit_amount": {"required": ["plan"]}, "interval": {"required": ["plan"]}}
    written = {"type": "object", "x-required-unless": unless}
    assert OAS30Validator(schema_of(written)).is_valid(body) is is_valid
    assert twin_of(written) == {
        "type": "object",
        "if": {"not": {"required": ["plan"]}},
        "then": {"required": ["unit_amount", "interval"]},
    }
    assert Validator31(twin_of(written)).is_valid(body) is is_valid


@pytest.mark.parametrize("version", ["3.0", "3.1"])
def test_each_type_of_payment_method_has_a_schema_that_names_its_fields(version: str) -> None:
    """Generators make a type of each of ``oneOf``; of a ``not`` they make nothing, or classes without a name."""
    schemas = bundles.load(f"service-{version}")["components"]["schemas"]
    kinds = [resolve({"components": {"schemas": schemas}}, each) for each in schemas["PaymentMethodCreate"]["oneOf"]]
    own = {
        kind["properties"]["type"]["enum"][0]: kind["properties"].keys()
        - {"customer", "type", "is_default", "metadata"}
        for kind in kinds
    }
    assert own == {
        "mobile_money": {"phone"},
        "bank_card": {"number", "exp_month", "exp_year", "cvc"},
        "bank_transfer": {"iban"},
        "paypal": {"email"},
    }
    for kind in kinds:
        assert own[kind["properties"]["type"]["enum"][0]] | {"customer", "type"} == set(kind["required"])
        assert kind["additionalProperties"] is False


@pytest.mark.parametrize(
    ("then", "written"),
    [
        ({"not": {"required": ["y"]}}, {"required": ["x", "y"]}),
        ({"not": {"anyOf": [{"required": ["y"]}]}}, {"required": ["x"], "anyOf": [{"required": ["y"]}]}),
        ({"required": ["y"]}, {"required": ["x"], "not": {"required": ["y"]}}),
    ],
)
def test_no_not_is_within_a_not_where_there_is_a_way(then: dict[str, Any], written: dict[str, Any]) -> None:
    condition = {"if": {"required": ["x"]}, "then": then}
    assert schema_of({"type": "object", "x-conditions": [condition]})["not"]["anyOf"] == [written]


@pytest.mark.parametrize(
    "conditions",
    [
        [{"if": {"properties": {"kind": {"enum": ["a"]}}}, "then": {"required": ["x"]}}],
        [{"if": {"required": ["kind"]}, "then": {"required": ["x"], "not": {"anyOf": [{"required": ["y"]}]}}}],
    ],
)
def test_conditions_that_do_not_tell_kinds_apart_stay(conditions: list[dict[str, Any]]) -> None:
    document = {"components": {"schemas": {"A": {"type": "object", "x-conditions": conditions}}}}
    assert with_kinds(document) == document


@pytest.mark.parametrize(
    ("body", "is_valid"),
    [({}, True), ({"kind": "a"}, False), ({"kind": "a", "x": 1}, True), ({"kind": "b"}, False), ({"kind": "c"}, True)],
)
def test_conditions_that_exclude_each_other_are_a_chain(body: dict[str, Any], is_valid: bool) -> None:
    is_a, is_b = ({"required": ["kind"], "properties": {"kind": {"enum": [kind]}}} for kind in "ab")
    conditions = [{"if": is_a, "then": {"required": ["x"]}}, {"if": is_b, "then": {"required": ["y"]}}]
    written = {"type": "object", "x-conditions": conditions}
    assert OAS30Validator(schema_of(written)).is_valid(body) is is_valid
    assert Validator31(twin_of(written)).is_valid(body) is is_valid


def test_in_a_chain_of_conditions_only_one_can_apply() -> None:
    """``else`` would leave out the second of two that apply."""
    document = bundles.load("service-3.1")
    chains = [schema for schema in document["components"]["schemas"].values() if "else" in schema]
    assert chains
    for schema in chains:
        [names, *others] = [each["if"]["properties"].keys() for each in chain_of(schema)]
        [name] = names
        assert all(other == names for other in others)
        values = [value for each in chain_of(schema) for value in each["if"]["properties"][name]["enum"]]
        assert len(values) == len(set(values))


def chain_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema with ``if``, and those that follow it under ``else``."""
    while "if" in schema:
        yield schema
        schema = schema.get("else", {})


def test_no_extension_repeats_a_condition() -> None:
    written = {key for name in SERVED for node in nodes(bundles.load(name)) for key in node}
    assert written & {"x-conditions", "x-required-unless", "x-rejected"} == set()


@pytest.mark.parametrize("name", ["service-3.0", "service-3.1"])
def test_each_sandbox_operation_is_marked_and_says_what_to_use_instead(name: str) -> None:
    document = bundles.load(name)
    tags = {tag["name"] for tag in document["tags"] if tag.get("x-sandbox-only")}
    operations = [each for item in document["paths"].values() for each in item.values() if isinstance(each, dict)]
    marked = [each for each in operations if each.get("x-sandbox-only")]
    assert marked == [each for each in operations if tags.intersection(each.get("tags", ()))] != []
    assert all(each["x-use-instead"] in each["description"] for each in marked)


def test_any_event_is_one_schema_and_what_a_new_webhook_is_sent() -> None:
    document = bundles.load("service-3.1")
    any_event = document["components"]["schemas"]["AnyEvent"]
    assert any_event["discriminator"]["mapping"].keys() == document["webhooks"].keys()
    ids = [item["post"]["operationId"] for item in document["webhooks"].values()]
    assert len(set(ids)) == len(document["webhooks"])
    [callback] = document["paths"]["/webhooks/"]["post"]["callbacks"]["event"].values()
    body = callback["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/AnyEvent"}


# The pages


def test_the_page_of_each_kind_is_documented() -> None:
    """Every answer that a test gets from one is held against the document: ``contract_tests/surfaces/coverage/watch.py``."""
    document = bundles.load("pages")
    assert {path.split("/")[1] for path in document["paths"]} == KINDS.keys() | {"receipt"}
    schemas = document["components"]["schemas"]
    assert schemas["PaymentPage"]["properties"]["state"]["enum"] == list(get_args(State))
    fields = set().union(*FIELDS.values()) | {"name", "email", "product", "amount", "quantity"}
    assert schemas["PaymentForm"]["properties"].keys() == fields | {"token", "do", "payment", "method"}
