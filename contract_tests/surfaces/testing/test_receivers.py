"""Every receiver that the pages and the examples show passes ``test receiver``, and may read what the events are about."""

from __future__ import annotations

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
from contract_tests.support.shops import EXAMPLES, SHOPS
from contract_tests.surfaces.cli.terminal import clean
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.node.__main__ import environment, prepare
from contract_tests.surfaces.testing.test_plugin import PLUGIN

pytestmark = pytest.mark.long

needs_node = pytest.mark.needs("node")

IN_PYTHON = [
    pytest.param(shop.path, marks=pytest.mark.needs(*shop.programs), id=shop.language)
    for shop in map(SHOPS.__getitem__, ("fastapi", "django", "python", "subscription"))
]

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"

RECEIVES = re.compile(r"\bforward_?to\(", re.IGNORECASE)
"""How a test hands its webhooks to a receiver."""

SAMPLES = [each for page in PAGES for each in samples(page) if not each.reason]


def receiving(language: str, suffix: str) -> dict[str, Sample]:
    """Return the samples that have a receiver, by a name for a file."""
    found = [each for each in SAMPLES if each.language == language and RECEIVES.search(each.text)]
    return {f"test_{re.sub(r'[^a-z]+', '_', name(each.page))}_{each.line}{suffix}": each for each in found}


def certify(where: Path, *command: str, folder: Path, **variables: str) -> Mapping[str, list[Any]]:
    """Return the failed checks of every receiver that a suite has, by the suite's module.

    Each suite has a receiver that passes; the others of it have another secret on purpose, and reject everything.
    What a receiver accepts it answers with 200: any other status is a failed delivery (B-84).
    """
    own = clean(CERTIFIED=str(where), **variables)
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=300, check=False)
    assert where.exists(), done.stdout + done.stderr
    results: dict[str, list[Any]] = {}
    for line in map(json.loads, where.read_text("utf-8").splitlines()):
        assert not [note for note in line["notes"] if "B-84" in note], f"{line['where']}: not answered with 200"
        results.setdefault(line["where"], []).append(line["failed"])
    for module, found in results.items():
        wrong = [failed for failed in found if failed and not _rejects_everything(failed)]
        assert not wrong, f"{module}: {json.dumps(wrong, indent=1)}"
        assert [] in found, f"{module}: no receiver was certified with its own secret"
    return results


def _rejects_everything(failed: list[Any]) -> bool:
    return [each["check"] for each in failed] == ["good"] and failed[0]["answers"][0]["status"] == 401


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


# -- the others, each as its users serve it


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
    settings = {"PAYMENTS_URL": nowhere, "PAYMENTS_KEY": "", "PAYMENTS_WEBHOOK_SECRET": SECRET, "PORT": "0"}
    output: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = {**os.environ, **settings, "SHOP_BOOK": str(tmp_path / "book.json")}
    with subprocess.Popen(shop.command(SERVE[language]), cwd=shop.path, env=environment, **output) as process:
        try:
            found = re.search(r"http://[\d.:]+\d", line := process.stdout.readline())
            assert found, line
            yield found[0]
        finally:
            process.kill()


@pytest.mark.parametrize("shop", ["compose", *(pytest.param(each, marks=pytest.mark.needs(each)) for each in SERVE)])
def test_the_receiver_of_another_shop(shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with compose(monkeypatch) if shop == "compose" else served(shop, tmp_path) as url:
        ended = run_command("test", "receiver", f"{url}/webhooks", "--secret", SECRET, "--timeout", "60")
    assert ended.status == 0, ended.output + ended.errors
