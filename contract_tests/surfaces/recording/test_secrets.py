"""No secret leaves a world: neither in a request as code, nor in a recording, in any form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.surfaces.recording.conftest import Played
from contract_tests.surfaces.recording.story import PastDue
from emulator.cli.logs import CODE_FORMS as CODE
from emulator.cli.record import FORMS
from emulator.engine.redaction import redact
from emulator.testing import Emulator, LocalServer

CARD = {"type": "bank_card", "number": "5200 8282 8282 8210", "exp_month": 12, "exp_year": 2030, "cvc": "973"}
PAYMENT = {"type": "bank_card", "number": "6011000990139424", "exp_month": 11, "exp_year": 2031, "cvc": "864"}
IBAN = "FR7630006000011234567890189"
KEY = "sk_test_secrets-of-a-shop"
PHONE = "+24177345678"

SECRETS = (
    *("5200828282828210", "5200 8282 8282 8210", "828282828210"),
    *("6011000990139424", '"973"', "'973'", '"864"', "'864'"),
    *(IBAN, "1234567890189", KEY),
)
"""What must stand nowhere. A phone number is no secret, nor is the name of an App."""


@pytest.fixture(scope="module")
def world(local_server: LocalServer) -> Iterator[tuple[Played, str]]:
    """A world in which every kind of secret was sent, and the secret of its webhook endpoint."""
    with Emulator(key=KEY, clock="2026-01-01T00:00:00Z", seed=5, server=local_server) as payments:
        api = payments.api
        endpoint = {"name": "Shop", "url": f"{payments.url}/_emulator/inbox/shop", "events": ["*"]}
        secret = api.post("/v1/webhooks/", endpoint)["secret"]
        assert secret.startswith("whsec_")
        customer = api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa", "phone": PHONE})["id"]
        method = api.post("/v1/payment-methods/", {"customer": customer, **CARD})["id"]
        api.post("/v1/payment-methods/", {"customer": customer, "type": "bank_transfer", "iban": IBAN})
        lines = [{"description": "Basket", "unit_amount": 2000}]
        for pay in (_on_the_page, _over_the_api):
            session = api.post("/v1/checkout-sessions/", {"currency": "XAF", "line_items": lines})
            pay(payments, session)
        note = {"note": f"card {CARD['number']}, {secret}, {KEY}"}
        api.patch(f"/v1/customers/{customer}/", {"metadata": note})
        payments.client.get("/v1/customers/", params={"search": PAYMENT["number"]})
        api.get(f"/v1/payment-methods/{method}/")
        payments.settle()
        yield Played(payments, PastDue("", "")), secret


def _on_the_page(payments: Emulator, session: dict[str, str]) -> None:
    headers = {"Accept": "application/json"}
    token = payments.client.get(session["url"], headers=headers).json()["token"]
    card = {"method": "bank_card", "number": PAYMENT["number"], "expiry": "11/31", "cvc": PAYMENT["cvc"]}
    form = {"token": token, "name": "Awa Diop", "email": "a@example.com", **card}
    assert payments.client.post(session["url"], headers=headers, data=form).json()["state"] == "paid"


def _over_the_api(payments: Emulator, session: dict[str, str]) -> None:
    body = {"method": PAYMENT, "customer": {"name": "Awa", "email": "b@example.com"}}
    payments.api.post(f"/_emulator/checkout-sessions/{session['id']}/pay", body)


def found(text: str, secret: str) -> list[str]:
    return [each for each in (*SECRETS, secret, secret.removeprefix("whsec_")) if each in text]


def ids(world: Played) -> list[str]:
    return [each["id"] for each in world.payments.api.get("/_emulator/requests", page_size=100)["data"]]


@pytest.mark.parametrize("form", ["shown", "json", *CODE])
def test_in_a_request_as_it_is_shown_and_as_code(form: str, world: tuple[Played, str]) -> None:
    played, secret = world
    requests = ids(played)
    if form in CODE:
        answers = [played.payments.client.get(f"/_emulator/requests/{id}", params={"as": form}) for id in requests]
        assert [answer.status_code for answer in answers] == [200] * len(requests)
        assert found("".join(answer.text for answer in answers), secret) == []
        assert "PAYMENTS_EMULATOR_KEY" in answers[0].text or form == "pytest"
    arguments = {"shown": (), "json": ("--json",)}.get(form, ("--as", form))
    said = "".join(played.cli("logs", id, *arguments).output for id in requests)
    assert "/v1/payment-methods/" in said
    assert found(said, secret) == []


@pytest.mark.parametrize("form", ["steps", *FORMS])
def test_in_a_recording_of_the_control_api(form: str, world: tuple[Played, str]) -> None:
    played, secret = world
    answer = played.payments.client.get("/_emulator/recording", params={"as": form})
    assert answer.status_code == 200
    assert found(answer.text, secret) == []


def test_the_address_of_a_receiver_is_no_card_number() -> None:
    """One of ten ports and eight digits has the check digit of a card; a masked address cannot be played again."""
    for port in range(37980, 37990):
        for host in ("127.0.0.1", "localhost"):
            url = f"http://{host}:{port}/15040373b2e0-test"
            assert redact(url.encode()) == url.encode()
    assert b"4242" not in redact(b"http://127.0.0.1:37985/x/4242.4242.4242.4242")[:-4]
