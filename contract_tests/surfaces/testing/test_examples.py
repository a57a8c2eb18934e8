"""The pages' shops and receivers: suites, stories that survive faults, ``test receiver``."""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contract_tests.quality.docs.pages import PAGES, ROOT, Sample, name, samples
from contract_tests.quality.drift.test_house import modules_of
from contract_tests.support.shops import EXAMPLES, SHOPS
from contract_tests.surfaces.cli.terminal import COMMAND, clean
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.node.__main__ import environment, prepare
from contract_tests.surfaces.testing.test_plugin import PLUGIN

pytestmark = pytest.mark.long

PYTEST = (sys.executable, "-m", "pytest", "-q", *PLUGIN)

EXEC = (*COMMAND, "exec", "--")
"""Beside an emulator, and not with one in the process."""


@pytest.fixture(autouse=True)
def this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python`` is the one that these tests run in."""
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )


def each_row(*rows: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Each of these rows, which begin with a language and end with words."""
    marked = [pytest.param(*row, marks=pytest.mark.needs(*SHOPS[row[0]].programs)) for row in rows]
    return pytest.mark.parametrize(("language", "command", "words"), marked)


OTHERS = [shop for shop in SHOPS.values() if shop.tests]


@each_row(
    ("python", (*PYTEST, "-n", "2"), "10 passed"),
    ("python", (*EXEC, *PYTEST), "10 passed"),
    ("subscription", PYTEST, "10 passed"),
    ("subscription", (*EXEC, "python", "story.py"), ""),
    ("fastapi", PYTEST, "19 passed"),
    ("django", (*EXEC, *PYTEST), "4 passed"),
    ("node", (*EXEC, "node", "--test", "--test-reporter=tap"), "# pass 12"),
    *((shop.language, (*EXEC, *shop.tests), shop.passed) for shop in OTHERS),
    *((shop.language, shop.checks, "") for shop in OTHERS),
)
def test_a_shop_passes_its_own_suite_and_the_checks_of_its_language(
    language: str, command: tuple[str, ...], words: str
) -> None:
    shop = SHOPS[language]
    ended = subprocess.run(
        shop.command(command),
        cwd=shop.path,
        env=clean(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert words in ended.stdout


@each_row(
    ("fastapi", SHOPS["fastapi"].story, ("lost", "reissued")),
    ("django", SHOPS["django"].story, ("lost", "reissued")),
    ("php", SHOPS["php"].day, ("killed",)),
    # The answer to an order is lost; the webhooks of a subscription come before its answer.
    *((shop.language, shop.story, ("2:drop-after", "12:slow")) for shop in OTHERS if shop.serve),
)
def test_the_story_of_a_shop_ends_the_same(
    language: str, command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    shop = SHOPS[language]
    with contextlib.chdir(shop.path):
        ended = run_command(
            "test", "app", *(f"--only={word}" for word in words), "--", *shop.command(command)
        )
    assert ended.output.startswith("No problem in "), ended
    assert "of the audit" not in ended.output.replace(" info of the audit", "")


def test_every_example_shop_has_a_story_that_its_reader_finds() -> None:
    """A shop that keeps all in memory cannot be killed, and says so."""
    assert {folder.name for folder in EXAMPLES.glob("*-shop")} == {
        shop.folder for shop in SHOPS.values()
    }
    for shop in SHOPS.values():
        page = " ".join((shop.path / "README.md").read_text("utf-8").split())
        assert "payments-emulator test app " in page
        assert ("--only killed -- " in page) == bool(shop.day)
        assert ("`killed` is not for it" in page) == (not shop.day)


@pytest.mark.parametrize(
    "shop", sorted(EXAMPLES.glob("*/requirements.txt")), ids=lambda file: file.parent.name
)
def test_a_shop_installs_what_it_imports(shop: Path) -> None:
    """All is installed where these tests run; a reader has what requirements.txt names."""
    modules = sorted(shop.parent.glob("*.py"))
    ours = {module.stem for module in modules} | {"emulator"}
    others = set().union(*map(modules_of, modules)) - ours - sys.stdlib_module_names
    assert others
    assert others <= set(shop.read_text("utf-8").split())


# -- every receiver that the pages and the examples show, which may read what the events are about


needs_node = pytest.mark.needs("node")

IN_PYTHON = [
    pytest.param(shop.path, marks=pytest.mark.needs(*shop.programs), id=shop.language)
    for shop in map(SHOPS.__getitem__, ("fastapi", "django", "python", "subscription"))
]

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"

RECEIVES = re.compile(r"\bforward_?to\(", re.IGNORECASE)
"""How a test hands its webhooks to a receiver."""

SAMPLES = [sample for page in PAGES for sample in samples(page) if not sample.reason]


def receiving(language: str, suffix: str) -> dict[str, Sample]:
    """Return the samples that have a receiver, by a name for a file."""
    receivers = [
        sample for sample in SAMPLES if sample.language == language and RECEIVES.search(sample.text)
    ]
    return {
        f"test_{re.sub(r'[^a-z]+', '_', name(sample.page))}_{sample.line}{suffix}": sample
        for sample in receivers
    }


def certify(where: Path, *command: str, folder: Path, **variables: str) -> Mapping[str, list[Any]]:
    """Return the failed checks of every receiver that a suite has, by the suite's module.

    Each suite has a receiver that passes; the others of it have another secret on purpose, and
    reject everything. What a receiver accepts it answers with 200: any other status is a failed
    delivery (B-84).
    """
    own = clean(CERTIFIED=str(where), **variables)
    done = subprocess.run(
        command, cwd=folder, env=own, capture_output=True, text=True, timeout=300, check=False
    )
    assert where.exists(), done.stdout + done.stderr
    results: dict[str, list[Any]] = {}
    for line in map(json.loads, where.read_text("utf-8").splitlines()):
        assert not [note for note in line["notes"] if "B-84" in note], (
            f"{line['where']}: not answered with 200"
        )
        results.setdefault(line["where"], []).append(line["failed"])
    for module, failures in results.items():
        wrong = [failed for failed in failures if failed and not _rejects_everything(failed)]
        assert not wrong, f"{module}: {json.dumps(wrong, indent=1)}"
        assert [] in failures, f"{module}: no receiver was certified with its own secret"
    return results


def _rejects_everything(failed: list[Any]) -> bool:
    return [check["check"] for check in failed] == ["good"] and failed[0]["answers"][0][
        "status"
    ] == 401


def certify_in_python(tmp_path: Path, folder: Path) -> Mapping[str, list[Any]]:
    plugin = ("-p", "contract_tests.surfaces.testing.certifying_plugin", *PLUGIN)
    command = (sys.executable, "-m", "pytest", "-q", *plugin, ".")
    return certify(tmp_path / "certified", *command, folder=folder, PYTHONPATH=str(ROOT))


def certify_in_node(root: Path, folder: Path, *files: str) -> Mapping[str, list[Any]]:
    """Return the same of suites that use the module for Node; ``root`` has it."""
    hook = ROOT / "contract_tests/surfaces/node/certifying.cjs"
    (root / hook.name).write_bytes(hook.read_bytes())  # it takes the module from its own place
    command = ("node", "--require", str(root / hook.name), "--test", *files)
    return certify(root / "certified", *command, folder=folder, **environment(root))


def test_the_receivers_of_the_guide_in_python(tmp_path: Path) -> None:
    suites = receiving("python", "")
    for module, sample in suites.items():
        (tmp_path / f"{module}.py").write_text(sample.text, encoding="utf-8")
    assert certify_in_python(tmp_path, tmp_path).keys() == suites.keys()


@pytest.mark.parametrize("shop", IN_PYTHON)
def test_the_receiver_of_a_shop_in_python(shop: Path, tmp_path: Path) -> None:
    assert certify_in_python(tmp_path, shop)


@needs_node
def test_the_receivers_in_node(tmp_path: Path) -> None:
    prepare(tmp_path)
    suites = receiving("js", ".test.mjs")
    for file, sample in suites.items():
        (tmp_path / file).write_text(sample.text, encoding="utf-8")
    assert certify_in_node(tmp_path, tmp_path, *suites).keys() == suites.keys()
    (tmp_path / "certified").unlink()
    assert certify_in_node(tmp_path, tmp_path / "node-test-app", "app.test.mjs")


@contextmanager
def compose(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for variable in ("PAYMENTS_URL", "PAYMENTS_KEY", "SHOP_URL"):
        monkeypatch.setenv(variable, "")
    module = runpy.run_path(str(EXAMPLES / "compose/shop.py"))
    module["secrets"].append(SECRET)
    monkeypatch.setattr(module["Handler"], "log_message", lambda *_: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), module["Handler"]) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


NODE_SHOP = """
import { Shop } from "./shop.js";
const shop = new Shop(process.env.PAYMENTS_URL, "sk_test_certified");
shop.secret = process.env.PAYMENTS_WEBHOOK_SECRET;
shop.server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${shop.server.address().port}`));
"""

SERVE = {
    "node": ("node", "--input-type=module", "--eval", NODE_SHOP),
    "go": SHOPS["go"].serve,
    "php": SHOPS["php"].serve,
}


@contextmanager
def served(language: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a shop in a process of its own; its first line says where."""
    shop, nowhere = SHOPS[language], "http://127.0.0.1:1"
    settings = {
        "PAYMENTS_URL": nowhere,
        "PAYMENTS_KEY": "",
        "PAYMENTS_WEBHOOK_SECRET": SECRET,
        "PORT": "0",
    }
    output: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = {**os.environ, **settings, "SHOP_BOOK": str(tmp_path / "book.json")}
    with subprocess.Popen(
        shop.command(SERVE[language]), cwd=shop.path, env=environment, **output
    ) as process:
        try:
            address = re.search(r"http://[\d.:]+\d", line := process.stdout.readline())
            assert address, line
            yield address[0]
        finally:
            process.kill()


@pytest.mark.parametrize(
    "shop",
    ["compose", *(pytest.param(server, marks=pytest.mark.needs(server)) for server in SERVE)],
)
def test_the_receiver_of_another_shop(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with compose(monkeypatch) if shop == "compose" else served(shop, tmp_path) as url:
        ended = run_command(
            "test", "receiver", f"{url}/webhooks", "--secret", SECRET, "--timeout", "60"
        )
    assert ended.status == 0, ended.output + ended.errors
