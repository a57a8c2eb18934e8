"""References within a document lead where JSON pointers say."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.document.tree import at, exists, fragment, pointer_of, resolve

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
