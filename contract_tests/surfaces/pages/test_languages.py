"""The buyer's pages in English and French, and the sandbox panel, which fills in magic values."""

from __future__ import annotations

import json

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import DECLINED, TRANSFER, WHO, buyer, invoice, link, session
from emulator.engine.reference_data import ReferenceData
from emulator.resources.payments.operator import DEFAULT_FAILURE_CODE
from emulator.ui.buyer.render import ERRORS

MAGIC = {f"{type}.{value.name}": value for type, values in ReferenceData().magic.items() for value in values}


@pytest.mark.parametrize(("accepted", "language"), [("", "en"), ("de, fr;q=0.8, en;q=0.7", "fr"), (",;=" * 1000, "en")])
def test_accept_language_chooses_and_lang_outdoes_it_and_stays(sandbox: Sandbox, accepted: str, language: str) -> None:
    with buyer(sandbox, link(sandbox), **{"Accept-Language": accepted}) as awa:
        assert awa.open().language == language
        page = awa.open(lang="fr")
        form = {**page.fields, "do": "pay", **DECLINED, **WHO}
        failed = awa.follow(awa.send(form, str(page.elements["payment-form"]["action"])))
    assert page.language == failed.language == "fr"
    assert "Le paiement n’a pas abouti" in failed.said("problem")


def test_french_through_and_through(sandbox: Sandbox) -> None:
    codes = {value.code for value in MAGIC.values() if value.code} | {DEFAULT_FAILURE_CODE["payment"]}
    assert codes <= ERRORS.keys(), "every way to fail has a sentence of its own"
    with buyer(sandbox, invoice(sandbox), **{"Accept-Language": "fr"}) as awa:
        page = awa.open()
        assert page.said("total") == "6 000 XAF"
        assert page.said("due-date") == "À payer au plus tard le 31 janvier 2026"
        assert page.said("pay") == "Payer 6 000 XAF"
        waiting = awa.follow(awa.pay(**TRANSFER))
        assert "En attente de votre virement" in waiting.text
        assert "se terminant par 2606" in waiting.text
        sandbox.advance("1d")
        assert "Paiement réussi" in awa.open().text


def test_the_panel_fills_a_value_in_without_a_script(sandbox: Sandbox) -> None:
    """In the language of the page."""
    with buyer(sandbox, session(sandbox)) as awa:
        page = awa.open(lang="fr")
        fills = [name for name in page.elements if name.startswith("fill-")]
        assert len(fills) == len(MAGIC) + 2
        for name in fills:
            filled = awa.open(str(page.elements[name]["href"]))
            assert filled.language == "fr"
            values = json.loads(str(page.elements[name]["data-fill"]))
            assert values["method"] in name
            assert values.items() <= filled.fields.items(), "the link fills in what the script would"
