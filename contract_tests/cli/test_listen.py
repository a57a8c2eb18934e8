"""``listen`` as its user meets it: a process between the emulator and a server of one's own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract_tests.receiver import Receiver, Reply
from contract_tests.sandbox import Sandbox

Start = Callable[..., "subprocess.Popen[str]"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "emulator.cli.main", "listen", *arguments]


@pytest.fixture
def listening(sandbox: Sandbox) -> Iterator[Start]:
    """Starts the command for the sandbox's world and waits until it is ready."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command("--url", sandbox.url, "--key", sandbox.key, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        assert process.stdout
        for line in process.stdout:
            if line == "Ready.\n":
                break
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], by: signal.Signals = signal.SIGTERM) -> tuple[int, list[str]]:
    """The exit status and what was printed since it was ready."""
    process.send_signal(by)
    output, _ = process.communicate(timeout=20)
    return process.returncode, output.split("\n")[:-1] if output.strip() else []


def test_deliveries_are_passed_on_as_they_are_and_shown_with_their_answers(
    sandbox: Sandbox, receiver: Receiver, listening: Start
) -> None:
    process = listening("--forward-to", receiver.url)
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    secret = sandbox.api.post(f"/webhooks/{endpoint['id']}/roll-secret/")["secret"]
    receiver.reply = lambda received: Reply(200 if received.headers["emulator-attempt"] == "2" else 503, body=b"busy")
    sandbox.customer()
    sandbox.advance("1m")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["status_code"] for attempt in delivery["attempts"]] == [503, 200]
    assert delivery["attempts"][0]["response_body"] == "busy"
    assert len(receiver.received) == 2, "pings are answered on the spot"
    assert all(received.signed_with(secret) for received in receiver.received)
    status, lines = ended(process)
    assert status == 0
    assert [line.partition(" -> ")[2].split()[0] for line in lines] == ["503", "200"]
    assert all("customer.created" in line and delivery["event"] in line for line in lines)
    assert "(attempt 2)" in lines[1]


def test_only_the_events_that_are_asked_for(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    listening("--forward-to", receiver.url, "--events", "invoice.paid,customer.deleted")
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    assert endpoint["events"] == ["invoice.paid", "customer.deleted"]


@pytest.mark.parametrize(("by", "expected"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_endpoint_is_removed_at_the_end(
    sandbox: Sandbox, receiver: Receiver, listening: Start, by: signal.Signals, expected: int
) -> None:
    process = listening("--forward-to", receiver.url)
    assert ended(process, by) == (expected, [])
    assert sandbox.api.get("/webhooks/")["data"] == []


def test_json_gives_one_object_a_delivery(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    """A server that is not there is a delivery that failed, and is shown as such."""
    process = listening("--forward-to", receiver.url.removeprefix("http://"), "--json")
    sandbox.customer()
    sandbox.settle()
    receiver.close()
    sandbox.customer()
    sandbox.settle()
    shown: list[Any] = [json.loads(line) for line in ended(process)[1]]
    assert [(each["type"], each["attempt"], each["status"]) for each in shown] == [
        ("customer.created", 1, 200),
        ("customer.created", 1, None),
    ]
    assert "refused" in shown[1]["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--forward-to"),
        (["--forward-to", "ftp://x"], "'--forward-to'"),
        (["--forward-to", "x", "--url", "http://127.0.0.1:1"], "no emulator at http://127.0.0.1:1 "),
        (["--forward-to", "x", "--events", "invoice.lost"], "events.0"),
        (["--forward-to", "x", "--key", "sk_test_a.b"], "INVALID_TOKEN"),
    ],
)
def test_a_mistake_is_reported_in_one_line(sandbox: Sandbox, arguments: list[str], said: str) -> None:
    """Exit status 2."""
    process = subprocess.Popen(
        command("--url", sandbox.url, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, len(errors.splitlines())) == (2, "", 1)
    assert said in errors
