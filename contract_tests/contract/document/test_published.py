"""The served documents, 3.0 and 3.1, say the same as the written ones, for strict readers."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from contract_tests.contract.document.judges import Judge
from contract_tests.contract.document.reader import (
    Document,
    Part,
    at,
    examples,
    operations,
    resolved,
    schemas,
)
from emulator.document import bundles
from emulator.document.published import CODES, LIMITS
from emulator.document.tree import fragment, resolve
from emulator.ui.buyer.forms import FIELDS
from emulator.ui.buyer.payables import State
from emulator.ui.buyer.request import KINDS
from emulator.web.formats import FORMATS

Schema = dict[str, Any]

SERVED = [f"{source}-{version}" for source in bundles.SOURCES for version in ("3.0", "3.1")]
STANDARD_FORMATS = {"date-time", "date", "email", "uri"}


# -- schema by schema


STRANGERS: tuple[Any, ...] = (None, True, 0, -1, "", "x", [], [None], {}, {"x": None})


def test_both_versions_have_the_same_parts(document: Document, twin: Document) -> None:
    assert (
        [operation.name for operation in operations(twin)]
        == [operation.name for operation in operations(document)]
        != []
    )
    parts = {kind: list(named) for kind, named in document["components"].items()}
    assert {kind: list(named) for kind, named in twin["components"].items()} == parts
    assert list(twin.get("webhooks", {})) == list(document.get("x-webhooks", {}))


def test_a_document_of_3_1_has_no_keyword_of_3_0(twin: Document) -> None:
    keywords = {"nullable", "example", "x-key-minLength", "x-key-maxLength"}
    assert [fragment(part.pointer) for part in schemas(twin) if keywords & part.node.keys()] == []


def test_both_versions_judge_every_value_alike(
    document: Document, twin: Document, judge: Judge
) -> None:
    twin_judge, verdicts = Judge(twin), {True: 0, False: 0}
    for name, values in _samples(document).items():
        place = ("components", "schemas", name)
        for value in values:
            verdict = judge.accepts(place, value)
            assert twin_judge.accepts(place, value) == verdict, f"{fragment(place)}: {value!r}"
            verdicts[verdict] += 1
    assert min(verdicts.values()) > len(document["components"]["schemas"])


def _samples(document: Document) -> dict[str, list[Any]]:
    """Yield values that barely fit each component schema, and examples with one spoilt field."""
    samples: dict[str, list[Any]] = defaultdict(
        list, {name: [*STRANGERS] for name in document["components"]["schemas"]}
    )
    for example in examples(document):
        place = resolved(document, Part(example.schema, at(document, example.schema))).pointer
        if place[:2] == ("components", "schemas") and len(place) == 3:
            samples[place[2]] += _variants(example.value)
    return samples


def _variants(value: Any) -> Iterator[Any]:
    yield value
    for name in value if isinstance(value, dict) else ():
        yield {key: item for key, item in value.items() if key != name}
        yield from (value | {name: stranger} for stranger in STRANGERS)


# -- what generators and strict validators ask for


def nodes(node: Any) -> Iterator[Schema]:
    if isinstance(node, list):
        for item in node:
            yield from nodes(item)
    elif isinstance(node, dict):
        yield node
        yield from nodes([*node.values()])


@pytest.mark.parametrize("name", SERVED)
def test_a_served_document_suits_generators(name: str) -> None:
    """Of each schema they make a type; linters warn of one that nothing uses.

    The client that openapi-generator makes for PHP makes objects of instants, and then checks their
    pattern. openapi-python-client rejects a field with a default beside a reference (B-26).
    """
    document = bundles.load(name)
    every = list(nodes(document))
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert document["components"]["schemas"].keys() - referred == set()
    instants = [node for node in every if node.get("format") == "date-time"]
    assert instants
    assert [node for node in instants if "pattern" in node] == []
    assert {key for node in every for key in node} & {
        "x-conditions",
        "x-required-unless",
        "x-rejected",
    } == set()
    assert [
        link for node in every for link in node.get("links", {}).values() if "requestBody" in link
    ] == []
    if name.endswith("3.0"):
        nullable = [
            node
            for node in nodes(document["components"]["schemas"])
            if node.get("nullable") is True
        ]
        assert [
            node for node in nullable if "type" not in node or None not in node.get("enum", [None])
        ] == []
    written = bundles.load(name.removesuffix("-3.0").removesuffix("-3.1"))["components"]["schemas"]
    for kind, schema in document["components"]["schemas"].items():
        for field, part in schema.get("properties", {}).items():
            wanted = written.get(kind, {}).get("properties", {}).get(field, {}).get("default")
            if wanted is not None:
                target = part if "default" in part else resolve(document, part["allOf"][0])
                assert target["default"] == wanted, f"{kind}.{field}"
                assert not (isinstance(part.get("default"), dict) and "allOf" in part)


INSTANTS = [
    *("2026-02-01", "2026-02-01T00:00:00", "2026-02-01T00:00:00.5", "2026-02-01T00:00:00Z"),
    *("2026-02-01t00:00:00.000z", "2026-01-31T23:00:00-01:00"),
    *("2026-W05", "2026-W05-7", "2026-032", "20260201", "2026-02-01 00:00:00", "2026-13-01"),
    *("2026-02-01T24:00:00Z", "2026-02-01T00:00Z", "2026-02-01T00:00:00+0100", "2026-02-01Z", ""),
    "2026-02-01T00:00:00+01:75",
]
"""The first six are instants (B-17)."""


@pytest.mark.parametrize("version", ["3.0", "3.1"])
def test_the_document_takes_the_instants_that_the_server_takes(version: str) -> None:
    """B-17, B-26: in bodies and in filters; an instant that is shown is a ``date-time``."""
    service = bundles.load(f"service-{version}")
    schemas, parameters = service["components"]["schemas"], service["components"]["parameters"]
    fields = (
        ("SubscriptionCreate", "ends_at"),
        ("PaymentLinkCreate", "expires_at"),
        ("PaymentLinkUpdate", "expires_at"),
    )
    taken = [schemas[kind]["properties"][field] for kind, field in fields]
    taken += [parameters[name]["schema"] for name in ("CreatedAfter", "CreatedBefore")]
    for node in taken:
        assert "string" in node["type"]
        instants = [text for text in INSTANTS if re.search(node["pattern"], text)]
        assert instants == [text for text in INSTANTS if FORMATS["instant"](text)] == INSTANTS[:6]
    assert resolve(service, {"$ref": "#/components/schemas/Timestamp"})["format"] == "date-time"


def test_each_format_of_our_own_has_a_pattern_or_its_values() -> None:
    named = {name for name in LIMITS if "pattern" in LIMITS[name]} | CODES.keys()
    assert named >= FORMATS.keys() - STANDARD_FORMATS


LOOPBACK = [
    *(
        "http://localhost",
        "http://LOCALHOST:3000/cart",
        "http://shop.localhost/",
        "http://127.0.0.1/?a",
    ),
    *(
        "http://127.255.0.9:80",
        "http://[::1]:3000/",
        "http://[0:0:0:0:0:0:0:1]/",
        "https://shop.example.com",
    ),
]
ELSEWHERE = [
    *("http://shop.example.com", "http://localhost.example.com/", "http://127.0.0.1.example.com"),
    *(
        "http://mylocalhost/",
        "http://128.0.0.1/",
        "http://[::2]/",
        "http://10.127.0.0.1",
        "ftp://localhost",
    ),
]


@pytest.mark.parametrize("version", ["3.0", "3.1"])
def test_the_pattern_of_cancel_url_takes_http_for_loopback_hosts_only(version: str) -> None:
    """B-82: the server takes the same."""
    schemas = bundles.load(f"service-{version}")["components"]["schemas"]
    pattern = schemas["CheckoutSessionCreate"]["properties"]["cancel_url"]["pattern"]
    takes = FORMATS["page-url"]
    assert [url for url in LOOPBACK if not (re.search(pattern, url) and takes(url))] == []
    assert [url for url in ELSEWHERE if re.search(pattern, url) or takes(url)] == []


# -- conditions between fields


@pytest.mark.parametrize("version", ["3.0", "3.1"])
def test_each_type_of_payment_method_has_a_schema_that_names_its_fields(version: str) -> None:
    """Generators make types of ``oneOf``; of a ``not`` they make none, or classes without names."""
    document = bundles.load(f"service-{version}")
    kinds = [
        resolve(document, schema)
        for schema in document["components"]["schemas"]["PaymentMethodCreate"]["oneOf"]
    ]
    own = {
        kind["properties"]["type"]["enum"][0]: {*kind["required"]} - {"customer", "type"}
        for kind in kinds
    }
    assert own == {
        "mobile_money": {"phone"},
        "bank_card": {"number", "exp_month", "exp_year", "cvc"},
        "bank_transfer": {"iban"},
        "paypal": {"email"},
    }
    for kind in kinds:
        assert kind["properties"].keys() == {*kind["required"], "is_default", "metadata"}
        assert kind["additionalProperties"] is False


# -- what else is served


@pytest.mark.parametrize("name", ["service-3.0", "service-3.1"])
def test_each_sandbox_operation_is_marked(name: str) -> None:
    document = bundles.load(name)
    tags = {tag["name"] for tag in document["tags"] if tag.get("x-sandbox-only")}
    every = [operation.node for operation in operations(document)]
    marked = [node for node in every if node.get("x-sandbox-only")]
    assert marked == [node for node in every if tags.intersection(node.get("tags", ()))] != []


@pytest.mark.parametrize("name", ["service-3.0", "service-3.1"])
def test_each_sandbox_operation_says_what_to_use_instead(name: str) -> None:
    for operation in operations(bundles.load(name)):
        if operation.node.get("x-sandbox-only"):
            assert operation.node["x-use-instead"] in operation.node["description"], operation.name


@pytest.mark.parametrize("name", ["service-3.0", "pages-3.0"])
def test_generators_find_no_not(name: str) -> None:
    """Of ``not`` within ``not`` the Java generator of openapi-generator makes no client at all."""
    names = [fragment(part.pointer) for part in schemas(bundles.load(name)) if "not" in part.node]
    assert names == []


@pytest.mark.parametrize("name", ["service-3.0", "service-3.1"])
def test_each_type_that_generators_make_of_a_field_has_a_title_of_its_own(name: str) -> None:
    parts = bundles.load(name)["components"]["schemas"]
    titles = Counter(
        part.node.get("title")
        for part in schemas(bundles.load(name))
        if part.pointer[:2] == ("components", "schemas")
        and "properties" in part.pointer[3:]
        and ("enum" in part.node or "properties" in part.node)
    )
    unnamed = titles.pop(None, 0)
    assert {title for title, times in titles.items() if times > 1} == set()
    assert not titles.keys() & parts.keys()
    assert unnamed < 10, "only where a component has the name"


def test_any_event_is_one_schema() -> None:
    document = bundles.load("service-3.1")
    any_event = document["components"]["schemas"]["AnyEvent"]
    assert any_event["discriminator"]["mapping"].keys() == document["webhooks"].keys()
    assert len({item["post"]["operationId"] for item in document["webhooks"].values()}) == len(
        document["webhooks"]
    )


def test_a_new_webhook_is_sent_any_event() -> None:
    document = bundles.load("service-3.1")
    [callback] = document["paths"]["/webhooks/"]["post"]["callbacks"]["event"].values()
    body = callback["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/AnyEvent"}


def test_the_page_of_each_kind_is_documented() -> None:
    """Tests hold all its responses against it: ``contract_tests/surfaces/coverage/watch.py``."""
    document = bundles.load("pages")
    assert {path.split("/")[1] for path in document["paths"]} == KINDS.keys() | {"receipt"}
    schemas = document["components"]["schemas"]
    assert schemas["PaymentPage"]["properties"]["state"]["enum"] == list(get_args(State))
    fields = set().union(*FIELDS.values()) | {"name", "email", "product", "amount", "quantity"}
    assert schemas["PaymentForm"]["properties"].keys() == fields | {
        "token",
        "do",
        "payment",
        "method",
    }
