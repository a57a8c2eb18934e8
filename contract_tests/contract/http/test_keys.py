"""Keys: the ones with access, the others' errors, and names for a state (B-02, B-03, B-04)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import product

import pytest

from contract_tests.contract.http.line import Line, Response
from contract_tests.support.client import Client
from contract_tests.support.contract import Contract, contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import CLIENT
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app.clients import Key


def ask(
    server: RunningServer, contract: Contract, *headers: bytes, path: str = "/v1/customers/"
) -> Response:
    """Return the response to a GET with just these headers."""
    with Line(server.url) as line:
        line.say(
            b"".join(
                row + b"\r\n"
                for row in (f"GET {path} HTTP/1.1".encode(), b"Host: localhost", *headers, b"")
            )
        )
        response = line.response()
    assert contract.faults("GET", path, response.status, response.headers, response.body) == []
    return response


REJECTED = [
    (b"", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer", 401, "AUTHENTICATION_FAILED"),
    (b"Basic c2tfdGVzdF9kZW1vOg==", 401, "AUTHENTICATION_FAILED"),
    (b"Bearers sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer\tsk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer\xa0sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"\xff\xfe", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer sk_test_d\xc3\xa9mo", 401, "INVALID_TOKEN"),
    (b"Bearer \xff\xff\xff\xff", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_demo sk_test_demo", 401, "INVALID_TOKEN"),
    (b"Bearer SK_TEST_demo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_live_demo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_de mo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_", 401, "INVALID_TOKEN"),
    (b"Bearer " + b"x" * 100_000, 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_revoked1", 401, "INVALID_API_KEY"),
    (b"Bearer sk_test_expired1", 401, "EXPIRED_API_KEY"),
    (b"Bearer pk_test_demo", 403, "PUBLIC_KEY_NOT_ALLOWED"),
    (b"bearer  pk_test_demo", 403, "PUBLIC_KEY_NOT_ALLOWED"),
]


def test_the_error_for_each_unusable_key_says_why(
    server: RunningServer, service_contract: Contract
) -> None:
    """B-03, B-04: the five 401s, and 403 for a public key."""
    for value, status, code in REJECTED:
        response = ask(server, service_contract, b"Authorization: " + value)
        assert (response.status, response.code) == (status, code), value[:60]


def test_no_key_is_a_missing_key(server: RunningServer, service_contract: Contract) -> None:
    """B-03."""
    assert ask(server, service_contract).code == "MISSING_API_KEY"


def test_two_keys_are_none(server: RunningServer, service_contract: Contract) -> None:
    """B-03: of two headers it is unknown which is meant."""
    for other in (b"Bearer sk_test_demo", b"Bearer sk_test_other", b""):
        response = ask(
            server,
            service_contract,
            b"Authorization: Bearer sk_test_demo",
            b"Authorization: " + other,
        )
        assert (response.status, response.code) == (401, "AUTHENTICATION_FAILED")


@pytest.mark.parametrize(
    "value", [b"BEARER sk_test_demo", b"  Bearer    sk_test_demo   ", b"Bearer sk_prod_demo"]
)
def test_a_key_is_read_however_its_header_is_spelled(
    server: RunningServer, service_contract: Contract, value: bytes
) -> None:
    """RFC 9110, 11.1: neither the scheme's letter case nor spaces count; the key's case does."""
    assert ask(server, service_contract, b"AUTHORIZATION:" + value).status == 200


def test_a_key_is_looked_up_once_however_its_header_is_spelled(
    server: RunningServer, service_contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server keeps of a key does not grow with the spellings of the scheme and of the
    blanks.
    """
    engine, opened = server.server.sandbox.engine, list[Key]()

    async def open_world(key: Key) -> Runtime:
        opened.append(key)
        return await Engine.open(engine, key)

    monkeypatch.setattr(engine, "open", open_world)
    spellings = product((b"Bearer", b"bearer", b"bEaReR"), (b" ", b"   "))
    for scheme, blanks in spellings:
        header = b"Authorization: " + scheme + blanks + b"sk_test_spelled"
        assert ask(server, service_contract, header).status == 200
    assert opened == [Key("spelled", livemode=False)]


def test_a_name_has_1_to_64_characters(server: RunningServer, service_contract: Contract) -> None:
    """B-02."""
    for name in ("", "a" * 65):
        response = ask(server, service_contract, f"Authorization: Bearer sk_prod_{name}".encode())
        assert (response.status, response.code) == (401, "INVALID_TOKEN")
        assert b"NAME is 1 to 64 characters of A-Z a-z 0-9 _ -" in response.body
    for name in ("a", "a" * 64, "A-Z_a-z_0-9", "____"):
        assert (
            ask(server, service_contract, f"Authorization: Bearer sk_test_{name}".encode()).status
            == 200
        )


def test_the_control_api_takes_a_name_instead_of_a_key(sandbox: Sandbox) -> None:
    """Control API: the App of ``app=NAME`` (1 to 64 characters), or ``demo``."""
    del sandbox.control.http.headers["Authorization"]
    for query in ("?app=a.c", "?app=", "?app=" + "a" * 65, "?app=abcd&app=efgh"):
        sandbox.control.rejected("GET", f"/clock{query}", 422, "INVALID_FILTER_PARAM")
    for query in ("?app=" + "a" * 64, ""):
        sandbox.control.get(f"/clock{query}")


def test_a_key_given_to_the_control_api_must_be_one(server: RunningServer) -> None:
    """An ``Authorization`` header is never passed over for ``app`` or ``demo``."""
    for value, status, code in REJECTED:
        if not value.endswith(b"1"):  # it may be used to look at an App whose key does not work
            response = ask(
                server, contract("control"), b"Authorization: " + value, path="/_emulator/clock"
            )
            assert (response.status, response.code) == (status, code), value[:60]


# -- names that put the App, the company or the key into a special state


Calling = Callable[[str], Client]


@pytest.fixture
def calling(server: RunningServer, service_contract: Contract) -> Iterator[Calling]:
    """A client for any key."""
    with ExitStack() as stack:

        def client(key: str) -> Client:
            return stack.enter_context(closing(Client(server.url, service_contract, key)))

        yield client


ALWAYS = [
    ("revoked", 401, "INVALID_API_KEY"),
    ("expired", 401, "EXPIRED_API_KEY"),
    ("disabled", 403, "APP_DISABLED"),
    ("unverified", 403, "APP_NOT_VERIFIED"),
    ("blacklisted", 403, "COMPANY_BLACKLISTED"),
]
PAYMENTS = [
    *(
        "/checkout-sessions/",
        "/payment-links/",
        "/payment-intents/",
        "/payment-intents/pi_x/confirm/",
    ),
    *("/payment-intents/pi_x/capture/", "/subscriptions/", "/subscriptions/sub_x/reactivate/"),
]


def test_some_names_cannot_be_used_for_anything_or_have_no_live_side(calling: Calling) -> None:
    """The message says that it is because of the name."""
    for begins, status, code in ALWAYS:
        for key in (f"sk_test_{begins}", f"sk_test_{begins}2026", f"sk_prod_{begins}7"):
            rejected = calling(key).rejected("GET", "/customers/", status, code)
            assert f"The name of the App is the cause: '{begins}'" in rejected["message"]
            calling(key).rejected("POST", "/customers/", status, code, content=b"{")
    for begins, code in (
        ("sandboxonly", "COMPANY_SANDBOX_ONLY"),
        ("kycrequired", "COMPANY_KYC_REQUIRED"),
    ):
        calling(f"sk_prod_{begins}").rejected("GET", "/customers/", 403, code)
        assert calling(f"sk_test_{begins}").get("/customers/")["data"] == []


def test_without_payments_nothing_that_makes_or_takes_one_works(
    server: RunningServer, calling: Calling
) -> None:
    client = calling("sk_test_paymentsoff140")
    for path in PAYMENTS:
        client.rejected("POST", path, 403, "COMPANY_PAYMENTS_DISABLED", json={})
    client.post("/customers/", {"email": "a@example.com", "name": "A"})
    journal = CLIENT.get(f"{server.url}/_emulator/requests", headers=client.http.headers).json()[
        "data"
    ]
    assert (journal[-1]["operation"], journal[-1]["status"]) == ("createCheckoutSession", 403)


def test_without_payouts_only_refunds_are_rejected(calling: Calling) -> None:
    client = calling("sk_test_payoutsoff")
    client.rejected(
        "POST", "/refunds/", 403, "COMPANY_PAYOUTS_DISABLED", json={"transaction": "trans_x"}
    )
    client.get("/transactions/")


def test_a_read_only_key_may_only_read(calling: Calling) -> None:
    client = calling("sk_test_readonly")
    assert client.get("/customers/")["data"] == []
    for method, path in (
        ("POST", "/customers/"),
        ("PATCH", "/customers/x/"),
        ("DELETE", "/customers/x/"),
    ):
        client.rejected(method, path, 403, "INSUFFICIENT_PERMISSIONS", json={})


def test_a_name_that_only_has_the_word_in_it_is_a_name(calling: Calling) -> None:
    for name in (
        "expired_cards_suite",
        "readonly_tests",
        "revoked-shop",
        "not-revoked",
        "expired1x",
        "disabledX",
    ):
        assert calling(f"sk_test_{name}").get("/customers/")["data"] == []
