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


def shown(sandbox: Sandbox, refund: Any) -> Any:
    """Return a refund as it stands now."""
    return sandbox.api.get(f"/refunds/{refund['id']}/")


def rejected(sandbox: Sandbox, deposit: Any, status: int, code: str, **fields: Any) -> Any:
    return sandbox.api.rejected("POST", "/refunds/", status, code, json={"transaction": deposit["id"], **fields})


def answer(sandbox: Sandbox, refund: Any, result: str, **fields: Any) -> Any:
    return sandbox.control.post(f"/refunds/{refund['id']}/answer", {"result": result, **fields})


# -- when the operator answers


def test_a_refund_is_processing_and_then_succeeds(sandbox: Sandbox) -> None:
    """States of a refund; the event carries reason and metadata, and the object as GET shows it."""
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    about = {"reason": "duplicate", "description": "Paid twice", "metadata": {"case": 7}}
    with sandbox.expect():
        refund = refund_of(sandbox, deposit, **about)
    assert (refund["status"], refund["amount"], refund["currency"]) == ("processing", 5000, "XAF")
    assert refund["payment_method_type"] == "mobile_money"
    assert {name: refund[name] for name in about} == about
    assert (refund["failure_reason"], refund["refunded_at"]) == (None, None)
    with sandbox.expect("refund.succeeded"):
        sandbox.advance("24h")
    done = shown(sandbox, refund)
    assert done == {**refund, "status": "succeeded", "refunded_at": sandbox.now, "updated_at": sandbox.now}
    assert sandbox.events()[-1]["data"]["object"] == done


def test_a_wallet_confirms_at_once(sandbox: Sandbox) -> None:
    """B-57: the lower bound of its delay, as test_magic has those of others; the 201 says ``processing``."""
    refund = refund_of(sandbox, sandbox.deposit(sandbox.method(type="paypal", email="awa@example.com")))
    assert (refund["status"], shown(sandbox, refund)["refunded_at"]) == ("processing", sandbox.now)


@given(minutes=st.integers(0, 366 * 24 * 60), count=st.integers(0, 15))
def test_business_days_are_counted_one_by_one(minutes: int, count: int) -> None:
    """B-57: Monday to Friday, UTC, same time of day; from a weekend they count from Monday 00:00."""
    start = day = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    while day.weekday() >= 5:
        day = (day + timedelta(days=1)).replace(hour=0, minute=0)
    for _ in range(count):
        day += timedelta(days=3 if day.weekday() == 4 else 1)
    assert calendar.business_days_after(calendar.stamp(start), count) == calendar.stamp(day)


def test_a_failed_refund_leaves_everything_as_it_was(sandbox: Sandbox) -> None:
    """``refund.failed``: funds are not debited, nor before the operator answers."""
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer, "mobile_money", phone="+24177000008"))
    before = deposit, sandbox.api.get(f"/customers/{customer['id']}/")
    refund = refund_of(sandbox, deposit)
    for status, reason in (("processing", None), ("failed", "UPSTREAM_ERROR")):
        now = shown(sandbox, refund)
        assert (now["status"], now["failure_reason"], now["refunded_at"]) == (status, reason, None)
        paths = (f"/transactions/{deposit['id']}/", f"/customers/{customer['id']}/")
        assert tuple(map(sandbox.api.get, paths)) == before
        with sandbox.expect(*["refund.failed"] * (status == "processing")):
            sandbox.advance("24h")
    assert sandbox.api.get("/transactions/", type="refund")["data"] == []


def test_an_unanswered_refund_expires(sandbox: Sandbox) -> None:
    """B-57: after ⚙ ``refund_expiry_days``; no event; the funds can be refunded again."""
    sandbox.settings(refund_expiry_days=10)
    deposit = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000009"))
    refund = refund_of(sandbox, deposit)
    with sandbox.expect():
        sandbox.advance_to("2026-01-10T23:59:59.999Z")
        assert shown(sandbox, refund)["status"] == "processing"
        sandbox.advance("1s")
    assert shown(sandbox, refund)["status"] == "expired"
    assert refund_of(sandbox, deposit)["amount"] == 5000


# -- how much, and of what


def test_partial_refunds_accumulate_up_to_the_amount(sandbox: Sandbox) -> None:
    """Rule 2; B-57: pending, processing and succeeded refunds count; too much is 400, also where nothing is left."""
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund_of(sandbox, deposit, amount=2000)
    sandbox.advance("24h")
    refund_of(sandbox, deposit, amount=2000)
    error = rejected(sandbox, deposit, 400, "refund_amount_exceeds_available", amount=1001)
    assert (error["type"], error["param"]) == ("validation_error", "amount")
    last = refund_of(sandbox, deposit)
    assert (last["amount"], last["reason"], last["description"]) == (1000, None, None)
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


def test_the_transaction_becomes_refunded_only_when_whole(sandbox: Sandbox) -> None:
    """B-57: a transaction of type ``refund`` each, ``amount_refunded``, ``total_spent``, and ``refunded`` at last.

    ⚙ ``refund_timing: instant``: the 201 body says ``processing`` nevertheless.
    """
    sandbox.settings(refund_timing="instant", commission_rate=1)
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer))
    standing = []
    for amount in (1000, 4000):
        with sandbox.expect("refund.succeeded"):
            refund = refund_of(sandbox, deposit, amount=amount, metadata={"part": amount})
        assert (refund["status"], shown(sandbox, refund)["status"]) == ("processing", "succeeded")
        now = sandbox.api.get(f"/transactions/{deposit['id']}/")
        person = sandbox.api.get(f"/customers/{customer['id']}/")
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


def test_only_a_completed_deposit_may_be_refunded(sandbox: Sandbox) -> None:
    """Rule 1; neither what is pending, approved, disputed or refunded, nor a refund itself."""
    sandbox.settings(refund_timing="instant")
    pending = sandbox.deposit(sandbox.method(type="bank_transfer", iban=IBAN))
    approved, disputed = (sandbox.deposit(sandbox.method(number=f"4000 0000 0000 {end}")) for end in ("0077", "0259"))
    whole = sandbox.deposit()
    refund_of(sandbox, whole)
    back = sandbox.api.get("/transactions/", type="refund")["data"][0]
    sandbox.control.patch(f"/objects/{disputed['id']}", {"status": "disputed"})
    for transaction in (pending, approved, disputed, whole, back):
        assert rejected(sandbox, transaction, 409, "transaction_not_refundable", amount=1)["type"] == "conflict_error"
    assert sandbox.api.get("/refunds/")["pagination"]["count"] == 1


def test_a_disputed_transaction_that_is_refunded_in_full_is_refunded(sandbox: Sandbox) -> None:
    """B-57: a `disputed` one that is fully refunded is `refunded` as well; a part leaves it as it is."""
    deposits = [sandbox.deposit(sandbox.method(number="4000 0000 0000 0259")) for _ in range(2)]
    refund_of(sandbox, deposits[0])
    refund_of(sandbox, deposits[1], amount=100)
    for span, events, expected in (("1d", 0, ["disputed", "disputed"]), ("20d", 2, ["refunded", "disputed"])):
        with sandbox.expect(*["refund.succeeded"] * events):
            sandbox.advance(span)
        assert [sandbox.api.get(f"/transactions/{each['id']}/")["status"] for each in deposits] == expected


# -- review, and every state and every action


def test_a_reviewed_refund_is_pending_for_an_hour(sandbox: Sandbox) -> None:
    """⚙ ``refund_review``; the operator's delay counts from ``processing``. Till then it can be cancelled, after which
    nothing more happens and the rest is free again.
    """
    sandbox.settings(refund_review=True)
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund, other = refund_of(sandbox, deposit, amount=3000), refund_of(sandbox, deposit)
    assert refund["status"] == "pending"
    rejected(sandbox, deposit, 409, "transaction_not_refundable")
    sandbox.advance_to("2026-01-01T00:59:59.999Z")
    with sandbox.expect():
        assert sandbox.api.post(f"/refunds/{other['id']}/cancel/")["status"] == "cancelled"
    assert shown(sandbox, refund)["status"] == "pending"
    sandbox.advance("1s")
    assert shown(sandbox, refund)["status"] == "processing"
    with sandbox.expect("refund.succeeded"):
        sandbox.advance("40d")
    assert shown(sandbox, refund)["refunded_at"] == "2026-01-02T01:00:00.000Z"
    assert shown(sandbox, other)["status"] == "cancelled"
    assert refund_of(sandbox, deposit)["amount"] == 2000


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
    return shown(sandbox, refund)


@pytest.mark.parametrize("wanted", ["pending", "processing", "succeeded", "failed", "cancelled", "expired"])
@pytest.mark.parametrize(("action", "from_state"), [("cancel", "pending"), ("answer", "processing")])
def test_each_action_in_each_state_works_or_is_rejected(
    sandbox: Sandbox, wanted: str, action: str, from_state: str
) -> None:
    """An answer takes the place of the one that was to come; a success has no code."""
    refund = state(sandbox, wanted)
    assert refund["status"] == wanted
    client, slash = (sandbox.api, "/") if action == "cancel" else (sandbox.control, "")
    path = f"/refunds/{refund['id']}/{action}{slash}"
    code = "MOBILE_MONEY_LIMIT_REACHED"
    body = {} if action == "cancel" else {"result": "failed", "code": code}
    if wanted != from_state:
        with sandbox.expect():
            client.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=body)
            assert shown(sandbox, refund) == refund
    elif action == "cancel":
        assert client.post(path)["status"] == "cancelled"
    else:
        wrong = body | {"result": "succeeded"}
        assert client.rejected("POST", path, 422, "INVALID_FIELD", json=wrong)["param"] == "code"
        with sandbox.expect("refund.failed"):
            answered = client.post(path, body)
            sandbox.advance("40d")
        assert (answered["status"], answered["failure_reason"]) == ("failed", code)
