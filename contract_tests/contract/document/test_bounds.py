"""Bounds: no array and no string of a request is without one, and the sandbox's own hold (B-26)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.core.limits import ITEMS, STRING
from emulator.document import bundles
from emulator.document.bundle import BOUNDED, FINITE
from emulator.web.routing import definitions


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
