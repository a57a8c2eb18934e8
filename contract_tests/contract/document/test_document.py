"""The documents as a whole: valid, and with the operations that the specification names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

from contract_tests.contract.document import specification
from contract_tests.contract.document.reader import Document, Operation, operations, parameters
from contract_tests.quality.drift.test_words import RETIRED
from emulator.document.bundle import COMPONENT_FOLDERS
from emulator.document.paths import openapi_folder
from emulator.engine.reference_data import numbered_assumptions


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


def test_no_retired_word_is_used(document: Document) -> None:
    texts = [re.sub("`.*?`", "", text) for text in _texts(document)]
    assert len(texts) > 40
    retired = re.compile("|".join(RETIRED), re.IGNORECASE)
    assert [text for text in texts if retired.search(text)] == []


def _texts(node: Any) -> Iterator[str]:
    """Every summary and description, at any depth."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if isinstance(node, dict):
        yield from (node[key] for key in ("summary", "description") if isinstance(node.get(key), str))
        for child in node.values():
            yield from _texts(child)


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
    """Every value of an ``x-assumption``, one at a time where there is a list."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if isinstance(node, dict):
        mark = node.get("x-assumption", [])
        yield from mark if isinstance(mark, list) else [mark]
        for child in node.values():
            yield from _marks(child)
