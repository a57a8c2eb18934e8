"""The module for Node: its own suite passes, starts an emulator, finds a running one, and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from contract_tests.quality.docs.pages import PAGES, Sample, name, samples
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.node.__main__ import environment, prepare
from emulator.testing import Emulator
from emulator.testing import webhooks as python_webhooks
from emulator.testing import world_parts as python_clock

pytestmark = [pytest.mark.long, pytest.mark.needs("node")]

NODE = ("node", "--test", "--test-reporter=tap")

WHERE = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("where", withPayments((payments) => console.log(`at ${payments.url}`)));
"""


def run(root: Path, *command: str, folder: str = "node-test", **variables: str) -> str:
    """What a command prints that passes in the copy of the examples."""
    done = subprocess.run(
        command,
        cwd=root / folder,
        env={**environment(root), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


RECORDED = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("a renewal", withPayments(async (payments) => {
  payments.record("renewal");
  const customer = await payments.api.post("/v1/customers/", { email: "awa@example.com", name: "Awa Diop" });
  await payments.api.post("/v1/subscriptions/", { customer: customer.id, unit_amount: 5000, interval: "month" });
  throw new Error("as it should not be");
}));
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


def test_its_own_suite_passes_with_an_emulator_that_it_starts(root: Path) -> None:
    left = root / "tmp"
    left.mkdir()
    told = run(root, *NODE, TMPDIR=str(left))
    assert "# pass 27" in told
    assert "# fail 0" in told
    assert [each.name for each in left.iterdir()] == []


def test_a_test_that_fails_leaves_its_recording_behind(root: Path) -> None:
    folder = root / "node-test"
    (folder / "recorded.mjs").write_text(RECORDED, encoding="utf-8")
    failed = subprocess.run(
        ("node", "recorded.mjs"), cwd=folder, env=environment(root), capture_output=True, text=True, check=False
    )
    file = folder / "payments-recordings" / "renewal.test.mjs"
    assert failed.returncode == 1
    told = failed.stdout
    order = [
        "as it should not be",
        "How the objects of the last events stand:",
        "Requests with the events",
        f"run it again: node --test {file}",
    ]
    assert sorted(order, key=told.index) == order, "the story begins with what failed"
    assert "# pass 1" in run(root, *NODE, str(file))


def test_the_renewal_matrix(root: Path) -> None:
    told = run(root, *NODE, folder="subscription-shop")
    assert "# pass 10\n" in told
    assert "# fail 0\n" in told


def test_it_finds_a_running_emulator_where_each_app_has_the_name_of_its_test(root: Path) -> None:
    (root / "node-test" / "club.test.mjs").write_text(WHERE, encoding="utf-8")
    with RunningServer() as server:
        assert f"at {server.url}" in run(root, *NODE, PAYMENTS_EMULATOR_URL=server.url)
        assert [app["name"][12:] for app in httpx.get(f"{server.url}/_emulator/apps").json()["data"]] == ["-where"]


def test_the_emulator_that_it_started_ends_with_the_tests(root: Path) -> None:
    (root / "node-test" / "club.test.mjs").write_text(WHERE, encoding="utf-8")
    found = re.search(r"at (http://127\.0\.0\.1:\d+)", run(root, *NODE))
    assert found
    curl = ("curl", "--silent", "--retry", "0", "--max-time", "5", "--noproxy", "*", f"{found[1]}/_emulator/health")
    deadline = time.monotonic() + 60  # the signal is sent as the process exits, which does not wait for the emulator
    while (status := subprocess.run(curl, check=False, capture_output=True).returncode) == 0:
        assert time.monotonic() < deadline, "the emulator is still running"
    assert status == 7  # no server listens


def test_a_command_that_is_missing_is_said(root: Path) -> None:
    done = subprocess.run(
        ["node", "-e", "require('payments-emulator').Emulator.open().catch((error) => console.log(error.message))"],
        cwd=root,
        env={**environment(root), "PAYMENTS_EMULATOR_COMMAND": "no-such-command"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "no-such-command did not start: spawn no-such-command ENOENT" in done.stdout
    assert "Install the emulator with pip" in done.stdout


SAMPLES = [each for page in PAGES for each in samples(page) if each.language == "js" and not each.reason]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: f"{name(each.page)}:{each.line}")
def test_the_samples_of_the_pages_pass(root: Path, sample: Sample) -> None:
    (root / "node-test" / "club.test.mjs").write_text(sample.text, encoding="utf-8")
    assert "# fail 0" in run(root, *NODE)


SAME: Mapping[str, object] = {
    "Emulator": Emulator,
    "Clock": python_clock.WorldClock,
    "Events": python_clock.Events,
    "Webhooks": python_webhooks.Webhooks,
}


@pytest.mark.parametrize("kind", SAME)
def test_it_has_the_words_of_the_python_class(root: Path, kind: str) -> None:
    """A method of one that the other lacks is a hole, unless it is a matter of the language."""
    types = (root / "payments-emulator" / "index.d.ts").read_text(encoding="utf-8")
    declared = re.search(rf"(?:interface|class) {kind} {{\n(.*?)\n}}", types, re.S)
    assert declared
    theirs = set(re.findall(r"^  (?:static |readonly )?(\w+)[(<:]", declared[1], re.M))
    ours = {re.sub("_(.)", lambda found: found[1].upper(), each) for each in dir(SAME[kind]) if each[0] != "_"}
    # Properties of Python types, and the exceptions of applications called in-process.
    of_python = {"client", "expect", "soFar", "raiseError"}
    # Attributes that __init__ sets, and what only an asynchronous class needs.
    of_node = {
        "all",
        "api",
        "attach",
        "clock",
        "emails",
        "events",
        "key",
        "ledger",
        "open",
        "raiseErrors",
        "url",
        "webhooks",
    }
    assert ours - of_python <= theirs, ours - of_python - theirs
    assert theirs - ours - of_node - {"private"} == set()
