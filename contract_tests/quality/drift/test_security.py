"""SECURITY.md: what each of its sentences says is tested."""

from __future__ import annotations

import re

import pytest

from contract_tests.quality.docs.pages import ROOT

TESTS = {
    "It listens on loopback unless": ["surfaces/cli/test_serve.py::test_without_a_host_only_this_machine_reaches_it"],
    "It listens on an address that others": [
        "surfaces/cli/test_serve.py::test_others_reach_it_only_with_a_token_or_where_that_is_said",
        "surfaces/cli/test_serve.py::test_how_others_may_reach_it",
    ],
    "Keys of the service are no secrets": ["contract/http/test_keys.py::test_a_name_has_1_to_64_characters"],
    "The control API and the console reject": [
        "surfaces/control/test_lock.py::test_other_names_are_rejected",
        "surfaces/control/test_lock.py::test_no_trick_makes_another_name_one_of_this_machine",
    ],
    "They reject requests of other": [
        "surfaces/control/test_lock.py::test_pages_of_other_origins_change_nothing",
        "surfaces/control/test_lock.py::test_a_link_may_be_followed_and_nothing_be_embedded",
    ],
    "A link of another site opens": [
        "surfaces/control/test_lock.py::test_a_link_of_another_site_to_a_page_opens_no_world",
        "surfaces/control/test_lock.py::test_a_link_of_another_site_reaches_no_call_of_the_api",
    ],
    "The control API takes only JSON": ["surfaces/control/test_lock.py::test_what_a_form_could_send_is_no_json"],
    "It asks for a token where": [
        "surfaces/control/test_lock.py::test_further_names_and_a_token_can_be_asked_for",
        "surfaces/console/test_door.py::test_nothing_is_shown_to_who_has_no_token",
        "surfaces/console/test_door.py::test_nothing_is_done_either",
    ],
    "A login to the console ends": ["surfaces/console/test_door.py::test_the_login_ends"],
    "The health check alone": ["surfaces/control/test_lock.py::test_health_answers_any_name_without_a_token"],
    "On loopback the service": [
        "surfaces/control/test_lock.py::test_a_server_on_loopback_answers_to_names_of_loopback_only",
        "surfaces/control/test_lock.py::test_the_service_itself_is_not_locked",
    ],
    "Webhooks follow no redirect": [
        "contract/resources/test_deliveries.py::test_a_redirect_is_an_answer_and_not_followed",
        "contract/resources/test_webhooks.py::test_metadata_addresses_are_rejected",
        "contract/resources/test_webhooks.py::test_a_name_that_leads_to_a_metadata_address_is_not_called",
    ],
    "Every input has a limit": ["simulator/hostile/test_crowd.py::test_a_row_of_the_budget"],
    "Of a payment method's card at most": [
        "contract/resources/test_payment_methods.py::test_no_full_number_is_stored_sent_or_logged"
    ],
    "What a client writes into metadata": ["simulator/hostile/test_spellings.py::test_no_spelling_is_shown"],
    "Card numbers, accounts": [
        "simulator/hostile/test_spellings.py::test_a_spelling_is_masked_in_whatever_holds_it",
        "simulator/hostile/test_spellings.py::test_no_spelling_is_shown",
        "simulator/hostile/test_spellings.py::test_no_spelling_is_in_the_report_of_certify",
        "contract/engine/test_redaction.py::test_secrets_in_any_spelling_become_unreadable",
        "surfaces/control/test_requests.py::test_no_card_number_key_or_secret_is_shown",
        "surfaces/control/test_request_code.py::test_no_secret_is_in_it",
        "surfaces/cli/test_serve.py::test_the_lines_show_no_card_number_or_key",
    ],
    "An exported snapshot holds": [
        "surfaces/control/test_shared_snapshots.py::test_nothing_personal_or_secret_is_in_it"
    ],
    "`compare service` and `compare document` send": [
        "surfaces/checks/service/test_calibrate.py::test_wrong_usage_is_explained",
        "surfaces/cli/test_check.py::test_what_cannot_be_checked_is_reported_in_one_line",
    ],
    "Pages escape everything": [
        "surfaces/pages/test_safety.py::test_whatever_a_merchant_writes_shows_as_text",
        "surfaces/pages/test_safety.py::test_whatever_a_browser_sends_shows_as_text",
        "surfaces/pages/test_safety.py::test_a_page_may_load_nothing_and_run_only_its_own",
        "surfaces/console/test_pages.py::test_what_an_object_is_called_shows_as_text",
        "surfaces/console/test_pages.py::test_a_page_may_load_and_run_only_our_own_files",
    ],
}
"""The beginning of each sentence with the tests of its parts, which would fail if it were not true."""

CLAIMS = re.findall(r"^- (.+)", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("claim", CLAIMS)
def test_each_sentence_has_its_tests(claim: str) -> None:
    (tests,) = [TESTS[start] for start in TESTS if claim.startswith(start)]
    for file, _, test in (each.partition("::") for each in tests):
        assert f"def {test}(" in (ROOT / "contract_tests" / file).read_text("utf-8")


def test_no_sentence_is_missing() -> None:
    assert len(CLAIMS) == len(TESTS)
