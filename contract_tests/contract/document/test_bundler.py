"""The bundler on documents of a few lines: what it joins, and what it rejects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.document.bundle import DocumentError, bundle
from emulator.document.paths import openapi_folder
from emulator.document.tree import at, exists, fragment, pointer_of, resolve

Write = Callable[[dict[str, str]], Path]
ROOT = "openapi: 3.0.3\ninfo: {title: Tiny, version: v1}\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files of a document, a minimal root among them; the root's path."""

    def to_folder(files: dict[str, str]) -> Path:
        for name, text in ({"service.yaml": ROOT + "paths: {}\n"} | files).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / "service.yaml"

    return to_folder


def root_with(schema: str) -> dict[str, str]:
    """Return a root whose one webhook uses a schema file."""
    return {"service.yaml": ROOT + f"paths: {{}}\nx-webhooks:\n  ping: {{schema: {{$ref: {schema}}}}}\n"}


def schemas(document: dict[str, Any]) -> Any:
    return document["components"]["schemas"]


def test_a_path_item_is_inlined_and_a_whole_file_becomes_a_component(write: Write) -> None:
    root = write(
        {
            "service.yaml": ROOT + 'paths:\n  "/cats/": {$ref: "resources/cats.yaml#/cats"}\n',
            "resources/cats.yaml": "cats:\n  get:\n    schema: {$ref: ../schemas/Cat.yaml}\n",
            "schemas/Cat.yaml": "type: object\nproperties:\n  owner: {$ref: ./Owner.yaml}\n",
            "schemas/Owner.yaml": "type: string\n",
        }
    )
    document = bundle(root)
    assert document["paths"] == {"/cats/": {"get": {"schema": {"$ref": "#/components/schemas/Cat"}}}}
    assert schemas(document) == {
        "Cat": {"type": "object", "properties": {"owner": {"$ref": "#/components/schemas/Owner"}}},
        "Owner": {"type": "string"},
    }


@pytest.mark.parametrize(
    "kind", ["schemas", "parameters", "responses", "headers", "examples", "requestBodies", "links"]
)
def test_every_kind_of_component_has_its_folder(write: Write, kind: str) -> None:
    root = write(root_with(f"{kind}/Thing.yaml") | {f"{kind}/Thing.yaml": "description: A thing.\n"})
    document = bundle(root)
    assert document["components"] == {kind: {"Thing": {"description": "A thing."}}}
    assert document["x-webhooks"]["ping"]["schema"] == {"$ref": f"#/components/{kind}/Thing"}


def test_what_nothing_uses_stays_out(write: Write) -> None:
    root = write(root_with("schemas/Used.yaml") | {"schemas/Used.yaml": "{}\n", "schemas/Unused.yaml": "{}\n"})
    assert list(schemas(bundle(root))) == ["Used"]


def test_a_schema_may_refer_to_itself(write: Write) -> None:
    tree = "type: object\nproperties:\n  left: {$ref: ./Tree.yaml}\n"
    root = write(root_with("schemas/Tree.yaml") | {"schemas/Tree.yaml": tree})
    assert schemas(bundle(root))["Tree"]["properties"]["left"] == {"$ref": "#/components/schemas/Tree"}


def test_two_schemas_may_refer_to_each_other(write: Write) -> None:
    files = {"schemas/Hen.yaml": "not: {$ref: ./Egg.yaml}\n", "schemas/Egg.yaml": "not: {$ref: ./Hen.yaml}\n"}
    document = bundle(write(root_with("schemas/Hen.yaml") | files))
    assert schemas(document) == {
        "Egg": {"not": {"$ref": "#/components/schemas/Hen"}},
        "Hen": {"not": {"$ref": "#/components/schemas/Egg"}},
    }


def test_a_discriminator_names_components_too(write: Write) -> None:
    pet = "oneOf: [{$ref: ./Cat.yaml}]\ndiscriminator: {propertyName: kind, mapping: {cat: ./Cat.yaml, dog: Dog}}\n"
    files = {"schemas/Pet.yaml": pet, "schemas/Cat.yaml": "type: object\n"}
    document = bundle(write(root_with("schemas/Pet.yaml") | files))
    assert schemas(document)["Pet"]["discriminator"]["mapping"] == {"cat": "#/components/schemas/Cat", "dog": "Dog"}


def test_the_root_may_define_components_and_refer_to_them(write: Write) -> None:
    components = "components:\n  schemas:\n    Own: {type: string}\n  securitySchemes: {key: {type: http}}\n"
    text = ROOT + 'paths: {}\nx-webhooks: {ping: {schema: {$ref: "#/components/schemas/Own"}}}\n' + components
    document = bundle(write({"service.yaml": text}))
    assert document["components"] == {
        "schemas": {"Own": {"type": "string"}},
        "securitySchemes": {"key": {"type": "http"}},
    }


def test_the_root_may_bring_in_a_component_that_nothing_uses(write: Write) -> None:
    text = ROOT + "paths: {}\ncomponents: {schemas: {Event: {$ref: schemas/Event.yaml}}}\n"
    root = write({"service.yaml": text, "schemas/Event.yaml": "type: object\n"})
    assert schemas(bundle(root)) == {"Event": {"type": "object"}}


CATS = """
cats: {get: {schema: {$ref: "#/components/schemas/CatList"}}}
components:
  schemas:
    Cat: {type: object, properties: {owner: {$ref: "owners.yaml#/components/schemas/Owner"}}}
    Herd: {x-list-of: Cat, description: Cats that stay together.}
"""


def test_a_file_may_hold_components_of_its_own(write: Write) -> None:
    root = write(
        {
            "service.yaml": ROOT + 'paths:\n  "/cats/": {$ref: "resources/cats.yaml#/cats"}\n',
            "resources/cats.yaml": CATS,
            "resources/owners.yaml": "components: {schemas: {Owner: {type: string}, Unused: {}}}\n",
            "schemas/Pagination.yaml": "type: object\n",
        }
    )
    made = bundle(root)
    assert made["paths"]["/cats/"]["get"]["schema"] == {"$ref": "#/components/schemas/CatList"}
    assert schemas(made).keys() == {"Cat", "CatList", "Owner", "Pagination"}
    assert schemas(made)["Cat"]["properties"]["owner"] == {"$ref": "#/components/schemas/Owner"}


@pytest.mark.parametrize(
    ("reference", "description"),
    [
        ("resources/cats.yaml#/components/schemas/CatList", "A page of cats."),
        ("resources/cats.yaml#/components/schemas/Herd", "Cats that stay together."),
        ("schemas/SecurityKeyList.yaml", "A page of security keys."),
        ("schemas/DelayedDeliveryList.yaml", "A page of delayed deliveries."),
        ("schemas/AddressList.yaml", "A page of addresses."),
    ],
)
def test_a_list_is_made_of_the_schema_of_its_items(write: Write, reference: str, description: str) -> None:
    names = ("SecurityKey", "DelayedDelivery", "Address", "Pagination")
    files = {f"schemas/{name}.yaml": "type: object\n" for name in names} | {
        "resources/cats.yaml": CATS,
        "resources/owners.yaml": "components: {schemas: {Owner: {type: string}}}\n",
    }
    made = bundle(write(root_with(f'"{reference}"') | files))
    listed = schemas(made)[made["x-webhooks"]["ping"]["schema"]["$ref"].rpartition("/")[2]]
    assert listed["description"] == description
    assert listed["required"] == ["object", "data", "pagination"]
    assert "x-list-of" not in listed
    assert listed["properties"]["data"]["items"]["$ref"].removeprefix("#/components/schemas/") in schemas(made)


IMPLIED = """
x-implied-responses:
  always: {"500": {$ref: responses/Failed.yaml}, "422": {$ref: responses/Invalid.yaml}}
  security: {"401": {$ref: responses/NoKey.yaml}}
  path: {"404": {$ref: responses/Missing.yaml}}
  body: {"400": {$ref: responses/Malformed.yaml}}
  Cat-Key: {"409": {$ref: responses/Taken.yaml}}
x-implied-headers:
  always: {Request-Id: {schema: {type: string}}}
  Cat-Key: {Replayed: {schema: {type: boolean}}}
security: [{key: []}]
paths: {"/cats/{id}/": {$ref: "resources/cats.yaml#/cat"}}
"""
CAT = """
cat:
  parameters: [{name: id, in: path}]
  get: {security: [], responses: {"200": {description: It., content: {}}, "422": null}}
  post:
    parameters: [{name: Cat-Key, in: header}]
    requestBody: {content: {}}
    responses: {"409": {$ref: ../responses/Named.yaml}, "201": {description: New., headers: {Location: {}}}}
"""


def test_responses_and_headers_follow_from_what_an_operation_is(write: Write) -> None:
    names = ("Failed", "Invalid", "NoKey", "Missing", "Malformed", "Taken", "Named")
    shared = {f"responses/{name}.yaml": f"description: {name}.\n" for name in names}
    made = bundle(write(shared | {"service.yaml": ROOT + IMPLIED, "resources/cats.yaml": CAT}))
    assert not made.keys() & {"x-implied-responses", "x-implied-headers"}
    cat = made["paths"]["/cats/{id}/"]
    read, create = cat["get"]["responses"], cat["post"]["responses"]
    assert list(read) == ["200", "404", "500"], "in order; without a key none is wrong; null is for none"
    assert list(create) == ["201", "400", "401", "404", "409", "422", "500"]
    assert create["409"] == {"$ref": "#/components/responses/Named"}, "what is written comes instead"
    assert [*read["200"]] == ["description", "headers", "content"]
    assert list(read["200"]["headers"]) == ["Request-Id"]
    assert list(create["201"]["headers"]) == ["Request-Id", "Replayed", "Location"]
    assert all(list(shared["headers"]) == ["Request-Id"] for shared in made["components"]["responses"].values())


def test_no_operation_writes_a_response_that_every_one_has() -> None:
    implied = ("Forbidden", "Unprocessable", "InternalError", "TooManyRequests", "RequestId", "IdempotentReplayed")
    for file in (*openapi_folder().glob("resources/*.yaml"), *openapi_folder().glob("control/*.yaml")):
        written = re.findall(r"(?:responses|headers)/(\w+)\.yaml", file.read_text(encoding="utf-8"))
        assert not set(implied) & set(written), file


def test_dates_and_times_stay_strings(write: Write) -> None:
    event = "example:\n  day: 2026-01-31\n  instant: 2026-01-31T10:00:00Z\n  answer: 42\n"
    document = bundle(write(root_with("schemas/Event.yaml") | {"schemas/Event.yaml": event}))
    example = schemas(document)["Event"]["example"]
    assert example == {"day": "2026-01-31", "instant": "2026-01-31T10:00:00Z", "answer": 42}


def test_the_order_is_the_authors_and_components_are_sorted(write: Write) -> None:
    files = {f"schemas/{name}.yaml": "type: string\nformat: date\n" for name in ("B", "A")}
    hooks = "x-webhooks:\n  second: {schema: {$ref: schemas/B.yaml}}\n  first: {schema: {$ref: schemas/A.yaml}}\n"
    root = write(files | {"service.yaml": ROOT + "paths: {}\n" + hooks})
    document = bundle(root)
    assert list(document) == ["openapi", "info", "paths", "x-webhooks", "components"]
    assert list(document["x-webhooks"]) == ["second", "first"]
    assert list(schemas(document)) == ["A", "B"]
    assert json.dumps(document) == json.dumps(bundle(root))


REJECTED = {
    "a dangling file": (
        root_with("schemas/Gone.yaml"),
        "service.yaml: schemas/Gone.yaml: there is no such file",
    ),
    "a dangling file in a part": (
        root_with("schemas/Cat.yaml") | {"schemas/Cat.yaml": "not: {$ref: ./Gone.yaml}\n"},
        "schemas/Cat.yaml: ./Gone.yaml: there is no such file",
    ),
    "a dangling key": (
        root_with("resources/cats.yaml#/dogs") | {"resources/cats.yaml": "cats: {}\n"},
        "service.yaml: resources/cats.yaml#/dogs: the file has no key dogs",
    ),
    "a dangling local reference": (
        root_with('"#/components/schemas/Gone"'),
        "service.yaml: #/components/schemas/Gone: the document has no such part",
    ),
    "a component that the part itself does not have": (
        root_with("schemas/Cat.yaml") | {"schemas/Cat.yaml": 'not: {$ref: "#/components/schemas/Cat"}\n'},
        "schemas/Cat.yaml: #/components/schemas/Cat: the file has no Cat",
    ),
    "a list of what is not there": (
        root_with("schemas/CatList.yaml"),
        "service.yaml: schemas/CatList.yaml: there is no such file",
    ),
    "a component of one name in two files": (
        root_with("resources/cats.yaml#/components/schemas/Cat")
        | {
            "resources/cats.yaml": "components: {schemas: {Cat: {not: {$ref: ../schemas/Cat.yaml}}}}\n",
            "schemas/Cat.yaml": "{}\n",
        },
        "resources/cats.yaml and schemas/Cat.yaml: two files want to be #/components/schemas/Cat",
    ),
    "two files of one name": (
        {
            "service.yaml": ROOT
            + "paths: {}\nx-webhooks: {a: {$ref: schemas/A.yaml}, b: {$ref: more/schemas/A.yaml}}\n",
            "schemas/A.yaml": "{}\n",
            "more/schemas/A.yaml": "{}\n",
        },
        "schemas/A.yaml and more/schemas/A.yaml: two files want to be #/components/schemas/A",
    ),
    "a file and a component of the root of one name": (
        {
            "service.yaml": root_with("schemas/A.yaml")["service.yaml"]
            + "components: {schemas: {A: {type: string}}}\n",
            "schemas/A.yaml": "{}\n",
        },
        "service.yaml and schemas/A.yaml: two files want to be #/components/schemas/A",
    ),
    "a part of a schema file": (
        root_with("schemas/A.yaml#/properties") | {"schemas/A.yaml": "properties: {}\n"},
        "service.yaml: schemas/A.yaml#/properties: only files of resources, control and pages",
    ),
    "a whole file of a folder without a kind": (
        root_with("resources/cats.yaml") | {"resources/cats.yaml": "cats: {}\n"},
        "service.yaml: resources/cats.yaml: a whole file lies in one of",
    ),
    "something beside a reference": (
        {"service.yaml": ROOT + "paths: {}\nx-webhooks: {a: {$ref: schemas/A.yaml, description: Lost.}}\n"},
        "service.yaml: schemas/A.yaml: a $ref stands alone",
    ),
    "a part that contains itself": (
        root_with("resources/a.yaml#/a") | {"resources/a.yaml": 'a: {again: {$ref: "a.yaml#/a"}}\n'},
        "resources/a.yaml: a.yaml#/a: this part contains itself",
    ),
    "a key written twice": (
        root_with("schemas/A.yaml") | {"schemas/A.yaml": "type: object\nproperties: {}\ntype: string\n"},
        "schemas/A.yaml: the key type is written twice",
    ),
    "a key that is no string": (
        root_with("schemas/A.yaml") | {"schemas/A.yaml": "properties:\n  on: {}\n"},
        "schemas/A.yaml: the key on is not a string",
    ),
    "YAML that does not parse": (
        root_with("schemas/A.yaml") | {"schemas/A.yaml": "a: [1\n"},
        "schemas/A.yaml: while parsing",
    ),
    "an empty file": (
        root_with("schemas/A.yaml") | {"schemas/A.yaml": ""},
        "schemas/A.yaml: a file of the document holds a mapping",
    ),
}


@pytest.mark.parametrize(("files", "message"), REJECTED.values(), ids=REJECTED.keys())
def test_an_error_names_its_file_and_reference(write: Write, files: dict[str, str], message: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(message)):
        bundle(write(files))


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"service\.yaml"):
        bundle(tmp_path / "service.yaml")


# -- References within a document lead where JSON pointers say


DOCUMENT: dict[str, Any] = {
    "paths": {"/reset": {"tags": ["Sandbox"]}, "a~b": {"$ref": "#/paths/~1reset"}, "again": {"$ref": "#/paths/a~0b"}}
}


@pytest.mark.parametrize(
    ("reference", "steps"),
    [
        ("#", ()),
        ("#/paths/~1reset", ("paths", "/reset")),
        ("#/paths/a~0b", ("paths", "a~b")),
        ("#/paths/~01", ("paths", "~1")),
    ],
)
def test_a_pointer_reads_the_escapes_and_a_fragment_writes_them(reference: str, steps: tuple[str, ...]) -> None:
    assert pointer_of(reference) == steps
    assert fragment(steps) == reference


def test_a_pointer_leads_through_lists_too() -> None:
    assert at(DOCUMENT, ("paths", "/reset", "tags", "0")) == "Sandbox"


def test_a_reference_is_followed_to_its_end() -> None:
    assert resolve(DOCUMENT, DOCUMENT["paths"]["again"]) == {"tags": ["Sandbox"]}
    assert resolve(DOCUMENT, {"tags": []}) == {"tags": []}


@pytest.mark.parametrize(
    ("reference", "is_there"),
    [("#/paths/~1reset", True), ("#/paths/reset", False), ("#/paths/~1reset/tags/x", False), ("#/openapi", False)],
)
def test_a_reference_may_lead_nowhere(reference: str, is_there: bool) -> None:
    assert exists(DOCUMENT, pointer_of(reference)) is is_there
