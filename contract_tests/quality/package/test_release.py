"""Releases: what the script checks before one, and that the workflow publishes nothing that was not tested."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from contract_tests import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))

NPM = "docs/examples/node/payments-emulator/package.json"
STAMPED = ("emulator/version.py", "pyproject.toml", "README.md", "server.json", NPM, "docs/guide/**/*.md")

RELEASED = "## [0.2.0] - 2026-11-22\n\n### Added\n\n- More.\n\n## [0.1.0] - 2026-01-01\n\n- All.\n"
READY = "# Changelog\n\n## [Unreleased]\n\n" + RELEASED


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the script reads, ready for 0.2.0."""
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator/version.py").write_text('"""The version."""\n\nVERSION = "0.1.0"\n', "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(READY, "utf-8")
    return tmp_path


def release(tree: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci/release.py", *arguments], cwd=tree, capture_output=True, text=True, check=False
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


def test_a_release_names_its_version_and_its_repository(stamped: Mapping[str, str]) -> None:
    assert 'VERSION = "7.8.9rc1"' in stamped["emulator/version.py"]
    npm, server = (json.loads(stamped[name]) for name in (NPM, "server.json"))
    assert (npm["version"], npm["config"]["package"]) == ("7.8.9-rc.1", "payments-emulator==7.8.9rc1")
    assert npm["config"]["image"] == "ghcr.io/acme/payments:7.8.9rc1"
    assert (server["name"], server["packages"][0]["version"]) == ("io.github.Acme/payments", "7.8.9rc1")
    assert f"mcp-name: {server['name']}" in stamped["README.md"]
    assert len(server["description"]) <= 100
    links = re.findall(r'\]\((?!https:|#)|(?:src|srcset)="(?!https:)', stamped["README.md"])
    assert links == []
    assert (
        tomllib.loads(stamped["pyproject.toml"])["project"]["urls"]["Repository"] == "https://github.com/Acme/payments"
    )


def test_pages_of_a_release_name_no_clone_and_no_placeholder(stamped: Mapping[str, str]) -> None:
    """A checkout has placeholders, which are openly such."""
    left = r"git\.example\.com|\bexample/payments|released -->|a clone|\./payments-emulator|replace \""
    assert [(name, found[0]) for name, text in stamped.items() for found in re.finditer(left, text)] == []
    shipped = [file for suffix in ("py", "html", "yaml") for file in (ROOT / "emulator").rglob(f"*.{suffix}")]
    assert [file for file in shipped if "in a clone" in file.read_text("utf-8")] == []
    assert "uvx payments-emulator demo" in stamped["README.md"]
    assert "ghcr.io/acme/payments:7" in stamped["docs/guide/install.md"]
    assert "pip install payments-emulator pytest\n" in stamped["docs/guide/testing.md"]


def test_the_jobs_of_the_guide_can_be_copied_as_they_are(stamped: Mapping[str, str]) -> None:
    github, gitlab = re.findall(r"^```yaml\n(.*?)^```$", stamped["docs/guide/ci.md"], re.S | re.M)[:2]
    used = {step["uses"]: step for step in yaml.safe_load(github)["jobs"]["test"]["steps"] if "uses" in step}
    ours = used.pop("Acme/payments@v7")
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    assert {name for name, each in inputs.items() if each.get("required")} <= ours["with"].keys() <= inputs.keys()
    assert all(name.startswith("actions/") for name in used)
    named = re.findall(r"^\| `(\w+)` \|", stamped["docs/guide/ci.md"], re.M)
    assert sorted(named) == sorted(inputs)
    remote = yaml.safe_load(gitlab)["include"][0]["remote"]
    raw = "https://raw.githubusercontent.com/Acme/payments/v7/"
    assert (ROOT / remote.removeprefix(raw)).is_file()


def test_a_changelog_that_is_not_ready(tree: Path) -> None:
    for old, new, reason in (
        ("[0.2.0] - 2026-11-22", "[0.2.1] - 2026-11-22", "no section [0.2.0]"),
        ("- More.", "", "is empty"),
        ("[Unreleased]\n", "[Unreleased]\n\n- Late.\n", "[Unreleased] has lines that belong to [0.2.0]"),
    ):
        (tree / "CHANGELOG.md").write_text(READY.replace(old, new), "utf-8")
        status, said = release(tree, "check", "v0.2.0")
        assert (status, reason in said) == (1, True), said


def test_no_other_tag_is_a_release(tree: Path) -> None:
    for tag in ("0.2.0", "v0.2", "v0.2.0;x", "version"):
        status, said = release(tree, "stamp", tag, "acme/payments")
        assert (status, "is no tag of a release" in said) == (1, True)


def test_nothing_is_published_that_was_not_tested() -> None:
    def before(job: str) -> set[str]:
        needs = WORKFLOW["jobs"][job].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*map(before, direct))

    jobs = WORKFLOW["jobs"]
    assert [name for name in jobs if name != "test" and "test" not in before(name)] == []
    assert before("publish") == {"test", "build", "image"}
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_scripts_of_the_workflow_contain_no_expressions_and_no_secrets() -> None:
    """An expression in a script would be run as part of it; publishing needs no stored token."""
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    scripts = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
    assert [script for script in scripts if "${{" in script] == []
    assert "secrets." not in text


def test_every_action_is_named_by_its_digest() -> None:
    """A tag can be moved. The rest of what makes a workflow safe is examined by zizmor (``.ci/run``)."""
    files = [ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml")]
    used = [each for file in files for each in re.findall(r"uses: (.+)", file.read_text("utf-8"))]
    assert [each for each in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", each)] == []
