"""``check`` holds a server against the document, ours or another's, and reports to people and to machines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner

from emulator.checks.document.report import DocumentResults, Failing
from emulator.checks.report import as_junit
from emulator.cli import document as module
from emulator.cli.main import cli, one_line


class Stranger(BaseHTTPRequestHandler):
    """A server that is not ours: it has no control API, and gives one answer to everything."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, answer = self.reply()
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply(self) -> tuple[int, object]:
        return 200, {"hello": "world"}

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


for verb in ("GET", "POST", "PUT", "PATCH", "DELETE"):
    setattr(Stranger, f"do_{verb}", Stranger.answer)


@contextmanager
def serving(handler: type[Stranger]) -> Iterator[str]:
    """The URL of a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def stranger() -> Iterator[str]:
    with serving(Stranger) as url:
        yield url


SMALL = {
    "openapi": "3.0.3",
    "info": {"title": "Small", "version": "1"},
    "servers": [{"url": "/v1"}],
    "paths": {
        "/products/": {
            "get": {
                "operationId": "listProducts",
                "responses": {
                    "200": {
                        "description": "A page.",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["hello"],
                                    "properties": {"hello": {"type": "string"}},
                                }
                            }
                        },
                    }
                },
            }
        }
    },
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A document of one operation, shipped instead of the large one."""
    document: dict[str, object] = json.loads(json.dumps(SMALL))
    monkeypatch.setattr("emulator.document.bundles.load", lambda name: document)
    return document


def test_a_server_that_does_as_the_document_says_passes(stranger: str, small: object, tmp_path: Path) -> None:
    junit = tmp_path / "report.xml"
    options = ["--examples", "1", "--junit", str(junit)]
    result, for_programs = (
        CliRunner().invoke(cli, ["compare", "document", stranger, *options, *more], standalone_mode=False)
        for more in ([], ["--json"])
    )
    assert result.return_value == 1, "it answers 200 to methods that are not documented"
    assert "GET /products/" in result.output
    assert "unsupported_method" in result.output
    suite = ElementTree.parse(junit).getroot()
    assert [case.get("name") for case in suite] == ["GET /products/", "everything could be checked"]
    assert suite.get("failures") == "1"
    report = json.loads(for_programs.stdout)
    assert (report["passed"], report["operations"][0]["operation"]) == (False, "GET /products/")
    assert report["operations"][0]["failures"][0]["curl"].startswith("curl -X ")


def test_the_shipped_document_counts_where_the_server_has_none(stranger: str) -> None:
    base_url, document = module.server_and_document(f"{stranger}/v1/")
    assert base_url == f"{stranger}/v1"
    assert len(document["paths"]) > 50


class Forbidding(Stranger):
    """A server whose App has a security profile from an earlier check."""

    def reply(self) -> tuple[int, object]:
        return 403, {"code": "PERMISSION_DENIED", "message": "The security profile does not allow it."}


def test_a_server_that_forbids_everything_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is as a rule of state says; but nothing was created, so nothing was checked."""
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
    document = {**SMALL, "paths": {"/customers/": {"post": create}, "/customers/{id}/": {"get": get}}}
    monkeypatch.setattr("emulator.document.bundles.load", lambda name: document)
    with serving(Forbidding) as url:
        result = CliRunner().invoke(
            cli, ["compare", "document", url, "--examples", "1", "--json"], standalone_mode=False
        )
    problems = json.loads(result.stdout)["problems"]
    assert len(problems) == 1, problems
    assert "no link could be followed" in problems[0]
    assert "The security profile does not allow it." in problems[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ftp://example.com"], "is not an http:// or https:// URL"),
        (["http://127.0.0.1:1"], "cannot be reached"),
        (["--key", "sk_prod_shop"], "give it the key of a test App"),
        (["--key", "\tSK_PROD_shop"], "give it the key of a test App"),
        (["--examples", "0"], "0 is not in the range 1<=x<=10000"),
    ],
)
def test_what_cannot_be_checked_is_reported_in_one_line(arguments: list[str], message: str) -> None:
    error = CliRunner().invoke(cli, ["compare", "document", *arguments], standalone_mode=False).exception
    assert isinstance(error, click.ClickException)
    assert message in one_line(error)


@pytest.mark.parametrize("command", [["compare", "document"], ["spec", "validate"]])
def test_without_the_extra_it_says_how_to_install_it(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert 'pip install "payments-emulator[check]"' in str(result.exception)


def test_its_help_needs_no_extra() -> None:
    line = "cli(['compare', 'document', '--help'])"
    code = f"import sys; sys.modules['schemathesis'] = None; from emulator.cli.main import cli; {line}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Check the server at URL" in done.stdout


def test_a_report_of_strange_letters_is_still_xml() -> None:
    report = DocumentResults()
    report.note("GET /x", Failing("check", "a\x00b\ud800", 500, "\x1b[31m", "curl '\x07'"))
    assert ElementTree.fromstring(as_junit(report.report())).get("failures") == "1"
