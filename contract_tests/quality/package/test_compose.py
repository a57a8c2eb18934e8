"""The compose file and the modules for Testcontainers without containers: services and containers are processes here."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import yaml

from contract_tests import ROOT
from contract_tests.support.servers import free_port

EXAMPLE, MODULES = ROOT / "docs/examples/compose", ROOT / "docs/examples/testcontainers"
SERVICES: Mapping[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text("utf-8"))["services"]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
ENVIRONMENT = {**CLEAN, "PYTHONPATH": str(ROOT)}
SERVE = (sys.executable, "-m", "emulator.cli.main", "serve")
ON_LOOPBACK = ("--port", "0", "--host", "127.0.0.1", "--port-file")
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


# -- The modules for Testcontainers


class DockerContainer:
    """As much of Testcontainers' class as the module uses: the image's command runs as a process with its variables."""

    def __init__(self, image: str) -> None:
        self.variables: dict[str, str] = {}

    def with_exposed_ports(self, *ports: int) -> None:
        assert ports == (4747,)

    def with_env(self, key: str, value: str) -> None:
        self.variables[key] = value

    def waiting_for(self, strategy: HttpWaitStrategy) -> None:
        self.path = strategy.path

    def with_kwargs(self, **options: Any) -> None:
        self.options = options

    def __enter__(self) -> DockerContainer:
        self.port = free_port()
        command = (*SERVE, "--host", "127.0.0.1", "--port", str(self.port))
        self.process = started(command, f"http://127.0.0.1:{self.port}{self.path}", {**ENVIRONMENT, **self.variables})
        self.process.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.process.__exit__(None, None, None)

    def get_container_host_ip(self) -> str:
        return "127.0.0.1"

    def get_exposed_port(self, port: int) -> int:
        return self.port


class HttpWaitStrategy:
    def __init__(self, port: int, path: str) -> None:
        self.path = path

    def for_status_code(self, status: int) -> HttpWaitStrategy:
        assert status == 200
        return self


def test_the_module_for_python(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins: dict[str, dict[str, Any]] = {
        "testcontainers": {},
        "testcontainers.core": {},
        "testcontainers.core.container": {"DockerContainer": DockerContainer},
        "testcontainers.core.wait_strategies": {"HttpWaitStrategy": HttpWaitStrategy},
    }
    for name, holds in stand_ins.items():
        vars(module := ModuleType(name)).update(holds)
        monkeypatch.setitem(sys.modules, name, module)
    container = runpy.run_path(str(MODULES / "payments_emulator.py"))["PaymentsEmulator"]
    with container(clock="frozen@2026-01-01T00:00:00Z", seed=7) as payments:
        assert payments.options == {"extra_hosts": {"host.docker.internal": "host-gateway"}}
        key = {"Authorization": "Bearer sk_test_shop"}
        clock = httpx.get(f"{payments.url}/_emulator/clock", headers=key, trust_env=False, timeout=PATIENCE)
        assert clock.json()["now"] == "2026-01-01T00:00:00.000Z"


STAND_IN = """
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

export class GenericContainer {
  withExposedPorts() { return this; }
  withEnvironment(variables) { this.variables = variables; return this; }
  withExtraHosts(hosts) { this.hosts = hosts; return this; }
  withWaitStrategy() { return this; }
  async start() {
    const [program, ...given] = JSON.parse(process.env.SERVE);
    const emulator = spawn(program, given, { env: { ...process.env, ...this.variables }, stdio: 'ignore' });
    while (!existsSync('port') || !readFileSync('port', 'utf8')) await setTimeout(50);
    return {
      getHost: () => '127.0.0.1',
      getMappedPort: () => Number(readFileSync('port', 'utf8')),
      stop: () => emulator.kill('SIGKILL'),
    };
  }
}

export const Wait = { forHttp: () => ({}) };
"""

STORY = """
import { PaymentsEmulator } from './payments-emulator.js';

const image = new PaymentsEmulator('payments-emulator', { clock: 'frozen@2026-01-01T00:00:00Z', seed: 7 });
const payments = await image.start();
const headers = { Authorization: 'Bearer sk_test_shop' };
const clock = await (await fetch(`${payments.url}/_emulator/clock`, { headers })).json();
console.log(JSON.stringify({ now: clock.now, hosts: image.hosts }));
payments.stop();
"""


@pytest.mark.needs("node")
def test_the_module_for_node(tmp_path: Path) -> None:
    package = tmp_path / "node_modules/testcontainers"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "exports": "./index.js"}', "utf-8")
    (package / "index.js").write_text(STAND_IN, "utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    (tmp_path / "story.js").write_text(STORY, "utf-8")
    shutil.copy(MODULES / "payments-emulator.js", tmp_path)
    serve = json.dumps([*SERVE, *ON_LOOPBACK, "port"])
    ran = subprocess.run(
        ["node", "story.js"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "SERVE": serve},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    hosts = [{"host": "host.docker.internal", "ipAddress": "host-gateway"}]
    assert json.loads(ran.stdout) == {"now": "2026-01-01T00:00:00.000Z", "hosts": hosts}
