"""Refunds: what may be refunded, when the operator answers, and what follows (Refunds section, B-57)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.support.sandbox import Sandbox
from emulator.core import calendar

IBAN = "FR14 2004 1010 0505 0001 3M02 606"
MOBILE = {"type": "mobile_money", "phone": "+24177123456"}


def refund_of(sandbox: Sandbox, deposit: Any, **fields: Any) -> Any:
    return sandbox.api.post("/refunds/", {"transaction": deposit["id"], **fields})


def rejected(sandbox: Sandbox, deposit: Any, status: int, code: str, **fields: Any) -> Any:
    return sandbox.api.rejected("POST", "/refunds/", status, code, json={"transaction": deposit["id"], **fields})


def answer(sandbox: Sandbox, refund: Any, result: str, **fields: Any) -> Any:
    return sandbox.control.post(f"/refunds/{refund['id']}/answer", {"result": result, **fields})


def test_a_refund_is_processing_and_then_succeeds(sandbox: Sandbox) -> None:
    """States of a refund; the event carries reason and metadata, and the object as GET shows it."""
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer, **MOBILE))
    about = {"reason": "duplicate", "description": "Paid twice", "metadata": {"case": 7}}
    with sandbox.expect():
        refund = refund_of(sandbox, deposit, **about)
    assert refund["status"] == "processing"
    assert (refund["amount"], refund["currency"], refund["payment_method_type"]) == (5000, "XAF", "mobile_money")
    assert {name: refund[name] for name in about} == about
    assert (refund["failure_reason"], refund["refunded_at"]) == (None, None)
    with sandbox.expect("refund.succeeded"):
        sandbox.advance("24h")
    done = sandbox.api.get(f"/refunds/{refund['id']}/")
    assert (done["status"], done["refunded_at"]) == ("succeeded", "2026-01-02T00:00:00.000Z")
    event = sandbox.events()[-1]["data"]["object"]
    assert event == done
    assert (event["reason"], event["metadata"]) == ("duplicate", {"case": 7})


def test_without_more_it_refunds_all_that_is_left(sandbox: Sandbox) -> None:
    deposit = sandbox.deposit()
    refund_of(sandbox, deposit, amount=1500)
    rest = refund_of(sandbox, deposit)
    assert (rest["amount"], rest["reason"], rest["description"], rest["metadata"]) == (3500, None, None, {})


@pytest.mark.parametrize(
    ("method", "due"),
    [
        (MOBILE, "2026-01-02T00:00:00.000Z"),
        ({"type": "bank_card"}, "2026-01-06T00:00:00.000Z"),
        ({"type": "paypal", "email": "awa@example.com"}, "2026-01-01T00:00:00.000Z"),
    ],
    ids=str,
)
def test_the_operator_confirms_at_the_lower_bound_of_its_delay(sandbox: Sandbox, method: Any, due: str) -> None:
    """B-57: 24 h, three business days from Thursday 1 January 2026 (Tuesday), at once; the 201 says ``processing``."""
    refund = refund_of(sandbox, sandbox.deposit(sandbox.method(**method)))
    assert refund["status"] == "processing"
    sandbox.advance("7d")
    assert sandbox.api.get(f"/refunds/{refund['id']}/")["refunded_at"] == due


def test_instant_timing_answers_at_once(sandbox: Sandbox) -> None:
    """⚙ ``refund_timing: instant``; the 201 body says ``processing`` nevertheless."""
    sandbox.settings(refund_timing="instant")
    deposit = sandbox.deposit()
    with sandbox.expect("refund.succeeded"):
        refund = refund_of(sandbox, deposit)
    assert refund["status"] == "processing"
    assert sandbox.api.get(f"/refunds/{refund['id']}/")["status"] == "succeeded"


@given(minutes=st.integers(0, 366 * 24 * 60), count=st.integers(0, 15))
def test_business_days_are_counted_one_by_one(minutes: int, count: int) -> None:
    """B-57: Monday to Friday, UTC, same time of day; from a weekend they count from Monday 00:00."""
    start = day = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    while day.weekday() >= 5:
        day = (day + timedelta(days=1)).replace(hour=0, minute=0)
    for _ in range(count):
        day += timedelta(days=3 if day.weekday() == 4 else 1)
    assert calendar.business_days_after(calendar.stamp(start), count) == calendar.stamp(day)


# -- how much


@pytest.mark.parametrize("amount", [1, 4999, 5000])
def test_a_part_or_all_of_it(sandbox: Sandbox, amount: int) -> None:
    assert refund_of(sandbox, sandbox.deposit(), amount=amount)["amount"] == amount


def test_partial_refunds_accumulate_up_to_the_amount(sandbox: Sandbox) -> None:
    """Rule 2; B-57: pending, processing and succeeded refunds count; too much is 400, also where nothing is left."""
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund_of(sandbox, deposit, amount=2000)
    sandbox.advance("24h")
    refund_of(sandbox, deposit, amount=2000)
    error = rejected(sandbox, deposit, 400, "refund_amount_exceeds_available", amount=1001)
    assert (error["type"], error["param"]) == ("validation_error", "amount")
    last = refund_of(sandbox, deposit, amount=1000)
    rejected(sandbox, deposit, 409, "transaction_not_refundable")
    rejected(sandbox, deposit, 400, "refund_amount_exceeds_available", amount=1)
    answer(sandbox, last, "failed")
    assert refund_of(sandbox, deposit)["amount"] == 1000


def test_the_limit_holds_under_concurrency(sandbox: Sandbox) -> None:
    """Limits: the sum of refunds on a transaction cannot exceed its amount."""
    deposit = sandbox.deposit(amount=1000)
    body = {"transaction": deposit["id"], "amount": 300}
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: sandbox.api.request("POST", "/refunds/", json=body), range(10)))
    assert sorted(item.status_code for item in answers) == [201] * 3 + [400] * 7


# -- what follows


def test_the_transaction_becomes_refunded_only_when_whole(sandbox: Sandbox) -> None:
    """B-57: a transaction of type ``refund`` each, ``amount_refunded``, ``total_spent``, and ``refunded`` at last."""
    sandbox.settings(refund_timing="instant", commission_rate=1)
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer))
    path = f"/transactions/{deposit['id']}/"
    standing = []
    for amount in (1000, 4000):
        with sandbox.expect("refund.succeeded"):
            refund = refund_of(sandbox, deposit, amount=amount, metadata={"part": amount})
        now, person = sandbox.api.get(path), sandbox.api.get(f"/customers/{customer['id']}/")
        standing.append((now["status"], now["amount_refunded"], person["total_spent"], person["transactions_count"]))
        assert (now["fee"], now["net_amount"]) == (deposit["fee"], deposit["net_amount"])
        back = sandbox.api.get("/transactions/", type="refund")["data"][0]
        assert (back["amount"], back["net_amount"], back["amount_refunded"]) == (amount, amount, 0)
        assert (back["fee"], back["fee_rate"], back["commission"], back["commission_rate"]) == (0, 0, 0, 0)
        assert (back["status"], back["processed_at"]) == ("completed", sandbox.now)
        assert (back["description"], back["metadata"]) == (f"Refund {refund['id']}", {"part": amount})
        for name in ("customer", "payment_intent", "payment_method_type", "operator", "currency"):
            assert back[name] == deposit[name]
    assert standing == [("completed", 1000, 4000, 1), ("refunded", 5000, 0, 1)]


def test_nothing_moves_before_the_operator_answers(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer))
    refund_of(sandbox, deposit)
    assert sandbox.api.get(f"/transactions/{deposit['id']}/") == deposit
    assert sandbox.api.get(f"/customers/{customer['id']}/")["total_spent"] == 5000


def test_a_failed_refund_leaves_everything_as_it_was(sandbox: Sandbox) -> None:
    """``refund.failed``: funds are not debited."""
    deposit = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000008"))
    refund = refund_of(sandbox, deposit, reason="fraudulent", metadata={"case": 7})
    with sandbox.expect("refund.failed"):
        sandbox.advance("24h")
    failed = sandbox.api.get(f"/refunds/{refund['id']}/")
    assert (failed["status"], failed["failure_reason"], failed["refunded_at"]) == ("failed", "UPSTREAM_ERROR", None)
    event = sandbox.events()[-1]["data"]["object"]
    assert (event["reason"], event["metadata"]) == ("fraudulent", {"case": 7})
    assert sandbox.api.get(f"/transactions/{deposit['id']}/") == deposit
    assert sandbox.api.get("/transactions/", type="refund")["data"] == []


def test_an_unanswered_refund_expires(sandbox: Sandbox) -> None:
    """B-57: after ⚙ ``refund_expiry_days``; no event; the funds can be refunded again."""
    sandbox.settings(refund_expiry_days=10)
    deposit = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000009"))
    refund = refund_of(sandbox, deposit)
    with sandbox.expect():
        sandbox.control.post("/clock/advance", {"to": "2026-01-10T23:59:59.999Z"})
        assert sandbox.api.get(f"/refunds/{refund['id']}/")["status"] == "processing"
        sandbox.advance("1s")
    assert sandbox.api.get(f"/refunds/{refund['id']}/")["status"] == "expired"
    assert refund_of(sandbox, deposit)["amount"] == 5000


# -- what may be refunded


def test_only_a_completed_deposit_may_be_refunded(sandbox: Sandbox) -> None:
    """Rule 1; neither what is pending or refunded, nor a refund itself."""
    sandbox.settings(refund_timing="instant")
    pending = sandbox.deposit(sandbox.method(type="bank_transfer", iban=IBAN))
    whole = sandbox.deposit()
    refund_of(sandbox, whole)
    back = sandbox.api.get("/transactions/", type="refund")["data"][0]
    for transaction in (pending, whole, back):
        assert rejected(sandbox, transaction, 409, "transaction_not_refundable", amount=1)["type"] == "conflict_error"
    assert sandbox.api.get("/refunds/")["pagination"]["count"] == 1


# -- review and cancel


def test_a_reviewed_refund_is_pending_for_an_hour(sandbox: Sandbox) -> None:
    """⚙ ``refund_review``; the operator's delay counts from ``processing``."""
    sandbox.settings(refund_review=True)
    refund = refund_of(sandbox, sandbox.deposit(sandbox.method(**MOBILE)))
    assert refund["status"] == "pending"
    path = f"/refunds/{refund['id']}/"
    sandbox.control.post("/clock/advance", {"to": "2026-01-01T00:59:59.999Z"})
    assert sandbox.api.get(path)["status"] == "pending"
    sandbox.advance("1s")
    assert sandbox.api.get(path)["status"] == "processing"
    sandbox.advance("1d")
    assert sandbox.api.get(path)["refunded_at"] == "2026-01-02T01:00:00.000Z"


def test_a_pending_refund_can_be_cancelled(sandbox: Sandbox) -> None:
    """States: before processing; then nothing more happens and the rest is free again."""
    sandbox.settings(refund_review=True)
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund = refund_of(sandbox, deposit)
    rejected(sandbox, deposit, 409, "transaction_not_refundable")
    with sandbox.expect():
        cancelled = sandbox.api.post(f"/refunds/{refund['id']}/cancel/")
        sandbox.advance("40d")
    assert cancelled["status"] == sandbox.api.get(f"/refunds/{refund['id']}/")["status"] == "cancelled"
    assert refund_of(sandbox, deposit)["amount"] == 5000


def state(sandbox: Sandbox, wanted: str) -> Any:
    """Return a refund in this state."""
    sandbox.settings(refund_review=wanted in ("pending", "cancelled"))
    phone = "+24177000009" if wanted == "expired" else MOBILE["phone"]
    refund = refund_of(sandbox, sandbox.deposit(sandbox.method(type="mobile_money", phone=phone)))
    if wanted == "cancelled":
        sandbox.api.post(f"/refunds/{refund['id']}/cancel/")
    elif wanted == "expired":
        sandbox.advance("30d")
    elif wanted in ("succeeded", "failed"):
        answer(sandbox, refund, wanted)
    return sandbox.api.get(f"/refunds/{refund['id']}/")


@pytest.mark.parametrize("wanted", ["pending", "processing", "succeeded", "failed", "cancelled", "expired"])
@pytest.mark.parametrize(("action", "from_state"), [("cancel", "pending"), ("answer", "processing")])
def test_each_action_in_each_state_works_or_is_rejected(
    sandbox: Sandbox, wanted: str, action: str, from_state: str
) -> None:
    refund = state(sandbox, wanted)
    assert refund["status"] == wanted
    if action == "cancel":
        client, path, body = sandbox.api, f"/refunds/{refund['id']}/cancel/", {}
    else:
        client, path, body = sandbox.control, f"/refunds/{refund['id']}/answer", {"result": "succeeded"}
    if wanted == from_state:
        assert client.post(path, body)["status"] == {"cancel": "cancelled", "answer": "succeeded"}[action]
        return
    with sandbox.expect():
        client.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=body)
        assert sandbox.api.get(f"/refunds/{refund['id']}/") == refund


def test_an_answer_takes_the_place_of_the_one_that_was_to_come(sandbox: Sandbox) -> None:
    refund = refund_of(sandbox, sandbox.deposit())
    with sandbox.expect("refund.failed"):
        answered = answer(sandbox, refund, "failed", code="MOBILE_MONEY_LIMIT_REACHED")
        sandbox.advance("40d")
    assert (answered["status"], answered["failure_reason"]) == ("failed", "MOBILE_MONEY_LIMIT_REACHED")


def test_a_success_has_no_code(sandbox: Sandbox) -> None:
    refund = refund_of(sandbox, sandbox.deposit())
    body = {"result": "succeeded", "code": "INSUFFICIENT_FUNDS"}
    error = sandbox.control.rejected("POST", f"/refunds/{refund['id']}/answer", 422, "INVALID_FIELD", json=body)
    assert error["param"] == "code"


def test_a_disputed_transaction_that_is_refunded_in_full_is_refunded(sandbox: Sandbox) -> None:
    """B-57: a `disputed` one that is fully refunded is `refunded` as well; a part leaves it as it is."""
    deposits = [sandbox.deposit(sandbox.method(number="4000 0000 0000 0259")) for _ in range(2)]
    refund_of(sandbox, deposits[0])
    refund_of(sandbox, deposits[1], amount=100)
    sandbox.advance("1d")
    statuses = [sandbox.api.get(f"/transactions/{each['id']}/")["status"] for each in deposits]
    assert statuses == ["disputed", "disputed"]
    with sandbox.expect("refund.succeeded", "refund.succeeded"):
        sandbox.advance("20d")
    statuses = [sandbox.api.get(f"/transactions/{each['id']}/")["status"] for each in deposits]
    assert statuses == ["refunded", "disputed"]
