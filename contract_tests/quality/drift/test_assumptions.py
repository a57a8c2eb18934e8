"""Assumptions ↔ documents, code and pages: a cited number can be looked up, and a quoted default is the setting's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from contract_tests import ROOT
from contract_tests.quality.docs.pages import PAGES
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from contract_tests.support.settings import SHOWN
from emulator.document import bundles
from emulator.engine.reference_data import numbered_assumptions
from emulator.resources.app.settings import FEE_RATES, Settings

HOUSE = ROOT / "emulator"
ASSUMPTIONS = numbered_assumptions()
USUAL = Settings()


def parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a document."""
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from parts(part)


def cited() -> Iterator[str]:
    for name in ("service", "control"):
        for part in parts(bundles.load(name)):
            given = part.get("x-assumption", ())
            yield from [given] if isinstance(given, str) else given


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


def test_documents_code_templates_and_pages_cite_assumptions_that_there_are() -> None:
    """And each assumption is cited in a document, or is not on the wire."""
    numbers = set(cited())
    assert (numbers - ASSUMPTIONS.keys(), ASSUMPTIONS.keys() - numbers - ELSEWHERE.keys()) == (set(), set())
    files = [*HOUSE.rglob("*.py"), *HOUSE.rglob("*.html"), *PAGES]
    named = {number for file in files for number in re.findall(r"\bB-\d{2,3}\b", file.read_text("utf-8"))}
    assert named - ASSUMPTIONS.keys() == set()
    assert {name for each in ASSUMPTIONS.values() for name in each.settings} <= set(Settings.__struct_fields__)


def test_readers_see_the_assumptions(server: RunningServer) -> None:
    """Descriptions link to their page: Swagger UI and generated clients do not show ``x-assumption``."""
    described = [part for part in parts(bundles.load("service")) if isinstance(part.get("description"), str)]
    assert [part for part in described if "x-assumption" in part and not part["description"].endswith("))")] == []
    with http_client(base_url=server.url) as client:
        text = client.get("/docs/assumptions").text
    assert [number for number in ASSUMPTIONS if f'id="{number}"' not in text] == []


def listed(values: Sequence[Any], last: str = "and") -> str:
    """Values as a sentence lists them."""
    return f"{', '.join(map(str, values[:-1]))} {last} {values[-1]}"


QUOTED = {
    "B-24": f"the main currency is {USUAL.main_currency}, and {listed(USUAL.currencies)} are enabled",
    "B-45": f"Retries come {listed(USUAL.renewal_retry_days)} days after",
    "B-48": f"Within {USUAL.reactivation_days} days",
    "B-56": f"{listed([*FEE_RATES.values()], 'or')} per cent on {listed([plan.title() for plan in FEE_RATES])}",
    "B-57": f"expires after {USUAL.refund_expiry_days} days",
}
"""What assumptions say of defaults."""


@pytest.mark.parametrize("number", QUOTED)
def test_assumptions_quote_the_defaults(number: str) -> None:
    assert QUOTED[number] in " ".join(ASSUMPTIONS[number].decided.split())


def test_the_documents_quote_the_defaults() -> None:
    """The tax rate of an example is one that the example of the request sets."""
    operation = bundles.load("service")["paths"]["/subscriptions/{id}/reactivate/"]["post"]
    assert f"({USUAL.reactivation_days} days, a setting of the App)" in operation["description"]
    all_of_them = (part for part in parts(bundles.load("control")) if part.keys() >= SHOWN.keys())
    examples = [part for part in all_of_them if isinstance(part["currencies"], list)]
    assert len(examples) >= 3
    assert [part for part in examples if part != {**SHOWN, "tax_rate": 18}] == []
