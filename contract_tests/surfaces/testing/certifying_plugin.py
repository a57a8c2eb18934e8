"""A pytest plugin that certifies each receiver to which a test would forward webhooks, and skips the rest of that test.

A line of the file that ``CERTIFIED`` names says where it is, which checks failed, and what else there is to say.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from contract_tests.surfaces.cli.terminal import run
from emulator.testing import Webhooks, collector

SOUND: set[tuple[str, str]] = set()
"""The receivers that have passed, by the module of the test and their class: once is enough."""


@pytest.fixture(autouse=True)
def certifying(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector passes everything on, and answers as the receiver does, which may ask the world of its test."""
    where, forward = request.node.path.stem, Webhooks.forward_to

    def forward_to(webhooks: Webhooks, target: Any, *path: str, **options: Any) -> None:
        receiver = (where, type(target).__name__)
        if receiver not in SOUND:
            forward(webhooks, target, *path, **options)
            payments = request.getfixturevalue("payments")
            there = ("--url", payments.url, "--key", payments.key, "--timeout", "60", "--json")
            ended = run("test", "receiver", str(webhooks.endpoint["url"]), "--secret", webhooks.secret, *there)
            assert ended.status in (0, 1), ended
            report = json.loads(ended.output)
            failed = [each for each in report["checks"] if not each["passed"]]
            if ended.status == 0:
                SOUND.add(receiver)
            with Path(os.environ["CERTIFIED"]).open("a", encoding="utf-8") as file:
                print(json.dumps({"where": where, "failed": failed, "notes": report["notes"]}), file=file)
        pytest.skip("certified")

    monkeypatch.setattr(collector, "TIME_LIMIT", 60)  # a busy machine is no fault of the receiver
    monkeypatch.setattr(Webhooks, "forward_to", forward_to)
