"""Magic values: each line of the fixture works at once, on the clock, and for refunds (B-54).

What is expected of a line is computed here from its fields, so a new line is tested as soon as it
is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

from contract_tests.support.sandbox import START, Sandbox
from emulator.core.errors import ERRORS
from emulator.engine.reference_data import ReferenceData
from emulator.resources.customers.payment_details import MagicValue

MAGIC = ReferenceData().magic
LINES = [
    pytest.param(type, line, id=f"{type}-{line.name}")
    for type, lines in MAGIC.items()
    for line in lines
]
PAID_LINES = [param for param in LINES if param.values[1].code is None]
FIELD = {"mobile_money": "phone", "bank_card": "number", "bank_transfer": "iban", "paypal": "email"}

B_54 = {
    ("mobile_money", "*0001"): {"code": "INSUFFICIENT_FUNDS"},
    ("mobile_money", "*0002"): {"code": "MOBILE_MONEY_REJECTED"},
    ("mobile_money", "*0003"): {"code": "MOBILE_MONEY_TIMEOUT", "after": timedelta(minutes=3)},
    ("mobile_money", "*0004"): {"code": "MOBILE_MONEY_NUMBER_INVALID"},
    ("mobile_money", "*0005"): {"code": "MOBILE_MONEY_LIMIT_REACHED"},
    ("mobile_money", "*0006"): {"after": timedelta(seconds=60)},
    ("mobile_money", "*0007"): {"code": "UPSTREAM_ERROR"},
    ("mobile_money", "*0008"): {"refund": "failed"},
    ("mobile_money", "*0009"): {"refund": "unanswered"},
    ("bank_card", "4242424242424242"): {},
    ("bank_card", "4000000000009995"): {"code": "INSUFFICIENT_FUNDS"},
    ("bank_card", "4000000000000002"): {"code": "PAYMENT_METHOD_NOT_SUPPORTED"},
    ("bank_card", "4000000000003220"): {"step": True},
    ("bank_card", "4000000000000341"): {"off_session": "PAYMENT_METHOD_NOT_SUPPORTED"},
    ("bank_card", "4000000000000259"): {"disputed": timedelta(days=1)},
    ("bank_card", "4000000000000077"): {"settles": timedelta(days=1)},
    ("bank_card", "4000000000005126"): {"refund": "failed"},
    ("bank_transfer", "*"): {"after": timedelta(days=1)},
    ("paypal", "fail@*"): {"code": "PAYMENT_METHOD_NOT_SUPPORTED"},
}
"""The assumption, value by value: what is special about each."""


def test_the_fixture_says_what_was_decided() -> None:
    documented = {(type, line.value): line for type, lines in MAGIC.items() for line in lines}
    assert documented.keys() == B_54.keys()
    for key, special in B_54.items():
        ordinary = MagicValue(name="", value="", example="", meaning="")
        facts = {name: getattr(ordinary, name) for name in ordinary.__struct_fields__[4:]} | special
        assert {name: getattr(documented[key], name) for name in facts} == facts, key
    for lines in MAGIC.values():
        assert len({line.name for line in lines}) == len(lines), "the name of each is its own"


UNCONFIRMED_AFTER, UNCONFIRMED = (
    timedelta(minutes=15),
    "The buyer did not confirm the payment in time.",
)
"""When a card check that nobody passes fails, and what is said then."""


class Moment(NamedTuple):
    """What happens so long after the payment was confirmed, and how things stand from then on."""

    after: timedelta
    events: tuple[str, ...]
    intent: str
    transaction: str | None


def moments(type: str, line: MagicValue) -> Iterator[Moment]:
    """Yield the events of one payment, in order."""
    now = timedelta()
    pending = "pending" if type == "bank_transfer" else None
    if line.step:
        yield Moment(now, (), "requires_action", None)
        yield Moment(UNCONFIRMED_AFTER, ("payment_intent.failed",), "canceled", None)
        return
    if line.after:
        yield Moment(
            now, (), "requires_action" if type == "mobile_money" else "processing", pending
        )
    if line.code:
        yield Moment(
            line.after, ("payment_intent.failed",), "canceled", "failed" if pending else None
        )
        return
    settled = line.after + line.settles
    if line.settles:
        yield Moment(line.after, ("payment_intent.succeeded",), "succeeded", "approved")
        yield Moment(settled, ("transaction.succeeded",), "succeeded", "completed")
    else:
        yield Moment(
            settled, ("payment_intent.succeeded", "transaction.succeeded"), "succeeded", "completed"
        )
    if line.disputed:
        yield Moment(settled + line.disputed, (), "succeeded", "disputed")


def later(delay: timedelta) -> str:
    """Return an instant, so long after the start."""
    moment = datetime.fromisoformat(START) + delay
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def method_of(sandbox: Sandbox, type: str, line: MagicValue, **fields: Any) -> Any:
    return sandbox.method(type=type, **{FIELD[type]: line.example}, **fields)


def standing(sandbox: Sandbox, intent: Any) -> tuple[str, str | None]:
    """Return how the payment and its transaction stand."""
    now = sandbox.shown(intent)
    transaction = (
        now["transaction"] and sandbox.api.get(f"/transactions/{now['transaction']}/")["status"]
    )
    return now["status"], transaction


@pytest.mark.parametrize(("type", "line"), LINES)
def test_a_magic_value_does_what_it_says_when_it_says(
    sandbox: Sandbox, type: str, line: MagicValue
) -> None:
    """State, code, events, and their instants; a millisecond earlier nothing has changed."""
    intent = sandbox.intent(method_of(sandbox, type, line))
    first, *rest = moments(type, line)
    with sandbox.expect(*first.events):
        sandbox.act(intent, "confirm")
        assert standing(sandbox, intent) == (first.intent, first.transaction)
    before = first
    for moment in rest:
        with sandbox.expect():
            sandbox.advance_to(later(moment.after - timedelta(milliseconds=1)))
            assert standing(sandbox, intent) == (before.intent, before.transaction)
        with sandbox.expect(*moment.events):
            sandbox.advance_to(later(moment.after))
            assert standing(sandbox, intent) == (moment.intent, moment.transaction)
        before = moment
    happened = [(event["type"], event["created_at"]) for event in sandbox.events()[1:]]
    assert happened == [
        (event, later(moment.after)) for moment in moments(type, line) for event in moment.events
    ]
    error = sandbox.shown(intent)["last_error"]
    message = UNCONFIRMED if line.step else line.code and ERRORS[line.code].message
    code = "PAYMENT_METHOD_NOT_SUPPORTED" if line.step else line.code
    assert error == (code and {"code": code, "message": message})
    with sandbox.expect():
        sandbox.advance("90d")
        assert standing(sandbox, intent) == (before.intent, before.transaction)


def refund_due(type: str, line: MagicValue, made: timedelta) -> timedelta:
    """Return when a refund, this long after the start, has its answer, or expires (B-57)."""
    if line.refund == "unanswered":
        return made + timedelta(days=30)
    if type == "bank_card":
        day, left = made, 3
        while left:
            day += timedelta(days=1)
            left -= (datetime.fromisoformat(START) + day).weekday() < 5
        return day
    return made + (timedelta() if type == "paypal" else timedelta(hours=24))


@pytest.mark.parametrize(("type", "line"), PAID_LINES)
def test_the_refund_of_a_magic_value_ends_as_it_says(
    sandbox: Sandbox, type: str, line: MagicValue
) -> None:
    """B-57: at the lower bound of the channel's delay; without an answer it expires in 30 days."""
    intent = sandbox.pay(method_of(sandbox, type, line))
    if line.step:
        sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": "succeeded"})
    made = line.after + line.settles
    sandbox.advance_to(later(made))
    transaction = sandbox.shown(intent)["transaction"]
    refund = sandbox.api.post("/refunds/", {"transaction": transaction})
    due = refund_due(type, line, made)
    with sandbox.expect():
        sandbox.advance_to(later(due - timedelta(milliseconds=1)))
        assert sandbox.status(refund) == "processing"
    with sandbox.expect(
        *{"succeeded": ["refund.succeeded"], "failed": ["refund.failed"]}.get(line.refund, [])
    ):
        sandbox.advance_to(later(due))
    ended = sandbox.shown(refund)
    assert ended["status"] == {"unanswered": "expired"}.get(line.refund, line.refund)
    assert ended["failure_reason"] == ("UPSTREAM_ERROR" if line.refund == "failed" else None)
    assert ended["refunded_at"] == (later(due) if line.refund == "succeeded" else None)


def test_any_other_value_succeeds_at_once(sandbox: Sandbox) -> None:
    """B-54: a card is magic by its whole number, a phone by its last digits."""
    for type, value in (
        ("mobile_money", "+24177001234"),
        ("bank_card", "5555 5555 5555 4444"),
        ("bank_card", "4242421000060002"),
        ("paypal", "failure@example.com"),
    ):
        assert (
            sandbox.pay(sandbox.method(type=type, **{FIELD[type]: value}))["status"] == "succeeded"
        )


def test_an_email_is_magic_in_any_case(sandbox: Sandbox) -> None:
    """A stored one as one on a page; it stays as it was written."""
    for email in ("FAIL@x.co", "Fail@X.co"):
        method = sandbox.method(type="paypal", email=email)
        assert method["details"]["email"] == email
        assert sandbox.pay(method)["status"] == "canceled"
        paid = sandbox.buy(sandbox.session(), {"type": "paypal", "email": email})
        assert paid["last_error"]["code"] == "PAYMENT_METHOD_NOT_SUPPORTED"
