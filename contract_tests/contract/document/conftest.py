"""The documents under test, bundled from their files, so the tests see their latest version."""

from __future__ import annotations

import pytest

from contract_tests.contract.document.judges import Judge
from contract_tests.contract.document.reader import Document
from emulator.document.bundles import SOURCES, fresh_documents
from emulator.document.published import to_openapi_3_1


@pytest.fixture(scope="session")
def documents() -> dict[str, Document]:
    return fresh_documents()


@pytest.fixture(scope="session", params=SOURCES)
def document(request: pytest.FixtureRequest, documents: dict[str, Document]) -> Document:
    """Each of the documents."""
    return documents[request.param]


@pytest.fixture(scope="session")
def service(documents: dict[str, Document]) -> Document:
    return documents["service"]


@pytest.fixture(scope="session")
def twin(document: Document) -> Document:
    return to_openapi_3_1(document)


@pytest.fixture(scope="session")
def judge(document: Document) -> Judge:
    return Judge(document)
