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

Files = dict[str, str]
Bundled = Callable[[Files], Any]
ROOT = "openapi: 3.0.3\ninfo: {title: Tiny, version: v1}\n"
CATS_PATH = 'paths:\n  "/cats/": {$ref: "resources/cats.yaml#/cats"}\n'


@pytest.fixture
def bundled(tmp_path: Path) -> Bundled:
    """Writes the files of a document and bundles it; what is in ``service.yaml`` follows a minimal head."""

    def made(files: Files) -> Any:
        for name, text in ({"service.yaml": "paths: {}\n"} | files).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(ROOT * (name == "service.yaml") + text, encoding="utf-8")
        return bundle(tmp_path / "service.yaml")

    return made


def hooked(reference: str) -> Files:
    return {"service.yaml": f"paths: {{}}\nx-webhooks:\n  ping: {{schema: {{$ref: {reference}}}}}\n"}


def schemas(document: dict[str, Any]) -> Any:
    return document["components"]["schemas"]


def test_a_path_item_is_inlined_and_a_whole_file_becomes_a_component(bundled: Bundled) -> None:
    files = {
        "service.yaml": CATS_PATH,
        "resources/cats.yaml": "cats:\n  get:\n    schema: {$ref: ../schemas/Cat.yaml}\n",
        "schemas/Cat.yaml": "type: object\nproperties:\n  owner: {$ref: ./Owner.yaml}\n",
        "schemas/Owner.yaml": "type: string\n",
        "schemas/Unused.yaml": "{}\n",
    }
    document = bundled(files)
    assert document["paths"] == {"/cats/": {"get": {"schema": {"$ref": "#/components/schemas/Cat"}}}}
    assert schemas(document) == {
        "Cat": {"type": "object", "properties": {"owner": {"$ref": "#/components/schemas/Owner"}}},
        "Owner": {"type": "string"},
    }


@pytest.mark.parametrize(
    "kind", ["schemas", "parameters", "responses", "headers", "examples", "requestBodies", "links"]
)
def test_every_kind_of_component_has_its_folder(bundled: Bundled, kind: str) -> None:
    document = bundled(hooked(f"{kind}/Thing.yaml") | {f"{kind}/Thing.yaml": "description: A thing.\n"})
    assert document["components"] == {kind: {"Thing": {"description": "A thing."}}}
    assert document["x-webhooks"]["ping"]["schema"] == {"$ref": f"#/components/{kind}/Thing"}


def test_schemas_may_refer_to_each_other(bundled: Bundled) -> None:
    files = {"schemas/Hen.yaml": "not: {$ref: ./Egg.yaml}\n", "schemas/Egg.yaml": "oneOf: [{$ref: ./Hen.yaml}]\n"}
    root = hooked("schemas/Hen.yaml")["service.yaml"] + "components: {securitySchemes: {key: {type: http}}}\n"
    assert bundled(files | {"service.yaml": root})["components"] == {
        "schemas": {
            "Egg": {"oneOf": [{"$ref": "#/components/schemas/Hen"}]},
            "Hen": {"not": {"$ref": "#/components/schemas/Egg"}},
        },
        "securitySchemes": {"key": {"type": "http"}},
    }


CATS = """
cats: {get: {schema: {$ref: "#/components/schemas/CatList"}}}
components:
  schemas:
    Cat: {type: object, properties: {owner: {$ref: "owners.yaml#/components/schemas/Owner"}}}
    Herd: {x-list-of: Cat, description: Cats that stay together.}
"""
OWNERS = {"resources/owners.yaml": "components: {schemas: {Owner: {type: string}, Unused: {}}}\n"}


def test_a_file_may_hold_components_of_its_own(bundled: Bundled) -> None:
    files = {"resources/cats.yaml": CATS, "schemas/Pagination.yaml": "type: object\n"}
    made = bundled(files | OWNERS | {"service.yaml": CATS_PATH})
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
def test_a_list_is_made_of_the_schema_of_its_items(bundled: Bundled, reference: str, description: str) -> None:
    names = ("SecurityKey", "DelayedDelivery", "Address", "Pagination")
    files = {f"schemas/{name}.yaml": "type: object\n" for name in names} | {"resources/cats.yaml": CATS} | OWNERS
    made = bundled(hooked(f'"{reference}"') | files)
    listed = schemas(made)[made["x-webhooks"]["ping"]["schema"]["$ref"].rpartition("/")[2]]
    assert (listed["description"], listed["required"]) == (description, ["object", "data", "pagination"])
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


def test_responses_and_headers_follow_from_what_an_operation_is(bundled: Bundled) -> None:
    names = ("Failed", "Invalid", "NoKey", "Missing", "Malformed", "Taken", "Named")
    shared = {f"responses/{name}.yaml": f"description: {name}.\n" for name in names}
    made = bundled(shared | {"service.yaml": IMPLIED, "resources/cats.yaml": CAT})
    assert not made.keys() & {"x-implied-responses", "x-implied-headers"}
    cat = made["paths"]["/cats/{id}/"]
    read, create = cat["get"]["responses"], cat["post"]["responses"]
    assert list(read) == ["200", "404", "500"], "in order; without a key none is wrong; null is for none"
    assert list(create) == ["201", "400", "401", "404", "409", "422", "500"]
    assert create["409"] == {"$ref": "#/components/responses/Named"}, "what is written comes instead"
    assert [*read["200"]] == ["description", "headers", "content"]
    assert list(read["200"]["headers"]) == ["Request-Id"]
    assert list(create["201"]["headers"]) == ["Request-Id", "Replayed", "Location"]
    assert all(list(each["headers"]) == ["Request-Id"] for each in made["components"]["responses"].values())


def test_no_operation_writes_a_response_that_every_one_has() -> None:
    implied = {"Forbidden", "Unprocessable", "InternalError", "TooManyRequests", "RequestId", "IdempotentReplayed"}
    for file in (*openapi_folder().glob("resources/*.yaml"), *openapi_folder().glob("control/*.yaml")):
        written = re.findall(r"(?:responses|headers)/(\w+)\.yaml", file.read_text(encoding="utf-8"))
        assert not implied & set(written), file


def test_the_order_is_the_authors_components_are_sorted_and_dates_stay_strings(bundled: Bundled) -> None:
    dates = "example:\n  day: 2026-01-31\n  instant: 2026-01-31T10:00:00Z\n  answer: 42\n"
    files = {f"schemas/{name}.yaml": dates for name in ("B", "A")}
    hooks = "x-webhooks:\n  second: {schema: {$ref: schemas/B.yaml}}\n  first: {schema: {$ref: schemas/A.yaml}}\n"
    files["service.yaml"] = "paths: {}\n" + hooks
    document = bundled(files)
    assert list(document) == ["openapi", "info", "paths", "x-webhooks", "components"]
    assert list(document["x-webhooks"]) == ["second", "first"]
    assert list(schemas(document)) == ["A", "B"]
    assert schemas(document)["A"]["example"] == {"day": "2026-01-31", "instant": "2026-01-31T10:00:00Z", "answer": 42}
    assert json.dumps(document) == json.dumps(bundled(files))


A = {"schemas/A.yaml": "{}\n"}
REJECTED: list[tuple[Files, str]] = [
    (hooked("schemas/Gone.yaml"), "service.yaml: schemas/Gone.yaml: there is no such file"),
    (
        hooked("resources/cats.yaml#/dogs") | {"resources/cats.yaml": "cats: {}\n"},
        "service.yaml: resources/cats.yaml#/dogs: the file has no key dogs",
    ),
    (
        hooked("schemas/Cat.yaml") | {"schemas/Cat.yaml": 'not: {$ref: "#/components/schemas/Cat"}\n'},
        "schemas/Cat.yaml: #/components/schemas/Cat: there is no Cat",
    ),
    (
        {
            "service.yaml": "paths: {}\nx-webhooks: {a: {$ref: schemas/A.yaml}, b: {$ref: more/schemas/A.yaml}}\n",
            "more/schemas/A.yaml": "{}\n",
            **A,
        },
        "schemas/A.yaml and more/schemas/A.yaml: two files want to be #/components/schemas/A",
    ),
    (
        hooked("resources/cats.yaml") | {"resources/cats.yaml": "cats: {}\n"},
        "service.yaml: resources/cats.yaml: a whole file lies in one of",
    ),
    (
        {"service.yaml": "paths: {}\nx-webhooks: {a: {$ref: schemas/A.yaml, description: Lost.}}\n"},
        "service.yaml: schemas/A.yaml: a $ref stands alone",
    ),
    *(
        (hooked("schemas/A.yaml") | {"schemas/A.yaml": text}, f"schemas/A.yaml: {message}")
        for text, message in (
            ("type: object\nproperties: {}\ntype: string\n", "the key type is written twice"),
            ("properties:\n  on: {}\n", "the key on is not a string"),
            ("a: [1\n", "while parsing"),
            ("", "a file of the document holds a mapping"),
        )
    ),
]


@pytest.mark.parametrize(("files", "message"), REJECTED, ids=[message for _, message in REJECTED])
def test_an_error_names_its_file_and_reference(bundled: Bundled, files: Files, message: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(message)):
        bundled(files)


# -- References within a document lead where JSON pointers say


def test_a_pointer_reads_the_escapes_and_a_fragment_writes_them() -> None:
    pointers = {
        "#": (),
        "#/paths/~1reset": ("paths", "/reset"),
        "#/paths/a~0b": ("paths", "a~b"),
        "#/a/~01": ("a", "~1"),
    }
    assert {fragment(steps): pointer_of(reference) for reference, steps in pointers.items()} == pointers


def test_a_reference_is_followed_to_its_end() -> None:
    paths = {"/reset": {"tags": ["Sandbox"]}, "a~b": {"$ref": "#/paths/~1reset"}, "again": {"$ref": "#/paths/a~0b"}}
    document: dict[str, Any] = {"paths": paths}
    assert at(document, ("paths", "/reset", "tags", "0")) == "Sandbox"
    assert resolve(document, document["paths"]["again"]) == {"tags": ["Sandbox"]}
    references = ("#/paths/~1reset", "#/paths/reset", "#/paths/~1reset/tags/x", "#/openapi")
    assert [exists(document, pointer_of(each)) for each in references] == [True, False, False, False]
