"""The audit's rules about retries: a request is one's retry by its key, or else by its content."""

from __future__ import annotations

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.control.conftest import Seconds
from contract_tests.surfaces.control.test_audit import (
    FORCED,
    INVOICE,
    audit,
    broken_by,
    failing,
    send,
    untried,
)


def test_a_rejected_request_that_is_sent_again_is_found(sandbox: Sandbox) -> None:
    sandbox.customer(email="awa@example.com")
    for fields in ({}, {"name": "Awa"}):
        sent = [
            send(sandbox, "POST", "/customers/", {"email": "awa@example.com", **fields})
            for _ in range(3)
        ]
        assert broken_by(sandbox, "retried-refusal")[:2] == sent[:0:-1]


def test_what_is_no_retry_of_a_rejected_request(sandbox: Sandbox, seconds: Seconds) -> None:
    """After a change the same may be asked again; an unread rejection may be of another request."""
    subscription = sandbox.subscribe()["id"]
    for action in ("resume", "pause", "pause", "resume", "resume"):
        sandbox.api.request("POST", f"/subscriptions/{subscription}/{action}/")
    for _ in range(3):
        send(sandbox, "GET", "/refunds/refd_nobody/")
        sandbox.advance("1h")
    for body in (
        {"name": "Awa"},
        {"email": "awa@example.com"},
        {"email": "awa@example.com", "name": "Awa"},
    ):
        send(sandbox, "POST", "/customers/", body)
    for _ in range(2):
        send(sandbox, "GET", "/customers/cust_nobody/")
        seconds.now += 120
    sandbox.api.post("/security-profiles/", {"name": "Nobody", "allowed_ips": ["203.0.113.7"]})
    for email in ("ada@example.com", "ida@example.com"):
        sandbox.api.rejected(
            "POST", "/customers/", 403, "PERMISSION_DENIED", json={"email": email, "name": "A"}
        )
    assert broken_by(sandbox, "retried-refusal") == []


@pytest.mark.parametrize(
    ("rule", "script", "count"),
    [
        # A forced 429 asks for a second.
        *(
            ("ignored-retry-after", f"L {pause} ok", count)
            for pause, count in ((0, 1), (0.8, 1), (1, 0), (5, 0))
        ),
        # What is read at once may be the read of another webhook, if it is read once more after the
        # pause.
        *(
            (rule, f"{code} ok", 1)
            for rule, code in (("retried-too-soon", "E"), ("ignored-retry-after", "T"))
        ),
        *(
            (rule, f"{code} ok 1 ok", 0)
            for rule, code in (("retried-too-soon", "E"), ("ignored-retry-after", "T"))
        ),
        # Two threads send the same, and both wait; of one that does not the other one is no proof.
        ("ignored-retry-after", "L 0.2 L 0.9 ok 0.2 ok", 0),
        ("ignored-retry-after", "L 0.2 ok 0.9 ok", 0),
        ("ignored-retry-after", "L 0.2 L 0.2 L 0.9 ok", 1),
        ("retried-too-soon", "E 0.3 E 0.7 ok 0.3 ok", 0),
        # Some chance in the pauses is good practice; none of them, or always the same, is not.
        *(
            ("retried-too-soon", script, 0)
            for script in ("E 1 E 2 E 4 E", "E 0.6 E 1.1 E 2.1 E", "E 1 E")
        ),
        *(
            ("retried-too-soon", script, count)
            for script, count in (("E 0.1 " * 3 + "E", 3), ("E 1 " * 3 + "E", 1))
        ),
        ("retried-too-often", "E 0.1 E 0.1 E 0.1 E", 0),
        ("retried-too-often", "D 1 D 2 D 4 D 8 D 16 D", 2),
        # After a success the same request is no retry.
        *((rule, "E 1 ok 0.1 " * 4, 0) for rule in ("retried-too-soon", "retried-too-often")),
        # B-100: pauses in the world's time count as pauses; the client gives up after its third
        # retry, twice.
        ("retried-too-often", "D 1 D 2 D 4 D 1h " * 2, 0),
        # One that was sent before the first was answered knew nothing of its answer.
        ("ignored-retry-after", "L -0.0025 L", 0),
    ],
)
def test_when_a_failure_is_tried_again(
    sandbox: Sandbox, seconds: Seconds, rule: str, script: str, count: int
) -> None:
    for word in script.split():
        if word.isalpha():
            send(sandbox, "GET", "/customers/", **(failing(word) if word in FORCED else {}))
        elif word == "1h":
            sandbox.advance(word)
        else:
            seconds.now += float(word)
    assert rule not in untried(sandbox)
    assert {finding["rule"]: finding["count"] for finding in audit(sandbox)["findings"]}.get(
        rule, 0
    ) == count


def test_requests_with_two_keys_are_not_retries_of_each_other(
    sandbox: Sandbox, seconds: Seconds
) -> None:
    """One thread waits, as asked, while another one creates a customer as long as the first."""
    for name, pause in (("awa", 0.2), ("ben", 0.9), ("awa", 0)):
        fault = failing("L") if pause == 0.2 else {}
        body = {"email": f"{name}@example.com", "name": name}
        send(sandbox, "POST", "/customers/", body, **{"Idempotency-Key": name * 6, **fault})
        seconds.now += pause
    assert broken_by(sandbox, "ignored-retry-after") == []


def test_a_body_of_the_same_length_is_no_retry(sandbox: Sandbox, seconds: Seconds) -> None:
    for name in ("awa", "ben"):
        fault = failing("L") if name == "awa" else {}
        body = {"email": f"{name}@example.com", "name": name}
        send(sandbox, "POST", "/customers/", body, **fault)
    assert broken_by(sandbox, "ignored-retry-after") == []


def test_the_request_of_a_second_buyer_is_no_retry_with_another_key(
    sandbox: Sandbox, seconds: Seconds
) -> None:
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    for key, letter in (("first-key", "E"), ("second-key", ""), ("first-key", "")):
        fault = failing(letter) if letter else {}
        send(sandbox, "POST", "/invoices/", body, **{"Idempotency-Key": 2 * key, **fault})
        seconds.now += 0.6
    assert broken_by(sandbox, "unsafe-retry") == []


@pytest.mark.parametrize("keys", ["--", "ab", "a-", "aa"])
def test_a_retry_keeps_its_key(sandbox: Sandbox, seconds: Seconds, keys: str) -> None:
    """A key for two things is found; an arranged fault, without a header, counts like others."""
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    first, second = ({"Idempotency-Key": key * 20} if key != "-" else {} for key in keys)
    sandbox.control.post(
        "/faults", {"match": {"method": "POST"}, "then": {"code": "UPSTREAM_ERROR"}}
    )
    send(sandbox, "POST", "/invoices/", body, **first)
    again = send(sandbox, "POST", "/invoices/", body, **second)
    seconds.now += 60
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Another"}, **failing("E"))
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Several"})  # as long, and not the same
    assert broken_by(sandbox, "unsafe-retry") == [again] * (keys != "aa")
    assert broken_by(sandbox, "retried-too-soon") == [again] * (keys in ("--", "aa"))
    if second:
        other = send(sandbox, "POST", "/invoices/", {**body, "footer": "Thanks"}, **second)
        assert broken_by(sandbox, "idempotency-key-reused") == [other]
