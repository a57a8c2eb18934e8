"""``payments-emulator health``: an exit status for containers and scripts."""

from __future__ import annotations

import socket

import pytest

from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.cli.conftest import Cli
from contract_tests.surfaces.cli.terminal import run


def test_it_says_that_the_emulator_answers(cli: Cli) -> None:
    (line,) = cli("health").lines
    assert line.startswith("ok: version ")
    (answer,) = cli("health", "--json").objects
    assert answer["status"] == "ok"


def test_it_asks_this_machine_at_the_port_of_serve(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container; a proxy that Docker injects is not asked."""
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("PAYMENTS_EMULATOR_PORT", str(server.server.port))
    assert run("health").status == 0


def test_it_needs_no_control_token() -> None:
    server = RunningServer(control_token="s3cret")
    try:
        assert run("health", "--url", server.url).status == 0
    finally:
        server.stop()


def test_it_fails_where_nothing_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ended = run("health", "--url", url, "--timeout", "0.2")
    assert (ended.status, ended.output, ended.errors.count("\n")) == (1, "", 1)
    assert run("health", "--url", url).status == 1


def test_a_url_that_is_none_is_wrong_usage() -> None:
    assert "--url" in run("health", "--url", "ftp://shop").usage_error
