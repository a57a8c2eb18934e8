"""The module for Node: the suites of its examples pass, it starts an emulator or finds one, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import re
import socket
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


def node(root: Path, *command: str, fails: bool = False, folder: str = "node-test", **variables: str) -> str:
    """Return the output of a command in the copy of the examples."""
    variables = {**environment(root), **variables}
    done = subprocess.run(
        command, cwd=root / folder, env=variables, capture_output=True, text=True, check=False, timeout=240
    )
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    return done.stdout


def write(root: Path, text: str) -> None:
    """Put a module in the place of the example's suite."""
    (root / "node-test" / "club.test.mjs").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("folder", "tests"), [("node-test", 21), ("node-test-app", 5), ("subscription-shop", 10)])
def test_the_suite_of_an_example_passes_with_an_emulator_that_it_starts(root: Path, folder: str, tests: int) -> None:
    left = root / "tmp"
    left.mkdir()
    assert f"# pass {tests}\n# fail 0\n" in node(root, *NODE, folder=folder, TMPDIR=str(left))
    assert [each.name for each in left.iterdir()] == []


RECORDED = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("a renewal", withPayments(async (payments) => {
  payments.record("renewal");
  await payments.subscription();
  throw new Error("as it should not be");
}));
"""


def test_a_test_that_fails_leaves_its_recording_behind(root: Path) -> None:
    write(root, RECORDED)
    file = root / "node-test" / "payments-recordings" / "renewal.test.mjs"
    told = node(root, "node", "club.test.mjs", fails=True)
    order = [
        "as it should not be",
        "How the objects of",
        "Requests with the events",
        f"run it again: node --test {file}",
    ]
    assert sorted(order, key=told.index) == order, "the story begins with what failed"
    assert "# pass 1" in node(root, *NODE, str(file))


WHERE = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("where", withPayments((payments) => console.log(`at ${payments.url}`)));
"""


def test_it_finds_a_running_emulator_where_each_app_has_the_name_of_its_test(root: Path) -> None:
    write(root, WHERE)
    with RunningServer() as server:
        assert f"at {server.url}" in node(root, *NODE, PAYMENTS_EMULATOR_URL=server.url)
        assert [app["name"][12:] for app in httpx.get(f"{server.url}/_emulator/apps").json()["data"]] == ["-where"]


def test_the_emulator_that_it_started_ends_with_the_tests(root: Path) -> None:
    write(root, WHERE)
    found = re.search(r"at http://127\.0\.0\.1:(\d+)", node(root, *NODE))
    assert found
    address = ("127.0.0.1", int(found[1]))
    deadline = time.monotonic() + 60  # the signal is sent as the process exits, which does not wait for the emulator
    with contextlib.suppress(ConnectionRefusedError):
        while True:
            socket.create_connection(address, 5).close()
            assert time.monotonic() < deadline, "the emulator is still running"


SAMPLES = [each for page in PAGES for each in samples(page) if each.language == "js" and not each.reason]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: f"{name(each.page)}:{each.line}")
def test_the_samples_of_the_pages_pass(root: Path, sample: Sample) -> None:
    write(root, sample.text)
    assert "# fail 0" in node(root, *NODE)


SAME: Mapping[str, object] = {
    "Emulator": Emulator,
    "Clock": python_clock.WorldClock,
    "Events": python_clock.Events,
    "Webhooks": python_webhooks.Webhooks,
}

OF_PYTHON = {"client", "expect", "soFar"}
"""Properties of Python types."""

OF_INIT = {"api", "clock", "emails", "events", "key", "ledger", "url", "webhooks"}
"""Attributes that __init__ sets."""

OF_NODE = {"all", "attach", "open", "private"}
"""What only an asynchronous class needs."""


@pytest.mark.parametrize("kind", SAME)
def test_it_has_the_words_of_the_python_class(root: Path, kind: str) -> None:
    """A method of one that the other lacks is a hole, unless it is a matter of the language."""
    types = (root / "payments-emulator" / "index.d.ts").read_text(encoding="utf-8")
    declared = re.search(rf"(?:interface|class) {kind} {{\n(.*?)\n}}", types, re.S)
    assert declared
    theirs = set(re.findall(r"^  (?:static |readonly )?(\w+)[(<:]", declared[1], re.M))
    ours = {re.sub("_(.)", lambda found: found[1].upper(), each) for each in dir(SAME[kind]) if each[0] != "_"}
    assert ours - OF_PYTHON <= theirs, ours - OF_PYTHON - theirs
    assert theirs - ours - OF_INIT - OF_NODE == set()
