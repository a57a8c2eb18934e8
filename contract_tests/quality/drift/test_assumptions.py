"""Assumptions ↔ documents, code and pages: a number that is cited can be looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import emulator
from contract_tests.quality.docs.pages import PAGES
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from emulator.document import bundles
from emulator.engine.reference_data import numbered_assumptions
from emulator.resources.app.settings import Settings

HOUSE = Path(emulator.__path__[0])
NUMBER = re.compile(r"\bB-\d{2,3}\b")
ASSUMPTIONS = numbered_assumptions()


def cited(node: Any) -> Iterator[str]:
    """Yield every number under ``x-assumption`` in a document."""
    if isinstance(node, list):
        for part in node:
            yield from cited(part)
    if isinstance(node, dict):
        for key, part in node.items():
            if key == "x-assumption":
                yield from [part] if isinstance(part, str) else part
            else:
                yield from cited(part)


@pytest.mark.parametrize("name", ["service", "control"])
def test_each_assumption_of_a_document_is_an_assumption(name: str) -> None:
    assert set(cited(bundles.load(name))) <= ASSUMPTIONS.keys()


ELSEWHERE = {
    "B-01": "how worlds are distinguished; no field or status of the document shows it",
    "B-42": "when a period ends; the dates are plain timestamps",
    "B-44": "what a renewal does, and the order of its events",
    "B-61": "when a payment counts as received; statuses are as documented",
    "B-62": "that only one payment is under way; the error is a documented one",
    "B-67": "what emails and pages show",
    "B-72": "CORS headers, which OpenAPI does not describe",
    "B-96": "when a subscription recovers; statuses are as documented",
    "B-99": "assumptions, which are settings",
    "B-100": "how often a client tries again; the examinations look at that",
    "B-101": "how servers share a database; the error is a documented one",
}
"""Assumptions that no place of a document shows, each with the cause."""


def test_each_assumption_is_cited_in_a_document_or_is_not_on_the_wire() -> None:
    numbers = {number for name in ("service", "control") for number in cited(bundles.load(name))}
    assert ASSUMPTIONS.keys() - numbers - ELSEWHERE.keys() == set()


def test_readers_of_the_document_see_the_assumptions() -> None:
    """Descriptions link to them: Swagger UI and generated clients do not show ``x-assumption``."""
    unlinked = [node for node in described(bundles.load("service")) if not node["description"].endswith("))")]
    assert unlinked == []


def described(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a document that has a description and cites an assumption."""
    if isinstance(node, list):
        for part in node:
            yield from described(part)
    if isinstance(node, dict):
        if "x-assumption" in node and isinstance(node.get("description"), str):
            yield node
        yield from described(list(node.values()))


def test_each_number_in_code_templates_and_pages_is_an_assumption() -> None:
    files = [*HOUSE.rglob("*.py"), *HOUSE.rglob("*.html"), *PAGES]
    unknown = {str(file): set(NUMBER.findall(file.read_text("utf-8"))) - ASSUMPTIONS.keys() for file in files}
    assert {file: numbers for file, numbers in unknown.items() if numbers} == {}


def test_each_setting_that_an_assumption_names_is_one() -> None:
    named = {name for assumption in ASSUMPTIONS.values() for name in assumption.settings}
    assert named <= set(Settings.__struct_fields__)


def test_each_assumption_has_its_anchor(server: RunningServer) -> None:
    with http_client(base_url=server.url) as client:
        text = client.get("/docs/assumptions").text
    assert [number for number in ASSUMPTIONS if f'id="{number}"' not in text] == []
