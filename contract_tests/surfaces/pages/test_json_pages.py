"""The JSON form of the buyer's pages: every kind, state and error, each answer as the document of the pages has it."""

from __future__ import annotations

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
    WHO,
    Buyer,
    invoice,
    link,
    path_of,
    session,
)


class JsonBuyer(Buyer):
    """A program that plays the buyer; like every answer, each is held against the document."""

    def page(self, status: int = 200, **query: str) -> Any:
        return self._checked(self.http.get(self.path, params=query), status)

    def send_json(self, status: int = 200, **form: Any) -> Any:
        return self._checked(self.http.post(self.path, json={"token": self.page()["token"]} | form), status)

    def _checked(self, answer: httpx.Response, status: int) -> Any:
        assert answer.status_code == status, answer.text
        return answer.json()


Opens = Callable[[Any], JsonBuyer]


@pytest.fixture
def buyer(sandbox: Sandbox) -> Iterator[Opens]:
    """Opens the page of an object, or of a path."""
    with ExitStack() as cleanup:

        def of(thing: Any) -> JsonBuyer:
            path = thing if isinstance(thing, str) else path_of(thing)
            return cleanup.enter_context(JsonBuyer(sandbox.url, path, Accept="application/json"))

        yield of


def test_a_session_is_paid_and_its_receipt_is_shown(sandbox: Sandbox, buyer: Opens) -> None:
    made = session(sandbox)
    here = buyer(made)
    first = here.page()
    assert (first["state"], first["amount_total"], first["currency"]) == ("payable", 30000, "XAF")
    fields = first["fields"]
    assert (fields["mobile_money"], fields["bank_card"]) == (["phone"], ["number", "expiry", "cvc"])
    paid = here.send_json(**PHONE, **WHO)
    assert (paid["state"], paid["payment_intent"]["status"]) == ("paid", "succeeded")
    assert paid["redirect_url"] == SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"])
    [receipt] = sandbox.api.get("/receipts/")["data"]
    assert buyer(f"/receipt/{receipt['id']}").page() == receipt


def test_what_is_wrong_or_declined_may_be_tried_again_and_a_step_is_answered(sandbox: Sandbox, buyer: Opens) -> None:
    here = buyer(session(sandbox))
    assert here.send_json(422, method="mobile_money", phone="12").get("errors", {}).keys() == {"phone"}
    assert here.send_json(403, token="wrong")["problem"]
    declined = here.send_json(**DECLINED)
    assert declined["state"] == "payable"
    assert declined["payment_intent"]["last_error"]["code"] == "PAYMENT_METHOD_NOT_SUPPORTED"
    step = here.send_json(**STEP)
    assert (step["state"], step["payment_intent"]["next_action"]["type"]) == ("step", "confirm_card")
    assert here.send_json(do="approve", payment=step["payment_intent"]["id"])["state"] == "paid"
    here = buyer(link(sandbox, collect_customer_info=False))
    waiting = here.send_json(method="mobile_money", phone="+24177000006")
    assert (waiting["state"], waiting["refresh_seconds"]) == ("waiting", 3)
    assert here.page(payment=waiting["payment_intent"]["id"])["state"] == "waiting"
    for state, make, close in (
        ("archived", link, "/payment-links/{}/archive/"),
        ("void", invoice, "/invoices/{}/void/"),
        ("expired", session, "/checkout-sessions/{}/expire/"),
    ):
        made = make(sandbox)
        sandbox.api.post(close.format(made["id"]))
        assert buyer(made).page(410)["state"] == state
    for kind in ("checkout", "pay", "invoice", "receipt"):
        assert buyer(f"/{kind}/nothing").page(404)["code"] == "NOT_FOUND"
