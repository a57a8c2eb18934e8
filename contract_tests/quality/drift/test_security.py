"""SECURITY.md: what each of its sentences says is tested."""

from __future__ import annotations

import re

import pytest

from contract_tests.quality.docs.pages import ROOT

TESTS = {
    "It listens on loopback unless": ["test_without_a_host_only_this_machine_reaches_it"],
    "It listens on an address that others": [
        "test_it_listens_on_the_given_address",
        "test_a_bad_option_is_reported_in_one_line",
    ],
    "Keys of the service are no secrets": ["test_a_name_has_1_to_64_characters"],
    "The control API and the console reject": [
        "test_only_names_of_loopback_are_known",
        "test_no_trick_makes_another_name_one_of_this_machine",
    ],
    "They reject requests of other": [
        "test_pages_of_other_origins_change_nothing",
        "test_a_link_may_be_followed_and_nothing_be_embedded",
    ],
    "A link of another site opens": [
        "test_a_link_of_another_site_to_a_page_opens_no_world",
        "test_a_link_of_another_site_reaches_no_call_of_the_api",
    ],
    "The control API takes only JSON": ["test_pages_of_other_origins_change_nothing"],
    "It asks for a token where": [
        "test_a_token_can_be_asked_for",
        "test_nothing_is_shown_to_who_has_no_token",
    ],
    "A login to the console ends": ["test_the_login_ends"],
    "The health check alone": ["test_a_token_can_be_asked_for"],
    "On loopback the service": [
        "test_a_server_on_loopback_answers_to_names_of_loopback_only",
        "test_only_names_of_loopback_are_known",
    ],
    "Webhooks follow no redirect": [
        "test_a_redirect_is_an_answer_and_not_followed",
        "test_metadata_addresses_are_rejected",
        "test_a_name_that_leads_to_a_metadata_address_is_not_called",
    ],
    "Every input has a limit": ["test_a_row_of_the_budget"],
    "Of a payment method's card at most": ["test_no_full_number_is_stored_sent_or_logged"],
    "What a client writes into metadata": ["test_no_spelling_is_shown"],
    "Card numbers, accounts": [
        "test_a_spelling_is_masked_in_whatever_holds_it",
        "test_no_spelling_is_shown",
        "test_no_spelling_is_in_the_report_of_certify",
        "test_secrets_in_any_spelling_become_unreadable",
        "test_no_card_number_key_or_secret_is_shown",
        "test_a_request_is_a_line",
    ],
    "An exported snapshot holds": ["test_nothing_personal_or_secret_is_in_it"],
    "`compare service` and `compare document` send": [
        "test_wrong_usage_is_explained",
        "test_what_cannot_be_checked_is_reported_in_one_line",
    ],
    "Pages escape everything": [
        "test_whatever_a_merchant_writes_shows_as_text",
        "test_whatever_a_browser_sends_shows_as_text",
        "test_a_page_may_load_nothing_and_run_only_its_own",
        "test_what_an_object_is_called_shows_as_text",
        "test_a_page_may_load_and_run_only_our_own_files",
    ],
}
"""The beginning of each sentence with the tests of its parts, which would fail if it were not true."""

CLAIMS = re.findall(r"^- (.+)", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)

SOURCES = "".join(file.read_text("utf-8") for file in (ROOT / "contract_tests").rglob("test_*.py"))


@pytest.mark.parametrize("claim", CLAIMS)
def test_each_sentence_has_its_tests(claim: str) -> None:
    (tests,) = [TESTS[start] for start in TESTS if claim.startswith(start)]
    assert [test for test in tests if f"def {test}(" not in SOURCES] == []


def test_no_sentence_is_missing() -> None:
    assert len(CLAIMS) == len(TESTS)
