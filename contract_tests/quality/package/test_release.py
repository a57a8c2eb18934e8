"""Releases, which publish nothing untested; and the files for other people's CI, played whole."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
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

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))

NPM = "docs/examples/node/payments-emulator/package.json"
STAMPED = (
    "emulator/version.py",
    "pyproject.toml",
    "README.md",
    "server.json",
    NPM,
    "docs/guide/**/*.md",
)

RELEASED = "## [0.2.0] - 2026-11-22\n\n### Added\n\n- More.\n\n## [0.1.0] - 2026-01-01\n\n- All.\n"
READY = "# Changelog\n\n## [Unreleased]\n\n" + RELEASED


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the script reads, ready for 0.2.0."""
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator/version.py").write_text(
        '"""The version."""\n\nVERSION = "0.1.0"\n', "utf-8"
    )
    (tmp_path / "CHANGELOG.md").write_text(READY, "utf-8")
    return tmp_path


def release(tree: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci/release.py", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_release_that_is_ready(tree: Path) -> None:
    assert release(tree, "check", "v0.2.0") == (0, "0.2.0 is ready\n")
    assert release(tree, "notes", "v0.2.0") == (0, "### Added\n\n- More.\n")


@pytest.fixture
def stamped(tmp_path: Path) -> Mapping[str, str]:
    """What each file of a release says that says something else in a checkout."""
    places = [file.relative_to(ROOT) for pattern in STAMPED for file in ROOT.glob(pattern)]
    for name in places:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert release(tmp_path, "stamp", "v7.8.9rc1", "Acme/payments") == (0, "")
    return {name.as_posix(): (tmp_path / name).read_text("utf-8") for name in places}


def test_a_release_names_itself(stamped: Mapping[str, str]) -> None:
    assert 'VERSION = "7.8.9rc1"' in stamped["emulator/version.py"]
    assert 'GUIDE_URL = "https://acme.github.io/payments/"' in stamped["emulator/version.py"]
    npm, server = (json.loads(stamped[name]) for name in (NPM, "server.json"))
    assert (npm["version"], npm["config"]["package"]) == (
        "7.8.9-rc.1",
        "payments-emulator==7.8.9rc1",
    )
    assert npm["config"]["image"] == "ghcr.io/acme/payments:7.8.9rc1"
    assert (server["name"], server["packages"][0]["version"]) == (
        "io.github.Acme/payments",
        "7.8.9rc1",
    )
    assert f"mcp-name: {server['name']}" in stamped["README.md"]
    assert len(server["description"]) <= 100
    assert re.findall(r'\]\((?!https:|#)|(?:src|srcset)="(?!https:)', stamped["README.md"]) == []
    assert (
        tomllib.loads(stamped["pyproject.toml"])["project"]["urls"]["Repository"]
        == "https://github.com/Acme/payments"
    )


def test_pages_of_a_release_name_no_placeholder(stamped: Mapping[str, str]) -> None:
    """A checkout has placeholders, which are openly such."""
    left = (
        r"git\.example\.com|\bexample/payments|released -->|a clone|\./payments-emulator|replace \""
    )
    assert [
        (name, match[0]) for name, text in stamped.items() for match in re.finditer(left, text)
    ] == []
    shipped = [
        file
        for suffix in ("py", "html", "yaml")
        for file in (ROOT / "emulator").rglob(f"*.{suffix}")
    ]
    assert [file for file in shipped if "in a clone" in file.read_text("utf-8")] == []
    assert "uvx payments-emulator demo" in stamped["README.md"]
    assert "ghcr.io/acme/payments:7" in stamped["docs/guide/install.md"]
    assert "pip install payments-emulator pytest\n" in stamped["docs/guide/first-test.md"]


def test_the_jobs_of_the_guide_can_be_copied_as_they_are(stamped: Mapping[str, str]) -> None:
    github, gitlab = re.findall(r"^```yaml\n(.*?)^```$", stamped["docs/guide/ci.md"], re.S | re.M)[
        :2
    ]
    used = {
        step["uses"]: step
        for step in yaml.safe_load(github)["jobs"]["test"]["steps"]
        if "uses" in step
    }
    ours = used.pop("Acme/payments@v7")
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    assert (
        {name for name, input in inputs.items() if input.get("required")}
        <= ours["with"].keys()
        <= inputs.keys()
    )
    assert all(name.startswith("actions/") for name in used)
    assert sorted(re.findall(r"^\| `(\w+)` \|", stamped["docs/guide/ci.md"], re.M)) == sorted(
        inputs
    )
    remote = yaml.safe_load(gitlab)["include"][0]["remote"]
    assert (
        ROOT / remote.removeprefix("https://raw.githubusercontent.com/Acme/payments/v7/")
    ).is_file()


def test_a_changelog_that_is_not_ready(tree: Path) -> None:
    for old, new, reason in (
        ("[0.2.0] - 2026-11-22", "[0.2.1] - 2026-11-22", "no section [0.2.0]"),
        ("- More.", "", "is empty"),
        (
            "[Unreleased]\n",
            "[Unreleased]\n\n- Late.\n",
            "[Unreleased] has lines that belong to [0.2.0]",
        ),
    ):
        (tree / "CHANGELOG.md").write_text(READY.replace(old, new), "utf-8")
        status, output = release(tree, "check", "v0.2.0")
        assert (status, reason in output) == (1, True), output


def test_no_other_tag_is_a_release(tree: Path) -> None:
    for tag in ("0.2.0", "v0.2", "v0.2.0;x", "version"):
        status, output = release(tree, "stamp", tag, "acme/payments")
        assert (status, "is no tag of a release" in output) == (1, True)


def test_nothing_is_published_that_was_not_tested() -> None:
    def before(job: str) -> set[str]:
        needs = WORKFLOW["jobs"][job].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*map(before, direct))

    assert [
        name for name in WORKFLOW["jobs"] if name != "test" and "test" not in before(name)
    ] == []
    assert before("publish") == {"test", "build", "image", "corpus"}
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_scripts_of_the_workflow_contain_no_expressions() -> None:
    """An expression in a script would be run as part of it."""
    scripts = [
        step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert [script for script in scripts if "${{" in script] == []


def test_the_workflow_has_no_secrets() -> None:
    """Publishing needs no stored token."""
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")


# -- what is said of CI holds in its workflows


def _commands(workflow: str, job: str) -> str:
    """Return all commands of one job."""
    jobs = yaml.safe_load((ROOT / ".github/workflows" / workflow).read_text("utf-8"))["jobs"]
    return "\n".join(step["run"] for step in jobs[job]["steps"] if "run" in step)


@pytest.mark.parametrize(
    ("workflow", "job", "command"),
    [
        ("systems.yml", "everything", ".ci/run$"),
        ("newest.yml", "constraints", ".ci/run --long$"),
        ("newest.yml", "change", "gh workflow run systems.yml --ref"),
        ("release.yml", "test", ".ci/run --long$"),
    ],
)
def test_a_workflow_runs_the_command_that_contributing_promises(
    workflow: str, job: str, command: str
) -> None:
    assert re.search(command, _commands(workflow, job), re.MULTILINE)


@pytest.mark.parametrize("event", ["push", "pull_request", "workflow_dispatch"])
def test_the_checks_of_a_change_begin_with_each_event(event: str) -> None:
    """Without a filter, so for every branch. YAML reads the key ``on`` as true."""
    triggers = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text("utf-8"))[True]
    assert event in triggers
    assert triggers[event] is None


def test_every_action_is_named_by_its_digest() -> None:
    """A tag can be moved. zizmor (``.ci/run``) examines the rest of a workflow's safety."""
    files = [ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml")]
    used = [
        action for file in files for action in re.findall(r"uses: (.+)", file.read_text("utf-8"))
    ]
    assert [
        action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action)
    ] == []


def test_the_image_is_made_on_a_base_that_stays_the_same() -> None:
    """A tag comes to mean other bytes; a digest does not."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    bases = re.findall(r"^FROM (?:--platform=\S+ )?(\S+)", text, re.MULTILINE)
    assert {*bases} == {"${BASE}"}
    assert re.search(r"^ARG BASE=python:3\.13-slim@sha256:[0-9a-f]{64}$", text, re.MULTILINE)


# -- the action for GitHub, the template for GitLab and the compose file, without those systems


CLEAN = {
    name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")
}

PASSES = (
    'test "$(python3 -c "import os; print(os.environ[\'PAYMENTS_EMULATOR_URL\'][:17])")" ='
    " http://127.0.0.1:"
)

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
    """A wheel with this checkout's ``payments-emulator``: the jobs install without an index."""
    wheel = tmp_path / "payments_emulator-1-py3-none-any.whl"
    info = "payments_emulator-1.dist-info"
    with ZipFile(wheel, "w") as file:
        file.writestr("stand_in.py", STAND_IN.format(program=sys.executable, root=str(ROOT)))
        file.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: payments-emulator\nVersion: 1\n"
        )
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(
            f"{info}/entry_points.txt", "[console_scripts]\npayments-emulator = stand_in:main\n"
        )
        file.writestr(f"{info}/RECORD", "")
    return str(wheel)


def play(folder: Path, scripts: Sequence[str], **variables: str) -> tuple[int, str]:
    """Run a job's scripts in turn while they pass; return the last one's status and errors."""
    environment = {**CLEAN, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", **variables}
    for script in scripts:
        command = ["bash", "-eo", "pipefail", "-c", script]
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if ended.returncode:
            break
    return ended.returncode, ended.stderr


@pytest.mark.long
def test_the_action_installs_and_runs_the_command(tmp_path: Path, package: str) -> None:
    """Its steps, with values in the place of GitHub's expressions."""
    python, install, step = loaded("action.yml")["runs"]["steps"]
    assert python["uses"].split("@")[0] == "actions/setup-python"
    variables = {"PACKAGE": package, "PYTHON": sys.executable, "RUNNER_TEMP": str(tmp_path)}
    assert install["env"].keys() - variables.keys() == {"ACTION"}, (
        "the folder that is installed where no package is named"
    )
    options = {"COMMAND": f"{PASSES}\nexit 3", "OPTIONS": KEPT}
    assert step["env"].keys() == options.keys()
    assert play(tmp_path, [install["run"], step["run"]], **variables, **options) == (3, "")
    assert (tmp_path / "world.json").exists()


@pytest.mark.long
def test_the_template_installs_runs_the_script_and_leaves_the_report(
    tmp_path: Path, package: str
) -> None:
    job = loaded("docs/examples/gitlab/payments-emulator.gitlab-ci.yml")[".payments-emulator"]
    variables = {
        name: str(value).replace("$CI_PROJECT_DIR", str(tmp_path))
        for name, value in job["variables"].items()
    }
    run = f"{PASSES} && touch {job['artifacts']['reports']['junit']} && exit 4"
    scripts = [
        line.replace("/tmp/", f"{tmp_path}/") for line in (*job["before_script"], *job["script"])
    ]
    own_variables = {"PAYMENTS_EMULATOR_PACKAGE": package, "OPTIONS": KEPT, "RUN": run}
    assert play(tmp_path, scripts, **variables | own_variables) == (4, "")
    assert (tmp_path / "world.json").exists()
    assert (tmp_path / "report.xml").exists()


def test_the_marketplace_takes_the_action() -> None:
    action = loaded("action.yml")
    assert action.keys() >= {"name", "description", "author", "branding"}
    assert len(action["description"]) < 125
    assert [
        name for name, declared in action["inputs"].items() if not declared["description"]
    ] == []


EXAMPLE = ROOT / "docs/examples/compose"
SERVICES: Mapping[str, Any] = loaded("docs/examples/compose/compose.yaml")["services"]


@contextmanager
def started(command: Sequence[str], url: str, environment: Mapping[str, str]) -> Iterator[None]:
    """A process, as soon as it answers 200 at a URL."""
    with (
        subprocess.Popen(
            command, cwd=EXAMPLE, env=environment, stdout=subprocess.DEVNULL
        ) as process,
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


@pytest.mark.long
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
        service: (
            {**CLEAN, "PYTHONPATH": str(ROOT)}
            | {
                name: placed.get(value, value)
                for name, value in SERVICES[service]["environment"].items()
            }
        )
        for service in ("payments", "shop", "tests")
    }
    of["payments"] |= {
        "PAYMENTS_EMULATOR_PORT": str(payments),
        "PAYMENTS_EMULATOR_FIXTURES": str(EXAMPLE / "init"),
    }
    serve = (sys.executable, "-m", "emulator.cli.main", "serve")
    shop_command, tests = (
        (sys.executable, *SERVICES[name]["command"][1:]) for name in ("shop", "tests")
    )
    with (
        started(serve, f"{url}/_emulator/health", of["payments"]),
        started(shop_command, f"http://127.0.0.1:{shop}/orders", of["shop"]),
    ):
        ran = subprocess.run(
            tests,
            cwd=EXAMPLE,
            env=of["tests"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        headers = {"Host": "payments:4747", "Authorization": "Bearer sk_test_compose"}
        with http_client(base_url=url, headers=headers) as client:
            assert client.get("/_emulator/app").json()["settings"]["tax_rate"] == 18
            endpoint = {"name": "Shop", "url": "http://shop.invalid:8000/webhooks", "events": ["*"]}
            rejected = client.post("/v1/webhooks/", json=endpoint)
    assert (ran.returncode, "Ran 2 tests" in ran.stderr) == (0, True), ran.stderr
    # It is called, and only its name is unknown here.
    assert (rejected.status_code, rejected.json()["code"]) == (422, "WEBHOOK_ENDPOINT_UNREACHABLE")
