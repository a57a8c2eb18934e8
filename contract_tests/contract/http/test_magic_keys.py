"""Magic keys: names that put the App, the company or the key into a special state (B-04)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.client import Client, http_client
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer

ALWAYS = [
    ("revoked", 401, "INVALID_API_KEY"),
    ("expired", 401, "EXPIRED_API_KEY"),
    ("disabled", 403, "APP_DISABLED"),
    ("unverified", 403, "APP_NOT_VERIFIED"),
    ("blacklisted", 403, "COMPANY_BLACKLISTED"),
]
LIVE = [("sandboxonly", "COMPANY_SANDBOX_ONLY"), ("kycrequired", "COMPANY_KYC_REQUIRED")]
PAYMENTS = [
    *("/checkout-sessions/", "/payment-links/", "/payment-intents/", "/payment-intents/pi_x/confirm/"),
    *("/payment-intents/pi_x/capture/", "/subscriptions/", "/subscriptions/sub_x/reactivate/"),
]


@pytest.fixture
def calling(server: RunningServer, service_contract: Contract) -> Any:
    """A client for any key."""
    clients: list[Client] = []

    def client(key: str) -> Client:
        clients.append(Client(server.url, service_contract, key))
        return clients[-1]

    yield client
    for opened in clients:
        opened.close()


@pytest.mark.parametrize("name", ["", "7", "2026"])
@pytest.mark.parametrize("side", ["test", "prod"])
@pytest.mark.parametrize(("begins", "status", "code"), ALWAYS)
def test_some_names_cannot_be_used_for_anything(
    calling: Any, begins: str, side: str, status: int, code: str, name: str
) -> None:
    client = calling(f"sk_{side}_{begins}{name}")
    client.rejected("GET", "/customers/", status, code)
    client.rejected("POST", "/customers/", status, code, content=b"{")


@pytest.mark.parametrize(("begins", "code"), LIVE)
def test_some_names_have_no_live_side(calling: Any, begins: str, code: str) -> None:
    calling(f"sk_prod_{begins}").rejected("GET", "/customers/", 403, code)
    assert calling(f"sk_test_{begins}").get("/customers/")["data"] == []


@pytest.mark.parametrize("path", PAYMENTS)
def test_without_payments_nothing_that_makes_or_takes_one_works(calling: Any, path: str) -> None:
    calling("sk_test_paymentsoff").rejected("POST", path, 403, "COMPANY_PAYMENTS_DISABLED", json={})


def test_without_payments_the_rest_works(calling: Any) -> None:
    client = calling("sk_test_paymentsoff2")
    assert client.post("/customers/", {"email": "a@example.com", "name": "A"})["email"] == "a@example.com"


def test_without_payouts_refunds_are_rejected(calling: Any) -> None:
    client = calling("sk_test_payoutsoff")
    client.rejected("POST", "/refunds/", 403, "COMPANY_PAYOUTS_DISABLED", json={"transaction": "trans_x"})
    client.get("/transactions/")


def test_a_read_only_key_may_read(calling: Any) -> None:
    client = calling("sk_test_readonly")
    assert client.get("/customers/")["data"] == []
    for method, path in (("POST", "/customers/"), ("PATCH", "/customers/x/"), ("DELETE", "/customers/x/")):
        client.rejected(method, path, 403, "INSUFFICIENT_PERMISSIONS", json={})


@pytest.mark.parametrize(
    "name", ["expired_cards_suite", "readonly_tests", "revoked-shop", "disabledx1", "expired1x", "disabledX"]
)
def test_a_name_that_begins_with_the_word_is_a_name(calling: Any, name: str) -> None:
    assert calling(f"sk_test_{name}").get("/customers/")["data"] == []


def test_a_request_that_the_name_rejects_is_in_the_journal(server: RunningServer, calling: Any) -> None:
    key = "sk_test_paymentsoff3"
    calling(key).rejected("POST", "/payment-links/", 403, "COMPANY_PAYMENTS_DISABLED", json={})
    with http_client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}) as http:
        journal = http.get("/_emulator/requests").json()["data"]
    assert [(row["operation"], row["status"]) for row in journal] == [("createPaymentLink", 403)]


def test_the_message_says_that_the_name_did_it(calling: Any) -> None:
    answer = calling("sk_test_expired7").rejected("GET", "/customers/", 401, "EXPIRED_API_KEY")
    assert "The name of the App is the cause: 'expired'" in answer["message"]


def test_a_name_that_merely_contains_the_word_is_a_name(calling: Any) -> None:
    assert calling("sk_test_not-revoked").get("/customers/")["data"] == []
