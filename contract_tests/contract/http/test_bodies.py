"""Bodies: kinds, malformed (400), wrong fields (422) (B-11 to B-13, B-23); queries (B-19)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles

JSON = {"Content-Type": "application/json"}
AWA = b'{"email": "awa@example.com", "name": "Awa Diop"}'
MIB = 1024 * 1024

BODILESS_POSTS = [
    path.replace("{did}", "x").replace("{id}", "x")
    for path, item in bundles.load("service")["paths"].items()
    if "post" in item and "requestBody" not in item["post"]
]


def nested(depth: int) -> bytes:
    """So many objects within each other."""
    return b'{"metadata":' * depth + b"1" + b"}" * depth


MALFORMED = {
    "open": b"{",
    "array": b"[]",
    "null": b"null",
    "UTF-16": AWA.decode().encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + AWA,
    "Latin-1": AWA.replace(b"Awa", b"\xc9lo"),
    "surrogate in UTF-8": AWA.replace(b"Awa", b"\xed\xa0\x80"),
    "raw control character": AWA.replace(b"Awa", b"A\x00a"),
    "form feed": b"\x0c" + AWA,
    "duplicate key": AWA[:-1] + b', "name": "Awa Diop"}',
    "duplicate key, nested": AWA[:-1] + b', "metadata": {"a": 1, "a": 1}}',
    "NaN": AWA[:-1] + b', "metadata": {"a": NaN}}',
    "1e400": AWA[:-1] + b', "metadata": {"a": 1e400}}',
    "-1e400": AWA[:-1] + b', "metadata": {"a": -1e400}}',
    "unpaired surrogate": AWA.replace(b"Awa", b"\\ud800"),
    "unpaired surrogate in a key": AWA[:-1] + b', "metadata": {"\\ud800": 1}}',
    "100 000 brackets": b"[" * 100_000,
    "65 levels": nested(65),
    "65 levels beside much that is flat": b'{"a":'
    + b"[" * 64
    + b"]" * 64
    + b',"b":['
    + b"{}," * 1000
    + b"{}]}",
    "one byte too many": b" " * (MIB + 1 - len(AWA)) + AWA,
}

REASONS = {
    "100 000 brackets": "it is nested too deeply",
    "65 levels": "it is nested too deeply",
    "Latin-1": "it is not UTF-8",
    "byte order mark": "it begins with a byte order mark",
    "unpaired surrogate": "a string holds an unpaired surrogate",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_is_400(sandbox: Sandbox, name: str) -> None:
    """B-12: VALIDATION_ERROR with status 400; nothing is made."""
    body = MALFORMED[name]
    error = sandbox.api.rejected(
        "POST", "/customers/", 400, "VALIDATION_ERROR", content=body, headers=JSON
    )
    assert error["status"] == 400
    assert error["message"].startswith(f"The body must be a JSON object: {REASONS.get(name, '')}")
    assert "errors" not in error
    assert sandbox.api.get("/customers/")["data"] == []


WELL_FORMED = {
    "white space around": b" \r\n\t" + AWA + b" \n",
    "escaped keys": AWA.replace(b"email", b"\\u0065mail"),
    "paired surrogates": AWA.replace(b"Awa", b"\\ud83d\\ude00"),
    "escaped NUL": AWA.replace(b"Awa", b"A\\u0000a"),
    "300 digits": AWA[:-1] + b', "metadata": {"a": ' + b"9" * 300 + b"}}",
    "beyond 64 bits": AWA[:-1]
    + b', "metadata": {"a": 18446744073709551616, "b": -9223372036854775809}}',
    "exactly as large as may be": b" " * (MIB - len(AWA)) + AWA,
    "same key in different objects": AWA[:-1] + b', "metadata": {"name": "x", "email": "y"}}',
}


@pytest.mark.parametrize("body", WELL_FORMED.values(), ids=WELL_FORMED)
def test_whatever_is_json_is_understood(sandbox: Sandbox, body: bytes) -> None:
    """What was sent comes back."""
    made = sandbox.api.request("POST", "/customers/", content=body, headers=JSON)
    assert made.status_code == 201
    sent = json.loads(body)
    assert made.json()["metadata"] == sent.get("metadata", {})
    assert f"{made.json()['firstname']} {made.json()['lastname']}" == sent["name"]
    assert sandbox.api.get(f"/customers/{made.json()['id']}/") == made.json()


TYPES = (
    *(
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ),
    *("application/jsonx", "application/vnd.api+json", "text/plain, application/json", "json"),
)


def test_json_by_any_spelling_is_json(sandbox: Sandbox) -> None:
    """B-12: whatever the letter case."""
    for type in ("Application/JSON; charset=utf-8", "application/json ; x=y", "APPLICATION/JSON"):
        sent = {"content": b'{"x":1}', "headers": {"Content-Type": type}}
        sandbox.api.rejected("POST", "/customers/", 422, "VALIDATION_ERROR", **sent)


def test_another_type_than_json_is_rejected(sandbox: Sandbox) -> None:
    """B-12: 400, on whatever has a body, be it ever so good."""
    for other in TYPES:
        headers = {} if other is None else {"Content-Type": other}
        error = sandbox.api.rejected(
            "POST", "/customers/", 400, "VALIDATION_ERROR", content=AWA, headers=headers
        )
        assert "Content-Type must be application/json" in error["message"]


ANY_TYPE = pytest.mark.parametrize("headers", [{}, JSON, {"Content-Type": "text/plain"}])
"""Clients that always say Content-Type are let be."""


@ANY_TYPE
def test_an_absent_or_empty_body_is_an_empty_object(
    sandbox: Sandbox, headers: dict[str, str]
) -> None:
    """B-12."""
    for body in (b"", b" ", b"\r\n\t "):
        error = sandbox.api.rejected(
            "POST", "/customers/", 422, "VALIDATION_ERROR", content=body, headers=headers
        )
        assert error["errors"] == {"email": ["is required"], "name": ["is required"]}


@ANY_TYPE
def test_the_body_of_a_get_means_nothing(sandbox: Sandbox, headers: dict[str, str]) -> None:
    """RFC 9110, 9.3.1."""
    for body in (b"{", b"{}", b"\xff" * 100):
        assert (
            sandbox.api.request("GET", "/customers/", content=body, headers=headers).json()["data"]
            == []
        )


@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP", "identity, gzip"])
def test_a_compressed_body_is_rejected_as_such(sandbox: Sandbox, encoding: str) -> None:
    """B-12, by the control API too; "identity" is no compression; no body is no compressed one."""
    sent = {"content": AWA, "headers": {**JSON, "Content-Encoding": encoding}}
    for api, path in ((sandbox.api, "/customers/"), (sandbox.control, "/clock/advance")):
        error = api.rejected("POST", path, 400, "VALIDATION_ERROR", **sent)
        assert "Content-Encoding must be identity" in error["message"]
    plain = {**JSON, "Content-Encoding": "Identity"}
    assert sandbox.api.request("POST", "/customers/", content=AWA, headers=plain).status_code == 201
    empty = sandbox.api.request(
        "POST", "/customers/", content=b"", headers={"Content-Encoding": encoding}
    )
    assert empty.status_code == 422


def test_a_post_without_a_documented_body_takes_none(sandbox: Sandbox) -> None:
    """B-12, B-13: absent or empty is fine, what is malformed is 400, and any field is unknown."""
    for path in BODILESS_POSTS:
        for sent in (
            {"content": b"{", "headers": JSON},
            {"content": b"null", "headers": JSON},
            {"content": b"{}"},
        ):
            sandbox.api.rejected("POST", path, 400, "VALIDATION_ERROR", **sent)
        error = sandbox.api.rejected("POST", path, 422, "INVALID_FIELD", json={"note": "x"})
        assert error["errors"] == {"note": ["unknown field"]}
        for harmless in ({}, {"json": {}}, {"content": b" "}):
            assert sandbox.api.http.request("POST", path, **harmless).status_code not in (400, 422)


@pytest.mark.parametrize(
    ("fields", "param"), [({"Name": "Awa"}, "Name"), ({"metadata": {"a.b": []}}, "metadata.a.b")]
)
def test_a_name_is_shown_as_it_was_sent(
    sandbox: Sandbox, fields: dict[str, Any], param: str
) -> None:
    """B-11, B-12: letter case and dots included."""
    body = {"email": "a@example.com", "name": "Awa", **fields}
    error = sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=body)
    assert (error["param"], list(error["errors"])) == (param, [param])


AMOUNTS = {
    "500": None,
    **dict.fromkeys(("500.0", "5e2", '"500"', "true", "null", "1e30"), "INVALID_FIELD"),
    **dict.fromkeys(("-0", "-" + "9" * 300), "AMOUNT_TOO_SMALL"),
    **dict.fromkeys(("9223372036854775808", "9" * 300), "AMOUNT_TOO_LARGE"),
}


@pytest.mark.parametrize(("amount", "code"), AMOUNTS.items())
def test_money_is_only_an_integer_of_any_size(
    sandbox: Sandbox, amount: str, code: str | None
) -> None:
    """B-23: ``15.0``, ``"15"`` and ``true`` are rejected; what is too large is reported as such."""
    body = f'{{"name": "P", "amount": {amount}, "currency": "XAF", "interval": "month"}}'.encode()
    response = sandbox.api.request(
        "POST", "/subscription-plans/", content=body, headers=JSON
    ).json()
    assert (response.get("code"), response.get("param")) == (code, code and "amount")


def test_a_large_body_is_rejected_before_it_is_sent(line: Line) -> None:
    """A client that announces 100 GB has its response at once; one that asks first gets no 100."""
    length = b"Content-Length: 100000000000"
    line.request(
        b"POST /v1/customers/ HTTP/1.1",
        b"Content-Type: application/json",
        length,
        b"Expect: 100-continue",
    )
    response = line.response()
    assert (response.status, response.code) == (400, "VALIDATION_ERROR")


def test_a_connection_survives_a_body_that_was_not_read(sandbox: Sandbox) -> None:
    """The rest is thrown away, and the next request on the connection has its response."""
    with http_client(base_url=sandbox.url) as http:
        for _ in range(3):
            assert http.post("/v1/customers/", content=AWA + b" " * 10_000_000).status_code == 401
            assert http.get("/_emulator/health").status_code == 200


# -- queries


@pytest.mark.parametrize(
    "until",
    [
        "2025-12-31T23:59:59Z",
        "tomorrow",
        "P0D",
        "-P1D",
        "2026-13-01T00:00:00Z",
        "P9000Y",
        "2099-W20",
    ],
)
def test_a_schedule_is_asked_for_until_an_instant_ahead(sandbox: Sandbox, until: str) -> None:
    """No schema says so: an instant or a duration, and not past."""
    error = sandbox.control.rejected("GET", f"/schedule?until={until}", 422, "INVALID_FILTER_PARAM")
    assert error["param"] == "until"


def test_an_empty_query_is_none(sandbox: Sandbox, line: Line) -> None:
    """Also where the operation has no parameters at all."""
    for path in (f"/v1/customers/{sandbox.customer()['id']}/", "/v1/customers/"):
        for query in ("?", "?&", "?&&&", "?#x"):
            line.request(f"GET {path}{query} HTTP/1.1".encode())
            assert line.response().status == 200


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("search=Ondo%CC%81", 0),
        ("search=%C3%89lo%C3%AFse", 1),
        ("search=%E9lo%EFse", 0),
        ("search=a%26b%3D", 0),
        ("search=", 1),
        ("search=ndong&", 1),
    ],
)
def test_text_is_percent_encoded_utf_8(
    sandbox: Sandbox, line: Line, query: str, count: int
) -> None:
    """What is no UTF-8 is no text that anybody has."""
    sandbox.customer(name="Éloïse Ndong")
    line.request(f"GET /v1/customers/?{query} HTTP/1.1".encode())
    response = line.response()
    assert response.status == 200
    assert b'"count":%d,' % count in response.body


@pytest.mark.parametrize(
    "instant",
    [
        "2026-02-01",
        *(
            "2026-02-01T00:00:00",
            "2026-02-01T00:00:00Z",
            "2026-02-01t00:00:00.000z",
            "2026-01-31T23:00:00-01:00",
        ),
    ],
)
def test_an_instant_is_read_alike_wherever_it_is_sent(sandbox: Sandbox, instant: str) -> None:
    """B-17: a date is its midnight, an instant without an offset is UTC.

    All of them, an ISO 8601 date or an RFC 3339 date-time, are the first instant of February.
    """
    first = sandbox.subscribe(ends_at=instant)
    link = sandbox.link(validity_type="limited", expires_at=instant)
    assert first["ends_at"] == link["expires_at"] == "2026-02-01T00:00:00.000Z"
    sandbox.control.post("/clock/advance", {"to": instant})
    assert (sandbox.now, sandbox.status(first)) == ("2026-02-01T00:00:00.000Z", "expired")
    second = sandbox.subscribe()
    listed = sandbox.api.get("/subscriptions/", created_after=instant)["data"]
    assert [subscription["id"] for subscription in listed] == [second["id"]]
