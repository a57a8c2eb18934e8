"""The compose file of the guide, played without containers: its services are processes, their names are ports here."""

from __future__ import annotations

import json
import os
import runpy
import shutil
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
from types import ModuleType
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
        """Return the variables of a service, with the addresses of this play."""
        names = [name for name in os.environ if name.startswith("PAYMENTS_EMULATOR_")]
        ours = {name: value for name, value in os.environ.items() if name not in names}
        given = {name: self._placed(value) for name, value in SERVICES[service]["environment"].items()}
        return {**ours, **given, "PYTHONPATH": str(EXAMPLE.parents[2])}

    def _placed(self, value: str) -> str:
        for name, port in self._ports.items():
            default = 4747 if name == "payments" else 8000
            value = value.replace(f"//{name}:{default}", f"//127.0.0.1:{port}")
        if value.startswith("postgresql://"):
            return f"sqlite:{self._folder}/worlds.db"
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
        """Return the payments service, as the image starts it."""
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


# -- The modules for Testcontainers, with processes in the place of containers


MODULES = ROOT / "docs/examples/testcontainers"
SERVE = (sys.executable, "-m", "emulator.cli.main", "serve", "--port", "0", "--host", "127.0.0.1", "--port-file")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}

HOSTS = {"host.docker.internal": "host-gateway"}


class DockerContainer:
    """As much of Testcontainers' class as the module uses: the image's command runs as a process with its variables."""

    folder: Path

    def __init__(self, image: str) -> None:
        self.image = image
        self.ports: tuple[int, ...] = ()
        self.variables: dict[str, str] = {}
        self.options: dict[str, Any] = {}
        self.strategy: Any = None

    def with_exposed_ports(self, *ports: int) -> None:
        self.ports = ports

    def with_env(self, key: str, value: str) -> None:
        self.variables[key] = value

    def waiting_for(self, strategy: Any) -> None:
        self.strategy = strategy

    def with_kwargs(self, **options: Any) -> None:
        self.options = options

    def __enter__(self) -> DockerContainer:
        port_file = self.folder / "port"
        port_file.unlink(missing_ok=True)
        environment = {**CLEAN, **self.variables, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen([*SERVE, str(port_file)], env=environment, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not (port_file.exists() and port_file.read_text("utf-8")):
            assert time.monotonic() < deadline, "it does not start"
            assert self._process.poll() is None, "it ended"
            time.sleep(0.05)
        self._port = int(port_file.read_text("utf-8"))
        self.strategy.wait(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()

    def get_container_host_ip(self) -> str:
        return "127.0.0.1"

    def get_exposed_port(self, port: int) -> int:
        assert port in self.ports
        return self._port


class HttpWaitStrategy:
    """Asks once, since the process has said that it is ready."""

    def __init__(self, port: int, path: str) -> None:
        self.port, self.path = port, path

    def for_status_code(self, status: int) -> HttpWaitStrategy:
        self.status = status
        return self

    def wait(self, container: Any) -> None:
        assert get(f"http://127.0.0.1:{container.get_exposed_port(self.port)}{self.path}")[0] == self.status


def get(url: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, headers={"Authorization": "Bearer sk_test_shop"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.status, json.load(answer)


@pytest.fixture
def testcontainers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The class of the module for Python."""
    stand_ins = {"core.container": {"DockerContainer": DockerContainer}}
    stand_ins["core.wait_strategies"] = {"HttpWaitStrategy": HttpWaitStrategy}
    for name in ("", ".core", *(f".{each}" for each in stand_ins)):
        module = ModuleType(f"testcontainers{name}")
        vars(module).update(stand_ins.get(name[1:], {}))
        monkeypatch.setitem(sys.modules, f"testcontainers{name}", module)
    monkeypatch.setattr(DockerContainer, "folder", tmp_path, raising=False)
    return runpy.run_path(str(MODULES / "payments_emulator.py"))["PaymentsEmulator"]


def test_the_module_for_python(testcontainers: Any) -> None:
    with testcontainers(clock="frozen@2026-01-01T00:00:00Z", seed=7) as payments:
        assert payments.options == {"extra_hosts": HOSTS}
        assert get(f"{payments.url}/v1/customers/")[1]["data"] == []
        assert get(f"{payments.url}/_emulator/clock")[1]["now"] == "2026-01-01T00:00:00.000Z"


STAND_IN = """
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const [program, ...given] = JSON.parse(process.env.SERVE);

export class GenericContainer {
  constructor(image) { this.image = image; this.variables = {}; }
  withExposedPorts(...ports) { this.ports = ports; return this; }
  withEnvironment(variables) { Object.assign(this.variables, variables); return this; }
  withExtraHosts(hosts) { this.hosts = hosts; return this; }
  withWaitStrategy(strategy) { this.strategy = strategy; return this; }
  async start() {
    const file = process.env.PORT_FILE;
    const emulator = spawn(program, [...given, file], { env: { ...process.env, ...this.variables }, stdio: 'ignore' });
    while (!existsSync(file) || !readFileSync(file, 'utf8')) await setTimeout(50);
    const port = Number(readFileSync(file, 'utf8'));
    const answer = await fetch(`http://127.0.0.1:${port}${this.strategy.path}`);
    if (answer.status !== 200) throw new Error(`not ready: ${answer.status}`);
    return {
      getHost: () => '127.0.0.1',
      getMappedPort: (inside) => (this.ports.includes(inside) ? port : undefined),
      stop: () => emulator.kill('SIGKILL'),
    };
  }
}

export const Wait = { forHttp: (path, port) => ({ path, port }) };
"""

STORY = """
import { PaymentsEmulator } from './payments-emulator.js';

const image = new PaymentsEmulator('payments-emulator', { clock: 'frozen@2026-01-01T00:00:00Z', seed: 7 });
const payments = await image.start();
const headers = { Authorization: 'Bearer sk_test_shop' };
const clock = await (await fetch(`${payments.url}/_emulator/clock`, { headers })).json();
console.log(JSON.stringify({ now: clock.now, hosts: image.hosts, variables: image.variables }));
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
    given = {"SERVE": json.dumps(SERVE), "PORT_FILE": str(tmp_path / "port"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["node", "story.js"],
        cwd=tmp_path,
        env={**CLEAN, **given},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["now"] == "2026-01-01T00:00:00.000Z"
    assert {each["host"]: each["ipAddress"] for each in said["hosts"]} == HOSTS
    assert said["variables"]["PAYMENTS_EMULATOR_TRUST_NETWORK"] == "1"
