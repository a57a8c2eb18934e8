"""The JSON form of the buyer's pages: every kind, state and error, each answer as the document of the pages has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.coverage.watch import WATCH
from contract_tests.surfaces.pages.buyer import (
    CARD,
    DECLINED,
    PHONE,
    STEP,
    SUCCESS,
    WHO,
    invoice,
    link,
    path_of,
    session,
)


class JsonBuyer:
    """A program that plays the buyer; every answer is held against the document."""

    def __init__(self, base: str, path: str) -> None:
        self.http = http_client(base_url=base, headers={"Accept": "application/json"})
        self.path = path
        self.contract: Contract = WATCH.contracts["/checkout/"]

    def page(self, status: int = 200, **query: str) -> Any:
        return self._checked(self.http.get(self.path, params=query), status)

    def send(self, status: int = 200, **form: Any) -> Any:
        form = {"token": self.page()["token"]} | form
        return self._checked(self.http.post(self.path, json=form), status)

    def _checked(self, answer: httpx.Response, status: int) -> Any:
        assert answer.status_code == status, answer.text
        found = self.contract.faults(answer.request.method, self.path, status, answer.headers, answer.content)
        assert found == []
        return answer.json()


@pytest.fixture
def buyer(sandbox: Sandbox) -> Iterator[Callable[[Any], JsonBuyer]]:
    """Opens the page of an object, or of a path."""
    opened: list[JsonBuyer] = []

    def of(thing: Any) -> JsonBuyer:
        opened.append(JsonBuyer(sandbox.url, thing if isinstance(thing, str) else path_of(thing)))
        return opened[-1]

    yield of
    for each in opened:
        each.http.close()


Opens = Callable[[Any], JsonBuyer]


def test_a_session_is_paid_and_its_receipt_is_shown(sandbox: Sandbox, buyer: Opens) -> None:
    made = session(sandbox)
    here = buyer(made)
    first = here.page()
    assert (first["state"], first["amount_total"], first["currency"]) == ("payable", 30000, "XAF")
    fields = first["fields"]
    assert (fields["mobile_money"], fields["bank_card"]) == (["phone"], ["number", "expiry", "cvc"])
    paid = here.send(**PHONE, **WHO)
    assert (paid["state"], paid["payment_intent"]["status"]) == ("paid", "succeeded")
    assert paid["redirect_url"] == SUCCESS.replace("{CHECKOUT_SESSION_ID}", made["id"])
    [receipt] = sandbox.api.get("/receipts/")["data"]
    assert buyer(f"/receipt/{receipt['id']}").page() == receipt


def test_a_page_that_waits_says_when_to_read_it_again(sandbox: Sandbox, buyer: Opens) -> None:
    here = buyer(link(sandbox, collect_customer_info=False))
    waiting = here.send(method="mobile_money", phone="+24177000006")
    assert (waiting["state"], waiting["refresh_seconds"]) == ("waiting", 3)
    assert here.page(payment=waiting["payment_intent"]["id"])["state"] == "waiting"


def test_a_link_asks_for_an_amount_or_a_product_and_an_invoice_for_neither(sandbox: Sandbox, buyer: Opens) -> None:
    here = buyer(sandbox.api.post("/payment-links/", {"payment_link_type": "donation", "currency": "XAF", "name": "W"}))
    page = here.page(lang="fr")
    assert (page["mode"], page["amount_total"], page["language"]) == ("donation", None, "fr")
    assert "amount" in page["fields"]["always"]
    assert here.send(**CARD, **WHO, amount="2,500")["payment_intent"]["amount"] == 2500
    products = [sandbox.product(name=name)["id"] for name in ("Basket", "Mat")]
    here = buyer(link(sandbox, payment_link_type="product", products=products))
    assert [choice["id"] for choice in here.page()["choices"]] == products
    assert here.send(**CARD, **WHO, product=products[1])["state"] == "paid"
    here = buyer(invoice(sandbox))
    page = here.page()
    assert (page["kind"], page["amount_total"], page["fields"]["always"]) == ("invoice", 6000, [])
    assert here.send(**CARD)["state"] == "paid"


def test_what_is_wrong_or_declined_may_be_tried_again_and_a_step_is_answered(sandbox: Sandbox, buyer: Opens) -> None:
    here = buyer(session(sandbox))
    assert here.send(422, method="mobile_money", phone="12").get("errors", {}).keys() == {"phone"}
    assert here.send(403, token="wrong")["problem"]
    declined = here.send(**DECLINED)
    assert declined["state"] == "payable"
    assert declined["payment_intent"]["last_error"]["code"] == "PAYMENT_METHOD_NOT_SUPPORTED"
    step = here.send(**STEP)
    assert (step["state"], step["payment_intent"]["next_action"]["type"]) == ("step", "confirm_card")
    assert here.send(do="approve", payment=step["payment_intent"]["id"])["state"] == "paid"
    for kind in ("checkout", "pay", "invoice", "receipt"):
        assert buyer(f"/{kind}/nothing").page(404)["code"] == "NOT_FOUND"


@pytest.mark.parametrize("state", ["archived", "void", "expired"])
def test_a_closed_page_says_why(sandbox: Sandbox, buyer: Opens, state: str) -> None:
    thing, close = {
        "archived": (link, "/payment-links/{id}/archive/"),
        "void": (invoice, "/invoices/{id}/void/"),
        "expired": (session, "/checkout-sessions/{id}/expire/"),
    }[state]
    closed = thing(sandbox)
    sandbox.api.post(close.format(id=closed["id"]))
    assert buyer(closed).page(410)["state"] == state
