"""What an answer says holds: of every life cycle, with and without tax, paid or not, and as the months go by.

The sentences are read by patterns of their own here. What they say of now is compared with the objects, and what they
say of the future with what then happens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox

DAY = r"(\d+ \w+ \d{4})(?:, \d\d:\d\d UTC)?"

AMOUNT = r"[\d,.]+ (?:XAF|EUR)"

PRICE = rf"({AMOUNT}) / month(?: \(({AMOUNT}) \+ 18% tax\))?"

CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}

DAYS = 70
"""How many days the future is lived through: two renewals, and every retry."""

LATER = 40
"""As many days after the first charge every retry is over and an invoice is overdue."""

ENDED = ("canceled", "expired")


def said_of(sandbox: Sandbox, id: str) -> str:
    return re.sub(r"\s", " ", sandbox.control.get(f"/explain/{id}")["summary"])


def day(written: str) -> str:
    """``2026-01-31`` of ``31 Jan 2026``."""
    return datetime.strptime(written, "%d %b %Y").strftime("%Y-%m-%d")  # noqa: DTZ007  # a day has no zone


def found(pattern: str, text: str) -> str | None:
    """Return the day that a sentence names; None where it does not stand in the text."""
    match = re.search(pattern.replace("DAY", DAY), text)
    return None if match is None else day(match[1])


def minor(amount: str) -> int:
    """Minor units of a written amount."""
    number, currency = amount.split(" ")
    return round(float(number.replace(",", "")) * (100 if currency == "EUR" else 1))


# -- life cycles

TRIAL: dict[str, Any] = {"trial_period_days": 10}

POOR = {"phone": FAILING_PHONE}


LIVES: dict[str, tuple[dict[str, Any], *tuple[str, ...]]] = {
    "trialing": (TRIAL,),
    "trial to be canceled": (TRIAL, "cancel later"),
    "trial with which it ends": ({**TRIAL, "ends_at": "2026-01-11T00:00:00Z"},),
    "active": ({}, "5d", "note"),
    "active at another price": ({}, "larger plan"),
    "to be canceled": ({}, "5d", "cancel later"),
    "ending within the period": ({"ends_at": "2026-01-20T00:00:00Z"},),
    "ending after a renewal": ({"ends_at": "2026-02-10T00:00:00Z"},),
    "canceled": ({}, "5d", "cancel", "2d", "note"),
    "canceled with its period": ({}, "5d", "cancel later", "30d"),
    "expired": ({"ends_at": "2026-01-20T00:00:00Z"}, "30d"),
    "reactivated": ({}, "5d", "cancel", "2d", "note", "reactivate"),
    "paused": ({}, "5d", "pause", "40d", "note"),
    "paused until its end": ({"ends_at": "2026-02-20T00:00:00Z"}, "pause"),
    "resumed": ({}, "5d", "pause", "40d", "note", "resume"),
    "past due": (POOR, "2d or later", "note"),
    "past due before its end": ({**POOR, "ends_at": "2026-03-01T00:00:00Z"}, "2d or later", "note"),
    "unpaid": (POOR, "40d", "note"),
    "unpaid before its end": ({**POOR, "ends_at": "2026-03-01T00:00:00Z"}, "20d or later", "note"),
    "recovered": (POOR, "40d", "note", "pay"),
}
"""How each subscription begins and what is done to it; with "or later" an invoice has the time to fall overdue."""


def lead(sandbox: Sandbox, life: str, currency: str, **fields: Any) -> str:
    """Make a subscription and lead it where its name says."""
    begins, *steps = LIVES[life]
    terms = {"phone": "+24177000000", "plan": sandbox.plan(currency=currency)["id"], **fields, **begins}
    id = str(sandbox.subscribe(**terms)["id"])
    sandbox.settle()
    path = f"/subscriptions/{id}/"
    for step in steps:
        if step[0].isdigit():
            later = step.endswith("or later") and fields["collection_method"] == "send_invoice"
            sandbox.advance(f"{LATER}d" if later else step.split()[0])
        elif step.startswith("cancel"):
            sandbox.api.post(f"{path}cancel/", {"cancel_at_period_end": step.endswith("later")})
        elif step == "note":
            sandbox.api.patch(path, {"metadata": {"note": "changed later"}})
        elif step == "larger plan":
            sandbox.api.patch(path, {"plan": sandbox.plan(name="Larger", amount=9000, currency=currency)["id"]})
        elif step == "pay":
            for invoice in sandbox.api.get("/invoices/", subscription=id)["data"]:
                if invoice["status"] in ("open", "uncollectible"):
                    sandbox.control.post(f"/invoices/{invoice['id']}/pay", {"method": CARD})
        else:
            sandbox.api.post(f"{path}{step}/")
    return id


CHARGED, INVOICED = "charge_automatically", "send_invoice"


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize(
    ("collection", "tax", "currency"),
    [
        (CHARGED, 18, "EUR"),
        (INVOICED, 0, "XAF"),
        pytest.param(CHARGED, 0, "XAF", marks=pytest.mark.long),
        pytest.param(INVOICED, 18, "EUR", marks=pytest.mark.long),
    ],
)
def test_what_is_said_holds(sandbox: Sandbox, life: str, collection: str, tax: int, currency: str) -> None:
    sandbox.settings(tax_rate=tax)
    id = lead(sandbox, life, currency, collection_method=collection)
    hold_what_is(sandbox, id)
    world = {kind: every(sandbox, kind) for kind in (*OF_KIND, "subscription")}
    for kind, hold in OF_KIND.items():
        for each in world[kind]:
            hold(world, each, said_of(sandbox, each["id"]))
    assert [each["id"] for each in world["invoice"] if is_overdue(each, sandbox.now)] == [
        each["id"] for each in world["invoice"] if "overdue" in said_of(sandbox, each["id"])
    ]
    hold_what_comes(sandbox, id)


# -- what is


def hold_what_is(sandbox: Sandbox, id: str) -> None:
    """The status of a subscription, and since when it has it."""
    subscription, said = sandbox.subscription(id), said_of(sandbox, id)
    status = subscription["status"]
    moves = [step for step in sandbox.control.get(f"/explain/{id}")["chain"] if step["kind"] == "transition"]
    since = next(step["at"][:10] for step in reversed(moves) if entered(step, status))
    if status == "active":
        assert re.match("Active: |Cancels on", said), said
    elif status == "trialing":
        assert found("^In its trial until DAY", said) == subscription["trial_end"][:10], said
    else:
        begins = {
            "past_due": "^Past due since DAY",
            "unpaid": "^Unpaid since DAY",
            "paused": "^Paused since DAY",
            "canceled": r"^Canceled on DAY\.",
            "expired": r"^Ended on DAY\.",
        }
        assert found(begins[status], said) == since, said
    if (first := found("the first charge failed on DAY", said)) or status == "unpaid":
        failed = [each for each in sandbox.events() if each["type"] == "subscription.payment_failed"]
        assert first == failed[0]["created_at"][:10], said
    if match := re.search(r"(\d+) charges? (?:of|failed)", said):
        intents = sandbox.control.get("/objects", kind="payment_intent", page_size=100)["data"]
        assert int(match[1]) == sum(bool(each["last_error"] and each["subscription"]) for each in intents), said


def entered(step: Any, status: str) -> bool:
    before, _, after = step["subject"].partition("→ ")
    return after == status and before.strip() != status


World = Mapping[str, list[Any]]
"""The objects of each kind."""


def of_customer(world: World, customer: Any, said: str) -> None:
    own = [each for each in world["subscription"] if each["customer"] == customer["id"]]
    hold_counts(own, said)
    open_invoices = [each for each in world["invoice"] if each["status"] == "open"]
    counted = re.search(r"(\d+) open invoices?\.", said)
    assert int(counted[1] if counted else 0) == len(open_invoices), said
    paid = re.search(rf"Has paid ({AMOUNT})\.", said)
    assert minor(paid[1] if paid else "0 XAF") == customer["total_spent"], said


def of_plan(world: World, plan: Any, said: str) -> None:
    hold_counts([each for each in world["subscription"] if each["plan"] == plan["id"]], said)


def hold_counts(subscriptions: list[Any], said: str) -> None:
    """How many there are in each status is what the sentence counts, and it counts nothing else."""
    alive = [each["status"].replace("_", " ") for each in subscriptions if each["status"] not in ENDED]
    counted = {status: int(number) for number, status in re.findall(r"(\d+) ([a-z ]+?) subscriptions?\.", said)}
    assert counted == {status: alive.count(status) for status in alive}, said


def of_invoice(world: World, invoice: Any, said: str) -> None:
    amounts = [minor(each) for each in re.findall(AMOUNT, said)]
    is_owed = invoice["status"] in ("open", "uncollectible")
    assert amounts == [invoice["amount_remaining"] if is_owed else invoice["amount_paid"]], said
    assert said.startswith("Paid: ") is (invoice["status"] == "paid"), said


def is_overdue(invoice: Any, now: str) -> bool:
    return bool(invoice["status"] == "open" and invoice["due_date"] < now[:10])


def of_transaction(world: World, transaction: Any, said: str) -> None:
    has_arrived = transaction["status"] in ("completed", "refunded", "disputed")
    assert ("was received" in said) is has_arrived, said
    if has_arrived:
        assert found("was received from .* on DAY", said) == transaction["processed_at"][:10], said


def of_intent(world: World, intent: Any, said: str) -> None:
    amounts = [minor(each) for each in re.findall(AMOUNT, said)]
    assert amounts == [intent["amount_received"] if intent["status"] == "succeeded" else intent["amount"]], said


def every(sandbox: Sandbox, kind: str) -> list[Any]:
    found: list[Any] = sandbox.control.get("/objects", kind=kind, page_size=100)["data"]
    return found


OF_KIND = {
    "customer": of_customer,
    "subscription_plan": of_plan,
    "invoice": of_invoice,
    "transaction": of_transaction,
    "payment_intent": of_intent,
}


def test_payments_say_whether_their_money_arrived(sandbox: Sandbox) -> None:
    """A payment that settles later, one that fails, a part that is captured, a session that is closed early."""
    later = sandbox.deposit(sandbox.method(number="4000000000000077"))
    assert later["status"] == "approved"
    assert "was received" not in said_of(sandbox, later["id"])
    assert found("It is settled on DAY", said_of(sandbox, later["id"])) is not None
    sandbox.advance("10d")
    assert "5,000 XAF was received" in said_of(sandbox, later["id"])
    held = sandbox.pay(capture_method="manual")
    assert said_of(sandbox, held["id"]).startswith("5,000 XAF from visa …4242 is held")
    sandbox.api.post(f"/payment-intents/{held['id']}/capture/", {"amount": 2000})
    assert said_of(sandbox, held["id"]).startswith("2,000 XAF was received")
    session = sandbox.session()
    sandbox.api.post(f"/checkout-sessions/{session['id']}/expire/")
    assert said_of(sandbox, session["id"]) == "Closed by the merchant without a payment."


def test_a_transaction_of_each_status_says_so(sandbox: Sandbox) -> None:
    deposit = sandbox.deposit()
    for status, begins in (
        ("pending", "5,000 XAF from visa …4242 is on its way."),
        ("approved", "5,000 XAF from visa …4242 is approved; the money has not arrived yet."),
        ("completed", "5,000 XAF was received from visa …4242 on 1 Jan 2026"),
        ("failed", "visa …4242 was not charged 5,000 XAF."),
        ("canceled", "Canceled: 5,000 XAF was not charged."),
    ):
        sandbox.control.patch(f"/objects/{deposit['id']}", {"status": status})
        assert said_of(sandbox, deposit["id"]).startswith(begins)


@pytest.mark.parametrize("status", ["past_due", "unpaid"])
def test_a_status_that_was_set_directly_has_no_instant(sandbox: Sandbox, status: str) -> None:
    id = sandbox.subscribe()["id"]
    sandbox.advance("1d")
    sandbox.control.patch(f"/objects/{id}", {"status": status})
    assert said_of(sandbox, id).startswith(f"{status.capitalize().replace('_', ' ')}. ")


# -- what comes


def hold_what_comes(sandbox: Sandbox, id: str) -> None:
    """What is said to come does come, on that day and at that price, and nothing else does."""
    said, before = said_of(sandbox, id), len(every(sandbox, "payment_intent"))
    invoiced = len(sandbox.invoices("id"))
    sandbox.advance(f"{DAYS}d")
    bills = sandbox.api.get("/invoices/", subscription=id, page_size=100)["data"][::-1][invoiced:]
    tried = every(sandbox, "payment_intent")[::-1][before:]
    ends = found("(?:[Ii]t ends|Cancels) on DAY", said)
    hold_end(sandbox.subscription(id), ends, said)
    retried = found("tried again on DAY", said)
    if retried:
        assert tried, said
        assert tried[0]["created_at"][:10] == retried, said
        return
    if re.search("[Nn]othing (?:more )?is charged|No further charge is planned", said):
        assert (bills, tried) == ([], []), said
        return
    billed = (
        found("In its trial until DAY; then", said)
        or found("It renews on DAY", said)
        or found(r"The next period, .* is billed on DAY\.", said)
    )
    if billed is None:
        assert ends is not None, f"nothing is said of what comes: {said}"
        assert (bills, tried) == ([], []), said
        return
    price = re.search(PRICE, said)
    assert price, said
    assert bills, said
    assert (bills[0]["created_at"][:10], bills[0]["total"]) == (billed, minor(price[1])), said
    if bills[0]["tax_amount"]:
        assert bills[0]["subtotal"] == minor(price[2]), said


def hold_end(subscription: Any, ends: str | None, said: str) -> None:
    """It has ended by now only if that was said, and on that day."""
    if "Canceled on" in said or "Ended on" in said:
        assert subscription["status"] in ENDED, said
        return
    assert (subscription["status"] in ENDED) is (ends is not None), said
    if ends is not None:
        instant = subscription["canceled_at"] or subscription["ends_at"]
        assert instant[:10] == ends, said
