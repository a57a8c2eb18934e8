"""The assumptions: sentences that can be read in two ways, listed and changed for an App (B-99)."""

from __future__ import annotations

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import Sandbox
from emulator.engine.reference_data import named_assumptions, numbered_assumptions

ASSUMPTIONS = named_assumptions()


def listed(sandbox: Sandbox) -> dict[str, dict[str, object]]:
    return {
        assumption["name"]: assumption
        for assumption in sandbox.control.get("/assumptions?page_size=100")["data"]
    }


def test_every_assumption_is_listed(sandbox: Sandbox) -> None:
    """With default, sentence and numbers."""
    rows = listed(sandbox)
    assert rows.keys() == ASSUMPTIONS.keys()
    assert {
        name for assumption in numbered_assumptions().values() for name in assumption.names
    } == ASSUMPTIONS.keys()
    for name, assumption in ASSUMPTIONS.items():
        assert rows[name]["value"] == rows[name]["default"] == next(iter(assumption.values))
        assert rows[name]["numbers"], name
        assert rows[name]["sentence"] == assumption.sentence


def test_each_value_of_an_assumption_can_be_chosen(sandbox: Sandbox) -> None:
    for name, assumption in ASSUMPTIONS.items():
        for value in assumption.values:
            changed = sandbox.control.patch("/app", {"settings": {"assumptions": {name: value}}})[
                "settings"
            ]
            assert (
                changed["assumptions"][name]
                == changed.get(name, value)
                == listed(sandbox)[name]["value"]
                == value
            )


def test_an_assumption_that_is_an_older_setting_equals_that(sandbox: Sandbox) -> None:
    sandbox.settings(unknown_fields="ignore")
    assert listed(sandbox)["unknown_fields"]["value"] == "ignore"
    sandbox.settings(unknown_fields="reject")
    assert listed(sandbox)["unknown_fields"]["value"] == "reject"


def test_a_search_without_a_match_is_empty_or_an_error(sandbox: Sandbox) -> None:
    assert sandbox.api.get("/customers/?search=nobody")["data"] == []
    sandbox.settings(assumptions={"search_nothing_found": "error"})
    sandbox.api.rejected("GET", "/customers/?search=nobody", 404, "SEARCH_NO_RESULTS")
    sandbox.customer(email="awa@example.com")
    assert len(sandbox.api.get("/customers/?search=awa@")["data"]) == 1
    assert sandbox.api.get("/customers/?status=blocked")["data"] == []


def test_pages_of_other_origins_may_read_responses_by_one_assumption(sandbox: Sandbox) -> None:
    headers = {"Authorization": f"Bearer {sandbox.key}", "Origin": "https://shop.example"}
    with http_client(base_url=sandbox.url, headers=headers) as page:
        assert "access-control-allow-origin" not in page.get("/v1/customers/").headers
        sandbox.settings(assumptions={"cors_without_domains": "any"})
        expected = "https://shop.example"
        assert page.get("/v1/customers/").headers["access-control-allow-origin"] == expected


def test_metadata_is_scalars_or_any_json_of_500_characters(sandbox: Sandbox) -> None:
    nested = {"order": {"lines": [1, 2]}}
    body = {"email": "awa@example.com", "name": "Awa", "metadata": nested}
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=body)
    sandbox.settings(assumptions={"metadata_values": "any"})
    assert sandbox.customer(**body)["metadata"] == nested
    # 500 characters of JSON, which are more bytes.
    most = {"order": ["é" * 496]}
    assert sandbox.customer(metadata=most)["metadata"] == most
    long = {**body, "email": "ben@example.com", "metadata": {"order": ["W" * 497]}}
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=long)
