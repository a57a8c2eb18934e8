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
    "host", ["localhost", "127.0.0.1", "127.0.0.1:80", "[::1]:4747", "shop.localhost:1", "LOCALHOST."]
)
def test_names_of_loopback_are_known(http: httpx.Client, host: str) -> None:
    assert http.get("/_emulator/clock?app=lock", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.example", "10.0.0.1", "[::1", "a@b"]
)
def test_other_names_are_rejected(http: httpx.Client, host: str) -> None:
    """A page that points its own name at 127.0.0.1 sends that name (DNS rebinding)."""
    answer = http.get("/_emulator/clock", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
    assert answer.headers["request-id"].startswith("req_")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Origin": "http://"},
        {"Origin": ""},
    ],
    ids=str,
)
def test_pages_of_other_origins_change_nothing(http: httpx.Client, headers: dict[str, str]) -> None:
    before = clock(http)
    answer = http.post(ADVANCE, json={"by": "1d"}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
    assert "access-control-allow-origin" not in answer.headers
    assert clock(http) == before


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_form_could_send_is_no_json(http: httpx.Client, content_type: str) -> None:
    before = clock(http)
    answer = http.post(ADVANCE, content='{"by": "1d"}', headers={"Content-Type": content_type})
    assert answer.status_code == 400
    assert clock(http) == before


def test_a_page_of_the_emulator_itself_may(http: httpx.Client, server: RunningServer) -> None:
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert http.post(ADVANCE, json={"by": "1d"}, headers=headers).status_code == 200


def test_so_may_one_behind_a_proxy_that_speaks_tls(http: httpx.Client) -> None:
    headers = {"Host": "localhost:4747", "Origin": "https://localhost:4747", "Sec-Fetch-Site": "same-origin"}
    assert http.post(ADVANCE, json={"by": "1d"}, headers=headers).status_code == 200


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
    """A browser that followed it is asked for the token; the link on that page is one of the console's own."""
    target = f"/_emulator/{path}?app=evilworld"
    page = http.get(target, headers={**LINK, "Accept": "text/html"})
    assert page.status_code == 403
    assert "evilworld" in page.text
    assert "evilworld" not in open_apps(http)


def test_a_link_of_another_site_to_a_page_of_an_open_world_may_be_followed(http: httpx.Client) -> None:
    http.get("/_emulator/clock?app=lock")
    assert http.get("/_emulator/?app=lock", headers={**LINK, "Accept": "text/html"}).status_code == 200


def test_answers_are_not_for_other_origins_to_embed(http: httpx.Client) -> None:
    """For browsers that do not say where a request comes from."""
    headers = http.get("/_emulator/health").headers
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example@localhost"],
        ["localhost@evil.example"],
        ["localhost/evil.example"],
        ["localhost#evil.example"],
        ["localhost:80@evil.example"],
        ["localhost:99999"],
        ["127.0.0.1.evil.example"],
        ["localhost .evil.example"],
        [""],
    ],
)
def test_no_trick_makes_another_name_one_of_this_machine(server: RunningServer, hosts: list[str]) -> None:
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as line:
        rows = ["GET /_emulator/clock HTTP/1.1", *(f"Host: {host}" for host in hosts), "", ""]
        line.sendall("\r\n".join(rows).encode())
        assert line.recv(100).startswith(b"HTTP/1.1 403")


def test_a_program_that_names_no_host_is_no_browser(server: RunningServer) -> None:
    """HTTP/1.0 asks for none."""
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as line:
        line.sendall(b"GET /_emulator/health HTTP/1.0\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 200")


def test_the_service_itself_is_not_locked(http: httpx.Client) -> None:
    """Any name may reach /v1; what a browser may do there is the business of security profiles."""
    headers = {"Host": "api.example", "Authorization": "Bearer sk_test_lock"}
    assert http.get("/v1/customers/", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/v1/customers/", "/docs/", "/openapi.json", "/checkout/sess_x", "/"])
def test_a_server_on_loopback_answers_to_names_of_loopback_only(path: str) -> None:
    """``serve`` starts one so: a page that points its own name here (DNS rebinding) reaches nothing at all."""
    key = {"Authorization": "Bearer sk_test_lock"}
    with (
        RunningServer("http://sandbox.example", any_host=False, allow_hosts=("emulator",)) as server,
        http_client(base_url=server.url, headers=key) as http,
    ):
        for host in ("localhost", "127.0.0.1:80", "shop.localhost", "sandbox.example", "emulator:4747"):
            assert http.get(path, headers={"Host": host}).status_code in (200, 404)
        rejected = http.get(path, headers={"Host": "evil.example"})
        assert (rejected.status_code, rejected.json()["code"]) == (403, "PERMISSION_DENIED")
        assert http.get("/_emulator/health", headers={"Host": "evil.example"}).status_code == 200


def test_further_names_and_a_token_can_be_asked_for() -> None:
    with (
        RunningServer(allow_hosts=("emulator",), control_token="s3crét") as server,
        http_client(base_url=server.url, headers={"Host": "emulator:4747"}) as http,
    ):
        assert http.get("/_emulator/clock").status_code == 403
        assert http.get("/_emulator/clock", headers={"Emulator-Token": "wrong"}).status_code == 403
        assert http.get("/_emulator/clock", headers={"Emulator-Token": "s3crét".encode()}).status_code == 200


@pytest.mark.parametrize("host", ["payments:4747", "10.0.0.7:4747", "evil.example"])
def test_health_answers_any_name_without_a_token(host: str) -> None:
    """So that containers and their neighbours can ask; nothing beside it does."""
    with (
        RunningServer(control_token="s3cret") as server,
        http_client(base_url=server.url, headers={"Host": host}) as http,
    ):
        answer = http.get("/_emulator/health")
        assert (answer.status_code, sorted(answer.json())) == (200, ["apps", "status", "version"])
        assert http.get("/_emulator/health", headers={"Origin": "https://shop.example"}).status_code == 403
        for path in ("/_emulator/clock", "/_emulator/events"):
            assert http.get(path).status_code == 403


def test_webhooks_reach_an_inbox_without_the_token_and_reading_it_takes_the_token() -> None:
    """They cannot carry it; the other half of the lock holds for them too."""
    inbox = "/_emulator/inbox/shop"
    with RunningServer(control_token="s3cret") as server, http_client(base_url=server.url) as http:
        assert http.post(inbox, content=b"{}").status_code == 200
        assert http.post(inbox, content=b"{}", headers={"Origin": "https://evil.example"}).status_code == 403
        assert http.get(inbox).status_code == 403
        stored = http.get(inbox, headers={"Emulator-Token": "s3cret"}).json()
        assert stored["pagination"]["count"] == 1
