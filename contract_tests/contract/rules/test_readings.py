"""The readings: sentences that can be read in two ways, listed and changed for an App (B-99)."""

from __future__ import annotations

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import Sandbox
from emulator.engine.decisions import decisions
from emulator.engine.readings import readings

READINGS = readings()


def listed(sandbox: Sandbox) -> dict[str, dict[str, object]]:
    return {each["name"]: each for each in sandbox.control.get("/readings?page_size=100")["data"]}


def test_every_reading_is_listed_with_its_default_its_sentence_and_its_decisions(sandbox: Sandbox) -> None:
    found = listed(sandbox)
    assert found.keys() == READINGS.keys()
    for name, reading in found.items():
        assert reading["value"] == reading["default"] == next(iter(READINGS[name].values))
        assert reading["decisions"], name
        assert reading["sentence"] == READINGS[name].sentence


def test_each_reading_that_a_decision_names_is_one_and_the_other_way_round() -> None:
    assert {name for decision in decisions().values() for name in decision.readings} == READINGS.keys()


@pytest.mark.parametrize("name", READINGS)
def test_each_value_of_a_reading_can_be_chosen(sandbox: Sandbox, name: str) -> None:
    for value in READINGS[name].values:
        changed = sandbox.control.patch("/app", {"settings": {"readings": {name: value}}})
        assert changed["settings"]["readings"][name] == value
        assert listed(sandbox)[name]["value"] == value


def test_an_older_setting_and_its_reading_are_one(sandbox: Sandbox) -> None:
    sandbox.settings(unknown_fields="ignore")
    assert listed(sandbox)["unknown_fields"]["value"] == "ignore"
    changed = sandbox.control.patch("/app", {"settings": {"readings": {"unknown_fields": "reject"}}})
    assert changed["settings"]["unknown_fields"] == "reject"


def test_a_search_without_a_match_is_empty_or_an_error(sandbox: Sandbox) -> None:
    assert sandbox.api.get("/customers/?search=nobody")["data"] == []
    sandbox.settings(readings={"search_nothing_found": "error"})
    sandbox.api.rejected("GET", "/customers/?search=nobody", 404, "SEARCH_NO_RESULTS")
    sandbox.customer(email="awa@example.com")
    assert len(sandbox.api.get("/customers/?search=awa@")["data"]) == 1
    assert sandbox.api.get("/customers/?status=blocked")["data"] == []


def test_pages_of_other_origins_may_read_answers_by_one_reading(sandbox: Sandbox) -> None:
    headers = {"Authorization": f"Bearer {sandbox.key}", "Origin": "https://shop.example"}
    with http_client(base_url=sandbox.url, headers=headers) as page:
        assert "access-control-allow-origin" not in page.get("/v1/customers/").headers
        sandbox.settings(readings={"cors_without_domains": "any"})
        assert page.get("/v1/customers/").headers["access-control-allow-origin"] == "https://shop.example"


def test_metadata_is_scalars_or_any_json_of_500_characters(sandbox: Sandbox) -> None:
    nested = {"order": {"lines": [1, 2]}}
    body = {"email": "awa@example.com", "name": "Awa", "metadata": nested}
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=body)
    sandbox.settings(readings={"metadata_values": "any"})
    assert sandbox.customer(**body)["metadata"] == nested
    long = {**body, "email": "ben@example.com", "metadata": {"order": ["W" * 500]}}
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=long)
