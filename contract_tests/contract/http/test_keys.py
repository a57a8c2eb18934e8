"""Keys: which give access, and the error for each that does not (B-02, B-03)."""

from __future__ import annotations

import pytest

from contract_tests.contract.http.line import Answer, Line
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox


def ask(server: RunningServer, contract: Contract, *headers: bytes, path: str = "/v1/customers/") -> Answer:
    """Return the answer to a GET with just these headers."""
    with Line(server.url) as line:
        line.say(
            b"".join(row + b"\r\n" for row in (f"GET {path} HTTP/1.1".encode(), b"Host: localhost", *headers, b""))
        )
        answer = line.answer()
    assert contract.faults("GET", path, answer.status, answer.headers, answer.body) == []
    return answer


REJECTED = [
    (b"", 401, "AUTHENTICATION_FAILED"),
    (b" \t ", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer   ", 401, "AUTHENTICATION_FAILED"),
    (b"Basic c2tfdGVzdF9kZW1vOg==", 401, "AUTHENTICATION_FAILED"),
    (b"Token sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"Bearers sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer:sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer\tsk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer\xa0sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"B\xc3\xa9arer sk_test_demo", 401, "AUTHENTICATION_FAILED"),
    (b"\xff\xfe", 401, "AUTHENTICATION_FAILED"),
    (b"Bearer sk_test_d\xc3\xa9mo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_d\xe9mo", 401, "INVALID_TOKEN"),
    (b"Bearer \xff\xff\xff\xff", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_demo sk_test_demo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_demo,Bearer sk_test_demo", 401, "INVALID_TOKEN"),
    (b"Bearer Bearer sk_test_demo", 401, "INVALID_TOKEN"),
    (b'Bearer "sk_test_demo"', 401, "INVALID_TOKEN"),
    (b"Bearer SK_TEST_demo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_live_demo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_de mo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_de.mo", 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_", 401, "INVALID_TOKEN"),
    (b"Bearer pk_test_", 401, "INVALID_TOKEN"),
    (b"Bearer " + b"x" * 100_000, 401, "INVALID_TOKEN"),
    (b"Bearer sk_test_revoked1", 401, "INVALID_API_KEY"),
    (b"Bearer sk_test_expired1", 401, "EXPIRED_API_KEY"),
    (b"Bearer pk_test_demo", 403, "PUBLIC_KEY_NOT_ALLOWED"),
    (b"Bearer pk_prod_demo", 403, "PUBLIC_KEY_NOT_ALLOWED"),
    (b"bearer  pk_test_demo", 403, "PUBLIC_KEY_NOT_ALLOWED"),
]


@pytest.mark.parametrize(("value", "status", "code"), REJECTED)
def test_the_error_for_each_unusable_key_says_why(
    server: RunningServer, service_contract: Contract, value: bytes, status: int, code: str
) -> None:
    """B-03, B-04: the five 401s, and 403 for a public key."""
    answer = ask(server, service_contract, b"Authorization: " + value)
    assert (answer.status, answer.code) == (status, code)


def test_no_key_at_all_is_missing(server: RunningServer, service_contract: Contract) -> None:
    """B-03: MISSING_API_KEY."""
    answer = ask(server, service_contract)
    assert (answer.status, answer.code) == (401, "MISSING_API_KEY")


@pytest.mark.parametrize("other", [b"Bearer sk_test_demo", b"Bearer sk_test_other", b""])
def test_two_keys_are_none(server: RunningServer, service_contract: Contract, other: bytes) -> None:
    """B-03: it is unknown which of two headers is meant."""
    answer = ask(server, service_contract, b"Authorization: Bearer sk_test_demo", b"Authorization: " + other)
    assert (answer.status, answer.code) == (401, "AUTHENTICATION_FAILED")


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Bearer sk_test_demo",
        b"authorization: bearer sk_test_demo",
        b"AUTHORIZATION: BEARER sk_test_demo",
        b"Authorization:Bearer sk_test_demo",
        b"Authorization:   Bearer    sk_test_demo   ",
        b"Authorization: Bearer sk_prod_demo",
    ],
)
def test_schemes_are_case_blind_and_spaces_do_not_count(
    server: RunningServer, service_contract: Contract, header: bytes
) -> None:
    """RFC 9110, 11.1: the scheme's letter case; the key's own counts."""
    assert ask(server, service_contract, header).status == 200


@pytest.mark.parametrize(
    ("name", "status"),
    [("", 401), ("a", 200), ("a" * 64, 200), ("a" * 65, 401), ("A-Z_a-z_0-9", 200), ("____", 200)],
)
@pytest.mark.parametrize("kind", ["sk_test_", "sk_prod_"])
def test_a_name_has_1_to_64_characters(
    server: RunningServer, service_contract: Contract, kind: str, name: str, status: int
) -> None:
    """B-02."""
    answer = ask(server, service_contract, f"Authorization: Bearer {kind}{name}".encode())
    assert answer.status == status
    assert status == 200 or answer.code == "INVALID_TOKEN"
    assert status == 200 or b"NAME is 1 to 64 characters of A-Z a-z 0-9 _ -" in answer.body


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("?app=a.c", 422, "INVALID_FILTER_PARAM"),
        ("?app=", 422, "INVALID_FILTER_PARAM"),
        ("?app=" + "a" * 65, 422, "INVALID_FILTER_PARAM"),
        ("?app=a%20b%20c", 422, "INVALID_FILTER_PARAM"),
        ("?app=abcd&app=efgh", 422, "INVALID_FILTER_PARAM"),
        ("?" + "app=abcd&" * 101, 422, "INVALID_FILTER_PARAM"),
        ("?app=" + "a" * 64, 200, None),
        ("", 200, None),
    ],
)
def test_the_control_api_takes_a_name_instead_of_a_key(
    sandbox: Sandbox, query: str, status: int, code: str | None
) -> None:
    """Control API: the App of ``app=NAME`` (1 to 64 characters), or ``demo``."""
    del sandbox.control.http.headers["Authorization"]
    response = sandbox.control.request("GET", f"/clock{query}")
    assert (response.status_code, response.json().get("code")) == (status, code)


@pytest.mark.parametrize(("value", "status", "code"), [case for case in REJECTED if case[0][-1:] != b"1"])
def test_a_key_given_to_the_control_api_must_be_one(
    server: RunningServer, control_contract: Contract, value: bytes, status: int, code: str
) -> None:
    """An ``Authorization`` header is never passed over for ``app`` or ``demo``."""
    answer = ask(server, control_contract, b"Authorization: " + value, path="/_emulator/clock")
    assert (answer.status, answer.code) == (status, code)
