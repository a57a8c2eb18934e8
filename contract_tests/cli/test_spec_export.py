"""``spec export``: collections of the whole API; ``contract_tests.clients`` runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contract_tests.cli.terminal import run
from contract_tests.document.reader import operations
from emulator.document import bundles

EVERY = {each.node["summary"] for each in operations(bundles.load("service"))}


def names(form: str, path: Path) -> list[str]:
    """The names of the requests in a collection."""
    if form == "bruno":
        files = sorted(file for file in path.rglob("*.bru") if file.stem.isdigit())
        return [file.read_text("utf-8").splitlines()[1].removeprefix("  name: ") for file in files]
    document: Any = json.loads(path.read_text("utf-8"))
    if form == "insomnia":
        return [each["name"] for each in document["resources"] if each["_type"] == "request"]
    return [each["name"] for folder in document["item"] for each in folder["item"]]


@pytest.mark.parametrize("form", ["postman", "insomnia", "bruno"])
def test_a_collection_has_every_operation(form: str, tmp_path: Path) -> None:
    out = tmp_path / "it"
    assert run("spec", "export", "--as", form, "--out", str(out)).status == 0
    found = names(form, out)
    assert {name for name in found if not name.startswith("Setup: ")} == EVERY | {"Signed webhook"}


def test_a_folder_needs_a_name() -> None:
    assert "name it with --out" in run("spec", "export", "--as", "bruno").usage_error
