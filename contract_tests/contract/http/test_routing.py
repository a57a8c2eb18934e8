"""Routes: which path and method lead anywhere, and what is said where they do not (B-05, B-06, B-14)."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import pytest

from contract_tests.contract.document.reader import METHODS
from contract_tests.contract.http.line import Line
from contract_tests.support.client import Client, http_client
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.document import bundles
from emulator.resources.registry import OPERATIONS
from emulator.web.root_app import RootApp


def documented(name: str) -> list[tuple[str, frozenset[str]]]:
    """Return every path of a document, below its base, with the methods it has."""
    return [
        (path, frozenset(method.upper() for method in METHODS if method in item))
        for path, item in bundles.load(name)["paths"].items()
    ]


SERVICE = documented("service")
CONTROL = documented("control")
ANY_METHOD = "/inbox/{name}"
"""The one path of the control API that takes whatever comes, as a receiver does."""

PAGES = [
    *("/docs/", "/openapi.json", "/openapi.yaml", "/openapi-3.1.json", "/openapi-pages.json"),
    *("/openapi-pages-3.1.json", "/_emulator/openapi.json", "/_emulator/openapi-3.1.json"),
]


def actual(path: str) -> str:
    """Return a documented path with something in place of its parameters."""
    return re.sub(r"\{\w+\}", "x_1", path)


def rejects_other_methods(client: Client, path: str, methods: frozenset[str]) -> None:
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} - methods:
        response = client.request(method, actual(path), headers={"Authorization": ""})
        assert response.status_code == 405
        assert set(response.headers["allow"].split(", ")) == methods
        assert (response.json()["type"], response.json()["code"]) == ("VALIDATION_ERROR", "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize(("path", "methods"), SERVICE)
def test_a_wrong_method_is_rejected_and_the_allowed_ones_are_named(
    sandbox: Sandbox, path: str, methods: frozenset[str]
) -> None:
    """B-05: 405 METHOD_NOT_ALLOWED with Allow, before the key; B-14: its type is VALIDATION_ERROR."""
    rejects_other_methods(sandbox.api, path, methods)


@pytest.mark.parametrize(("path", "methods"), [case for case in CONTROL if case[0] != ANY_METHOD])
def test_the_control_api_rejects_wrong_methods_alike(sandbox: Sandbox, path: str, methods: frozenset[str]) -> None:
    rejects_other_methods(sandbox.control, path, methods)


@pytest.mark.parametrize("path", [path for path, _ in SERVICE if path.endswith("/")])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_path_without_its_slash_is_unknown_and_the_right_one_named(sandbox: Sandbox, path: str, method: str) -> None:
    """B-06, whatever the method and without a key."""
    path = actual(path)
    error = sandbox.api.rejected(method, path.rstrip("/"), 404, "NOT_FOUND", headers={"Authorization": ""})
    assert f"Add the trailing slash: /v1{path}" in error["message"]


@pytest.mark.parametrize("path", [path for path, _ in CONTROL])
def test_a_control_path_with_a_slash_too_many_is_unknown_and_the_right_one_named(sandbox: Sandbox, path: str) -> None:
    path = actual(path)
    error = sandbox.control.rejected("GET", f"{path}/", 404, "NOT_FOUND")
    assert error["message"].endswith(f"Remove the trailing slash: /_emulator{path}")


@pytest.mark.parametrize(
    "path",
    [
        *(b"//", b"/v1", b"/v1/", b"/v1//", b"//v1/customers/"),
        *(b"/v1//customers/", b"/v1/customers//", b"/V1/customers/"),
        *(b"/v1/Customers/", b"/v2/customers/", b"/v1/../v1/customers/"),
        *(b"/v1/customers/../customers/", b"/v1%2Fcustomers/"),
        *(b"/v1/customers%2F", b"/v1/customers%00/", b"/v1/customers%FF/"),
        *(b"/v1/customers;x=1/", b"/v1/" + b"x/" * 1000),
        *(b"/v1/" + b"x" * 60_000 + b"/", b"/_emulator/nothing", b"/nothing", b"*"),
    ],
)
def test_a_path_that_is_not_served_is_not_found(line: Line, path: bytes) -> None:
    line.request(b"GET " + path + b" HTTP/1.1")
    answer = line.answer()
    assert (answer.status, answer.code) == (404, "NOT_FOUND")
    assert answer.headers["request-id"].startswith("req_")


def test_there_is_one_version(sandbox: Sandbox) -> None:
    """B-80: no header chooses, and another prefix is not found."""
    for version in ("v2", "v0", "V1"):
        answer = sandbox.api.http.get(f"{sandbox.url}/{version}/customers/")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    for header in ("API-Version", "Service-Version", "Accept"):
        assert sandbox.api.request("GET", "/customers/", headers={header: "v2"}).status_code == 200


@pytest.mark.parametrize(
    "id", [b"..", b".", b"%2E%2E", b"%00", b"%FF", b"%E2%82%AC", b"a%2Fb", b"%", b"%zz", b"~" * 9000]
)
def test_an_odd_id_is_an_unknown_id(line: Line, id: bytes) -> None:
    line.request(b"GET /v1/customers/" + id + b"/ HTTP/1.1")
    answer = line.answer()
    assert (answer.status, answer.code) == (404, "CUSTOMER_NOT_FOUND")


def test_an_encoded_slash_does_not_lead_elsewhere(sandbox: Sandbox, line: Line) -> None:
    """``/customers/{id}%2Ftransactions/`` names an odd customer, not the customer's transactions."""
    customer = sandbox.customer()
    line.request(f"GET /v1/customers/{customer['id']}%2Ftransactions/ HTTP/1.1".encode())
    assert line.answer().code == "CUSTOMER_NOT_FOUND"


def test_an_encoded_letter_is_that_letter(line: Line) -> None:
    line.request(b"GET /v1/%63ustomers/ HTTP/1.1")
    assert line.answer().status == 200


def test_the_absolute_form_is_understood(line: Line) -> None:
    """RFC 9112, 3.2.2: as a proxy is asked."""
    line.request(b"GET http://anywhere.example/v1/customers/ HTTP/1.1")
    assert line.answer().status == 200


@pytest.mark.parametrize(("path", "status"), [("/v1/customers/", 200), ("/v1/customers/x/", 404), ("/v1/reset", 405)])
def test_head_is_get_without_the_body(sandbox: Sandbox, line: Line, path: str, status: int) -> None:
    """RFC 9110, 9.3.2: the same status, type and length, and the connection goes on."""
    line.request(f"HEAD {path} HTTP/1.1".encode())
    head = line.answer(bodiless=True)
    line.request(f"GET {path} HTTP/1.1".encode())
    get = line.answer()
    assert head.status == get.status == status
    for name in ("content-type", "content-length") if status != 405 else ():
        assert head.headers[name] == get.headers[name]
    assert head.headers["request-id"] != get.headers["request-id"]


def test_head_is_no_write(server: RunningServer) -> None:
    """B-04: a read-only key may."""
    with Line(server.url, "sk_test_readonly-head") as line:
        line.request(b"HEAD /v1/customers/ HTTP/1.1")
        assert line.answer(bodiless=True).status == 200


@pytest.mark.parametrize("method", [b"get", b"Get", b"FOO", b"", b"G\xc3\x89T"])
def test_a_method_that_http_does_not_know_is_malformed(line: Line, method: bytes) -> None:
    """Methods are case-sensitive (RFC 9110, 9.1); HTTP statuses: 400 malformed."""
    line.request(method + b" /v1/customers/ HTTP/1.1")
    answer = line.answer()
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert line.ended()


@pytest.mark.parametrize("path", PAGES)
def test_pages_and_documents_carry_a_request_id_and_reject_other_methods(sandbox: Sandbox, path: str) -> None:
    """B-11: every response has Request-Id."""
    with http_client(base_url=sandbox.url) as http:
        shown = http.get(path)
        assert shown.status_code == 200
        assert shown.headers["request-id"].startswith("req_")
        rejected = http.post(path)
        assert (rejected.status_code, rejected.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert "GET" in rejected.headers["allow"]
        assert rejected.json()["request_id"] == rejected.headers["request-id"]


@pytest.mark.parametrize(
    ("start", "key", "status"),
    [
        (b"GET /v1/customers/ HTTP/1.1", "sk_test_ids-a", 200),
        (b"GET /v1/customers/x/ HTTP/1.1", "sk_test_ids-a", 404),
        (b"GET /v1/customers/?x=1 HTTP/1.1", "sk_test_ids-a", 422),
        (b"GET /v1/nothing/ HTTP/1.1", "sk_test_ids-a", 404),
        (b"PUT /v1/customers/ HTTP/1.1", "sk_test_ids-a", 405),
        (b"GET /v1/customers/ HTTP/1.1", "nonsense", 401),
        (b"GET /v1/customers/ HTTP/1.1", "pk_test_ids-a", 403),
        (b"GET /nothing HTTP/1.1", "sk_test_ids-a", 404),
        (b"GET /_emulator/clock HTTP/1.1", "sk_test_ids-a", 200),
        (b"GET /_emulator/clock HTTP/1.1", "nonsense", 401),
        (b"nonsense", "sk_test_ids-a", 400),
    ],
)
def test_every_answer_has_a_request_id_and_an_error_repeats_it(
    server: RunningServer, start: bytes, key: str, status: int
) -> None:
    """B-11."""
    with Line(server.url, key) as line:
        line.request(start)
        answer = line.answer()
    assert answer.status == status
    assert re.fullmatch("req_[0-9A-Za-z]{24}", answer.headers["request-id"])
    assert status == 200 or f'"request_id":"{answer.headers["request-id"]}"'.encode() in answer.body


def test_a_failure_of_ours_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """500 INTERNAL_ERROR in the usual shape; the cause goes to the log and not to the client."""

    def fail(world: Any, id: str) -> Any:
        raise ZeroDivisionError("a secret")

    monkeypatch.setitem(OPERATIONS, "getCustomer", fail)  # type: ignore[arg-type]  # a dict, typed as what may only be read
    with RunningServer() as server, Line(server.url) as line:
        line.request(b"GET /v1/customers/x/ HTTP/1.1")
        answer = line.answer()
    assert (answer.status, answer.code) == (500, "INTERNAL_ERROR")
    assert answer.headers["request-id"].encode() in answer.body
    assert b"secret" not in answer.body
    assert "a secret" in caplog.text


def test_a_page_that_fails_is_an_internal_error_too(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever stands behind the edge."""

    async def nothing() -> None: ...

    async def fail(*_: Any) -> None:
        raise ZeroDivisionError

    async def ask() -> httpx.Response:
        edge = RootApp(
            [("", fail)],
            new_request_id=lambda: "req_1",
            start=nothing,
            stop=nothing,
            base_url="http://127.0.0.1:1",
        )
        async with httpx.AsyncClient(transport=httpx.ASGITransport(edge), base_url="http://sandbox.local") as http:
            return await http.get("/")

    response = asyncio.run(ask())
    assert (response.status_code, response.json()["code"]) == (500, "INTERNAL_ERROR")
    assert response.headers["request-id"] == response.json()["request_id"] == "req_1"
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    "host", [b"a b", b'"><script>', b"x:99999", b"x:", b"\xff", b"[::1", b"a/b", b"user@host", b"", b"h" * 300]
)
def test_a_host_that_is_none_gets_into_no_link(sandbox: Sandbox, line: Line, host: bytes) -> None:
    line.say(b"GET /v1/nothing/ HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    answer = line.answer()
    assert f'"doc_url":"{sandbox.url}/docs/errors#NOT_FOUND"'.encode() in answer.body


@pytest.mark.parametrize("host", [b"sandbox", b"sandbox_1.local:8080", b"127.0.0.1:1", b"[::1]:4747"])
def test_links_lead_to_the_host_that_was_called(line: Line, host: bytes) -> None:
    """B-19: absolute URLs, which a client behind a port mapping can follow."""
    line.say(b"GET /v1/nothing/ HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    assert b'"doc_url":"http://' + host + b"/docs/errors#NOT_FOUND" in line.answer().body


@pytest.mark.parametrize(
    ("path", "meant"), [(b"/v1/customer/", "/v1/customers/"), (b"/v1/subscription/", "/v1/subscriptions/")]
)
def test_a_path_that_is_nearly_right_is_named(line: Line, path: bytes, meant: str) -> None:
    line.request(b"GET " + path + b" HTTP/1.1")
    answer = line.answer()
    assert (answer.status, answer.code) == (404, "NOT_FOUND")
    assert f"Did you mean {meant}?".encode() in answer.body


@pytest.mark.breaks_the_document  # a forced shape is not the documented one
@pytest.mark.parametrize(
    ("method", "path", "code"), [("GET", "/nowhere/", "not_found"), ("PUT", "/customers/", "method_not_allowed")]
)
def test_a_forced_shape_is_that_of_unknown_routes_and_methods(
    sandbox: Sandbox, method: str, path: str, code: str
) -> None:
    """B-10."""
    sandbox.settings(error_shape="nested")
    assert sandbox.api.http.request(method, path).json()["error"]["code"] == code


@pytest.mark.breaks_the_document  # a forced shape is not the documented one
def test_a_forced_shape_is_that_of_a_public_key_too(sandbox: Sandbox) -> None:
    """B-10: it names the App."""
    sandbox.settings(error_shape="nested")
    public = {"Authorization": f"Bearer pk{sandbox.key[2:]}"}
    assert sandbox.api.http.get("/customers/", headers=public).json()["error"]["code"] == "public_key_not_allowed"
