"""The audit of a client by the journal: its rules, broken and followed."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.control.conftest import Seconds
from emulator.insight.audit.audit import MANY_PAGES, MANY_READS
from emulator.insight.audit.audit import rules as every_rule

UUID = "5f0c6a52-8c3e-4c55-9b8e-0d6f0a4f3b21"

FORCED = {
    "E": "INTERNAL_ERROR",
    "D": "DATABASE_ERROR",
    "L": "RATE_LIMIT_EXCEEDED",
    "T": "TOO_MANY_REQUESTS",
}

INVOICE = {"line_items": [{"description": "Basket", "unit_amount": 900}]}


def audit(sandbox: Sandbox) -> Any:
    """Return the audit; every rule is in just one of its lists."""
    report = sandbox.control.get("/audit")
    rules = [
        finding["rule"] for part in ("findings", "kept", "untried") for finding in report[part]
    ]
    assert sorted(rules) == sorted(rule.name for rule in every_rule())
    return report


def untried(sandbox: Sandbox) -> set[str]:
    return {rule["rule"] for rule in audit(sandbox)["untried"]}


def broken_by(sandbox: Sandbox, rule: str) -> list[str]:
    """Return a broken rule's requests and objects; a rule with nothing to judge fails the test."""
    assert rule not in untried(sandbox), "there was no occasion"
    findings = [finding for finding in audit(sandbox)["findings"] if finding["rule"] == rule]
    return [id for finding in findings for id in finding["requests"] + finding["object_ids"]]


def send(sandbox: Sandbox, method: str, path: str, body: Any = None, **headers: str) -> str:
    return str(sandbox.api.request(method, path, json=body, headers=headers).headers["request-id"])


def failing(letter: str) -> dict[str, str]:
    return {"Emulator-Answer": FORCED[letter]}


def refunds_without_a_key(sandbox: Sandbox) -> list[str]:
    """Make a finding of each severity; return the ids of the requests of its warning."""
    sandbox.customer(metadata={"key": "sk_test_whoever"})
    body = {"transaction": sandbox.deposit()["id"], "amount": 100}
    return [send(sandbox, "POST", "/refunds/", body) for _ in range(22)]


def test_a_world_without_requests_has_no_findings(sandbox: Sandbox) -> None:
    report = audit(sandbox)
    assert (report["request_count"], report["findings"], report["kept"]) == (0, [], [])


def test_the_gravest_findings_are_listed_first(sandbox: Sandbox) -> None:
    refunds_without_a_key(sandbox)
    severities = [finding["severity"] for finding in audit(sandbox)["findings"]]
    assert severities == ["error", "warning", "info"]
    grave = [("error", "warning", "info").index(rule.severity) for rule in every_rule()]
    assert grave == sorted(grave)


def test_a_finding_names_the_requests_that_show_it_the_newest_first(sandbox: Sandbox) -> None:
    refunds = refunds_without_a_key(sandbox)
    finding = audit(sandbox)["findings"][1]
    assert (finding["rule"], finding["count"], finding["section"]) == (
        "refund-without-key",
        22,
        "Refunds",
    )
    assert (finding["requests"], finding["object_ids"]) == (refunds[:1:-1], [])
    assert "Idempotency-Key" in finding["advice"]


def test_an_audit_changes_nothing(sandbox: Sandbox) -> None:
    refunds_without_a_key(sandbox)
    assert audit(sandbox) == audit(sandbox)


def test_a_careful_client_has_a_clean_audit(
    sandbox: Sandbox, receiver: Receiver, seconds: Seconds
) -> None:
    """It retries well, with one key, gets events, does not poll; the rules count as followed."""
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    sandbox.advance("P1M")
    body = {"transaction": sandbox.api.get("/transactions/", page_size=100)["data"][0]["id"]}
    for letter, pause in (("E", 1), ("D", 2), ("L", 1)):
        send(sandbox, "POST", "/refunds/", body, **{"Idempotency-Key": UUID, **failing(letter)})
        seconds.now += pause
    sandbox.api.post("/refunds/", body, **{"Idempotency-Key": UUID})
    session = sandbox.session(
        success_url="https://shop.example.com/thanks?session={CHECKOUT_SESSION_ID}"
    )
    sandbox.buy(session)
    sandbox.settle()
    assert "completion-unconfirmed" in untried(sandbox), (
        "the receiver may have made something of the event"
    )
    sandbox.api.get(f"/checkout-sessions/{session['id']}/")
    report = audit(sandbox)
    assert report["findings"] == []
    kept = (
        "ignored-retry-after unsafe-retry idempotency-key-reused retried-too-soon retried-too-often"
        " refund-without-key completion-unconfirmed session-id-escaped slow-webhook-response"
        " webhook-not-acknowledged webhook-basic"
    )
    assert {rule["rule"] for rule in report["kept"]} >= set(kept.split())


def test_a_client_that_waits_longer_than_half_a_minute_has_no_time_limit(
    sandbox: Sandbox, seconds: Seconds
) -> None:
    """One of thirty seconds is a limit; the helpers for tests wait as long as an advance takes."""
    waits = ((40, "payments-emulator", 0), (30, "shop/1.0", 0), (40, "shop/1.0", 1))
    for passed, agent, count in waits:
        seconds.step = passed
        send(sandbox, "GET", "/customers/", **{"User-Agent": agent})
        assert len(broken_by(sandbox, "no-time-limit")) == count


def test_polling_is_found(sandbox: Sandbox, seconds: Seconds) -> None:
    """Not a few reads, nor those of something that is over, nor those far apart."""
    often, few, slow = (f"/checkout-sessions/{sandbox.session()['id']}/" for _ in range(3))
    paid = f"/payment-intents/{sandbox.pay()['id']}/"
    for _ in range(MANY_READS + 2):
        for path in (paid, slow):
            send(sandbox, "GET", path)
        seconds.now += 31
    for _ in range(MANY_READS - 1):
        send(sandbox, "GET", few)
    assert broken_by(sandbox, "polling") == []
    reads = [send(sandbox, "GET", often) for _ in range(MANY_READS)]
    assert broken_by(sandbox, "polling") == reads[::-1]


def read_pages(sandbox: Sandbox, seconds: Seconds, pages: int, pause: float) -> list[str]:
    """Read a list page by page, a minute after the last time; return the requests' ids."""
    seconds.now += 60
    sent = []
    for page in range(1, pages + 1):
        sent.append(send(sandbox, "GET", f"/products/?page={page}&page_size=2"))
        seconds.now += pause
    return sent


@pytest.fixture
def long_list(sandbox: Sandbox) -> None:
    for number in range(2 * MANY_PAGES + 12):
        sandbox.product(name=f"Mug {number}")


@pytest.mark.usefixtures("long_list")
def test_a_list_of_which_only_the_first_page_is_read_is_found(
    sandbox: Sandbox, seconds: Seconds
) -> None:
    first = send(sandbox, "GET", "/products/")
    assert broken_by(sandbox, "first-page-only") == [first]
    read_pages(sandbox, seconds, MANY_PAGES - 1, 0.1)
    assert broken_by(sandbox, "first-page-only") == []


@pytest.mark.usefixtures("long_list")
def test_many_small_pages_are_found(sandbox: Sandbox, seconds: Seconds) -> None:
    """A few pages are no matter, and a person who pages through a list is no program."""
    read_pages(sandbox, seconds, MANY_PAGES - 1, 0.1)
    read_pages(sandbox, seconds, MANY_PAGES + 1, 10)
    assert broken_by(sandbox, "small-pages") == []
    pages = read_pages(sandbox, seconds, MANY_PAGES + 1, 0.1)
    assert broken_by(sandbox, "small-pages") == pages[:0:-1]


def test_a_session_whose_outcome_was_never_checked_is_found(sandbox: Sandbox) -> None:
    """Reads before the payment prove nothing; nor does an inbox, whose webhooks nobody reads. The
    emulator's own session is not the client's.
    """
    inbox = f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}"
    sandbox.endpoint(inbox, "checkout.session.completed")
    sandbox.control.post("/trigger", {"event": "checkout.session.completed"})
    url = "https://shop.example.com/thanks?session=%7BCHECKOUT_SESSION_ID%7D"
    path = f"/checkout-sessions/{sandbox.session(success_url=url)['id']}/"
    assert "completion-unconfirmed" in untried(sandbox)
    (made,) = sandbox.control.pages("/requests", operation="createCheckoutSession")
    assert broken_by(sandbox, "session-id-escaped") == [made["id"]]
    for confirmation in (path, "/checkout-sessions/"):
        sandbox.buy(sandbox.api.get(path) if confirmation == path else sandbox.session())
        sandbox.settle()
        assert len(broken_by(sandbox, "completion-unconfirmed")) == 1
        sandbox.api.get(confirmation)
        assert broken_by(sandbox, "completion-unconfirmed") == []


def test_a_secret_out_of_place_is_found(sandbox: Sandbox, receiver: Receiver) -> None:
    """Not the token in a PDF's address, nor the response that brings an endpoint's secret."""
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    sandbox.api.http.get(sandbox.invoices("pdf_url")[0])
    assert broken_by(sandbox, "secret-exposed") == []
    body = {"metadata": {"secret": "whsec_4fKq9ZsT1mVbX7cR2yLdH8wN"}}
    sent = [
        send(sandbox, "GET", f"/customers/?search={sandbox.key}"),
        send(sandbox, "GET", f"/customers/{sandbox.key}/"),
        send(sandbox, "POST", "/customers/", body),
    ]
    assert broken_by(sandbox, "secret-exposed") == sent[::-1]
    assert sandbox.key not in str(audit(sandbox))


def test_a_secret_key_in_a_browser_is_found(sandbox: Sandbox) -> None:
    """The emulator's own explorer is a page in a browser too."""
    send(sandbox, "GET", "/customers/", Origin=sandbox.url)
    assert broken_by(sandbox, "secret-key-in-browser") == []
    read = send(sandbox, "GET", "/customers/", Origin="https://shop.example.com")
    assert broken_by(sandbox, "secret-key-in-browser") == [read]


def test_a_route_of_the_sandbox_is_found(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    send(sandbox, "GET", "/customers/")
    assert broken_by(sandbox, "beyond-the-specification") == []
    method = send(sandbox, "POST", "/payment-methods/", {"customer": customer["id"], **CARD})
    assert broken_by(sandbox, "beyond-the-specification") == [method]


def delivered(sandbox: Sandbox) -> str:
    """Something happens, and its delivery is on record; the delivery's id."""
    sandbox.customer()
    sandbox.settle()
    return str(sandbox.control.get("/objects", kind="webhook_delivery")["data"][0]["id"])


def test_a_receiver_that_rejects_is_found(sandbox: Sandbox, receiver: Receiver) -> None:
    """Not one that recovers: a 5xx is retried, and a missing receiver gives no response.

    The cause comes before its consequence: who rejects the event of a payment does not learn of it.
    """
    endpoint = sandbox.endpoint(receiver.url, retry_policy={"max_attempts": 2})
    receiver.statuses += [503]
    delivered(sandbox)
    assert broken_by(sandbox, "webhook-not-acknowledged") == []
    sandbox.advance("PT1H")
    receiver.reply = lambda received: Reply(400)
    sandbox.buy(sandbox.session())
    sandbox.settle()
    assert {delivery["status"] for delivery in sandbox.deliveries(endpoint)} == {
        "succeeded",
        "failed",
    }
    receiver.close()
    delivered(sandbox)
    sandbox.advance("P1D")
    assert [finding["rule"] for finding in audit(sandbox)["findings"]] == [
        *("webhook-not-acknowledged", "completion-unconfirmed")
    ]
    rejected = [
        delivery["id"]
        for delivery in sandbox.deliveries(endpoint)
        if delivery["attempts"][0]["status_code"] == 400
    ]
    assert broken_by(sandbox, "webhook-not-acknowledged") == rejected[::-1]


@pytest.mark.parametrize("is_rolled", [True, False])
def test_a_receiver_with_the_old_secret_is_named_so(
    sandbox: Sandbox, receiver: Receiver, is_rolled: bool
) -> None:
    """Before the secret was rolled it accepted, and rejects everything since."""
    endpoint = sandbox.endpoint(receiver.url, retry_policy={"max_attempts": 1})
    delivered(sandbox)
    sandbox.advance("PT1H")
    if is_rolled:
        sandbox.api.post(f"/webhooks/{endpoint['id']}/roll-secret/")
    receiver.reply = lambda received: Reply(401)
    sandbox.subscribe()
    sandbox.settle()
    [finding] = [
        finding
        for finding in audit(sandbox)["findings"]
        if finding["rule"] == "webhook-not-acknowledged"
    ]
    assert ("since the secret was rolled" in finding["title"]) == is_rolled
    assert ("the receiver verifies with the old secret" in finding["advice"]) == is_rolled


def test_an_inbox_is_not_audited(sandbox: Sandbox) -> None:
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}")
    sandbox.inbox_responses("shop", status=404)
    delivered(sandbox)
    judged = {rule.name for rule in every_rule()} - untried(sandbox)
    assert [rule for rule in judged if "webhook" in rule] == []


def test_a_receiver_that_takes_too_long_is_found(impatient: Sandbox, receiver: Receiver) -> None:
    impatient.endpoint(receiver.url, "customer.created")
    receiver.reply = lambda received: Reply(held=True)
    delivery = delivered(impatient)
    assert broken_by(impatient, "slow-webhook-response") == [delivery]


TAMPER: dict[str, Any] = {"then": {"tamper": True}}


@pytest.mark.breaks_the_document
def test_a_forged_webhook_must_be_rejected(sandbox: Sandbox, receiver: Receiver) -> None:
    """To reject it is right, and no lack of acknowledgement."""
    sandbox.endpoint(receiver.url, "customer.created")
    for status in (400, 200):
        sandbox.control.post("/faults", TAMPER)
        receiver.statuses += [status]
        delivery = delivered(sandbox)
        delivered(sandbox)
        assert broken_by(sandbox, "forged-webhook-believed") == [delivery] * (status == 200)
        assert broken_by(sandbox, "webhook-not-acknowledged") == []


def test_how_an_endpoint_is_registered(sandbox: Sandbox, receiver: Receiver) -> None:
    """A development machine's endpoints are fine there; on the live side loopback is no excuse."""
    rules = ("webhook-basic", "webhook-without-tls", "webhook-certificate-unchecked")
    basic, plain, unchecked = rules
    shop = "https://shop.example.com/hook"
    endpoint = sandbox.endpoint(receiver.url)["id"]
    for fields, broken in (
        ({"security_profile": "BASIC"}, [basic]),
        ({"security_profile": "JWT", "ssl_verification": False}, []),
        ({"url": shop}, [unchecked]),
        ({"ssl_verification": True}, []),
        ({"url": shop.replace("https", "http")}, [plain]),
        ({"url": receiver.url, "livemode": True}, [plain]),
        ({"ssl_verification": False}, [plain, unchecked]),
    ):
        sandbox.control.patch(f"/objects/{endpoint}", fields)
        assert {rule: broken_by(sandbox, rule) for rule in rules} == {
            rule: [endpoint] if rule in broken else [] for rule in rules
        }, fields
