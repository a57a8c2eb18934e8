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
from contract_tests.support.shops import SHOPS
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.testing.test_plugin import PLUGIN

pytestmark = pytest.mark.long

EXAMPLES = ROOT / "docs" / "examples"

SHOPS_IN_PYTHON = ("fastapi-shop", "django-shop", "python-shop", "subscription-shop")

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"

RECEIVES = re.compile(r"\bforward_?to\(", re.IGNORECASE)
"""How a test hands its webhooks to a receiver."""

VERIFIES = re.compile(r"compare_digest|timingSafeEqual|wsgi\.input|service.signature", re.IGNORECASE)
"""What receivers are made of."""

SAMPLES = [each for page in PAGES for each in samples(page) if not each.reason]


def receiving(language: str) -> dict[str, Sample]:
    """Return the samples that have a receiver, by a name for a module."""
    found = [each for each in SAMPLES if each.language == language and RECEIVES.search(each.text)]
    return {f"test_{re.sub(r'[^a-z]+', '_', name(each.page))}_{each.line}": each for each in found}


def certify(where: Path, *command: str, folder: Path, **variables: str) -> Mapping[str, list[Any]]:
    """Return the failed checks of every receiver that a suite has, by the suite's module."""
    surely_ours = {key: value for key, value in os.environ.items() if not key.startswith("PAYMENTS_EMULATOR_")}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**surely_ours, "CERTIFIED": str(where), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert where.exists(), done.stdout + done.stderr
    results: dict[str, list[Any]] = {}
    for line in map(json.loads, where.read_text("utf-8").splitlines()):
        results.setdefault(line["where"], []).append(line["failed"])
    return results


def assert_sound(found: Mapping[str, list[Any]]) -> None:
    """Each suite has a receiver that passes; the others of it have another secret on purpose, and reject everything."""
    for module, results in found.items():
        wrong = [failed for failed in results if failed and not _rejects_everything(failed)]
        assert not wrong, f"{module}: {json.dumps(wrong, indent=1)}"
        assert [] in results, f"{module}: no receiver was certified with its own secret"


def _rejects_everything(failed: list[Any]) -> bool:
    return [each["check"] for each in failed] == ["good"] and failed[0]["answers"][0]["status"] == 401


CERTIFYING = (sys.executable, "-m", "pytest", "-q", "-p", "contract_tests.surfaces.testing.certifying_plugin", *PLUGIN)


def test_the_receivers_of_the_guide_in_python(tmp_path: Path) -> None:
    suites = receiving("python")
    for module, sample in suites.items():
        (tmp_path / f"{module}.py").write_text(sample.text, encoding="utf-8")
    found = certify(tmp_path / "certified", *CERTIFYING, ".", folder=tmp_path, PYTHONPATH=str(ROOT))
    assert_sound(found)
    assert set(found) == set(suites)


@pytest.mark.parametrize("shop", SHOPS_IN_PYTHON)
def test_the_receiver_of_a_shop_in_python(shop: str, tmp_path: Path) -> None:
    found = certify(tmp_path / "certified", *CERTIFYING, folder=EXAMPLES / shop, PYTHONPATH=str(ROOT))
    assert_sound(found)


@contextmanager
def served_by(server: ThreadingHTTPServer) -> Iterator[str]:
    """The URL of a server, in a thread."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_receiver_of_the_compose_example(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PAYMENTS_URL", "PAYMENTS_KEY", "SHOP_URL"):
        monkeypatch.setenv(variable, "")
    module = runpy.run_path(str(EXAMPLES / "compose/shop.py"))
    module["secrets"].append(SECRET)
    monkeypatch.setattr(module["Handler"], "log_message", lambda *_: None)
    with served_by(ThreadingHTTPServer(("127.0.0.1", 0), module["Handler"])) as url:
        ended = run_command("test", "receiver", f"{url}/webhooks", "--secret", SECRET, "--timeout", "60")
    assert ended.status == 0, ended.output


def test_every_receiver_that_is_shown_is_tried() -> None:
    """What looks like one is handed webhooks by its own suite, is a file of an example, or has its test here."""
    sources = {".py", ".js", ".mjs", ".cjs", ".go", ".php"}
    files = [file for file in EXAMPLES.rglob("*") if file.suffix in sources]
    texts = {file: file.read_text("utf-8") for file in files}
    shown = [each for each in SAMPLES if VERIFIES.search(each.text) and not RECEIVES.search(each.text)]
    assert [name(each.page) for each in shown if each.text.strip() not in map(str.strip, texts.values())] == []
    folders = {file.relative_to(EXAMPLES).parts[0] for file, text in texts.items() if VERIFIES.search(text)}
    others = {shop.folder for shop in SHOPS.values() if shop.serve}  # test_shops
    assert folders == {*SHOPS_IN_PYTHON, "node", "compose", "node-shop", *others}
