"""Decisions ↔ documents, code and pages: a number that is cited can be looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import emulator
from contract_tests.client import http_client
from contract_tests.docs.pages import PAGES
from contract_tests.sandbox import RunningServer
from emulator.document import bundles
from emulator.engine.decisions import decisions
from emulator.resources.app.settings import Settings

HOUSE = Path(emulator.__path__[0])
NUMBER = re.compile(r"\bB-\d\d\b")
DECISIONS = decisions()


def cited(node: Any) -> Iterator[str]:
    """Every number under ``x-assumption`` in a document."""
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
def test_each_assumption_of_a_document_is_a_decision(name: str) -> None:
    assert set(cited(bundles.load(name))) <= DECISIONS.keys()


def test_each_number_in_code_templates_and_pages_is_a_decision() -> None:
    files = [*HOUSE.rglob("*.py"), *HOUSE.rglob("*.html"), *PAGES]
    unknown = {str(file): set(NUMBER.findall(file.read_text("utf-8"))) - DECISIONS.keys() for file in files}
    assert {file: numbers for file, numbers in unknown.items() if numbers} == {}


def test_each_setting_that_a_decision_names_is_one() -> None:
    named = {name for decision in DECISIONS.values() for name in decision.settings}
    assert named <= set(Settings.__struct_fields__)


def test_each_decision_has_its_anchor(server: RunningServer) -> None:
    with http_client(base_url=server.url) as client:
        text = client.get("/docs/decisions").text
    assert [number for number in DECISIONS if f'id="{number}"' not in text] == []
