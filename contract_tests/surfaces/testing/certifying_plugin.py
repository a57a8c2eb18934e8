"""A pytest plugin that certifies receivers of forwarded webhooks and skips their tests' rest.

The receiver is served as a web server would serve it, and may read what the events are about in the
world of its test. A line of the file that ``CERTIFIED`` names says where it is, which checks
failed, and what else there is to say.
"""

from __future__ import annotations

import inspect
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from contract_tests.surfaces.cli.terminal import run
from emulator.testing import Webhooks

SOUND: set[tuple[str, str]] = set()
"""The receivers that have passed, by the module of the test and their class: once is enough."""


@contextmanager
def served(target: Any) -> Iterator[str]:
    """The URL at which an application, or that of a test client, is served."""
    app = getattr(target, "app", target)
    is_asgi = inspect.iscoroutinefunction(type(app).__call__)
    config = uvicorn.Config(app, interface="asgi3" if is_asgi else "wsgi", log_level="critical")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(autouse=True)
def certifying(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certify where webhooks are forwarded."""
    where = request.node.path.stem

    def forward_to(webhooks: Webhooks, target: Any, path: str = "/webhooks", **_: Any) -> None:
        receiver = (where, type(target).__name__)
        if receiver not in SOUND:
            payments = request.getfixturevalue("payments")
            there = ("--url", payments.url, "--key", payments.key, "--timeout", "60", "--json")
            with served(target) as url:
                ended = run("test", "receiver", url + path, "--secret", webhooks.secret, *there)
            assert ended.status in (0, 1), ended
            report = json.loads(ended.output)
            failed = [check for check in report["checks"] if not check["passed"]]
            if ended.status == 0:
                SOUND.add(receiver)
            with Path(os.environ["CERTIFIED"]).open("a", encoding="utf-8") as file:
                print(
                    json.dumps({"where": where, "failed": failed, "notes": report["notes"]}),
                    file=file,
                )
        pytest.skip("certified")

    monkeypatch.setattr(Webhooks, "forward_to", forward_to)
