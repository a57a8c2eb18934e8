"""The buyer's pages in each language, with sandbox panel and JSON form, as documented."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import (
    DECLINED,
    PHONE,
    STEP,
    SUCCESS,
    TRANSFER,
    WHO,
    Buyer,
    buyer,
    invoice,
    link,
    path_of,
    session,
)
from emulator.engine.reference_data import ReferenceData
from emulator.resources.payments.operator import DEFAULT_FAILURE_CODE
from emulator.ui.buyer.render import ERRORS

MAGIC = {
    f"{type}.{value.name}": value
    for type, values in ReferenceData().magic.items()
    for value in values
}


@pytest.mark.parametrize(
    ("accepted", "language"), [("", "en"), ("de, fr;q=0.8, en;q=0.7", "fr"), (",;=" * 1000, "en")]
)
def test_accept_language_chooses_the_language(
    sandbox: Sandbox, accepted: str, language: str
) -> None:
    with buyer(sandbox, link(sandbox), **{"Accept-Language": accepted}) as awa:
        assert awa.open().language == language


def test_a_language_that_was_chosen_stays(sandbox: Sandbox) -> None:
    """It outdoes Accept-Language."""
    with buyer(sandbox, link(sandbox), **{"Accept-Language": "en"}) as awa:
        page = awa.open(lang="fr")
        form = {**page.fields, "do": "pay", **DECLINED, **WHO}
        failed = awa.follow(awa.send(form, str(page.elements["payment-form"]["action"])))
    assert page.language == failed.language == "fr"
    assert "Le paiement n’a pas abouti" in failed.text_of("problem")


def test_a_french_page_is_completely_french(sandbox: Sandbox) -> None:
    codes = {value.code for value in MAGIC.values() if value.code} | {
        DEFAULT_FAILURE_CODE["payment"]
    }
    assert codes <= ERRORS.keys(), "every way to fail has a sentence of its own"
    with buyer(sandbox, invoice(sandbox), **{"Accept-Language": "fr"}) as awa:
        page = awa.open()
        assert page.text_of("total") == "6 000 XAF"
        assert page.text_of("due-date") == "À payer au plus tard le 31 janvier 2026"
        assert page.text_of("pay") == "Payer 6 000 XAF"
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
            assert values.items() <= filled.fields.items(), (
                "the link fills in what the script would"
            )


class JsonBuyer(Buyer):
    """A program that plays the buyer; like every answer, each is held against the document."""

    def page(self, status: int = 200, **query: str) -> Any:
        return self._checked(self.http.get(self.path, params=query), status)

    def send_json(self, status: int = 200, **form: Any) -> Any:
        return self._checked(
            self.http.post(self.path, json={"token": self.page()["token"]} | form), status
        )

    def _checked(self, response: httpx.Response, status: int) -> Any:
        assert response.status_code == status, response.text
        return response.json()


Opens = Callable[[Any], JsonBuyer]


@pytest.fixture
def opened(sandbox: Sandbox) -> Iterator[Opens]:
    """Opens the page of an object, or of a path."""
    with ExitStack() as cleanup:

        def of(thing: Any) -> JsonBuyer:
            path = thing if isinstance(thing, str) else path_of(thing)
            return cleanup.enter_context(JsonBuyer(sandbox.url, path, Accept="application/json"))

        yield of


def test_a_session_is_paid_by_a_program(sandbox: Sandbox, opened: Opens) -> None:
    made = session(sandbox)
    here = opened(made)
    first = here.page()
    assert (first["state"], first["amount_total"], first["currency"]) == ("payable", 30000, "XAF")
    fields = first["fields"]
    assert (fields["mobile_money"], fields["bank_card"]) == (["phone"], ["number", "expiry", "cvc"])
    paid = here.send_json(**PHONE, **WHO)
    assert (paid["state"], paid["payment_intent"]["status"]) == ("paid", "succeeded")
    assert paid["redirect_url"] == SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"])
    [receipt] = sandbox.api.get("/receipts/")["data"]
    assert opened(f"/receipt/{receipt['id']}").page() == receipt


def test_a_wrong_form_is_rejected(sandbox: Sandbox, opened: Opens) -> None:
    here = opened(session(sandbox))
    assert here.send_json(422, method="mobile_money", phone="12").get("errors", {}).keys() == {
        "phone"
    }
    assert here.send_json(403, token="wrong")["problem"]


def test_a_field_that_is_null_is_as_left_out(sandbox: Sandbox, opened: Opens) -> None:
    """Of a program's form; without the phone there is no number."""
    nothing = {"name": None, "email": None, "number": None, "do": None}
    here = opened(session(sandbox))
    assert here.send_json(422, **{**PHONE, **nothing, "phone": None})["errors"].keys() == {"phone"}
    assert here.send_json(**PHONE, **nothing)["state"] == "paid"


@pytest.mark.parametrize("value", [[], {}, True, ["awa@example.com"]], ids=str)
def test_a_field_of_a_wrong_type_is_named(sandbox: Sandbox, opened: Opens, value: Any) -> None:
    """The fields of the page, that is: others are ignored. Nothing is charged."""
    here = opened(session(sandbox))
    for field in ("name", "email", "method", "phone", "do", "payment"):
        answer = here.send_json(422, **{**PHONE, **WHO, field: value})
        assert answer["errors"].keys() == {field}
    assert here.send_json(403, token=value)["state"] == "payable"
    assert here.send_json(**PHONE, quantity=value, iban=value)["state"] == "paid"
    assert len(list(sandbox.api.pages("/payment-intents/"))) == 1


def test_a_declined_payment_may_be_tried_again(sandbox: Sandbox, opened: Opens) -> None:
    here = opened(session(sandbox))
    declined = here.send_json(**DECLINED)
    assert declined["state"] == "payable"
    assert declined["payment_intent"]["last_error"]["code"] == "PAYMENT_METHOD_NOT_SUPPORTED"


def test_a_step_is_confirmed(sandbox: Sandbox, opened: Opens) -> None:
    here = opened(session(sandbox))
    step = here.send_json(**STEP)
    assert (step["state"], step["payment_intent"]["next_action"]["type"]) == (
        "step",
        "confirm_card",
    )
    assert here.send_json(do="approve", payment=step["payment_intent"]["id"])["state"] == "paid"


def test_a_program_is_told_when_to_look_again(sandbox: Sandbox, opened: Opens) -> None:
    here = opened(link(sandbox, collect_customer_info=False))
    waiting = here.send_json(method="mobile_money", phone="+24177000006")
    assert (waiting["state"], waiting["refresh_seconds"]) == ("waiting", 3)
    assert here.page(payment=waiting["payment_intent"]["id"])["state"] == "waiting"


def test_a_page_that_is_closed_says_its_state(sandbox: Sandbox, opened: Opens) -> None:
    for state, make, close in (
        ("archived", link, "/payment-links/{}/archive/"),
        ("void", invoice, "/invoices/{}/void/"),
        ("expired", session, "/checkout-sessions/{}/expire/"),
    ):
        made = make(sandbox)
        sandbox.api.post(close.format(made["id"]))
        assert opened(made).page(410)["state"] == state


def test_an_unknown_thing_has_no_page(opened: Opens) -> None:
    for kind in ("checkout", "pay", "invoice", "receipt"):
        assert opened(f"/{kind}/nothing").page(404)["code"] == "NOT_FOUND"
