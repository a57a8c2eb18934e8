"""``test receiver`` as its user meets it: a report to read, JSON for programs, and exit statuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.checks.receiver import checks
from emulator.checks.receiver.checks import checks_of
from emulator.cli.receiver import METHODS

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret, and no waiting between the pieces of what comes slowly."""
    monkeypatch.setenv("PAYMENTS_EMULATOR_SECRET", SECRET)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(checks, "PAUSE", 0.001)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A good receiver: it answers 200 to what is signed with the secret, and 401 to the rest."""
    receiver = Receiver()
    receiver.reply = careful
    yield receiver
    receiver.close()


def careful(received: Received, secret: str = SECRET) -> Reply:
    signed = received.headers.get("service-signature", "").isascii() and received.signed_with(secret)
    return Reply(200 if signed else 401)


def certify(url: str, *options: str) -> Ended:
    return run("test", "receiver", url, "--timeout", "60", *options)


def test_a_good_receiver(receiver: Receiver) -> None:
    """Of a short secret the library of tokens would warn. Nothing can be said of one that takes no good event."""
    count = len(checks_of("HMAC_SHA256"))
    (line,) = certify(receiver.url).lines
    assert line == f"All {count} checks passed (HMAC_SHA256, 60 s for an answer)."
    status, output, _ = certify(receiver.url, "--secret", "whsec_another")
    assert status == 1
    assert "2 of 2 checks failed" in output
    assert f"{count - 2} checks not run" in output
    receiver.reply = lambda received: careful(received, "s3cret")
    ended = certify(receiver.url, "--secret", "s3cret")
    assert (ended.errors, ended.output.startswith("All ")) == ("", True)


def test_a_receiver_with_a_defect(receiver: Receiver) -> None:
    """Exit status 1; what was expected, what came, and what to do. Different wrong answers are distinguished."""
    receiver.reply = lambda received: careful(received) if "service-signature" in received.headers else Reply(204)
    status, output, errors = certify(receiver.url)
    assert (status, errors) == (1, "")
    shown = " ".join(output.split())
    assert "An event without a signature: not rejected unsigned: expected: a 4xx (Delivery rule 1; B-83)" in shown
    assert "got: 204 to customer.created fix: Reject" in shown
    assert "2 of 21 checks failed" in shown, "the signature of another method has another header"
    assert "accepting 204 is an assumption" not in shown, "nothing that should be accepted was answered so"
    status, output, errors = certify(receiver.url, "--json")
    assert (status, errors) == (1, "")
    items: list[Any] = json.loads(output)["checks"]
    assert [item["check"] for item in items] == [check.name for check in checks_of("HMAC_SHA256")]
    assert {item["check"] for item in items if not item["passed"]} == {"unsigned", "forged-method"}
    (unsigned,) = [item for item in items if item["check"] == "unsigned"]
    (answer,) = unsigned.pop("answers")
    assert answer.pop("duration_ms") >= 0
    assert answer == {"event": "customer.created", "status": 204, "passed": False, "error": None, "body": ""}
    assert {*unsigned} == {"check", "passed", "sent", "expected", "rule", "advice"}
    receiver.reply = lambda received: Reply(202) if careful(received).status == 200 else Reply(401)
    assert "accepting 202 is an assumption (B-84)." in " ".join(certify(receiver.url).lines)
    answers = {"invoice.paid": Reply(500, body=b"no\x1b[2J table"), "refund.failed": Reply(400)}
    receiver.reply = lambda received: answers.get(received.event["type"], careful(received))
    output = " ".join(certify(receiver.url).output.split())
    assert "got: 400 to refund.failed; 500 to invoice.paid, saying" in output


@pytest.mark.parametrize("method", METHODS)
def test_the_secret_is_not_shown(receiver: Receiver, method: str) -> None:
    """Not even when the receiver sends back all it was sent."""
    receiver.reply = lambda received: Reply(
        418, body=f"{SECRET} {received.headers.get('authorization')}".encode("latin-1")
    )
    for more in ([], ["--json"]):
        ended = certify(receiver.url + "?token=t0ken", "--method", method, "--webhook", "wh_one", *more)
        assert ended.status == 1
        said = ended.output + ended.errors
        assert not any(each in said for each in (SECRET, "t0ken", "d2hfb25lOn")), "the last is credentials in base64"


def test_with_a_url_the_events_happen_there(receiver: Receiver, sandbox: Sandbox) -> None:
    """A receiver that reads the object of each event finds it."""
    ended = certify(receiver.url, "--url", sandbox.url, "--key", sandbox.key)
    assert "All 21 checks passed" in ended.output, ended
    assert {received.event["app"] for received in receiver.received} == {sandbox.control.get("/app")["id"]}
    for event in (each.event for each in receiver.received if each.event["type"] == "invoice.paid"):
        assert sandbox.api.get(f"/invoices/{event['data']['object']['id']}/")["status"] == "paid"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'RECEIVER_URL'"),
        (
            ["http://localhost:1/hooks", "--secret", ""],
            "Give the secret of your receiver with PAYMENTS_EMULATOR_SECRET",
        ),
        (["http://localhost:1/hooks", "--secret", "whsec_\udcff"], "any printable text will do"),
        (["ftp://localhost/hooks"], "'ftp://localhost/hooks': a URL such as http://localhost:3000/webhooks"),
        (["http://shop.example.com/hooks"], "must be an https:// URL; http:// is for loopback hosts only"),
        (["https://user:password@shop.example.com/hooks"], "must have no user name or password"),
        (["localhost:1/hooks?token=t0ken"], "No receiver answers at http://localhost:1/hooks: cannot connect"),
        (["localhost:1", "--method", "BASIC"], "give the id that your receiver expects with --webhook"),
    ],
)
def test_a_mistake_is_reported_in_one_line(arguments: list[str], said: str) -> None:
    assert said in run("test", "receiver", *arguments).usage_error
