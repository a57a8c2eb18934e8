"""The control API is safe on developers' machines: no DNS rebinding, no foreign sites, a token."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import permutations

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


KNOWN = ("localhost", "127.0.0.1", "127.0.0.1:80", "[::1]:4747", "shop.localhost:1", "LOCALHOST.")
UNKNOWN = (
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.example",
    "10.0.0.1",
    "[::1",
    "a@b",
)


def test_only_names_of_loopback_are_known(http: httpx.Client) -> None:
    """A page that points its name at 127.0.0.1 sends that name (DNS rebinding).

    Any name may reach /v1; what a browser may do there is the business of security profiles.
    """
    for host in (*KNOWN, *UNKNOWN):
        response = http.get("/_emulator/clock?app=lock", headers={"Host": host})
        assert response.headers["request-id"].startswith("req_")
        expected = (200, None) if host in KNOWN else (403, "PERMISSION_DENIED")
        assert (response.status_code, response.json().get("code")) == expected, host
    headers = {"Host": "api.example", "Authorization": "Bearer sk_test_lock"}
    assert http.get("/v1/customers/", headers=headers).status_code == 200


def test_pages_of_other_origins_change_nothing(http: httpx.Client) -> None:
    """The emulator's own may, also behind a TLS proxy; a form's possible content is no JSON."""
    own, before = str(http.base_url).rstrip("/"), clock(http)
    foreign = ("https://evil.example", "null", "http://127.0.0.1:1", "http://", "")
    for headers, status in (
        *(({"Origin": origin}, 403) for origin in foreign),
        *(({"Sec-Fetch-Site": site}, 403) for site in ("cross-site", "same-site")),
        (LINK, 403),
        *(
            ({"Content-Type": type}, 400)
            for type in ("text/plain", "application/x-www-form-urlencoded")
        ),
        ({"Origin": own, "Sec-Fetch-Site": "same-origin"}, 200),
        (
            {
                "Host": "localhost:1",
                "Origin": "https://localhost:1",
                "Sec-Fetch-Site": "same-origin",
            },
            200,
        ),
    ):
        response = http.post(
            ADVANCE, content='{"by": "1d"}', headers={"Content-Type": "application/json", **headers}
        )
        assert response.status_code == status, headers
        assert status != 403 or response.json()["code"] == "PERMISSION_DENIED"
        assert "access-control-allow-origin" not in response.headers
        assert (clock(http) == before) is (status != 200)
        before = clock(http)
    for origins in permutations((("Origin", own), ("Origin", "https://evil.example"))):
        assert http.post(ADVANCE, json={"by": "1d"}, headers=[*origins]).status_code == 403


LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_a_link_may_be_followed_but_not_embedded(http: httpx.Client) -> None:
    """A person from elsewhere sees the page in a tab of its own, unread by the page before."""
    page = "/_emulator/phones/+24177123456?app=lock"
    assert http.get(page).status_code == 200
    embedded = (
        ("navigate", "iframe"),
        ("navigate", "object"),
        ("no-cors", "document"),
        ("no-cors", "script"),
    )
    for mode, destination in (("navigate", "document"), *embedded, ("cors", "empty")):
        headers = {
            **LINK,
            "Sec-Fetch-Mode": mode,
            "Sec-Fetch-Dest": destination,
            "Accept": "text/html",
        }
        assert http.get(page, headers=headers).status_code == (
            200 if headers.items() >= LINK.items() else 403
        )


def test_the_headers_forbid_to_embed_a_page(http: httpx.Client) -> None:
    headers = http.get("/_emulator/health").headers
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == (
        "SAMEORIGIN",
        "nosniff",
    )


def is_open(http: httpx.Client) -> bool:
    """Whether a link opened the world ``evilworld``."""
    return "evilworld" in {
        app["name"] for app in http.get("/_emulator/apps?page_size=100").json()["data"]
    }


def test_a_link_of_another_site_reaches_no_call_of_the_api(http: httpx.Client) -> None:
    for path in (
        "clock?",
        "inbox/shop?status=500&",
        "phones/+24177000001?",
        "stream?",
        "console/stream?",
    ):
        assert http.get(f"/_emulator/{path}app=evilworld", headers=LINK).status_code == 403
        assert not is_open(http)


def test_a_link_of_another_site_opens_no_world(http: httpx.Client) -> None:
    """A browser on a page is asked for the token; that page's link is one of the console's own."""
    link = {**LINK, "Accept": "text/html"}
    for path in ("", "console/events", "console/nowhere", "phones/+24177000001"):
        page = http.get(f"/_emulator/{path}?app=evilworld", headers=link)
        assert (page.status_code, "evilworld" in page.text, is_open(http)) == (403, True, False)


def test_a_link_of_another_site_to_an_open_world_may_be_followed(http: httpx.Client) -> None:
    link = {**LINK, "Accept": "text/html"}
    http.get("/_emulator/clock?app=lock")
    assert http.get("/_emulator/?app=lock", headers=link).status_code == 200


TRICKS = (
    *("evil.example@localhost", "localhost@evil.example", "localhost/evil.example", ""),
    *(
        "localhost#evil.example",
        "localhost:80@evil.example",
        "localhost:99999",
        "localhost .evil.example",
        "evillocalhost",
    ),
)


def test_no_trick_makes_another_name_one_of_this_machine(server: RunningServer) -> None:
    """A program that names no host, as HTTP/1.0 allows, is no browser."""
    statuses = {f"GET /_emulator/clock HTTP/1.1\r\nHost: {host}": 403 for host in TRICKS}
    for head, status in (statuses | {"GET /_emulator/health HTTP/1.0": 200}).items():
        with socket.create_connection(("127.0.0.1", server.server.port), timeout=60) as line:
            line.sendall(f"{head}\r\n\r\n".encode())
            assert line.recv(100).startswith(f"HTTP/1.1 {status}".encode()), head


def test_a_server_on_loopback_responds_to_names_of_loopback_only() -> None:
    """``serve`` starts so: a page that points its own name here (DNS rebinding) reaches nothing."""
    key = {"Authorization": "Bearer sk_test_lock"}
    with (
        RunningServer(
            "http://sandbox.example", any_host=False, allow_hosts=("emulator",)
        ) as server,
        http_client(base_url=server.url, headers=key) as http,
    ):
        for path in ("/v1/customers/", "/docs/", "/openapi.json", "/checkout/sess_x", "/"):
            for host in (
                "localhost",
                "127.0.0.1:80",
                "shop.localhost",
                "sandbox.example",
                "emulator:4747",
            ):
                assert http.get(path, headers={"Host": host}).status_code in (200, 404)
            rejected = http.get(path, headers={"Host": "evil.example"})
            assert (rejected.status_code, rejected.json()["code"]) == (403, "PERMISSION_DENIED")
            assert "--allow-host evil.example" in rejected.json()["message"]
            nameless = http.get(path, headers={"Host": ""})
            assert nameless.status_code == 403
            assert nameless.json()["message"].startswith("The Host header names no host;")
        assert http.get("/_emulator/health", headers={"Host": "evil.example"}).status_code == 200


def test_a_token_can_be_asked_for() -> None:
    """Health needs none under any name, for containers and their neighbors; nor do inboxes.

    Webhooks cannot carry it. The other half of the lock holds for them too.
    """
    health, inbox, clock = "/_emulator/health", "/_emulator/inbox/shop", "/_emulator/clock"
    token = {"Emulator-Token": "s3crét".encode()}
    with (
        RunningServer(allow_hosts=("emulator",), control_token="s3crét") as server,
        http_client(base_url=server.url, headers={"Host": "emulator:4747"}) as http,
    ):
        for path in (clock, "/_emulator/events", inbox):
            headers_of_token = ({}, {"Emulator-Token": "wrong"}, token)
            assert [
                http.get(path, headers=headers).status_code for headers in headers_of_token
            ] == [403, 403, 200]
        for host in ("payments:4747", "10.0.0.7:4747", "evil.example"):
            response = http.get(health, headers={"Host": host})
            assert (response.status_code, sorted(response.json())) == (
                200,
                ["apps", "status", "version"],
            )
        assert http.get(health, headers={"Origin": "https://shop.example"}).status_code == 403
        assert http.post(inbox, content=b"{}").status_code == 200
        assert (
            http.post(inbox, content=b"{}", headers={"Origin": "https://evil.example"}).status_code
            == 403
        )
        assert http.get(inbox, headers=token).json()["pagination"]["count"] == 1
