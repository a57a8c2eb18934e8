"""The compose file without containers: its services are processes here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from contract_tests import ROOT
from contract_tests.support.servers import free_port

EXAMPLE = ROOT / "docs/examples/compose"
SERVICES: Mapping[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text("utf-8"))["services"]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
ENVIRONMENT = {**CLEAN, "PYTHONPATH": str(ROOT)}
SERVE = (sys.executable, "-m", "emulator.cli.main", "serve")
PATIENCE = 60


@contextmanager
def started(command: tuple[str, ...], url: str, environment: Mapping[str, str]) -> Iterator[None]:
    """A process, as soon as it answers 200 at a URL."""
    transport = httpx.HTTPTransport()
    with (
        subprocess.Popen(command, cwd=EXAMPLE, env=environment, stdout=subprocess.DEVNULL) as process,
        httpx.Client(transport=transport, timeout=PATIENCE) as client,
    ):
        try:
            while True:
                assert process.poll() is None, f"{command} ended"
                try:
                    if client.get(url).is_success:
                        break
                except httpx.TransportError:
                    continue
            yield
        finally:
            process.kill()


class Play:
    """The services of the compose file. What they call each other by is put in their variables as ports of loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.payments, self.shop = folder, free_port(), free_port()

    def environment(self, service: str) -> dict[str, str]:
        placed = {
            "http://payments:4747": f"http://127.0.0.1:{self.payments}",
            "http://shop:8000": f"http://127.0.0.1:{self.shop}",
            "8000": str(self.shop),
            "postgresql://emulator:emulator@db/worlds": f"sqlite:{self.folder}/worlds.db",
        }
        given = {name: placed.get(value, value) for name, value in SERVICES[service]["environment"].items()}
        return {**ENVIRONMENT, **given}

    @contextmanager
    def emulator(self) -> Iterator[str]:
        """The payments service, as the image starts it; its address."""
        url = f"http://127.0.0.1:{self.payments}"
        image = {"PAYMENTS_EMULATOR_PORT": str(self.payments), "PAYMENTS_EMULATOR_FIXTURES": str(EXAMPLE / "init")}
        with started(SERVE, f"{url}/_emulator/health", self.environment("payments") | image):
            yield url


def test_the_tests_of_the_compose_file_pass(tmp_path: Path) -> None:
    play = Play(tmp_path)
    shop = (sys.executable, *SERVICES["shop"]["command"][1:])
    tests = (sys.executable, *SERVICES["tests"]["command"][1:])
    with play.emulator(), started(shop, f"http://127.0.0.1:{play.shop}/orders", play.environment("shop")):
        ran = subprocess.run(
            tests, cwd=EXAMPLE, env=play.environment("tests"), capture_output=True, text=True, timeout=60, check=False
        )
    assert (ran.returncode, "Ran 2 tests" in ran.stderr) == (0, True), ran.stderr


def test_on_a_trusted_network_names_and_http_webhooks_are_fine_and_the_folder_is_loaded(tmp_path: Path) -> None:
    headers = {"Host": "payments:4747", "Authorization": "Bearer sk_test_compose"}
    with Play(tmp_path).emulator() as url, httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
        assert client.get("/_emulator/app").json()["settings"]["tax_rate"] == 18
        endpoint = {"name": "Shop", "url": "http://shop.invalid:8000/webhooks", "events": ["*"]}
        rejected = client.post("/v1/webhooks/", json=endpoint, timeout=PATIENCE)
        # It is called, and only its name is unknown here.
        assert (rejected.status_code, rejected.json()["code"]) == (422, "WEBHOOK_ENDPOINT_UNREACHABLE")
