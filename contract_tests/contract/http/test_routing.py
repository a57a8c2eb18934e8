"""Routes: the paths and methods that exist, and the errors of all others (B-05, B-06, B-14)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract_tests.contract.document.reader import METHODS
from contract_tests.contract.http.line import Line, Response
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.document import bundles
from emulator.engine.runtime import Runtime
from emulator.resources.registry import OPERATIONS


def documented(name: str) -> list[tuple[str, frozenset[str]]]:
    """Return every path of a document, below its base, with the methods it has."""
    return [
        (path, frozenset(method.upper() for method in METHODS if method in item))
        for path, item in bundles.load(name)["paths"].items()
    ]


SERVICE = documented("service")
CONTROL = documented("control")
PAGES = (b"/docs/", b"/openapi.json", b"/openapi-pages-3.1.json", b"/_emulator/openapi.json")


def actual(path: str) -> str:
    """Return a documented path with something in place of its parameters."""
    return re.sub(r"\{\w+\}", "x_1", path)


EVERY = ("GET", "POST", "DELETE", "OPTIONS", "PROPFIND")


def test_a_wrong_method_is_rejected_with_the_allowed_ones(sandbox: Sandbox) -> None:
    """B-05: 405 METHOD_NOT_ALLOWED with Allow, before the key; B-14: type VALIDATION_ERROR.

    An inbox takes any request, as a receiver does.
    """
    paths_of_clients = [(sandbox.api, *row) for row in SERVICE] + [
        (sandbox.control, *row) for row in CONTROL
    ]
    for client, path, methods in paths_of_clients:
        for method in EVERY if path != "/inbox/{name}" else ():
            if method not in methods:
                response = client.request(method, actual(path), headers={"Authorization": ""})
                assert (response.status_code, {*response.headers["allow"].split(", ")}) == (
                    405,
                    methods,
                ), path
                assert (response.json()["type"], response.json()["code"]) == (
                    "VALIDATION_ERROR",
                    "METHOD_NOT_ALLOWED",
                )


def test_the_error_of_a_path_without_its_slash_names_the_right_path(sandbox: Sandbox) -> None:
    """B-06, whatever the method and without a key."""
    for path in (actual(path) for path, _ in SERVICE if path.endswith("/")):
        for method in ("GET", "DELETE"):
            error = sandbox.api.rejected(
                method, path.rstrip("/"), 404, "NOT_FOUND", headers={"Authorization": ""}
            )
            assert f"Add the trailing slash: /v1{path}" in error["message"]


def test_the_error_of_a_path_with_a_slash_too_many_names_the_right_path(sandbox: Sandbox) -> None:
    """B-06: in the control API."""
    error = sandbox.control.rejected("GET", "/clock/", 404, "NOT_FOUND")
    assert error["message"].endswith("Remove the trailing slash: /_emulator/clock")


def test_the_error_of_a_misspelled_path_names_the_one_like_it(sandbox: Sandbox) -> None:
    error = sandbox.api.rejected("GET", "/subscription/", 404, "NOT_FOUND")
    assert "Did you mean /v1/subscriptions/?" in error["message"]


NOT_SERVED = (
    *(
        b"//",
        b"/v1",
        b"/v1/",
        b"/v1//",
        b"//v1/customers/",
        b"/v1//customers/",
        b"/v1/customers//",
        b"/V1/customers/",
    ),
    *(
        b"/v1/Customers/",
        b"/v2/customers/",
        b"/v1/../v1/customers/",
        b"/v1/customers/../customers/",
    ),
    *(
        b"/v1%2Fcustomers/",
        b"/v1/customers%2F",
        b"/v1/customers%00/",
        b"/v1/customers%FF/",
        b"/v1/customers;x=1/",
    ),
    *(
        b"/v1/" + b"x/" * 1000,
        b"/v1/" + b"x" * 60_000 + b"/",
        b"/_emulator/nothing",
        b"/nothing",
        b"*",
    ),
)


def test_a_path_that_is_not_served_is_not_found(line: Line) -> None:
    for path in NOT_SERVED:
        line.request(b"GET " + path + b" HTTP/1.1")
        response = line.response()
        assert (response.status, response.code) == (404, "NOT_FOUND"), path[:60]
        assert response.headers["request-id"].startswith("req_")


def test_an_odd_id_is_an_unknown_id(sandbox: Sandbox, line: Line) -> None:
    """``/customers/{id}%2Ftransactions/`` names an odd customer, not a customer's transactions."""
    elsewhere = f"{sandbox.customer()['id']}%2Ftransactions".encode()
    for id in (
        b"..",
        b"%2E%2E",
        b"%00",
        b"%FF",
        b"%E2%82%AC",
        b"a%2Fb",
        b"%",
        b"%zz",
        b"~" * 9000,
        elsewhere,
    ):
        line.request(b"GET /v1/customers/" + id + b"/ HTTP/1.1")
        response = line.response()
        assert (response.status, response.code) == (404, "CUSTOMER_NOT_FOUND")


def test_an_encoded_letter_is_that_letter(line: Line) -> None:
    line.request(b"GET /v1/%63ustomers/ HTTP/1.1")
    assert line.response().status == 200


def test_the_absolute_form_is_understood(line: Line) -> None:
    """RFC 9112, 3.2.2: as a proxy is asked."""
    line.request(b"GET http://anywhere.example/v1/customers/ HTTP/1.1")
    assert line.response().status == 200


@pytest.mark.parametrize(
    ("path", "status"), [("/v1/customers/", 200), ("/v1/customers/x/", 404), ("/v1/reset", 405)]
)
def test_head_is_get_without_the_body(server: RunningServer, path: str, status: int) -> None:
    """RFC 9110, 9.3.2: equal status, type, length; a connection stays. B-04: read-only may."""
    with Line(server.url, "sk_test_readonly") as line:
        line.request(f"HEAD {path} HTTP/1.1".encode())
        head = line.response(bodiless=True)
        line.request(f"GET {path} HTTP/1.1".encode())
        get = line.response()
    assert head.status == get.status == status
    for name in ("content-type", "content-length") if status != 405 else ():
        assert head.headers[name] == get.headers[name]
    assert head.headers["request-id"] != get.headers["request-id"]


STARTS = {
    **dict.fromkeys((b"GET /v1/customers/ HTTP/1.1", b"GET /_emulator/clock HTTP/1.1"), 200),
    **dict.fromkeys(
        (b"GET /v1/customers/x/ HTTP/1.1", b"GET /v1/nothing/ HTTP/1.1", b"GET /nothing HTTP/1.1"),
        404,
    ),
    **{b"GET " + page + b" HTTP/1.1": 200 for page in PAGES},
    **{b"POST " + page + b" HTTP/1.1": 405 for page in (*PAGES, b"/v1/customers/x/")},
    b"GET /v1/customers/?x=1 HTTP/1.1": 422,
    b"nonsense": 400,
}


ASKED = [
    *((start, "sk_test_ids-a", status) for start, status in STARTS.items()),
    (b"GET /v1/customers/ HTTP/1.1", "nonsense", 401),
    (b"GET /v1/customers/ HTTP/1.1", "pk_test_a", 403),
]


def response_to(server: RunningServer, start: bytes, key: str) -> Response:
    with Line(server.url, key) as line:
        line.request(start)
        return line.response()


@pytest.mark.parametrize(("start", "key", "status"), ASKED)
def test_every_response_has_a_request_id(
    server: RunningServer, start: bytes, key: str, status: int
) -> None:
    """B-11."""
    response = response_to(server, start, key)
    assert response.status == status
    assert re.fullmatch("req_[0-9A-Za-z]{24}", response.headers["request-id"])


@pytest.mark.parametrize(("start", "key"), [row[:2] for row in ASKED if row[2] != 200])
def test_every_error_repeats_its_request_id(server: RunningServer, start: bytes, key: str) -> None:
    """B-11."""
    response = response_to(server, start, key)
    assert f'"request_id":"{response.headers["request-id"]}"'.encode() in response.body


def test_a_failure_of_ours_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """500 INTERNAL_ERROR in the usual shape; the cause goes to the log and not to the client."""

    def fail(world: Any, id: str) -> Any:
        raise ZeroDivisionError("a secret")

    # a dict, typed as what may only be read
    monkeypatch.setitem(OPERATIONS, "getCustomer", fail)  # type: ignore[arg-type]
    with RunningServer() as server, Line(server.url) as line:
        line.request(b"GET /v1/customers/x/ HTTP/1.1")
        response = line.response()
    assert (response.status, response.code) == (500, "INTERNAL_ERROR")
    assert response.headers["request-id"].encode() in response.body
    assert b"secret" not in response.body
    assert "a secret" in caplog.text


def test_links_lead_to_the_host_that_was_called_if_it_can_be_one(
    sandbox: Sandbox, line: Line
) -> None:
    """B-19: absolute URLs, which a client behind a port mapping can follow."""
    ours = sandbox.url.removeprefix("http://").encode()
    hosts = [
        (host, host)
        for host in (b"sandbox", b"sandbox_1.local:8080", b"127.0.0.1:1", b"[::1]:4747")
    ]
    odd = (
        b"a b",
        b'"><script>',
        b"x:99999",
        b"x:",
        b"\xff",
        b"[::1",
        b"a/b",
        b"user@host",
        b"",
        b"h" * 300,
    )
    for host, authority in (*hosts, *((host, ours) for host in odd)):
        line.say(b"GET /v1/nothing/ HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert b'"doc_url":"http://' + authority + b"/docs/errors#NOT_FOUND" in line.response().body


@pytest.mark.breaks_the_document  # a forced shape is not the documented one
@pytest.mark.parametrize(
    ("method", "path", "kind", "code"),
    [
        ("GET", "/nowhere/", "sk", "not_found"),
        ("PUT", "/customers/", "sk", "method_not_allowed"),
        ("GET", "/customers/", "pk", "public_key_not_allowed"),
    ],
)
def test_errors_without_an_operation_have_the_forced_shape_of_their_app(
    sandbox: Sandbox, method: str, path: str, kind: str, code: str
) -> None:
    """B-10: a public key names the App, too."""
    sandbox.settings(error_shape="nested")
    key = {"Authorization": f"Bearer {kind}{sandbox.key[2:]}"}
    response = sandbox.api.http.request(method, path, headers=key)
    assert response.json()["error"]["code"] == code


def test_an_error_is_whole_although_its_world_is_put_away_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A database that is lost closes all worlds, also those whose requests have just failed."""
    released = Runtime.release

    def release_and_put_away(runtime: Runtime) -> None:
        released(runtime)
        runtime.world = runtime.world.emptied()

    with RunningServer() as server, server.world("put-away") as sandbox:
        sandbox.settings(error_shape="nested")
        monkeypatch.setattr(Runtime, "release", release_and_put_away)
        response = sandbox.control.request("POST", "/clock/advance", json={"by": "soon"})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_field")
