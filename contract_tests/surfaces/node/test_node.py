"""The package for Node: its way to an emulator, its module, whose examples pass and clean up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from contract_tests.quality.docs.pages import PAGES, Sample, name, samples
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.node.__main__ import BESIDE, EXAMPLES, environment, prepare
from emulator.testing import Emulator
from emulator.testing import webhooks as python_webhooks
from emulator.testing import world_parts as python_clock

pytestmark = pytest.mark.needs("node")

PACKAGE = EXAMPLES / "payments-emulator"
IMAGE = json.loads((PACKAGE / "package.json").read_text("utf-8"))["config"]["image"]

SAYS = '#!/bin/sh\necho "$(basename "$0") $@"\n'
PYTHON = """#!/bin/sh
# Python 3.11, whose environments are folders with this same program.
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip install "*) echo "installs $*" >&2 ;;
    "-c "*) ;;
    *) echo "python $@" ;;
esac
"""


def npx(
    tmp_path: Path, *given: str, programs: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """``npx payments-emulator`` on a machine with only these programs, a shell and Node."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for program, script in programs.items():
        (folder / program).write_text(script, "utf-8")
        (folder / program).chmod(0o755)
    for program in ("node", "sh", "basename", "mkdir", "cp"):
        if not (folder / program).exists():
            (folder / program).symlink_to(Path(str(shutil.which(program))).resolve())
    own = {
        "PATH": str(folder),
        "HOME": str(tmp_path),
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
    }
    return subprocess.run(
        ["node", PACKAGE / "bin.cjs", *given],
        env={**own, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_on_the_path_is_taken(tmp_path: Path) -> None:
    done = npx(
        tmp_path, "serve", programs={"payments-emulator": SAYS, "docker": SAYS, "python3": PYTHON}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "payments-emulator serve\n", "")


def test_its_exit_status_is_passed_on(tmp_path: Path) -> None:
    assert npx(tmp_path, programs={"payments-emulator": "#!/bin/sh\nexit 3\n"}).returncode == 3


def test_where_python_is_a_release_is_installed_once(tmp_path: Path) -> None:
    wanted = {"PAYMENTS_EMULATOR_PACKAGE": "payments-emulator==1.2.3"}
    first = npx(tmp_path, "serve", programs={"python3": PYTHON, "docker": SAYS}, **wanted)
    assert (
        "installs -m pip install --quiet --disable-pip-version-check payments-emulator==1.2.3"
        in first.stderr
    )
    assert (first.returncode, first.stdout) == (0, "python -m emulator.cli.main serve\n")
    second = npx(tmp_path, "demo", programs={}, **wanted)
    assert (second.returncode, second.stdout, second.stderr) == (
        0,
        "python -m emulator.cli.main demo\n",
        "",
    )


@pytest.mark.parametrize(
    "programs", [{}, {"python3": "#!/bin/sh\nexit 1\n"}], ids=["no Python", "an old Python"]
)
def test_without_python_the_image_runs(tmp_path: Path, programs: dict[str, str]) -> None:
    done = npx(
        tmp_path,
        "serve",
        programs={**programs, "docker": SAYS},
        PAYMENTS_EMULATOR_PACKAGE="payments-emulator",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"docker run --rm --init --publish 127.0.0.1:4747:4747 {IMAGE} serve\n"


def test_without_python_and_docker_it_says_what_it_needs(tmp_path: Path) -> None:
    done = npx(tmp_path, "serve", programs={})
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "payments-emulator: needs Python 3.11 or newer, with pip and venv, or Docker\n"
    )


NODE = ("node", "--test", "--test-reporter=tap")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


def node(
    root: Path, *command: str, fails: bool = False, folder: str = "node-test", **variables: str
) -> str:
    variables = {**environment(root), **variables}
    done = subprocess.run(
        command,
        cwd=root / folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    return done.stdout


def write(root: Path, text: str) -> None:
    """Put a module in the place of the example's suite."""
    (root / "node-test" / "club.test.mjs").write_text(text, encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize(
    ("folder", "tests"), [("node-test", 21), ("node-test-app", 6), ("subscription-shop", 10)]
)
def test_the_suite_of_an_example_passes_with_an_emulator_that_it_starts(
    root: Path, folder: str, tests: int
) -> None:
    left = root / "tmp"
    left.mkdir()
    assert f"# pass {tests}\n# fail 0\n" in node(root, *NODE, folder=folder, TMPDIR=str(left))
    assert [file.name for file in left.iterdir()] == []


@pytest.mark.long
def test_tools_that_fake_requests_and_time_leave_it_alone(root: Path) -> None:
    """Those that come with Node; the others are in the rehearsal of a release."""
    shutil.copytree(BESIDE, root / "beside")
    assert "# fail 0" in node(root, *NODE, "builtin.test.mjs", folder="beside/node-test")


RECORDED = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("a renewal", withPayments(async (payments) => {
  payments.record("renewal");
  await payments.subscription();
  throw new Error("as it should not be");
}));
"""


@pytest.mark.long
def test_a_test_that_fails_leaves_its_recording_behind(root: Path) -> None:
    write(root, RECORDED)
    file = root / "node-test" / "payments-recordings" / "renewal.test.mjs"
    output = node(root, "node", "club.test.mjs", fails=True)
    order = [
        "as it should not be",
        "How the objects of",
        "Requests with the events",
        f"run it again: node --test {file}",
    ]
    assert sorted(order, key=output.index) == order, "the story begins with what failed"
    assert "# pass 1" in node(root, *NODE, str(file))


REFUNDED = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("half a refund", withPayments(async (payments) => {
  const subscription = await payments.subscription();
  await payments.settle();
  const [paid] = (await payments.api.get("/v1/transactions/")).data;
  await payments.api.post("/v1/refunds/", { transaction: paid.id, amount: 100 });
  await payments.api.patch(`/v1/customers/${subscription.customer}/`, { name: "Awa Ndong" });
  throw new Error("as it should not be");
}));
"""


@pytest.mark.long
def test_the_report_of_a_failure_names_a_refund_that_is_under_way(root: Path) -> None:
    """Its payment has succeeded: by its status it would be left out beside others."""
    write(root, REFUNDED)
    output = node(root, "node", "club.test.mjs", fails=True)
    assert "100\N{NO-BREAK SPACE}XAF is being refunded to " in output


WHERE = """
import { test } from "node:test";
import { withPayments } from "payments-emulator";

test("where", withPayments((payments) => console.log(`at ${payments.url}`)));
"""


@pytest.mark.long
def test_it_finds_a_running_emulator_where_each_app_has_the_name_of_its_test(root: Path) -> None:
    write(root, WHERE)
    with RunningServer() as server:
        assert f"at {server.url}" in node(root, *NODE, PAYMENTS_EMULATOR_URL=server.url)
        assert [
            app["name"][12:] for app in httpx.get(f"{server.url}/_emulator/apps").json()["data"]
        ] == ["-where"]


@pytest.mark.long
def test_the_emulator_that_it_started_ends_with_the_tests(root: Path) -> None:
    write(root, WHERE)
    match = re.search(r"at http://127\.0\.0\.1:(\d+)", node(root, *NODE))
    assert match
    address = ("127.0.0.1", int(match[1]))
    deadline = (
        time.monotonic() + 60
    )  # the signal is sent as the process exits, which does not wait for the emulator
    with contextlib.suppress(ConnectionRefusedError):
        while True:
            socket.create_connection(address, 5).close()
            assert time.monotonic() < deadline, "the emulator is still running"


SAMPLES = [
    sample
    for page in PAGES
    for sample in samples(page)
    if sample.language == "js" and not sample.reason
]


@pytest.mark.long
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{name(sample.page)}:{sample.line}")
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


@pytest.mark.long
@pytest.mark.parametrize("kind", SAME)
def test_it_has_the_words_of_the_python_class(root: Path, kind: str) -> None:
    """A method of one that the other lacks is a hole, unless it is a matter of the language."""
    types = (root / "payments-emulator" / "index.d.ts").read_text(encoding="utf-8")
    declared = re.search(rf"(?:interface|class) {kind} {{\n(.*?)\n}}", types, re.S)
    assert declared
    theirs = set(re.findall(r"^  (?:static |readonly )?(\w+)[(<:]", declared[1], re.M))
    ours = {
        re.sub("_(.)", lambda letter: letter[1].upper(), name)
        for name in dir(SAME[kind])
        if name[0] != "_"
    }
    assert ours - OF_PYTHON <= theirs, ours - OF_PYTHON - theirs
    assert theirs - ours - OF_INIT - OF_NODE == set()
