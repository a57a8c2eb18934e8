"""Some of the values that ``contract_tests.contract.document.differences`` sends; the command sends each field all of them."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract.document.differences import compared
from emulator.document import bundles


def test_whatever_the_documents_allow_is_taken_or_rejected_by_a_rule() -> None:
    """And nothing that they forbid is taken."""
    found = compared(every=40)
    assert found.unnamed == []
    assert found.requests > 1000
    assert found.rules


def test_a_document_that_allows_more_than_the_server_takes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """B-82: one whose pattern is another than the one at work."""
    load = bundles.load

    def loosened(name: str) -> Any:
        document = load(name)
        document["components"]["schemas"]["ProductCreate"]["properties"]["images"]["items"].pop("pattern", None)
        return document

    monkeypatch.setattr(bundles, "load", loosened)
    found = compared(only="createProduct images")
    assert any("HTTPS://" in difference for difference in found.unnamed)
