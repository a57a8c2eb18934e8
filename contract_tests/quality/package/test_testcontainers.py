"""The modules for Testcontainers, with processes in the place of containers."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from contract_tests import ROOT

MODULES = ROOT / "docs/examples/testcontainers"
SERVE = (sys.executable, "-m", "emulator.cli.main", "serve", "--port", "0", "--host", "127.0.0.1", "--port-file")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
PATIENCE = 60

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
