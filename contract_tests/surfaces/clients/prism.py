"""Prism as a proxy between a client and a server: it answers with an error wherever either breaks the document."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from contract_tests.surfaces.clients.workshop import GateError, Workshop
from emulator.checks.document.links import headers
from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
from emulator.checks.document.report import DocumentResults
from emulator.checks.document.suite import Suite
from emulator.client.messages import ApiResponse
from emulator.document import bundles


def prism(work: Workshop, url: str) -> None:
    """Walk every link through the proxy."""
    with _proxy(work, url) as proxy, webhook_receiver() as receiver:
        stage = _Proxied(proxy, headers("sk_test_prism"), receiver.url, "prism")
        suite = Suite(bundles.load("service"), proxy, "sk_test_prism", 1, 1, stage, phases=("stateful",))
        found = _failures(suite.run())
    if found:
        raise GateError("\n".join(found))


@contextmanager
def _proxy(work: Workshop, url: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Prism takes OpenAPI 3.0 at its strictest, by which null is in no enum it is not written in; the twin says it.
    twin = work.write("service-3.1.json", json.dumps(bundles.load("service-3.1")))
    command = [str(work.tools.node / "prism"), "proxy", str(twin), f"{url}/v1", "--errors", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until the proxy listens there. Raises :class:`GateError` if it does not within a minute."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise GateError("prism did not start")


class _Proxied(ObjectFactory):
    """Fails where Prism says that an answer breaks the document."""

    def send(self, method: str, path: str, body: Any) -> ApiResponse:
        response = super().send(method, path, body)
        _no_violation(response)
        return response


def _no_violation(response: ApiResponse) -> None:
    assert "sl-violations" not in response.headers, response.headers["sl-violations"]
    assert "stoplight.io/prism" not in response.text, response.text


def _failures(report: DocumentResults) -> list[str]:
    """What broke the document on the way."""
    return report.problems + [
        f"{tally.operation}: {each.message}\n{each.curl}\n{each.status} {each.answer}"
        for tally in report.operations.values()
        for each in tally.failures.values()
    ]
