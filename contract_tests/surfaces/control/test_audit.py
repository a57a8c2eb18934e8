"""The audit of a client: each rule broken and found, and each rule followed, or nearly followed, and not found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import CARD, Sandbox
from emulator.insight.audit.audit import rules as every_rule
from emulator.insight.audit.violations import MANY_PAGES, MANY_READS

UUID = "5f0c6a52-8c3e-4c55-9b8e-0d6f0a4f3b21"


class Seconds:
    """Real time as the journal measures it, which passes when the test says so; a request takes a millisecond."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.each = 0.001

    def perf_counter(self) -> float:
        """In the place of ``time.perf_counter``."""
        self.now += self.each
        return self.now

    def pass_by(self, seconds: float) -> None:
        """So many seconds go by."""
        self.now += seconds


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seconds]:
    """The time that the journal's requests take place in."""
    seconds = Seconds()
    with monkeypatch.context() as patch:
        patch.setattr("emulator.web.root_app.time", seconds)
        yield seconds


def audit(sandbox: Sandbox) -> Any:
    """Return the audit; every rule is in just one of its lists."""
    report = sandbox.control.get("/audit")
    rules = [each["rule"] for part in ("findings", "kept", "untried") for each in report[part]]
    assert sorted(rules) == sorted(rule.name for rule in every_rule())
    return report


def found(sandbox: Sandbox, rule: str) -> Any:
    """What was found by a rule, or None if it was followed; a rule that had nothing to judge fails the test."""
    report = audit(sandbox)
    assert rule not in [each["rule"] for each in report["untried"]], "there was no occasion"
    return next((each for each in report["findings"] if each["rule"] == rule), None)


def send(sandbox: Sandbox, method: str, path: str, body: Any = None, **headers: str) -> str:
    answer = sandbox.api.request(method, path, json=body, headers=headers)
    return str(answer.headers["request-id"])


def failing(code: str) -> dict[str, str]:
    return {"Emulator-Answer": code}


INVOICE = {"line_items": [{"description": "Basket", "unit_amount": 900}]}


# -- the whole


def test_a_finding_names_what_shows_it_the_newest_first(sandbox: Sandbox) -> None:
    transaction = sandbox.deposit()["id"]
    body = {"transaction": transaction, "amount": 100}
    refunds = [send(sandbox, "POST", "/refunds/", body) for _ in range(22)]
    finding = found(sandbox, "refund-without-key")
    assert (finding["count"], finding["requests"], finding["object_ids"]) == (22, refunds[:1:-1], [])
    assert (finding["severity"], finding["section"]) == ("warning", "Refunds")
    assert "Idempotency-Key" in finding["advice"]
    entries = list(sandbox.control.pages("/requests", page_size=100))
    assert audit(sandbox)["request_count"] == sum(each["path"].startswith("/v1/") for each in entries)


def test_the_gravest_comes_first_and_looking_changes_nothing(sandbox: Sandbox) -> None:
    sandbox.customer(metadata={"key": "sk_test_whoever"})
    sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]})
    report = audit(sandbox)
    assert [each["severity"] for each in report["findings"]] == ["error", "warning", "info"]
    assert audit(sandbox) == report


def test_a_careful_client_has_a_clean_audit(sandbox: Sandbox, receiver: Receiver, seconds: Seconds) -> None:
    """It retries as it should, with one key; it gets events and does not poll; the rules are reported as followed."""
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    sandbox.advance("P1M")
    transaction = sandbox.api.get("/transactions/", page_size=100)["data"][0]["id"]
    for code, pause in (("INTERNAL_ERROR", 1), ("UPSTREAM_ERROR", 2), ("RATE_LIMIT_EXCEEDED", 1)):
        headers = {"Idempotency-Key": UUID, **failing(code)}
        send(sandbox, "POST", "/refunds/", {"transaction": transaction}, **headers)
        seconds.pass_by(pause)
    sandbox.api.post("/refunds/", {"transaction": transaction}, **{"Idempotency-Key": UUID})
    session = sandbox.session(success_url="https://shop.example.com/thanks?session={CHECKOUT_SESSION_ID}")
    sandbox.buy(session)
    sandbox.settle()
    # The receiver acknowledged the event; what it made of it cannot be seen.
    assert "completion-unconfirmed" in [each["rule"] for each in audit(sandbox)["untried"]]
    sandbox.api.get(f"/checkout-sessions/{session['id']}/")
    report = audit(sandbox)
    assert report["findings"] == []
    assert {each["rule"] for each in report["kept"]} >= {
        *("ignored-retry-after", "unsafe-retry", "idempotency-key-reused", "retried-too-soon"),
        *("retried-too-often", "refund-without-key", "completion-unconfirmed", "session-id-escaped"),
        *("slow-webhook-answer", "webhook-not-acknowledged", "webhook-basic"),
    }


# -- rejected requests and limits


@pytest.mark.parametrize("fields", [{}, {"name": "Awa"}], ids=["invalid", "conflict"])
def test_a_rejected_request_that_is_sent_again_is_found(sandbox: Sandbox, fields: dict[str, str]) -> None:
    sandbox.customer(email="awa@example.com")
    first, *again = [send(sandbox, "POST", "/customers/", {"email": "awa@example.com", **fields}) for _ in range(3)]
    assert found(sandbox, "retried-refusal")["requests"] == again[::-1]
    assert first not in again


def test_what_is_no_retry_of_a_rejected_request(sandbox: Sandbox, seconds: Seconds) -> None:
    """What has changed since may be asked for again; what was rejected unread may have been another request."""
    subscription = sandbox.subscribe()["id"]
    for action in ("resume", "pause", "pause", "resume", "resume"):
        sandbox.api.request("POST", f"/subscriptions/{subscription}/{action}/")
    assert found(sandbox, "retried-refusal") is None, "something has changed since"
    for _ in range(3):
        sandbox.api.rejected("GET", "/refunds/refd_nobody/", 404, "REFUND_NOT_FOUND")
        sandbox.advance("1h")
    assert found(sandbox, "retried-refusal") is None, "the tester moved the clock, on which it may hang"
    for body in ({"name": "Awa"}, {"email": "awa@example.com"}, {"email": "awa@example.com", "name": "Awa"}):
        sandbox.api.request("POST", "/customers/", json=body)
    assert found(sandbox, "retried-refusal") is None, "it was fixed"
    for _ in range(2):
        send(sandbox, "GET", "/customers/cust_nobody/")
        seconds.pass_by(120)
    assert found(sandbox, "retried-refusal") is None, "it comes long after"
    sandbox.api.post("/security-profiles/", {"name": "Nobody", "allowed_ips": ["203.0.113.7"]})
    for email in ("ada@example.com", "ida@example.com"):
        sandbox.api.rejected("POST", "/customers/", 403, "PERMISSION_DENIED", json={"email": email, "name": "A"})
    assert found(sandbox, "retried-refusal") is None, "two bodies that were not read are as long"


def test_a_request_that_was_under_way_already_is_no_retry(sandbox: Sandbox, seconds: Seconds) -> None:
    """Two at once, both rejected: the second one knew nothing of the first one's answer."""
    entries = [send(sandbox, "GET", "/customers/", **failing("TOO_MANY_REQUESTS")) for _ in range(2)]
    assert len(set(entries)) == 2
    assert found(sandbox, "ignored-retry-after") is not None
    seconds.now -= 0.0025  # the next one begins before the last one was answered
    send(sandbox, "GET", "/products/", **failing("TOO_MANY_REQUESTS"))
    seconds.now -= 0.0025
    send(sandbox, "GET", "/products/", **failing("TOO_MANY_REQUESTS"))
    assert len(found(sandbox, "ignored-retry-after")["requests"]) == 1


# -- failures


FORCED = {"E": "INTERNAL_ERROR", "D": "DATABASE_ERROR", "L": "RATE_LIMIT_EXCEEDED", "T": "TOO_MANY_REQUESTS"}


@pytest.mark.parametrize(
    ("rule", "script", "count"),
    [
        # A forced 429 asks for a second.
        *(("ignored-retry-after", f"L {pause} ok", count) for pause, count in ((0, 1), (0.8, 1), (1, 0), (5, 0))),
        # What is read at once may be the read of another webhook, if it is read once more after the pause.
        *((rule, f"{code} ok", 1) for rule, code in (("retried-too-soon", "E"), ("ignored-retry-after", "T"))),
        *((rule, f"{code} ok 1 ok", 0) for rule, code in (("retried-too-soon", "E"), ("ignored-retry-after", "T"))),
        # Some chance in the pauses is good practice; none of them, or always the same, is not.
        *(("retried-too-soon", script, 0) for script in ("E 1 E 2 E 4 E", "E 0.6 E 1.1 E 2.1 E", "E 1 E")),
        ("retried-too-soon", "E 0.1 E 0.1 E 0.1 E", 3),
        ("retried-too-soon", "E 1 E 1 E 1 E", 1),
        ("retried-too-soon", "E 0.01 E", 1),
        ("retried-too-soon", "D 1 D 2 D 4 D 8 D 16 D", 0),
        ("retried-too-often", "E 0.1 E 0.1 E 0.1 E", 0),
        ("retried-too-often", "D 1 D 2 D 4 D 8 D 16 D", 2),
        # After a success the same request is no retry.
        *((rule, "E 1 ok 0.1 " * 4, 0) for rule in ("retried-too-soon", "retried-too-often")),
    ],
)
def test_when_a_failure_is_tried_again(sandbox: Sandbox, seconds: Seconds, rule: str, script: str, count: int) -> None:
    sent = []
    for word in script.split():
        if word[0].isdigit():
            seconds.pass_by(float(word))
        else:
            sent.append(send(sandbox, "GET", "/customers/", **(failing(FORCED[word]) if word in FORCED else {})))
    finding = found(sandbox, rule)
    assert (finding["count"] if finding else 0) == count
    if finding and rule != "retried-too-soon":
        assert finding["requests"] == sent[::-1][:count]


def test_a_buyer_who_comes_back_an_hour_later_is_no_retry(sandbox: Sandbox, seconds: Seconds) -> None:
    """B-100: pauses in the world's time count as pauses. The client gave up after its third retry, and so it does again."""
    for _attempt in range(2):
        for pause in (1, 2, 4, 0.1):
            send(sandbox, "GET", "/customers/", **failing("DATABASE_ERROR"))
            seconds.pass_by(pause)
        sandbox.advance("1h")
    assert found(sandbox, "retried-too-often") is None


@pytest.mark.parametrize(("passed", "agent"), [(40, "shop/1.0"), (30, "shop/1.0"), (40, "payments-emulator")])
def test_a_client_that_waits_longer_than_half_a_minute_has_no_time_limit(
    sandbox: Sandbox, seconds: Seconds, passed: float, agent: str
) -> None:
    """One of thirty seconds is a limit; the helpers for tests wait as long as an advance takes."""
    seconds.each = passed
    sent = send(sandbox, "GET", "/customers/", **{"User-Agent": agent})
    finding = found(sandbox, "no-time-limit")
    assert (finding and finding["requests"]) == ([sent] if (passed, agent) == (40, "shop/1.0") else None)


# -- keys


@pytest.mark.parametrize(
    ("first", "second", "is_found"), [(None, None, True), ("a", "b", True), ("a", None, True), ("a", "a", False)]
)
def test_a_retry_keeps_its_key(
    sandbox: Sandbox, seconds: Seconds, first: str | None, second: str | None, is_found: bool
) -> None:
    """A key for two things is found; an arranged fault, for which no header is sent, counts like any other."""
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    keys = [{"Idempotency-Key": key * 20} if key else {} for key in (first, second)]
    sandbox.control.post("/faults", {"match": {"method": "POST"}, "then": {"code": "UPSTREAM_ERROR"}})
    failed = send(sandbox, "POST", "/invoices/", body, **keys[0])
    assert sandbox.control.get(f"/requests/{failed}")["request_body"] == body
    again = send(sandbox, "POST", "/invoices/", body, **keys[1])
    seconds.pass_by(60)
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Another"}, **failing("INTERNAL_ERROR"))
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Several"})  # as long, and not the same
    for rule, expected in (("unsafe-retry", is_found), ("retried-too-soon", True)):
        finding = found(sandbox, rule)
        assert (finding and finding["requests"]) == ([again] if expected else None)
    if second:
        other = send(sandbox, "POST", "/invoices/", {**body, "footer": "Thanks"}, **keys[1])
        assert found(sandbox, "idempotency-key-reused")["requests"] == [other]


def test_a_limit_of_the_app_is_waited_for(sandbox: Sandbox, seconds: Seconds) -> None:
    """They come before anything of a body is read."""
    sandbox.settings(rate_limit={"per_second": 1 / 3600, "burst": 1})
    sent = []
    for _ in range(3):
        sent.append(send(sandbox, "POST", "/products/", {"name": "Mug"}))
        seconds.pass_by(600)
    assert [sandbox.control.get(f"/requests/{id}")["status"] for id in sent] == [422, 429, 429]
    assert found(sandbox, "ignored-retry-after")["requests"] == [sent[2]]


def test_alike_things_that_are_made_on_purpose_are_no_retries(sandbox: Sandbox) -> None:
    """Nor is the remedy for a key that was used twice, a new key."""
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    for _ in range(3):
        send(sandbox, "POST", "/invoices/", body)
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Thanks"}, **failing("INTERNAL_ERROR"))
    assert found(sandbox, "unsafe-retry") is None
    send(sandbox, "POST", "/invoices/", body, **{"Idempotency-Key": UUID})
    for key in (UUID, UUID[::-1]):
        send(sandbox, "POST", "/invoices/", {**body, "footer": "Bye"}, **{"Idempotency-Key": key})
    assert found(sandbox, "unsafe-retry") is None


# -- reading


def test_polling_is_found(sandbox: Sandbox, seconds: Seconds) -> None:
    session = sandbox.session()["id"]
    reads = []
    for _ in range(MANY_READS):
        reads.append(send(sandbox, "GET", f"/checkout-sessions/{session}/"))
        seconds.pass_by(2)
    assert found(sandbox, "polling")["requests"] == reads[::-1]


def test_reads_that_wait_for_nothing_are_no_polling(sandbox: Sandbox, seconds: Seconds) -> None:
    """A few, or of something that is over, or far apart."""
    session, other, paid = sandbox.session()["id"], sandbox.session()["id"], sandbox.pay()["id"]
    for _ in range(MANY_READS - 1):
        send(sandbox, "GET", f"/checkout-sessions/{session}/")
    for _ in range(MANY_READS + 2):
        send(sandbox, "GET", f"/payment-intents/{paid}/")
        send(sandbox, "GET", f"/checkout-sessions/{other}/")
        seconds.pass_by(31)
    assert found(sandbox, "polling") is None


@pytest.fixture
def long_list(sandbox: Sandbox) -> None:
    """A list of some pages."""
    for number in range(2 * MANY_PAGES + 2):
        sandbox.api.post("/products/", {"name": f"Mug {number}", "unit_amount": 900, "currency": "XAF"})


@pytest.mark.usefixtures("long_list")
def test_a_list_that_was_longer_than_what_was_read_is_found(sandbox: Sandbox) -> None:
    """Who names the size of a page knows of the others, and a few pages are no matter."""
    for number in range(10):
        sandbox.api.post("/products/", {"name": f"Cup {number}", "unit_amount": 900, "currency": "XAF"})
    sandbox.api.get("/subscription-plans/", page_size=1)
    read = send(sandbox, "GET", "/products/")
    assert found(sandbox, "first-page-only")["requests"] == [read]
    for page in range(1, MANY_PAGES):
        sandbox.api.get("/products/", page=page, page_size=2)
    assert found(sandbox, "first-page-only") is None
    assert found(sandbox, "small-pages") is None


@pytest.mark.usefixtures("long_list")
@pytest.mark.parametrize(("pause", "is_found"), [(0.1, True), (10, False)])
def test_a_whole_list_is_read_by_large_pages(sandbox: Sandbox, seconds: Seconds, pause: float, is_found: bool) -> None:
    """A person who pages through a list is no program."""
    pages = []
    for page in range(1, MANY_PAGES + 2):
        pages.append(send(sandbox, "GET", f"/products/?page={page}&page_size=2"))
        seconds.pass_by(pause)
    finding = found(sandbox, "small-pages")
    assert (finding and finding["requests"]) == (pages[:0:-1] if is_found else None)


def test_a_session_whose_outcome_was_never_checked_is_found(sandbox: Sandbox) -> None:
    """It was read before it was paid, which proves nothing; one that the emulator made is not the client's."""
    sandbox.control.post("/trigger", {"event": "checkout.session.completed"})
    session = sandbox.session()
    assert "completion-unconfirmed" in [each["rule"] for each in audit(sandbox)["untried"]]
    sandbox.api.get(f"/checkout-sessions/{session['id']}/")
    sandbox.buy(session)
    (made,) = sandbox.control.pages("/requests", operation="createCheckoutSession")
    for path in (f"/checkout-sessions/{session['id']}/", "/checkout-sessions/"):
        assert found(sandbox, "completion-unconfirmed")["requests"] == [made["id"]]
        sandbox.api.get(path)
        assert found(sandbox, "completion-unconfirmed") is None
        sandbox.buy(sandbox.session())
        made = sandbox.control.get("/requests", operation="createCheckoutSession")["data"][0]


def test_a_placeholder_that_nobody_replaces_is_found(sandbox: Sandbox) -> None:
    sandbox.session(success_url="https://shop.example.com/thanks?session=%7BCHECKOUT_SESSION_ID%7D")
    (made,) = sandbox.control.pages("/requests", operation="createCheckoutSession")
    assert found(sandbox, "session-id-escaped")["requests"] == [made["id"]]


def test_a_cause_is_named_before_its_consequence(sandbox: Sandbox, receiver: Receiver) -> None:
    """Who rejects the event of a payment does not learn of it."""
    sandbox.endpoint(receiver.url, "checkout.session.completed")
    receiver.statuses += [400]
    sandbox.buy(sandbox.session())
    sandbox.settle()
    assert [each["rule"] for each in audit(sandbox)["findings"]] == [
        "webhook-not-acknowledged",
        "completion-unconfirmed",
    ]


# -- secrets


@pytest.mark.parametrize("where", ["query", "path", "body"])
def test_a_secret_out_of_place_is_found(sandbox: Sandbox, where: str) -> None:
    query = {"search": sandbox.key} if where == "query" else None
    path = f"/customers/{sandbox.key}/" if where == "path" else "/customers/"
    body = {"metadata": {"secret": "whsec_4fKq9ZsT1mVbX7cR2yLdH8wN"}} if where == "body" else None
    answer = sandbox.api.request("POST" if body else "GET", path, params=query, json=body)
    assert found(sandbox, "secret-exposed")["requests"] == [answer.headers["request-id"]]
    assert sandbox.key not in str(audit(sandbox))


def test_a_secret_where_it_belongs_is_not_found(sandbox: Sandbox, receiver: Receiver) -> None:
    """Nor the token in the address of a PDF, nor the answer that brings an endpoint's secret."""
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    (pdf,) = sandbox.invoices("pdf_url")
    sandbox.api.http.get(pdf)
    assert found(sandbox, "secret-exposed") is None


def test_a_secret_key_in_a_browser_is_found(sandbox: Sandbox) -> None:
    """The emulator's own explorer is a page in a browser too."""
    send(sandbox, "GET", "/customers/", Origin=sandbox.url)
    assert found(sandbox, "secret-key-in-browser") is None
    read = send(sandbox, "GET", "/customers/", Origin="https://shop.example.com")
    assert found(sandbox, "secret-key-in-browser")["requests"] == [read]


def test_what_only_the_sandbox_has_is_named(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    assert found(sandbox, "beyond-the-specification") is None
    method = send(sandbox, "POST", "/payment-methods/", {"customer": customer["id"], **CARD})
    assert found(sandbox, "beyond-the-specification")["requests"] == [method]


# -- webhooks


def delivered(sandbox: Sandbox) -> str:
    """Something happens, and its delivery is on record; the delivery's id."""
    sandbox.customer()
    sandbox.settle()
    return str(sandbox.control.get("/objects", kind="webhook_delivery")["data"][0]["id"])


def test_a_receiver_that_rejects_is_found(sandbox: Sandbox, receiver: Receiver) -> None:
    """Not one that recovers: a 5xx is tried again, and a receiver that is gone is no answer."""
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses += [503, 400, 200]
    delivered(sandbox)
    assert found(sandbox, "webhook-not-acknowledged") is None
    rejected = delivered(sandbox)
    delivered(sandbox)
    sandbox.advance("PT1H")
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", {"retry_policy": {"max_attempts": 1}})
    receiver.close()
    delivered(sandbox)
    sandbox.advance("PT1H")
    assert sandbox.control.get("/objects", kind="webhook_delivery")["data"][0]["status"] == "failed"
    finding = found(sandbox, "webhook-not-acknowledged")
    assert (finding["requests"], finding["object_ids"]) == ([], [rejected])


def test_the_emulators_own_receiver_is_never_blamed(sandbox: Sandbox) -> None:
    inbox = f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}"
    sandbox.endpoint(inbox, security_profile="BASIC")
    sandbox.inbox_answers("shop", status=400)
    delivered(sandbox)
    names = {each["rule"] for each in audit(sandbox)["untried"]}
    assert names >= {"webhook-not-acknowledged", "slow-webhook-answer", "webhook-basic"}


def test_a_receiver_that_takes_too_long_is_found(impatient: Sandbox, receiver: Receiver) -> None:
    impatient.endpoint(receiver.url, "customer.created")
    assert found(impatient, "webhook-basic") is None
    receiver.reply = lambda received: Reply(held=True)
    delivery = delivered(impatient)
    assert found(impatient, "slow-webhook-answer")["object_ids"] == [delivery]


@pytest.fixture
def deceived() -> Iterator[Receiver]:
    """A receiver of payloads that the document does not allow."""
    receiver = Receiver()
    yield receiver
    receiver.close()


TAMPER: dict[str, Any] = {"then": {"tamper": True}}


@pytest.mark.parametrize(("status", "is_found"), [(200, True), (400, False)])
def test_a_forged_webhook_must_be_rejected(sandbox: Sandbox, deceived: Receiver, status: int, is_found: bool) -> None:
    """To reject it is right, and no lack of acknowledgement."""
    sandbox.endpoint(deceived.url, "customer.created")
    sandbox.control.post("/faults", TAMPER)
    deceived.statuses += [status]
    delivery = delivered(sandbox)
    delivered(sandbox)
    finding = found(sandbox, "forged-webhook-believed")
    assert (finding and finding["object_ids"]) == ([delivery] if is_found else None)
    assert found(sandbox, "webhook-not-acknowledged") is None


def test_of_two_endpoints_it_is_unknown_which_was_deceived(sandbox: Sandbox, deceived: Receiver) -> None:
    """Unless the fault says so. One that is gone may have been the one; a fault that was cleared has forged nothing."""

    def untried() -> bool:
        delivered(sandbox)
        return "forged-webhook-believed" in [each["rule"] for each in audit(sandbox)["untried"]]

    one, other = (sandbox.endpoint(deceived.url, "customer.created")["id"] for _ in range(2))
    sandbox.control.post("/faults", TAMPER)
    sandbox.control.delete("/faults")
    assert untried()
    sandbox.control.post("/faults", TAMPER)
    assert untried()
    sandbox.api.delete(f"/webhooks/{one}/")
    assert untried()
    sandbox.control.post("/faults", {"match": {"webhook": other}, **TAMPER})
    delivered(sandbox)
    (delivery,) = found(sandbox, "forged-webhook-believed")["object_ids"]
    assert sandbox.control.get(f"/objects/{delivery}")["webhook"] == other


@pytest.mark.parametrize(
    ("rule", "fault", "is_found"),
    [
        ("webhook-basic", {"security_profile": "BASIC"}, True),
        ("webhook-basic", {"security_profile": "JWT"}, False),
        ("webhook-certificate-unchecked", {"ssl_verification": False}, False),
        ("webhook-certificate-unchecked", {"url": "https://shop.example.com/", "ssl_verification": False}, True),
        ("webhook-certificate-unchecked", {"url": "https://shop.example.com/"}, False),
        ("webhook-without-tls", {}, False),
        ("webhook-without-tls", {"url": "http://shop.example.com/hook"}, True),
        ("webhook-without-tls", {"url": "https://shop.example.com/hook"}, False),
        # On the live side loopback is no excuse.
        *(
            (rule, {"livemode": True, "ssl_verification": False}, True)
            for rule in ("webhook-without-tls", "webhook-certificate-unchecked")
        ),
    ],
    ids=str,
)
def test_how_an_endpoint_is_registered(
    sandbox: Sandbox, receiver: Receiver, rule: str, fault: dict[str, Any], is_found: bool
) -> None:
    """What is meant for a machine on which a receiver is developed is fine there."""
    endpoint = sandbox.endpoint(receiver.url)["id"]
    sandbox.control.patch(f"/objects/{endpoint}", fault) if fault else None
    finding = found(sandbox, rule)
    assert (finding and finding["object_ids"]) == ([endpoint] if is_found else None)


# -- the rules themselves


def test_every_rule_has_a_name_of_its_own_and_the_gravest_come_first(sandbox: Sandbox) -> None:
    report = audit(sandbox)
    assert (report["request_count"], report["findings"], report["kept"]) == (0, [], [])
    assert len({rule.name for rule in every_rule()}) == len(every_rule()) >= 15
    grave = [("error", "warning", "info").index(rule.severity) for rule in every_rule()]
    assert grave == sorted(grave)
