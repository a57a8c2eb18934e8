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

    def perf_counter(self) -> float:
        """In the place of ``time.perf_counter``."""
        self.now += 0.001
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
    """Return the id of a request, however it was answered."""
    answer = sandbox.api.request(method, path, json=body, headers=headers)
    return str(answer.headers["request-id"])


def failing(code: str) -> dict[str, str]:
    """Return the header that has a request answered so."""
    return {"Emulator-Answer": code}


INVOICE = {"line_items": [{"description": "Basket", "unit_amount": 900}]}


# -- the whole


def test_a_world_without_requests_has_nothing_to_find(sandbox: Sandbox) -> None:
    report = audit(sandbox)
    assert (report["request_count"], report["findings"], report["kept"]) == (0, [], [])


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
    session = sandbox.session()
    sandbox.buy(session)
    sandbox.settle()
    report = audit(sandbox)
    assert report["findings"] == []
    assert {each["rule"] for each in report["kept"]} >= {
        *("ignored-retry-after", "unsafe-retry", "idempotency-key-reused", "retried-too-soon"),
        *("retried-too-often", "refund-without-key", "completion-unconfirmed"),
        *("slow-webhook-answer", "webhook-not-acknowledged", "webhook-basic"),
    }


# -- rejected requests and limits


@pytest.mark.parametrize("fields", [{}, {"name": "Awa"}], ids=["invalid", "conflict"])
def test_a_rejected_request_that_is_sent_again_is_found(sandbox: Sandbox, fields: dict[str, str]) -> None:
    sandbox.customer(email="awa@example.com")
    first, *again = [send(sandbox, "POST", "/customers/", {"email": "awa@example.com", **fields}) for _ in range(3)]
    assert found(sandbox, "retried-refusal")["requests"] == again[::-1]
    assert first not in again


def test_a_retry_is_not_reported_where_something_has_changed_since(sandbox: Sandbox) -> None:
    """A subscription is paused, resumed and paused: what was rejected may be asked for again."""
    subscription = sandbox.subscribe()["id"]
    pause, resume = f"/subscriptions/{subscription}/pause/", f"/subscriptions/{subscription}/resume/"
    for path in (resume, pause, pause, resume, resume):
        sandbox.api.request("POST", path)
    assert found(sandbox, "retried-refusal") is None


def test_a_retry_is_not_reported_where_the_tester_did_something_in_between(sandbox: Sandbox) -> None:
    """He moves the clock, on which it may hang, even if no job was due."""
    for _ in range(3):
        sandbox.api.rejected("GET", "/refunds/refd_nobody/", 404, "REFUND_NOT_FOUND")
        sandbox.advance("1h")
    assert found(sandbox, "retried-refusal") is None


def test_what_was_rejected_before_it_was_read_may_have_been_another_request(sandbox: Sandbox) -> None:
    """A profile rejects every request: that two bodies are as long does not make them one."""
    sandbox.api.post("/security-profiles/", {"name": "Nobody", "allowed_ips": ["203.0.113.7"]})
    for email in ("ada@example.com", "awa@example.com"):
        sandbox.api.rejected("POST", "/customers/", 403, "PERMISSION_DENIED", json={"email": email, "name": "A"})
    assert found(sandbox, "retried-refusal") is None


def test_a_retry_is_not_reported_where_the_request_was_fixed(sandbox: Sandbox) -> None:
    for body in ({"name": "Awa"}, {"email": "awa@example.com"}, {"email": "awa@example.com", "name": "Awa"}):
        sandbox.api.request("POST", "/customers/", json=body)
    assert found(sandbox, "retried-refusal") is None


def test_a_rejected_request_long_after_is_no_retry(sandbox: Sandbox, seconds: Seconds) -> None:
    for _ in range(2):
        send(sandbox, "GET", "/customers/cust_nobody/")
        seconds.pass_by(120)
    assert found(sandbox, "retried-refusal") is None


def test_an_arranged_fault_counts_like_any_other(sandbox: Sandbox, seconds: Seconds) -> None:
    """The application sends no header for it; the journal knows what it asked for all the same."""
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    sandbox.control.post("/faults", {"match": {"method": "POST"}, "then": {"code": "UPSTREAM_ERROR"}})
    failed = send(sandbox, "POST", "/invoices/", body)
    assert sandbox.control.get(f"/requests/{failed}")["request_body"] == body
    again = send(sandbox, "POST", "/invoices/", body)
    for rule in ("unsafe-retry", "retried-too-soon"):
        assert found(sandbox, rule)["requests"] == [again]
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Another"}, **failing("INTERNAL_ERROR"))
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Several"})
    assert found(sandbox, "unsafe-retry")["requests"] == [again], "as long, and not the same"


def test_a_limit_of_the_app_is_waited_for(sandbox: Sandbox, seconds: Seconds) -> None:
    """They come before anything of a body is read."""
    customer = sandbox.customer()["id"]
    sandbox.settings(rate_limit={"per_second": 1 / 3600, "burst": 1})
    sent = []
    for _ in range(3):
        sent.append(send(sandbox, "POST", "/invoices/", {"customer": customer, **INVOICE}))
        seconds.pass_by(600)
    assert [sandbox.control.get(f"/requests/{id}")["status"] for id in sent[1:]] == [429, 429]
    assert found(sandbox, "ignored-retry-after")["requests"] == [sent[2]]


@pytest.mark.parametrize(("waited", "is_found"), [(0.0, True), (0.8, True), (1.0, False), (5.0, False)])
def test_a_limit_is_waited_for(sandbox: Sandbox, seconds: Seconds, waited: float, is_found: bool) -> None:
    """A forced 429 asks for a second."""
    send(sandbox, "GET", "/customers/", **failing("RATE_LIMIT_EXCEEDED"))
    seconds.pass_by(waited)
    again = send(sandbox, "GET", "/customers/")
    finding = found(sandbox, "ignored-retry-after")
    assert (finding and finding["requests"]) == ([again] if is_found else None)


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


@pytest.mark.parametrize(
    ("pauses", "hasty"),
    [((1, 2, 4), 0), ((0.6, 1.1, 2.1), 0), ((0.1, 0.1, 0.1), 3), ((1, 1, 1), 1), ((1,), 0), ((0.01,), 1)],
    ids=str,
)
def test_failures_are_tried_again_with_growing_pauses(
    sandbox: Sandbox, seconds: Seconds, pauses: tuple[float, ...], hasty: int
) -> None:
    """Some chance in the pauses is good practice; none of them, or always the same, is not."""
    send(sandbox, "GET", "/customers/", **failing("INTERNAL_ERROR"))
    for pause in pauses:
        seconds.pass_by(pause)
        send(sandbox, "GET", "/customers/", **failing("INTERNAL_ERROR"))
    finding = found(sandbox, "retried-too-soon")
    assert (finding["count"] if finding else 0) == hasty
    assert found(sandbox, "retried-too-often") is None


@pytest.mark.parametrize(
    ("code", "rule"), [("INTERNAL_ERROR", "retried-too-soon"), ("TOO_MANY_REQUESTS", "ignored-retry-after")]
)
@pytest.mark.parametrize("waits", [True, False])
def test_the_same_read_of_another_webhook_is_no_retry(
    sandbox: Sandbox, seconds: Seconds, code: str, rule: str, waits: bool
) -> None:
    send(sandbox, "GET", "/customers/", **failing(code))
    send(sandbox, "GET", "/customers/")
    if waits:
        seconds.pass_by(1)
        send(sandbox, "GET", "/customers/")
    assert (found(sandbox, rule) is None) == waits


def test_giving_up_comes_after_the_third_retry(sandbox: Sandbox, seconds: Seconds) -> None:
    sent = []
    for pause in (1, 2, 4, 8, 16, 32):
        sent.append(send(sandbox, "GET", "/customers/", **failing("DATABASE_ERROR")))
        seconds.pass_by(pause)
    assert found(sandbox, "retried-too-often")["requests"] == sent[:3:-1]
    assert found(sandbox, "retried-too-soon") is None


def test_after_a_success_the_same_request_is_no_retry(sandbox: Sandbox, seconds: Seconds) -> None:
    for _ in range(4):
        send(sandbox, "GET", "/customers/", **failing("INTERNAL_ERROR"))
        seconds.pass_by(1)
        send(sandbox, "GET", "/customers/")
        seconds.pass_by(0.1)
    assert found(sandbox, "retried-too-soon") is None
    assert found(sandbox, "retried-too-often") is None


# -- keys


@pytest.mark.parametrize(
    ("first", "second", "is_found"), [(None, None, True), ("a", "b", True), ("a", None, True), ("a", "a", False)]
)
def test_a_retry_keeps_its_key(
    sandbox: Sandbox, seconds: Seconds, first: str | None, second: str | None, is_found: bool
) -> None:
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    keys = [{"Idempotency-Key": key * 20} if key else {} for key in (first, second)]
    send(sandbox, "POST", "/invoices/", body, **failing("INTERNAL_ERROR"), **keys[0])
    seconds.pass_by(1)
    again = send(sandbox, "POST", "/invoices/", body, **keys[1])
    finding = found(sandbox, "unsafe-retry")
    assert (finding and finding["requests"]) == ([again] if is_found else None)


def test_alike_things_that_are_made_on_purpose_are_no_retries(sandbox: Sandbox, seconds: Seconds) -> None:
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    for _ in range(3):
        send(sandbox, "POST", "/invoices/", body)
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Thanks"}, **failing("INTERNAL_ERROR"))
    assert found(sandbox, "unsafe-retry") is None


def test_a_key_for_two_things_is_found(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    key = {"Idempotency-Key": UUID}
    send(sandbox, "POST", "/invoices/", {"customer": customer, **INVOICE}, **key)
    other = send(sandbox, "POST", "/invoices/", {"customer": customer, **INVOICE, "footer": "Thanks"}, **key)
    assert found(sandbox, "idempotency-key-reused")["requests"] == [other]


def test_a_new_key_after_one_was_used_twice_is_the_remedy(sandbox: Sandbox) -> None:
    body = {"customer": sandbox.customer()["id"], **INVOICE}
    send(sandbox, "POST", "/invoices/", body, **{"Idempotency-Key": UUID})
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Thanks"}, **{"Idempotency-Key": UUID})
    send(sandbox, "POST", "/invoices/", {**body, "footer": "Thanks"}, **{"Idempotency-Key": UUID[::-1]})
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
    for number in range(10):
        sandbox.api.post("/products/", {"name": f"Cup {number}", "unit_amount": 900, "currency": "XAF"})
    read = send(sandbox, "GET", "/products/")
    assert found(sandbox, "first-page-only")["requests"] == [read]
    sandbox.api.get("/products/", page=2)
    assert found(sandbox, "first-page-only") is None


@pytest.mark.usefixtures("long_list")
def test_who_names_the_size_of_a_page_knows_of_the_others(sandbox: Sandbox) -> None:
    sandbox.api.get("/products/", page_size=3)
    assert found(sandbox, "first-page-only") is None


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


@pytest.mark.usefixtures("long_list")
def test_a_few_pages_are_no_matter(sandbox: Sandbox) -> None:
    for page in range(1, MANY_PAGES):
        sandbox.api.get("/products/", page=page, page_size=2)
    assert found(sandbox, "small-pages") is None


def test_a_session_whose_outcome_was_never_checked_is_found(sandbox: Sandbox) -> None:
    """It was read before it was paid, which proves nothing."""
    session = sandbox.session()
    sandbox.api.get(f"/checkout-sessions/{session['id']}/")
    sandbox.buy(session)
    (made,) = sandbox.control.pages("/requests", operation="createCheckoutSession")
    assert found(sandbox, "completion-unconfirmed")["requests"] == [made["id"]]
    sandbox.api.get(f"/checkout-sessions/{session['id']}/")
    assert found(sandbox, "completion-unconfirmed") is None


def test_a_session_may_be_found_complete_in_a_list(sandbox: Sandbox) -> None:
    sandbox.buy(sandbox.session())
    sandbox.api.get("/checkout-sessions/")
    assert found(sandbox, "completion-unconfirmed") is None


def test_a_session_the_emulator_made_is_not_the_client_s(sandbox: Sandbox) -> None:
    sandbox.control.post("/trigger", {"event": "checkout.session.completed"})
    sandbox.session()
    assert "completion-unconfirmed" in [each["rule"] for each in audit(sandbox)["untried"]]


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
    sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses += [400, 200]
    delivery = delivered(sandbox)
    delivered(sandbox)
    finding = found(sandbox, "webhook-not-acknowledged")
    assert (finding["requests"], finding["object_ids"]) == ([], [delivery])


def test_a_receiver_that_recovers_is_not_found(sandbox: Sandbox, receiver: Receiver) -> None:
    """A 5xx is tried again, and a receiver that is gone is no answer."""
    sandbox.endpoint(receiver.url, "customer.created", retry_policy={"max_attempts": 1})
    receiver.statuses += [503]
    delivered(sandbox)
    sandbox.advance("PT1H")
    receiver.close()
    delivered(sandbox)
    sandbox.advance("PT1H")
    assert sandbox.control.get("/objects", kind="webhook_delivery")["data"][0]["status"] == "failed"
    assert found(sandbox, "webhook-not-acknowledged") is None


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


def test_a_fault_that_was_cleared_has_forged_nothing(sandbox: Sandbox, deceived: Receiver) -> None:
    sandbox.endpoint(deceived.url, "customer.created")
    sandbox.control.post("/faults", TAMPER)
    sandbox.control.delete("/faults")
    delivered(sandbox)
    assert "forged-webhook-believed" in [each["rule"] for each in audit(sandbox)["untried"]]


def test_of_two_endpoints_it_is_unknown_which_was_deceived(sandbox: Sandbox, deceived: Receiver) -> None:
    """Unless the fault says so."""
    one, _ = (sandbox.endpoint(deceived.url, "customer.created") for _ in range(2))
    sandbox.control.post("/faults", TAMPER)
    delivered(sandbox)
    assert "forged-webhook-believed" in [each["rule"] for each in audit(sandbox)["untried"]]
    sandbox.control.post("/faults", {"match": {"webhook": one["id"]}, **TAMPER})
    delivered(sandbox)
    (delivery,) = found(sandbox, "forged-webhook-believed")["object_ids"]
    assert sandbox.control.get(f"/objects/{delivery}")["webhook"] == one["id"]


def test_an_endpoint_that_is_gone_may_have_been_the_one(sandbox: Sandbox, deceived: Receiver) -> None:
    one, other = (sandbox.endpoint(deceived.url, "customer.created")["id"] for _ in range(2))
    sandbox.control.post("/faults", TAMPER)
    delivered(sandbox)
    sandbox.api.delete(f"/webhooks/{one}/")
    delivered(sandbox)
    assert sandbox.control.get("/objects", kind="webhook_endpoint")["data"][0]["id"] == other
    assert "forged-webhook-believed" in [each["rule"] for each in audit(sandbox)["untried"]]


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


def test_on_the_live_side_loopback_is_no_excuse(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)["id"]
    sandbox.control.patch(f"/objects/{endpoint}", {"livemode": True, "ssl_verification": False})
    assert found(sandbox, "webhook-without-tls")["object_ids"] == [endpoint]
    assert found(sandbox, "webhook-certificate-unchecked")["object_ids"] == [endpoint]


# -- the rules themselves


def test_every_rule_has_a_name_of_its_own_and_the_gravest_come_first() -> None:
    assert len({rule.name for rule in every_rule()}) == len(every_rule()) >= 15
    order = ["error", "warning", "info"]
    assert [order.index(rule.severity) for rule in every_rule()] == sorted(
        order.index(r.severity) for r in every_rule()
    )


def test_every_rule_is_broken_by_a_test() -> None:
    """Each is named in this module, by the test that provokes it."""
    with open(__file__, encoding="utf-8") as source:
        tests = source.read()
    assert [
        rule.name
        for rule in every_rule()
        if f'found(sandbox, "{rule.name}")' not in tests
        and f'("{rule.name}",' not in tests
        and f'found(impatient, "{rule.name}")' not in tests
    ] == []
