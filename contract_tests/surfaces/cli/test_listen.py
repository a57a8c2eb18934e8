"""``listen`` as its user meets it: a process between the emulator and a server of one's own."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import processes, run
from emulator.cli.listen import derived_secret

PATIENCE = 60
"""Seconds that a process may take to do what it is waited for."""

Start = Callable[..., "subprocess.Popen[str]"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "emulator.cli.main", "listen", *arguments]


@pytest.fixture
def listening(sandbox: Sandbox) -> Iterator[Start]:
    """Starts the command for the sandbox's world and waits until it is ready."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*(() if "--url" in arguments else ("--url", sandbox.url, "--key", sandbox.key)), *arguments),
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
    process.send_signal(by)
    output, _ = process.communicate(timeout=60)
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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def receive_until(receiver: Receiver, number: int) -> None:
    """Wait for deliveries: a restarted emulator has a running clock, and settles nothing."""
    deadline = time.monotonic() + PATIENCE
    while len(receiver.received) < number and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(receiver.received) >= number


def until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout
    return next(line for line in process.stdout if text in line)


def test_it_registers_again_when_the_emulator_restarts(receiver: Receiver, listening: Start) -> None:
    """Under the same secret, so that the server behind needs no restart."""
    port = str(free_port())
    with processes() as begin:
        first = begin("serve", "--quiet", "--port", port)
        assert until(first, "Ready.")
        url = f"http://127.0.0.1:{port}"
        listener = listening("--forward-to", receiver.url, "--url", url, "--key", "sk_test_demo")
        first.terminate()
        first.communicate(timeout=PATIENCE)
        until(listener, "; registering again")
        second = begin("serve", "--quiet", "--port", port)
        assert until(second, "Ready.")
        until(listener, "-- listening again, as wh_")
        with http_client(headers={"Authorization": "Bearer sk_test_demo"}) as http:
            http.post(f"{url}/_emulator/trigger", json={"event": "customer.created"}).raise_for_status()
        receive_until(receiver, 1)
        assert receiver.received[0].signed_with(derived_secret("sk_test_demo", receiver.url))


@pytest.mark.parametrize("replace", ["reset", "rewind"])
def test_it_registers_again_when_the_world_is_replaced(
    sandbox: Sandbox, receiver: Receiver, listening: Start, replace: str
) -> None:
    sandbox.customer()
    first = next(iter(sandbox.control.get("/requests")["data"]))
    process = listening("--forward-to", receiver.url)
    sandbox.control.post(f"/{replace}", {"clock": "frozen"} if replace == "reset" else {"to": first["id"]})
    until(process, "-- listening again, as wh_")
    sandbox.customer()
    sandbox.settle()
    assert receiver.received[-1].event["type"] == "customer.created"


def printed_secret(*arguments: str) -> str:
    return run("listen", "--print-secret", *arguments).lines[0]


def test_the_secret_is_that_of_the_key_and_the_url(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    """Known before anything is registered."""
    secret = printed_secret("--forward-to", receiver.url, "--key", sandbox.key)
    assert re.fullmatch(r"whsec_\w{32}", secret)
    assert secret != printed_secret("--forward-to", receiver.url, "--key", "sk_test_another")
    listening("--forward-to", receiver.url)
    sandbox.customer()
    sandbox.settle()
    assert receiver.received[0].signed_with(secret)


@pytest.mark.breaks_the_document
def test_a_forgery_stays_a_forgery(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    listening("--forward-to", receiver.url, "--secret", "whsec_mine")
    sandbox.control.post("/faults", {"then": {"tamper": True}})
    sandbox.customer()
    sandbox.settle()
    assert not receiver.received[0].signed_with("whsec_mine")


@pytest.mark.parametrize(("since", "number"), [("1h", 1), ("999999w", 2)])
def test_past_events_are_loaded(
    sandbox: Sandbox, receiver: Receiver, listening: Start, since: str, number: int
) -> None:
    """More than there is time for is all of it."""
    sandbox.customer()
    sandbox.advance("2h")
    sandbox.customer()
    process = listening("--forward-to", receiver.url, "--since", since, "--secret", "whsec_mine")
    for _ in range(number):
        until(process, "customer.created")
    assert receiver.events == sandbox.events()[-number:]
    assert all(received.signed_with("whsec_mine") for received in receiver.received)


def test_only_events_about_one_object(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    mine = sandbox.customer()
    process = listening("--forward-to", receiver.url, "--since", "2026-01-01", "--object", mine["id"])
    until(process, "customer.created")
    sandbox.customer()
    sandbox.settle()
    sandbox.api.delete(f"/customers/{mine['id']}/")
    sandbox.settle()
    assert [each.event["type"] for each in receiver.received] == ["customer.created", "customer.deleted"]


@pytest.mark.parametrize("body", [{"data": None}, {"data": []}, {"data": {"object": None}}, [], "text"], ids=str)
def test_whatever_is_posted_is_forwarded(sandbox: Sandbox, receiver: Receiver, listening: Start, body: Any) -> None:
    listening("--forward-to", receiver.url)
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    with http_client() as client:
        assert client.post(endpoint["url"], json=body, headers={"Emulator-Attempt": "one"}).status_code == 200
    assert [json.loads(each.body) for each in receiver.received] == [body]
    receiver.received.clear()  # the fixture holds what arrives against the document, and this is no event


def test_it_stays_registered_among_many_endpoints(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    listening("--forward-to", receiver.url)
    for _ in range(101):
        sandbox.endpoint(receiver.url, "refund.failed")
    receiver.received.clear()
    sandbox.control.post("/snapshots", {"name": "many"})
    sandbox.control.post("/snapshots/many/restore")
    sandbox.customer()
    receive_until(receiver, 1)
    assert sandbox.control.get("/counts")["webhook_endpoint"] == 102


def test_a_target_that_does_not_listen_is_reported_at_once(sandbox: Sandbox) -> None:
    with processes() as begin:
        target = f"http://127.0.0.1:{free_port()}/webhooks"
        process = begin("listen", "--url", sandbox.url, "--key", sandbox.key, "--forward-to", target)
        assert process.stderr
        assert process.stderr.readline().startswith(f"Nothing listens at {target} yet (")


@pytest.mark.parametrize(("by", "expected"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_endpoint_is_removed_at_the_end(
    sandbox: Sandbox, receiver: Receiver, listening: Start, by: signal.Signals, expected: int
) -> None:
    process = listening("--forward-to", receiver.url)
    assert ended(process, by) == (expected, [])
    assert sandbox.api.get("/webhooks/")["data"] == []


def test_it_ends_while_the_emulator_does_not_answer(receiver: Receiver, listening: Start) -> None:
    """As one that is paused in a container: it takes connections and never says a word."""
    with processes() as begin:
        port = str(free_port())
        emulator = begin("serve", "--quiet", "--port", port)
        assert until(emulator, "Ready.")
        url = f"http://127.0.0.1:{port}"
        listener = listening("--forward-to", receiver.url, "--url", url, "--key", "sk_test_demo")
        emulator.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        status, said = ended(listener, signal.SIGINT)
        assert time.monotonic() - began < 10
        emulator.send_signal(signal.SIGCONT)
    assert status == 130
    assert re.search(r"The endpoint wh_\w+ was not removed: .* timed out", "\n".join(said))


def test_json_gives_one_object_a_delivery(sandbox: Sandbox, receiver: Receiver) -> None:
    """After one with the endpoint and its secret. A server that is not there is a delivery that failed.

    Only the events that are asked for are sent; a port alone is one of this machine.
    """
    target = f"{receiver.url.rpartition(':')[2].partition('/')[0]}/hooks"
    options = ("--forward-to", target, "--events", "customer.created,customer.deleted", "--json")
    with processes() as begin:
        process = begin("listen", "--url", sandbox.url, "--key", sandbox.key, *options)
        assert process.stdout
        first = json.loads(process.stdout.readline())
        (endpoint,) = sandbox.api.get("/webhooks/")["data"]
        assert endpoint["events"] == ["customer.created", "customer.deleted"]
        secret = derived_secret(sandbox.key, f"http://localhost:{target}")
        assert first == {"endpoint": endpoint["id"], "secret": secret, "forward_to": f"http://localhost:{target}"}
        for close in (receiver.close, sandbox.settle):
            sandbox.customer()
            sandbox.settle()
            close()
        shown: list[Any] = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [received.path for received in receiver.received] == ["/hooks"]
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
        (["--forward-to", "x", "--url", "http://127.0.0.1:1"], "No emulator is running at http://127.0.0.1:1 "),
        (["--forward-to", "x", "--events", "invoice.lost"], "events.0"),
        (["--forward-to", "x", "--key", "sk_test_a.b"], "API key format"),
    ],
)
def test_a_mistake_is_reported_in_one_line(sandbox: Sandbox, arguments: list[str], said: str) -> None:
    """Exit status 2."""
    assert said in run("listen", "--url", sandbox.url, *arguments).usage_error
