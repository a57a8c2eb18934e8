"""The receivers in Node that the pages and the examples show pass ``test receiver``, as those in Python do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contract_tests.quality.docs.pages import ROOT
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.node.__main__ import environment, prepare
from contract_tests.surfaces.testing.test_receivers import EXAMPLES, assert_sound, certify, receiving

pytestmark = [pytest.mark.long, pytest.mark.needs("node")]


def test_the_receivers_of_the_guide_in_node(tmp_path: Path) -> None:
    suites = receiving("js")
    prepare(tmp_path)
    for module, sample in suites.items():
        (tmp_path / f"{module}.test.mjs").write_text(sample.text, encoding="utf-8")
    files = [f"{module}.test.mjs" for module in suites]
    found = certify_in_node(tmp_path, tmp_path, *files)
    assert_sound(found)
    assert set(found) == set(files)


def test_the_receiver_of_the_examples_in_node(tmp_path: Path) -> None:
    prepare(tmp_path)
    assert_sound(certify_in_node(tmp_path, tmp_path / "node-test-app", "app.test.mjs"))


def certify_in_node(root: Path, folder: Path, *files: str) -> Mapping[str, list[Any]]:
    """Return the same of suites that use the module for Node; ``root`` has it."""
    hook = ROOT / "contract_tests/surfaces/node/certifying.cjs"
    (root / hook.name).write_bytes(hook.read_bytes())  # it takes the module from its own place
    command = ("node", "--require", str(root / hook.name), "--test", *files)
    return certify(root / "certified", *command, folder=folder, **environment(root))


NODE_SHOP = """
import { Shop } from "./shop.js";
const shop = new Shop(process.env.PAYMENTS_URL, "sk_test_certified");
await shop.open();
console.log(`http://127.0.0.1:${shop.server.address().port} ${shop.secret}`);
"""


def test_the_receiver_of_the_shop_in_node() -> None:
    command = ("node", "--input-type=module", "--eval", NODE_SHOP)
    with RunningServer() as server:
        variables = {**os.environ, "PAYMENTS_URL": server.url}
        where = EXAMPLES / "node-shop"
        with subprocess.Popen(command, cwd=where, env=variables, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout
                url, secret = process.stdout.readline().split()
                ended = run_command("test", "receiver", f"{url}/webhooks", "--secret", secret, "--timeout", "60")
            finally:
                process.kill()
    assert ended.status == 0, ended.output
