"""``listen`` as its user meets it: a process between the emulator and a server of one's own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import Sandbox
from contract_tests.support.servers import ServerProcess, free_port
from contract_tests.surfaces.cli.terminal import Begin, ended, run, until
from emulator.cli.listen import Listener, derived_secret

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def listening(sandbox: Sandbox, begin: Begin) -> Start:
    def start(target: Receiver, *arguments: str) -> subprocess.Popen[str]:
        where = () if "--url" in arguments else ("--url", sandbox.url, "--key", sandbox.key)
        process = begin("listen", "--forward-to", target.url, *where, *arguments)
        until(process.stdout, "Ready.\n")
        return process

    return start


def receive_until(receiver: Receiver, number: int) -> None:
    """Wait for deliveries: a restarted emulator has a running clock, and settles nothing."""
    deadline = time.monotonic() + 60
    while len(receiver.received) < number and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(receiver.received) >= number


def test_deliveries_are_passed_on_with_their_responses(
    sandbox: Sandbox, receiver: Receiver, listening: Start
) -> None:
    listening(receiver)
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    secret = sandbox.api.post(f"/webhooks/{endpoint['id']}/roll-secret/")["secret"]
    receiver.reply = lambda received: Reply(
        200 if received.headers["emulator-attempt"] == "2" else 503, body=b"busy"
    )
    sandbox.customer()
    sandbox.advance("1m")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["status_code"] for attempt in delivery["attempts"]] == [503, 200]
    assert delivery["attempts"][0]["response_body"] == "busy"
    assert len(receiver.received) == 2, "pings are answered on the spot"
    assert all(received.signed_with(secret) for received in receiver.received)


def test_a_line_says_each_attempt_with_its_response(
    sandbox: Sandbox, receiver: Receiver, listening: Start
) -> None:
    process = listening(receiver)
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    receiver.reply = lambda received: Reply(
        200 if received.headers["emulator-attempt"] == "2" else 503, body=b"busy"
    )
    sandbox.customer()
    sandbox.advance("1m")
    (delivery,) = sandbox.deliveries(endpoint)
    _, output, _ = ended(process, signal.SIGTERM)
    first, second = output.splitlines()
    assert [line.partition(" -> ")[2].split()[0] for line in (first, second)] == ["503", "200"]
    assert all("customer.created" in line and delivery["event"] in line for line in (first, second))
    assert "(attempt 2)" in second


def test_the_endpoint_is_removed_at_the_end(
    sandbox: Sandbox, receiver: Receiver, listening: Start
) -> None:
    status, _, _ = ended(listening(receiver), signal.SIGTERM)
    assert (status, sandbox.api.get("/webhooks/")["data"]) == (0, [])


@pytest.mark.long
def test_it_registers_again_when_the_emulator_restarts(
    receiver: Receiver, listening: Start
) -> None:
    """Under the same secret, so that the server behind needs no restart."""
    with (
        ServerProcess("--quiet") as emulator,
        http_client(headers={"Authorization": "Bearer sk_test_demo"}) as http,
    ):
        listener = listening(receiver, "--url", emulator.url, "--key", "sk_test_demo")
        emulator.stop()
        until(listener.stderr, "; registering again")
        emulator.start()
        until(listener.stderr, "-- listening again, as wh_")
        http.post(
            f"{emulator.url}/_emulator/trigger", json={"event": "customer.created"}
        ).raise_for_status()
        receive_until(receiver, 1)
    assert receiver.received[0].signed_with(derived_secret("sk_test_demo", receiver.url))


def test_it_registers_again_when_the_world_is_replaced(
    sandbox: Sandbox, receiver: Receiver, listening: Start
) -> None:
    process = listening(receiver)
    sandbox.control.post("/reset", {"clock": "frozen"})
    until(process.stderr, "-- listening again, as wh_")
    sandbox.customer()
    sandbox.settle()
    assert receiver.received[-1].event["type"] == "customer.created"


def test_it_hears_of_a_reset_while_its_stream_is_open() -> None:
    """One that opens after a reset finds the endpoint gone, too."""
    endpoint = {"id": "wh_one"}
    streams = [[("open", None), ("reset", {"cause": "reset"})], KeyboardInterrupt]
    emulator = Mock(post=Mock(return_value=endpoint), stream=Mock(side_effect=streams))
    emulator.get.side_effect = [{"wh_one": "listen"}, {}]
    listener = Listener(emulator, Mock(), "http://localhost:3000", "whsec_one", as_json=False)
    listener.endpoint = endpoint
    with pytest.raises(KeyboardInterrupt):
        listener.run()
    emulator.post.assert_called_once()


def test_it_is_ready_once_a_reset_would_be_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []

    def stream(types: str) -> Iterator[tuple[str, None]]:
        for _ in range(2):
            outputs.append(capsys.readouterr().out)
            yield "open", None
        raise KeyboardInterrupt

    emulator = Mock(post=Mock(return_value={"id": "wh_one"}), stream=stream)
    listener = Listener(emulator, Mock(), "http://localhost:3000", "whsec_one", as_json=False)
    with pytest.raises(KeyboardInterrupt), listener.registered("http://localhost:1/", ["*"]):
        listener.run()
    assert outputs == ["", "Ready.\n"], "not before its stream is open, and once"
    assert capsys.readouterr().out == ""


def test_the_secret_is_that_of_the_key_with_the_url(sandbox: Sandbox, receiver: Receiver) -> None:
    secret = derived_secret(sandbox.key, receiver.url)
    assert re.fullmatch(r"whsec_\w{32}", secret)
    assert secret != derived_secret("sk_test_another", receiver.url)


@pytest.mark.breaks_the_document
def test_a_forgery_stays_a_forgery(sandbox: Sandbox, receiver: Receiver, listening: Start) -> None:
    secret = derived_secret(sandbox.key, receiver.url)
    listening(receiver)
    sandbox.customer()
    sandbox.settle()
    sandbox.control.post("/faults", {"then": {"tamper": True}})
    sandbox.customer()
    sandbox.settle()
    assert [received.signed_with(secret) for received in receiver.received] == [True, False]


@pytest.mark.long
def test_it_ends_while_the_emulator_does_not_respond(receiver: Receiver, listening: Start) -> None:
    """As one that is paused in a container: it takes connections and never says a word."""
    with ServerProcess("--quiet") as emulator:
        listener = listening(receiver, "--url", emulator.url, "--key", "sk_test_demo")
        with emulator.frozen():
            began = time.monotonic()
            status, _, errors = ended(listener, signal.SIGINT)
            assert time.monotonic() - began < 10
    assert status == 130
    assert re.search(r"The endpoint wh_\w+ was not removed: .* timed out", errors)


def test_json_gives_one_object_a_delivery(sandbox: Sandbox, begin: Begin) -> None:
    """After one with the endpoint and its secret. A server that is not there fails a delivery.

    Only the events that are asked for are sent; a port alone is one of this machine.
    """
    target = f"{free_port()}/hooks"
    options = ("--forward-to", target, "--events", "customer.created,customer.deleted", "--json")
    process = begin("listen", "--url", sandbox.url, "--key", sandbox.key, *options)
    assert process.stdout
    first = json.loads(process.stdout.readline())
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    assert endpoint["events"] == ["customer.created", "customer.deleted"]
    secret = derived_secret(sandbox.key, f"http://localhost:{target}")
    assert first == {
        "endpoint": endpoint["id"],
        "secret": secret,
        "forward_to": f"http://localhost:{target}",
    }
    until(process.stderr, "Ready.\n")
    sandbox.customer()
    sandbox.settle()
    delivery = json.loads(process.stdout.readline())
    assert (delivery["type"], delivery["attempt"], delivery["status"]) == (
        "customer.created",
        1,
        None,
    )
    assert "refused" in delivery["error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--forward-to"),
        (
            ["--forward-to", "x", "--url", "http://127.0.0.1:1"],
            "No emulator is running at http://127.0.0.1:1 ",
        ),
        (["--forward-to", "x", "--events", "invoice.lost"], "events.0"),
        (["--forward-to", "x", "--key", "sk_test_a.b"], "API key format"),
        (
            ["--forward-to", "localhost:99999"],
            "'localhost:99999' is not a URL such as http://localhost:3000",
        ),
        (
            ["--forward-to", "http://8000/hooks"],
            "'http://8000/hooks' is not a URL such as http://localhost:3000",
        ),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    sandbox: Sandbox, arguments: list[str], message: str
) -> None:
    """Exit status 2."""
    assert message in run("listen", "--url", sandbox.url, *arguments).usage_error
