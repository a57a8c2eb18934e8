"""What the proxy passes on and what it answers itself: bounds, keys, failures of the service, TLS."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.checks.service.second import NOTHING, VirtualTime, serving
from contract_tests.surfaces.checks.service.tls import behind_tls
from contract_tests.surfaces.checks.traffic.running import RunningProxy, proxying
from emulator.core import limits

KEY = {"Authorization": "Bearer sk_test_compare"}


@pytest.fixture(scope="module")
def service() -> Iterator[RunningServer]:
    with serving(NOTHING) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(service: RunningServer) -> Iterator[RunningProxy]:
    with proxying(service.url) as running:
        yield running


def get(proxy: RunningProxy, path: str = "/v1/customers/", **options: object) -> httpx.Response:
    with http_client(headers=KEY) as http:
        return http.get(f"{proxy.url}{path}", **options)  # type: ignore[arg-type]  # of httpx


def error(answer: httpx.Response) -> tuple[int, str, str]:
    body = answer.json()
    assert body["request_id"] == answer.headers["request-id"]
    return answer.status_code, body["code"], body["message"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_answers_come_as_the_service_gave_them(service: RunningServer, proxy: RunningProxy) -> None:
    with http_client(headers=KEY) as http:
        made = http.post(f"{proxy.url}/v1/customers/", json={"email": "a@example.com", "name": "Awa Diop"})
        path = f"/v1/customers/{made.json()['id']}/"
        passed, direct = http.get(f"{proxy.url}{path}"), http.get(f"{service.url}{path}")
    assert passed.content == direct.content
    own = {"request-id", "connection"}
    assert {*passed.headers} - own == {*direct.headers} - own
    # The id is the one that the service has in its journal.
    with http_client(headers=KEY) as http:
        assert http.get(f"{service.url}/_emulator/requests/{passed.headers['request-id']}").status_code == 200


def test_what_is_not_of_the_api_is_passed_on_alone(service: RunningServer) -> None:
    with proxying(service.url) as proxy:
        assert get(proxy, "/_emulator/health").json()["status"] == "ok"
    assert proxy.findings.compared == 0


def test_a_service_that_is_not_there_is_502_in_the_error_model() -> None:
    with proxying(f"http://127.0.0.1:{free_port()}") as proxy:
        status, code, message = error(get(proxy))
    assert (status, code) == (502, "UPSTREAM_ERROR")
    assert message.startswith("The proxy got no answer from the service: ")
    assert proxy.findings.compared == 0


def test_a_certificate_that_is_not_trusted_is_502(
    service: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with behind_tls(service.url) as tls:
        with proxying(tls.url) as proxy:
            status, _, message = error(get(proxy))
        assert (status, "CERTIFICATE_VERIFY_FAILED" in message) == (502, True)
        tls.authority.cert_pem.write_to_path(tmp_path / "authority.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        with proxying(tls.url) as proxy:
            assert get(proxy).status_code == 200
    assert (proxy.kinds, proxy.findings.compared) == (set(), 1)


class _Redirecting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the library's name
        self.send_response(302)
        self.send_header("location", "http://127.0.0.1:1/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


def test_a_redirect_is_not_followed() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Redirecting) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with proxying(f"http://127.0.0.1:{server.server_port}") as proxy:
            answer = get(proxy)
        server.shutdown()
    assert (answer.status_code, answer.headers["location"]) == (302, "http://127.0.0.1:1/elsewhere")


LIVE = "sk_prod_shop"


@pytest.mark.parametrize(
    "sent",
    [
        {"headers": {"Authorization": f"Bearer {LIVE}"}},
        {"headers": {"Authorization": f"Bearer\t{LIVE}."}},
        {"headers": {"Authorization": LIVE}},
        {"headers": {"Authorization": "Basic " + b64encode(f"{LIVE}:".encode()).decode()}},
        {"headers": {"X-Api-Key": LIVE.upper()}},
        {"params": {"key": LIVE}},
        {"content": f'{{"key": "{LIVE}"}}'},
        {"content": f"key={LIVE.replace('_', '%5F')}"},
    ],
    ids=str,
)
def test_a_live_key_stops_a_request_wherever_it_is(proxy: RunningProxy, service: RunningServer, sent: Any) -> None:
    with http_client(headers=KEY) as http:
        status, code, message = error(http.request("POST", f"{proxy.url}/v1/live/", **sent))
        arrived = http.get(f"{service.url}/_emulator/requests").json()["data"]
    assert (status, code) == (403, "SANDBOX_ONLY")
    assert "test keys" in message
    assert "/v1/live/" not in {each["path"].partition("?")[0] for each in arrived}


@pytest.mark.parametrize(
    "sent",
    [
        {"content": gzip.compress(LIVE.encode()), "headers": {"Content-Encoding": "gzip"}},
        {"content": LIVE.encode("utf-16")},
        {"content": LIVE.encode("utf-16-be")},
        {"content": LIVE.encode("utf-7"), "headers": {"Content-Encoding": "br"}},
    ],
    ids=["gzip", "UTF-16", "UTF-16 without a mark", "encoded"],
)
def test_a_body_in_which_no_key_would_be_found_is_not_passed_on(
    proxy: RunningProxy, service: RunningServer, sent: Any
) -> None:
    with http_client(headers=KEY) as http:
        status, code, message = error(http.post(f"{proxy.url}/v1/unreadable/", **sent))
        arrived = http.get(f"{service.url}/_emulator/requests").json()["data"]
    assert (status, code) == (403, "SANDBOX_ONLY")
    assert "UTF-8 and not compressed" in message
    assert "/v1/unreadable/" not in {each["path"] for each in arrived}


def test_what_opens_a_console_is_not_passed_on(proxy: RunningProxy, service: RunningServer) -> None:
    """A header that ends in a blank is passed on without it."""
    own = (b"Emulator-Token: let-me-in", b"Cookie: login=1", b"X-Note: kept \t")
    with Line(proxy.url, "sk_test_compare") as line:
        line.request(b"GET /v1/customers/ HTTP/1.1", *own)
        passed = line.answer()
    assert passed.status == 200
    with http_client(headers=KEY) as http:
        entry = http.get(f"{service.url}/_emulator/requests/{passed.headers['request-id']}").json()
    assert entry["request_headers"]["x-note"] == "kept"
    assert not {"cookie", "emulator-token"} & entry["request_headers"].keys()


def test_half_a_body_is_passed_on_to_no_one(
    proxy: RunningProxy, service: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Its client went away, which is no error."""
    with Line(proxy.url, "sk_test_compare") as line:
        line.request(b"POST /v1/half/ HTTP/1.1", b"Content-Length: 100", body=b"half")
    assert get(proxy).status_code == 200
    with http_client(headers=KEY) as http:
        arrived = http.get(f"{service.url}/_emulator/requests").json()["data"]
    assert "/v1/half/" not in {each["path"] for each in arrived}
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_a_body_that_is_too_large_is_400(proxy: RunningProxy) -> None:
    with http_client(headers=KEY) as http:
        answer = http.post(f"{proxy.url}/v1/customers/", content=b"x" * (limits.BODY.most + 1))
        hook = http.post(f"{proxy.url}/_proxy/webhooks", content=b"x" * (limits.INBOX_BODY.most + 1))
    assert error(answer)[0] == error(hook)[0] == 400


def test_a_path_does_not_lead_out_of_the_api(proxy: RunningProxy) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2])), timeout=60) as connection:
        connection.sendall(b"GET /v1/%2e%2e/_emulator/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("path", ["/v1/customers/", "/_proxy/"])
def test_names_that_lead_here_from_elsewhere_are_rejected(proxy: RunningProxy, path: str) -> None:
    assert get(proxy, path, headers={"Host": "evil.example.com"}).status_code == 403


@pytest.mark.breaks_the_document
def test_answers_of_a_busy_or_failing_service_are_not_compared() -> None:
    """Two requests a second, and one of twenty fails: the application repeats its requests, and nothing differs."""
    time = VirtualTime()
    with serving(NOTHING, time, seed=3) as server, proxying(server.url) as proxy, http_client(headers=KEY) as http:
        statuses = []
        for number in range(40):
            body = {"email": f"{number}@example.com", "name": "Awa Diop"}
            statuses.append(http.post(f"{proxy.url}/v1/customers/", json=body).status_code)
            time.sleep(0.4)
    assert {201, 429, 503} == {*statuses}
    assert proxy.kinds == set()
    assert proxy.findings.compared == statuses.count(201)
    assert proxy.findings.skipped.total() == 40 - statuses.count(201)


@pytest.mark.breaks_the_document
def test_the_page_shows_what_differs_and_runs_nothing(service: RunningServer) -> None:
    draw = NOTHING._replace(switched={"main_currency": "EUR"})
    with serving(draw) as server, proxying(server.url) as proxy, http_client(headers=KEY) as http:
        body = {"email": "a@example.com", "name": "<script>alert(1)</script>"}
        http.post(f"{proxy.url}/v1/customers/", json=body)
        http.get(f"{proxy.url}/v1/customers/cust_{'<b>'}/")
        assert proxy.taken(2)
        page = http.get(f"{proxy.url}/_proxy/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "createCustomer" in page.text
    assert "B-30" in page.text
    assert "<script>" not in page.text
