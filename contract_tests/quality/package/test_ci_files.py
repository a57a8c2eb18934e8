"""The action for GitHub, the template for GitLab and the compose file, whole but without those systems."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
import yaml

from contract_tests import ROOT
from contract_tests.support.client import http_client
from contract_tests.support.servers import free_port

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}

PASSES = 'test "$(python3 -c "import os; print(os.environ[\'PAYMENTS_EMULATOR_URL\'][:17])")" = http://127.0.0.1:'

KEPT = "--seed 7 --state tinydb:world.json"


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


STAND_IN = """
import os, sys

def main():
    os.environ["PYTHONPATH"] = {root!r}
    os.execv({program!r}, [{program!r}, "-m", "emulator.cli.main", *sys.argv[1:]])
"""


@pytest.fixture
def package(tmp_path: Path) -> str:
    """A wheel whose command ``payments-emulator`` is this checkout's, so that the jobs install without an index."""
    wheel = tmp_path / "payments_emulator-1-py3-none-any.whl"
    info = "payments_emulator-1.dist-info"
    with ZipFile(wheel, "w") as file:
        file.writestr("stand_in.py", STAND_IN.format(program=sys.executable, root=str(ROOT)))
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: payments-emulator\nVersion: 1\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\npayments-emulator = stand_in:main\n")
        file.writestr(f"{info}/RECORD", "")
    return str(wheel)


def play(folder: Path, scripts: Sequence[str], **variables: str) -> tuple[int, str]:
    """Run the scripts of a job, one after another as far as each passes; status and errors of the last that ran."""
    environment = {**CLEAN, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", **variables}
    for script in scripts:
        command = ["bash", "-eo", "pipefail", "-c", script]
        ended = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        if ended.returncode:
            break
    return ended.returncode, ended.stderr


@pytest.mark.long
def test_the_action_installs_and_runs_the_command(tmp_path: Path, package: str) -> None:
    """Its steps, with values in the place of GitHub's expressions."""
    python, install, step = loaded("action.yml")["runs"]["steps"]
    assert python["uses"].split("@")[0] == "actions/setup-python"
    given = {"PACKAGE": package, "PYTHON": sys.executable, "RUNNER_TEMP": str(tmp_path)}
    assert install["env"].keys() - given.keys() == {"ACTION"}, "the folder that is installed where no package is named"
    asked = {"COMMAND": f"{PASSES}\nexit 3", "OPTIONS": KEPT}
    assert step["env"].keys() == asked.keys()
    assert play(tmp_path, [install["run"], step["run"]], **given, **asked) == (3, "")
    assert (tmp_path / "world.json").exists()


@pytest.mark.long
def test_the_template_installs_runs_the_script_and_leaves_the_report(tmp_path: Path, package: str) -> None:
    job = loaded("docs/examples/gitlab/payments-emulator.gitlab-ci.yml")[".payments-emulator"]
    variables = {name: str(value).replace("$CI_PROJECT_DIR", str(tmp_path)) for name, value in job["variables"].items()}
    run = f"{PASSES} && touch {job['artifacts']['reports']['junit']} && exit 4"
    scripts = [each.replace("/tmp/", f"{tmp_path}/") for each in (*job["before_script"], *job["script"])]
    given = {"PAYMENTS_EMULATOR_PACKAGE": package, "OPTIONS": KEPT, "RUN": run}
    assert play(tmp_path, scripts, **variables | given) == (4, "")
    assert (tmp_path / "world.json").exists()
    assert (tmp_path / "report.xml").exists()


def test_the_marketplace_takes_the_action() -> None:
    action = loaded("action.yml")
    assert action.keys() >= {"name", "description", "author", "branding"}
    assert len(action["description"]) < 125
    assert [name for name, given in action["inputs"].items() if not given["description"]] == []


# -- the compose file

EXAMPLE = ROOT / "docs/examples/compose"
SERVICES: Mapping[str, Any] = loaded("docs/examples/compose/compose.yaml")["services"]


@contextmanager
def started(command: Sequence[str], url: str, environment: Mapping[str, str]) -> Iterator[None]:
    """A process, as soon as it answers 200 at a URL."""
    with (
        subprocess.Popen(command, cwd=EXAMPLE, env=environment, stdout=subprocess.DEVNULL) as process,
        http_client(transport=httpx.HTTPTransport()) as client,
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


def test_the_tests_of_the_compose_file_pass(tmp_path: Path) -> None:
    """On a trusted network, names and HTTP webhooks are fine; the folder of fixtures is loaded."""
    payments, shop = free_port(), free_port()
    url = f"http://127.0.0.1:{payments}"
    # The names that services call each other by become ports of loopback.
    placed = {
        "http://payments:4747": url,
        "http://shop:8000": f"http://127.0.0.1:{shop}",
        "8000": str(shop),
        "postgresql://emulator:emulator@db/worlds": f"sqlite:{tmp_path}/worlds.db",
    }
    of = {
        service: {**CLEAN, "PYTHONPATH": str(ROOT)}
        | {name: placed.get(value, value) for name, value in SERVICES[service]["environment"].items()}
        for service in ("payments", "shop", "tests")
    }
    of["payments"] |= {"PAYMENTS_EMULATOR_PORT": str(payments), "PAYMENTS_EMULATOR_FIXTURES": str(EXAMPLE / "init")}
    serve = (sys.executable, "-m", "emulator.cli.main", "serve")
    shop_command, tests = ((sys.executable, *SERVICES[name]["command"][1:]) for name in ("shop", "tests"))
    with (
        started(serve, f"{url}/_emulator/health", of["payments"]),
        started(shop_command, f"http://127.0.0.1:{shop}/orders", of["shop"]),
    ):
        ran = subprocess.run(
            tests, cwd=EXAMPLE, env=of["tests"], capture_output=True, text=True, timeout=60, check=False
        )
        headers = {"Host": "payments:4747", "Authorization": "Bearer sk_test_compose"}
        with http_client(base_url=url, headers=headers) as client:
            assert client.get("/_emulator/app").json()["settings"]["tax_rate"] == 18
            endpoint = {"name": "Shop", "url": "http://shop.invalid:8000/webhooks", "events": ["*"]}
            rejected = client.post("/v1/webhooks/", json=endpoint)
    assert (ran.returncode, "Ran 2 tests" in ran.stderr) == (0, True), ran.stderr
    # It is called, and only its name is unknown here.
    assert (rejected.status_code, rejected.json()["code"]) == (422, "WEBHOOK_ENDPOINT_UNREACHABLE")
