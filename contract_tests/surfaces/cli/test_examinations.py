"""``compare document``, ``test receiver`` for their users: a report, JSON, exit statuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import pytest

from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.checks.receiver import checks
from emulator.checks.receiver.checks import checks_of
from emulator.cli import document as module
from emulator.cli.receiver import METHODS

Response = tuple[int, object]


@contextmanager
def stranger(response: Callable[[str], Response]) -> Iterator[str]:
    """The URL of a foreign server: without a control API, with a response for each path."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, reply = response(self.path)
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    for verb in ("POST", "PUT", "PATCH", "DELETE"):
        setattr(Handler, f"do_{verb}", Handler.do_GET)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def hello(path: str) -> Response:
    return 200, {"hello": "world"}


HELLO = {"type": "object", "required": ["hello"], "properties": {"hello": {"type": "string"}}}
ANSWERS = {"200": {"description": "A page.", "content": {"application/json": {"schema": HELLO}}}}
SMALL = {
    "openapi": "3.0.3",
    "info": {"title": "Small", "version": "1"},
    "servers": [{"url": "/v1"}],
    "paths": {"/products/": {"get": {"operationId": "listProducts", "responses": ANSWERS}}},
}


def shipped(monkeypatch: pytest.MonkeyPatch, document: Mapping[str, Any]) -> None:
    """Let this document be shipped instead of the large one."""
    monkeypatch.setattr(
        "emulator.document.bundles.load", lambda name: json.loads(json.dumps(document))
    )


def test_a_server_that_does_otherwise_fails_with_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    junit = tmp_path / "report.xml"
    with stranger(hello) as url:
        base_url, document = module.server_and_document(f"{url}/v1/")
        assert (base_url, len(document["paths"]) > 50) == (f"{url}/v1", True), (
            "it has none, so the shipped one counts"
        )
        shipped(monkeypatch, SMALL)
        options = ("compare", "document", url, "--examples", "1", "--junit", str(junit))
        ended, for_programs = run(*options), run(*options, "--json")
    assert ended.status == 1, "it answers 200 to methods that are not documented"
    assert "GET /products/" in ended.output
    assert "unsupported_method" in ended.output
    suite = ElementTree.parse(junit).getroot()
    assert [case.get("name") for case in suite] == ["GET /products/", "everything could be checked"]
    assert suite.get("failures") == "1"
    report = json.loads(for_programs.output)
    assert (report["passed"], report["operations"][0]["operation"]) == (False, "GET /products/")
    assert report["operations"][0]["failures"][0]["curl"].startswith("curl -X ")


def test_a_server_that_forbids_everything_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its App has a security profile. State rules allow all responses; but nothing was created."""
    forbidden = {"403": {"description": "Forbidden."}}
    links = {"get": {"operationId": "getCustomer", "parameters": {"id": "$response.body#/id"}}}
    create = {
        "operationId": "createCustomer",
        "responses": {"201": {"description": "Made.", "links": links}, **forbidden},
    }
    get = {
        "operationId": "getCustomer",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ],
        "responses": {"200": {"description": "It."}, **forbidden},
    }
    shipped(
        monkeypatch,
        {**SMALL, "paths": {"/customers/": {"post": create}, "/customers/{id}/": {"get": get}}},
    )
    error = {"code": "PERMISSION_DENIED", "message": "The security profile does not allow it."}
    with stranger(lambda path: (403, error)) as url:
        (problem,) = json.loads(
            run("compare", "document", url, "--examples", "1", "--json").output
        )["problems"]
    assert "no link could be followed" in problem
    assert "The security profile does not allow it." in problem


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ftp://example.com"], "is not an http:// or https:// URL"),
        (["http://127.0.0.1:1"], "cannot be reached"),
        (["--key", "\tSK_PROD_shop"], "give it the key of a test App"),
        (["--examples", "0"], "'0' is not a whole number from 1 to 10000"),
    ],
)
def test_what_cannot_be_checked_is_reported_in_one_line(arguments: list[str], message: str) -> None:
    assert message in run("compare", "document", *arguments).usage_error


SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret, and no waiting between the pieces of what comes slowly."""
    monkeypatch.setenv("PAYMENTS_EMULATOR_SECRET", SECRET)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(checks, "PIECE_INTERVAL", 0.001)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A good receiver: it answers 200 to what is signed with the secret, and 401 to the rest."""
    receiver = Receiver()
    receiver.reply = careful
    yield receiver
    receiver.close()


def careful(received: Received, secret: str = SECRET) -> Reply:
    signed = received.headers.get("service-signature", "").isascii() and received.signed_with(
        secret
    )
    return Reply(200 if signed else 401)


def certify(url: str, *options: str) -> Ended:
    return run("test", "receiver", url, "--timeout", "60", *options)


def test_a_good_receiver(receiver: Receiver) -> None:
    """A short secret would make the library warn. A receiver that takes nothing is not judged."""
    count = len(checks_of("HMAC_SHA256"))
    (line,) = certify(receiver.url).lines
    assert line == f"All {count} checks passed (HMAC_SHA256, 60 s for a response)."
    status, output, _ = certify(receiver.url, "--secret", "whsec_another")
    assert status == 1
    assert "2 of 2 checks failed" in output
    assert f"{count - 2} checks not run" in output
    receiver.reply = lambda received: careful(received, "s3cret")
    ended = certify(receiver.url, "--secret", "s3cret")
    assert (ended.errors, ended.output.startswith("All ")) == ("", True)


def test_a_receiver_with_a_defect(receiver: Receiver) -> None:
    """Exit status 1; expectation, response, advice. Different wrong responses are told apart."""
    receiver.reply = lambda received: (
        careful(received) if "service-signature" in received.headers else Reply(204)
    )
    status, output, errors = certify(receiver.url)
    assert (status, errors) == (1, "")
    text = " ".join(output.split())
    assert (
        "An event without a signature: not rejected unsigned: expected: a 4xx (Delivery rule 1;"
        " B-83)" in text
    )
    assert "got: 204 to customer.created fix: Reject" in text
    assert re.search(r"\b2 of \d+ checks failed", text), (
        "the signature of another method has another header"
    )
    assert "accepting 204 is an assumption" not in text, (
        "nothing that should be accepted was answered so"
    )
    status, output, errors = certify(receiver.url, "--json")
    assert (status, errors) == (1, "")
    items: list[Any] = json.loads(output)["checks"]
    assert [item["check"] for item in items] == [check.name for check in checks_of("HMAC_SHA256")]
    assert {item["check"] for item in items if not item["passed"]} == {"unsigned", "forged-method"}
    (unsigned,) = [item for item in items if item["check"] == "unsigned"]
    (response,) = unsigned.pop("answers")
    assert response.pop("duration_ms") >= 0
    assert response == {
        "event": "customer.created",
        "status": 204,
        "passed": False,
        "error": None,
        "body": "",
    }
    assert {*unsigned} == {"check", "passed", "sent", "expected", "rule", "advice"}
    receiver.reply = lambda received: Reply(202) if careful(received).status == 200 else Reply(401)
    assert "accepting 202 is an assumption (B-84)." in " ".join(certify(receiver.url).lines)
    responses = {"invoice.paid": Reply(500, body=b"no\x1b[2J table"), "refund.failed": Reply(400)}
    receiver.reply = lambda received: responses.get(received.event["type"], careful(received))
    assert "got: 400 to refund.failed; 500 to invoice.paid, saying" in " ".join(
        certify(receiver.url).output.split()
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_secret_is_not_shown(receiver: Receiver, method: str) -> None:
    """Not even when the receiver sends back all it was sent."""
    receiver.reply = lambda received: Reply(
        418, body=f"{SECRET} {received.headers.get('authorization')}".encode("latin-1")
    )
    for more in ([], ["--json"]):
        ended = certify(
            receiver.url + "?token=t0ken", "--method", method, "--webhook", "wh_one", *more
        )
        assert ended.status == 1
        text = ended.output + ended.errors
        assert not any(secret in text for secret in (SECRET, "t0ken", "d2hfb25lOn")), (
            "the last is credentials in base64"
        )


def test_with_a_url_the_events_happen_there(receiver: Receiver, sandbox: Sandbox) -> None:
    """A receiver that reads the object of each event finds it."""
    ended = certify(receiver.url, "--url", sandbox.url, "--key", sandbox.key)
    assert re.search(r"All \d+ checks passed", ended.output), ended
    assert {received.event["app"] for received in receiver.received} == {
        sandbox.control.get("/app")["id"]
    }
    for event in (
        delivery.event for delivery in receiver.received if delivery.event["type"] == "invoice.paid"
    ):
        assert sandbox.api.get(f"/invoices/{event['data']['object']['id']}/")["status"] == "paid"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'RECEIVER_URL'"),
        (
            ["http://localhost:1/hooks", "--secret", ""],
            "Give the secret of your receiver with PAYMENTS_EMULATOR_SECRET",
        ),
        (["http://localhost:1/hooks", "--secret", "whsec_\udcff"], "any printable text will do"),
        (
            ["ftp://localhost/hooks"],
            "'ftp://localhost/hooks' is not a URL such as http://localhost:3000/webhooks",
        ),
        (
            ["http://shop.example.com/hooks"],
            "must be an https:// URL; http:// is for loopback hosts only",
        ),
        (["https://user:password@shop.example.com/hooks"], "must have no user name or password"),
        (
            ["localhost:1/hooks?token=t0ken"],
            "No receiver responds at http://localhost:1/hooks: cannot connect",
        ),
        (
            ["localhost:1", "--method", "BASIC"],
            "give the id that your receiver expects with --webhook",
        ),
    ],
)
def test_a_mistake_is_reported_in_one_line(arguments: list[str], message: str) -> None:
    assert message in run("test", "receiver", *arguments).usage_error
