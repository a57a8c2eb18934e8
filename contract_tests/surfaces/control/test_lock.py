"""The control API is safe on a developer's machine: no DNS rebinding, no cross-site requests, an optional token."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer

ADVANCE = "/_emulator/clock/advance?app=lock"


@pytest.fixture
def http(server: RunningServer) -> Iterator[httpx.Client]:
    with http_client(base_url=server.url) as client:
        yield client


def clock(http: httpx.Client) -> str:
    return str(http.get("/_emulator/clock?app=lock").json()["now"])


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        *((host, True) for host in ("localhost", "127.0.0.1", "127.0.0.1:80", "[::1]:4747", "shop.localhost:1")),
        ("LOCALHOST.", True),
        *((host, False) for host in ("evil.example", "localhost.evil.example", "127.0.0.1.nip.example", "10.0.0.1")),
        *((host, False) for host in ("[::1", "a@b")),
    ],
)
def test_only_names_of_loopback_are_known(http: httpx.Client, host: str, is_known: bool) -> None:
    """A page that points its own name at 127.0.0.1 sends that name (DNS rebinding)."""
    answer = http.get("/_emulator/clock?app=lock", headers={"Host": host})
    assert answer.status_code == (200 if is_known else 403)
    assert answer.headers["request-id"].startswith("req_")
    if not is_known:
        assert answer.json()["code"] == "PERMISSION_DENIED"
    # Any name may reach /v1; what a browser may do there is the business of security profiles.
    headers = {"Host": "api.example", "Authorization": "Bearer sk_test_lock"}
    assert http.get("/v1/customers/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
        ({"Origin": "http://"}, 403),
        ({"Origin": ""}, 403),
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 400),
        ({"Content-Type": "multipart/form-data"}, 400),
        ({"Origin": "OWN", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "localhost:1", "Origin": "https://localhost:1", "Sec-Fetch-Site": "same-origin"}, 200),
    ],
    ids=str,
)
def test_pages_of_other_origins_change_nothing(http: httpx.Client, headers: dict[str, str], status: int) -> None:
    """One of the emulator itself may, also behind a proxy that speaks TLS; what a form could send is no JSON."""
    before = clock(http)
    given = {name: str(http.base_url).rstrip("/") if value == "OWN" else value for name, value in headers.items()}
    answer = http.post(ADVANCE, content='{"by": "1d"}', headers={"Content-Type": "application/json", **given})
    assert answer.status_code == status
    assert status != 403 or answer.json()["code"] == "PERMISSION_DENIED"
    assert "access-control-allow-origin" not in answer.headers
    assert (clock(http) == before) is (status != 200)


@pytest.mark.parametrize(
    ("mode", "destination", "status"),
    [
        ("navigate", "document", 200),
        ("navigate", "iframe", 403),
        ("navigate", "object", 403),
        ("no-cors", "document", 403),
        ("no-cors", "script", 403),
        ("cors", "empty", 403),
    ],
)
def test_a_link_may_be_followed_and_nothing_be_embedded(
    http: httpx.Client, mode: str, destination: str, status: int
) -> None:
    """A person who comes from elsewhere sees a page in a tab of its own, which the page he comes from cannot read."""
    page = "/_emulator/phones/+24177123456?app=lock"
    assert http.get(page).status_code == 200
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination}
    assert http.get(page, headers={**headers, "Accept": "text/html"}).status_code == status


LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def open_apps(http: httpx.Client) -> set[str]:
    return {app["name"] for app in http.get("/_emulator/apps?page_size=100").json()["data"]}


@pytest.mark.parametrize(
    "path",
    [
        *("clock", "inbox/shop?status=500", "phones/+24177000001", "events"),
        *("stream", "console/stream", "snapshots/a?share=true"),
    ],
)
def test_a_link_of_another_site_reaches_no_call_of_the_api(http: httpx.Client, path: str) -> None:
    query = "&app=evilworld" if "?" in path else "?app=evilworld"
    assert http.get(f"/_emulator/{path}{query}", headers=LINK).status_code == 403
    assert "evilworld" not in open_apps(http)


@pytest.mark.parametrize("path", ["", "console/events", "console/nowhere", "phones/+24177000001"])
def test_a_link_of_another_site_to_a_page_opens_no_world(http: httpx.Client, path: str) -> None:
    """A browser that followed it is asked for the token; the link on that page is one of the console's own.

    That of an open world may be followed. Answers are not for other origins to embed.
    """
    http.get("/_emulator/clock?app=lock")
    page = http.get(f"/_emulator/{path}?app=evilworld", headers={**LINK, "Accept": "text/html"})
    assert page.status_code == 403
    assert "evilworld" in page.text
    assert "evilworld" not in open_apps(http)
    page = http.get("/_emulator/?app=lock", headers={**LINK, "Accept": "text/html"})
    assert page.status_code == 200
    headers = http.get("/_emulator/health").headers
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("SAMEORIGIN", "nosniff")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        *(
            (["GET /_emulator/clock HTTP/1.1", f"Host: {host}"], 403)
            for host in (
                *("evil.example@localhost", "localhost@evil.example", "localhost/evil.example", ""),
                *("localhost#evil.example", "localhost:80@evil.example", "localhost:99999", "localhost .evil.example"),
            )
        ),
        (["GET /_emulator/health HTTP/1.0"], 200),
    ],
    ids=str,
)
def test_no_trick_makes_another_name_one_of_this_machine(server: RunningServer, lines: list[str], status: int) -> None:
    """A program that names no host, as HTTP/1.0 allows, is no browser."""
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        assert line.recv(100).startswith(f"HTTP/1.1 {status}".encode())


def test_a_server_on_loopback_answers_to_names_of_loopback_only() -> None:
    """``serve`` starts one so: a page that points its own name here (DNS rebinding) reaches nothing at all."""
    key = {"Authorization": "Bearer sk_test_lock"}
    with (
        RunningServer("http://sandbox.example", any_host=False, allow_hosts=("emulator",)) as server,
        http_client(base_url=server.url, headers=key) as http,
    ):
        for path in ("/v1/customers/", "/docs/", "/openapi.json", "/checkout/sess_x", "/"):
            for host in ("localhost", "127.0.0.1:80", "shop.localhost", "sandbox.example", "emulator:4747"):
                assert http.get(path, headers={"Host": host}).status_code in (200, 404)
            rejected = http.get(path, headers={"Host": "evil.example"})
            assert (rejected.status_code, rejected.json()["code"]) == (403, "PERMISSION_DENIED")
        assert http.get("/_emulator/health", headers={"Host": "evil.example"}).status_code == 200


def test_a_token_can_be_asked_for() -> None:
    """Health answers any name without it, so that containers and their neighbours can ask; so do inboxes, for webhooks
    cannot carry it. The other half of the lock holds for them too.
    """
    health, inbox, clock = "/_emulator/health", "/_emulator/inbox/shop", "/_emulator/clock"
    token = {"Emulator-Token": "s3crét".encode()}
    with (
        RunningServer(allow_hosts=("emulator",), control_token="s3crét") as server,
        http_client(base_url=server.url, headers={"Host": "emulator:4747"}) as http,
    ):
        for path in (clock, "/_emulator/events", inbox):
            assert [http.get(path, headers=each).status_code for each in ({}, {"Emulator-Token": "wrong"}, token)] == [
                *(403, 403, 200)
            ]
        for host in ("payments:4747", "10.0.0.7:4747", "evil.example"):
            answer = http.get(health, headers={"Host": host})
            assert (answer.status_code, sorted(answer.json())) == (200, ["apps", "status", "version"])
        assert http.get(health, headers={"Origin": "https://shop.example"}).status_code == 403
        assert http.post(inbox, content=b"{}").status_code == 200
        assert http.post(inbox, content=b"{}", headers={"Origin": "https://evil.example"}).status_code == 403
        assert http.get(inbox, headers=token).json()["pagination"]["count"] == 1
