"""The compose file of the guide, played without containers: its services are processes, their names are ports here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract_tests import ROOT

EXAMPLE = ROOT / "docs/examples/compose"
SERVICES: Mapping[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text("utf-8"))["services"]
PATIENCE = 60


READY = {"payments": "/_emulator/health", "shop": "/orders"}
"""Where each service answers 200 once it is ready."""

GIVEN = range(12_000, 32_000)
"""Ports that systems give to none who asks for any port, so that one that is free stays free."""


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens at, different ones in each process."""
    begin = os.getpid() * count % len(GIVEN)
    return list(islice(filter(is_free, (*GIVEN[begin:], *GIVEN[:begin])), count))


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


class Play:
    """The services, as processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = dict(zip(READY, free_ports(len(READY)), strict=True))

    def environment(self, service: str) -> dict[str, str]:
        """The variables of a service, with the addresses of this play."""
        names = [name for name in os.environ if name.startswith("PAYMENTS_EMULATOR_")]
        ours = {name: value for name, value in os.environ.items() if name not in names}
        given = {name: self._placed(value) for name, value in SERVICES[service]["environment"].items()}
        return {**ours, **given, "PYTHONPATH": str(EXAMPLE.parents[2])}

    def _placed(self, value: str) -> str:
        for name, port in self._ports.items():
            default = 4747 if name == "payments" else 8000
            value = value.replace(f"//{name}:{default}", f"//127.0.0.1:{port}")
        if value.startswith("postgresql://"):
            return f"sqlite:///{self._folder}/worlds.db"
        return str(self._ports["shop"]) if value == "8000" else value

    @contextmanager
    def running(self, service: str, *command: str, **more: str) -> Iterator[str]:
        """A service, once it answers; its address."""
        url = f"http://127.0.0.1:{self._ports[service]}"
        environment = {**self.environment(service), **more}
        process = subprocess.Popen([sys.executable, *command], env=environment, cwd=EXAMPLE, stdout=subprocess.DEVNULL)
        try:
            wait_for(url + READY[service])
            yield url
        finally:
            process.kill()
            process.wait()

    def emulator(self) -> Any:
        """The payments service, as the image starts it."""
        port, init = str(self._ports["payments"]), str(EXAMPLE / "init")
        command = ("-m", "emulator.cli.main", "serve")
        return self.running("payments", *command, PAYMENTS_EMULATOR_PORT=port, PAYMENTS_EMULATOR_FIXTURES=init)


def wait_for(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            return urllib.request.urlopen(url, timeout=PATIENCE).close()
        except urllib.error.HTTPError as error:
            error.close()  # Python 3.14 warns otherwise
        except OSError:
            pass
        time.sleep(0.05)
    raise TimeoutError(url)


def test_the_tests_of_the_compose_file_pass(tmp_path: Path) -> None:
    play = Play(tmp_path)
    with play.emulator(), play.running("shop", *SERVICES["shop"]["command"][1:]):
        ended = subprocess.run(
            [sys.executable, *SERVICES["tests"]["command"][1:]],
            env=play.environment("tests"),
            cwd=EXAMPLE,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert "Ran 2 tests" in ended.stderr


@pytest.fixture
def trusting(tmp_path: Path) -> Iterator[str]:
    """The emulator of the compose file."""
    with Play(tmp_path).emulator() as url:
        yield url


def answer(url: str, path: str, body: bytes | None = None, host: str = "payments:4747") -> tuple[int, bytes]:
    """Ask by a name of the network."""
    headers = {"Host": host, "Authorization": "Bearer sk_test_compose", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, body, headers), timeout=30) as found:
            return found.status, found.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_on_a_trusted_network_names_and_http_webhooks_are_fine_and_the_folder_is_loaded(trusting: str) -> None:
    status, settings = answer(trusting, "/_emulator/app")
    assert (status, b'"tax_rate":18' in settings) == (200, True)
    body = b'{"name": "Shop", "url": "http://shop.invalid:8000/webhooks", "events": ["*"]}'
    status, rejected = answer(trusting, "/v1/webhooks/", body)
    # It is called, and only its name is unknown here.
    assert (status, b"WEBHOOK_ENDPOINT_UNREACHABLE" in rejected) == (422, True), rejected
