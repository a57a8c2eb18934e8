"""``compare document`` holds a server against the document, ours or another's, and reports to people and to machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import pytest

from contract_tests.surfaces.cli.terminal import run
from emulator.cli import document as module

Answer = tuple[int, object]


@contextmanager
def stranger(answer: Callable[[str], Answer]) -> Iterator[str]:
    """The URL of a server that is not ours: without a control API, it has an answer for each path."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, reply = answer(self.path)
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


def hello(path: str) -> Answer:
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
    monkeypatch.setattr("emulator.document.bundles.load", lambda name: json.loads(json.dumps(document)))


def test_a_server_that_does_otherwise_fails_with_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    junit = tmp_path / "report.xml"
    with stranger(hello) as url:
        base_url, document = module.server_and_document(f"{url}/v1/")
        assert (base_url, len(document["paths"]) > 50) == (f"{url}/v1", True), "it has none, so the shipped one counts"
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
    """Its App has a security profile. Each answer is as a rule of state says; but nothing was created and checked."""
    forbidden = {"403": {"description": "Forbidden."}}
    links = {"get": {"operationId": "getCustomer", "parameters": {"id": "$response.body#/id"}}}
    create = {
        "operationId": "createCustomer",
        "responses": {"201": {"description": "Made.", "links": links}, **forbidden},
    }
    get = {
        "operationId": "getCustomer",
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "It."}, **forbidden},
    }
    shipped(monkeypatch, {**SMALL, "paths": {"/customers/": {"post": create}, "/customers/{id}/": {"get": get}}})
    error = {"code": "PERMISSION_DENIED", "message": "The security profile does not allow it."}
    with stranger(lambda path: (403, error)) as url:
        (problem,) = json.loads(run("compare", "document", url, "--examples", "1", "--json").output)["problems"]
    assert "no link could be followed" in problem
    assert "The security profile does not allow it." in problem


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ftp://example.com"], "is not an http:// or https:// URL"),
        (["http://127.0.0.1:1"], "cannot be reached"),
        (["--key", "\tSK_PROD_shop"], "give it the key of a test App"),
        (["--examples", "0"], "0 is not in the range 1<=x<=10000"),
    ],
)
def test_what_cannot_be_checked_is_reported_in_one_line(arguments: list[str], message: str) -> None:
    assert message in run("compare", "document", *arguments).usage_error
