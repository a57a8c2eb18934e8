"""The tables in the pages are those the code knows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from contract_tests.quality.docs import answer_types
from contract_tests.quality.docs.pages import PAGES, ROOT, name
from contract_tests.quality.docs.tables import TABLES, filled
from contract_tests.quality.package.copier import copier


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_tables_are_up_to_date(page: Path) -> None:
    """Else: python -m contract_tests.quality.docs.tables"""
    text = page.read_text("utf-8")
    assert filled(text) == text


@pytest.mark.parametrize("table", TABLES)
def test_each_table_stands_somewhere(table: str) -> None:
    assert any(f"<!-- begin: {table} -->" in page.read_text("utf-8") for page in PAGES)


def test_the_types_of_the_answers_are_those_of_the_documents() -> None:
    """Else: python -m contract_tests.quality.docs.answer_types"""
    for file, text in answer_types.files():
        assert file.read_text("utf-8") == text


def test_the_licence_of_each_package_is_named() -> None:
    """Of those a plain installation brings along, whole or in part, and of no others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    copied = {each.distribution for each in copier().libraries([])}
    needed = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]} | copied
    named = re.findall(r"^\| ([\w-]+) \|", (ROOT / "docs/contributing/licences.md").read_text("utf-8"), re.M)
    assert sorted(named) == sorted(needed | {"package"})
