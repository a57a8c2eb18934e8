"""Money adds up: whatever merchants, buyers, the operator and the clock do, in any order.

A random life of one world, by the rules alone, without a server. The bodies are such as the document lets through.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from contract_tests.support.sandbox import START
from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.handlers import get_or_404
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World, encode
from emulator.engine.reference_data import ReferenceData
from emulator.resources.app.settings import Settings, changed
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import FIELDS
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import operator, payment_intents, refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import OPERATIONS, REACTIONS, REGISTRY

FACTS = ReferenceData()
CARD = {"exp_month": 2, "exp_year": 2026, "cvc": "123"}
VALUES = [(type, line.example) for type, lines in FACTS.magic.items() for line in lines]
VALUES += [("mobile_money", "+24177123456"), ("bank_card", "5555555555554444"), ("paypal", "awa@example.com")]

NUMBERS = st.integers(0, 40)
AMOUNTS = st.one_of(st.integers(100, 140), st.sampled_from([99, 5000, 99_999_999]))
PARTS = st.sampled_from([None, 1, 600, 999, 1000, 1001])
CAPTURES = st.sampled_from(["automatic", "automatic", "manual"])
GONE = ("failed", "cancelled", "expired")
"""The states of a refund that returns nothing."""

CODES = st.sampled_from([None, None, "INSUFFICIENT_FUNDS"])
SPANS = st.sampled_from([1, 60, 180, 3600, 86_400, 3 * 86_400, 31 * 86_400])


def shown(record: Any) -> Any:
    """Return a record as GET shows it."""
    return json.loads(encode(record))


def emitted_as_shown(world: World, event: Event) -> None:
    """Reaction to every event: its object is what GET shows at that moment (B-80)."""
    record = event.data.object
    assert shown(event)["data"]["object"] == shown(world.get(type(record), record.id))


class Money(RuleBasedStateMachine):
    """Rules are what may happen, invariants what must hold after each; a rejected request must change nothing.

    What a rule is about is given by a number: 0 is the newest of its kind.
    """

    @initialize(
        refund_timing=st.sampled_from(["documented", "instant"]),
        refund_review=st.booleans(),
        operator_delay=st.sampled_from([0, 0, 30]),
        commission_rate=st.sampled_from([0, 1.5]),
        pricing_plan=st.sampled_from(["starter", "growth"]),
        captures=st.lists(CAPTURES, min_size=len(VALUES), max_size=len(VALUES)),
    )
    def begin(self, captures: list[str], **chosen: Any) -> None:
        """A world with these settings, two customers, and a payment by each method there is."""
        reactions = {**REACTIONS, "*": (*REACTIONS["*"], emitted_as_shown)}
        self.world = World(
            name="money",
            livemode=False,
            registry=REGISTRY._replace(reactions=reactions),
            reference_data=FACTS,
            seed="7",
            now=START,
            base_url="http://127.0.0.1:4747",
        )
        self.run(lambda world: world.add(changed(Settings(), chosen)))
        for email in ("awa@example.com", "ben@example.com"):
            self.operation("createCustomer", body={"email": email, "name": "Awa Diop", "phone": "+24177123456"})
        for number, (value, capture) in enumerate(zip(VALUES, captures, strict=True)):
            self.method(number, value)
            self.pay(0, 1000, "XAF", capture)

    # -- the engine, in small

    def run(self, command: Any, **arguments: Any) -> Any:
        """Return one unit of work and what it made due at once; None if it was rejected, and then nothing has changed."""
        before = self.everything()
        try:
            with self.world.unit_of_work():
                result = command(self.world, **arguments)
        except ApiError:
            assert self.everything() == before
            return None
        self.until(self.world.now)
        return result

    def operation(self, name: str, **arguments: Any) -> Any:
        return self.run(OPERATIONS[name], **arguments)

    def until(self, instant: str) -> None:
        while (job := self.world.jobs.next()) is not None and job.due <= instant:
            self.world.now = max(self.world.now, job.due)
            with self.world.unit_of_work():
                self.world.remove(job)
                self.world.registry.jobs[job.name](self.world, job)
        self.world.now = instant

    def everything(self) -> dict[str, dict[str, Record]]:
        return {table.kind.kind: {record.id: record for record in table} for table in self.world.tables()}

    def pick(self, kind: type[Record], number: int, wanted: str | None = None) -> str:
        """Mostly one of those in the wanted state, if there are such."""
        fitting = self.world.table(kind).where("status", wanted) if wanted and number % 4 else []
        rows = fitting or list(self.world.table(kind))
        return rows[-1 - number % len(rows)].id if rows else "none"

    # -- what may happen

    @rule(customer=NUMBERS, value=st.sampled_from(VALUES))
    def method(self, customer: int, value: tuple[str, str]) -> None:
        type, given = value
        fields = {FIELDS[type][0]: given, **(CARD if type == "bank_card" else {})}
        body = {"customer": self.pick(Customer, customer), "type": type, "is_default": False, **fields}
        self.operation("createPaymentMethod", body=body)

    @rule(method=NUMBERS)
    def remove_method(self, method: int) -> None:
        self.operation("deletePaymentMethod", id=self.pick(PaymentMethod, method))

    @rule(blacklisted=st.booleans())
    def blacklist(self, blacklisted: bool) -> None:
        self.run(lambda world: world.replace(next(iter(world.table(Customer))), is_blacklisted=blacklisted))

    @rule(method=NUMBERS, amount=AMOUNTS, currency=st.sampled_from(["XAF", "EUR", "GBP"]), capture=CAPTURES)
    def intent(self, method: int, amount: int, currency: str, capture: str) -> None:
        self.new_intent(method, amount, currency, capture)

    def new_intent(self, method: int, amount: int, currency: str, capture: str) -> Any:
        chosen = self.pick(PaymentMethod, method)
        body = {"amount": amount, "currency": currency, "payment_method": chosen, "capture_method": capture}
        return self.operation("createPaymentIntent", body=body)

    @rule(method=NUMBERS, amount=AMOUNTS, currency=st.sampled_from(["XAF", "EUR"]), capture=CAPTURES)
    def pay(self, method: int, amount: int, currency: str, capture: str) -> None:
        if self.new_intent(method, amount, currency, capture) is not None:
            self.confirm(0, None)

    @rule(intent=NUMBERS, method=st.one_of(st.none(), NUMBERS))
    def confirm(self, intent: int, method: int | None) -> None:
        body = {} if method is None else {"payment_method": self.pick(PaymentMethod, method)}
        self.operation("confirmPaymentIntent", id=self.pick(PaymentIntent, intent), body=body)

    @rule(method=NUMBERS, amount=AMOUNTS)
    def charge_off_session(self, method: int, amount: int) -> None:
        def charge(world: World) -> None:
            stored = get_or_404(world, PaymentMethod, self.pick(PaymentMethod, method))
            types = (stored.type,)
            intent = payment_intents.start(
                world, stored, payment_method_types=types, amount=amount, currency="XAF", customer=stored.customer
            )
            payment_intents.confirm(world, intent, stored, off_session=True)

        self.run(charge)

    @rule(intent=NUMBERS, part=PARTS)
    def capture(self, intent: int, part: int | None) -> None:
        body = {} if part is None else {"amount": part}
        self.operation("capturePaymentIntent", id=self.pick(PaymentIntent, intent, "requires_capture"), body=body)

    @rule(intent=NUMBERS)
    def cancel(self, intent: int) -> None:
        self.operation("cancelPaymentIntent", id=self.pick(PaymentIntent, intent))

    @rule(intent=NUMBERS, code=CODES)
    def answer(self, intent: int, code: str | None) -> None:
        self.run(payment_intents.answer_now, id=self.pick(PaymentIntent, intent, "processing"), code=code)

    @rule(transaction=NUMBERS)
    def cancel_transaction(self, transaction: int) -> None:
        self.operation("cancelTransaction", id=self.pick(Transaction, transaction, "pending"))

    @rule(transaction=NUMBERS, part=PARTS)
    def refund(self, transaction: int, part: int | None) -> None:
        body = {
            "transaction": self.pick(Transaction, transaction, "completed"),
            **({} if part is None else {"amount": part}),
        }
        self.operation("createRefund", body=body)

    @rule(refund=NUMBERS)
    def cancel_refund(self, refund: int) -> None:
        self.operation("cancelRefund", id=self.pick(Refund, refund, "pending"))

    @rule(refund=NUMBERS, code=CODES)
    def answer_refund(self, refund: int, code: str | None) -> None:
        self.run(refunds.answer_now, id=self.pick(Refund, refund, "processing"), code=code)

    @rule(operation=st.sampled_from(["payment", "refund"]), result=st.sampled_from(["succeeded", "failed"]))
    def arrange(self, operation: str, result: str) -> None:
        body = {"operation": operation, "result": result, "times": 1, "match": {}}
        self.run(operator.arrange, body=body)

    @rule(seconds=SPANS)
    def advance(self, seconds: int) -> None:
        self.until(calendar.plus(self.world.now, seconds=seconds))

    # -- what must hold

    @invariant()
    def no_more_is_captured_than_authorised(self) -> None:
        for intent in self.world.table(PaymentIntent):
            assert 0 <= intent.amount_capturable + intent.amount_received <= intent.amount
            assert (intent.amount_received > 0) == (intent.status == "succeeded")
            assert (intent.amount_capturable > 0) == (intent.status == "requires_capture")
            transaction = self.world.get(Transaction, intent.transaction)
            if intent.status == "succeeded":
                assert transaction is not None
                assert transaction.amount == intent.amount_received
                assert transaction.status in ("approved", "completed", "refunded", "disputed")
            elif transaction is not None:
                awaited = transaction.status == "pending"
                assert awaited == (intent.status == "processing")
                assert awaited or transaction.status in ("failed", "canceled")

    @invariant()
    def no_more_is_refunded_than_captured(self) -> None:
        for deposit in self.deposits():
            mine = self.world.table(Refund).where("transaction", deposit.id)
            assert sum(refund.amount for refund in mine if refund.status not in GONE) <= deposit.amount
            given_back = sum(refund.amount for refund in mine if refund.status == "succeeded")
            assert deposit.amount_refunded == given_back
            if deposit.status in ("completed", "refunded"):
                assert (deposit.status == "refunded") == (given_back == deposit.amount)

    @invariant()
    def net_is_amount_less_fee_and_commission(self) -> None:
        for item in self.world.table(Transaction):
            assert item.net_amount == item.amount - item.fee - item.commission

    @invariant()
    def totals_are_completed_deposits_less_succeeded_refunds(self) -> None:
        """B-30: every deposit is counted, those in the customer's currency are summed."""
        spent: dict[str | None, int] = defaultdict(int)
        count: dict[str | None, int] = defaultdict(int)
        for deposit in self.deposits():
            if deposit.status in ("completed", "refunded", "disputed"):
                spent[deposit.customer] += deposit.amount if deposit.currency == "XAF" else 0
                count[deposit.customer] += 1
        for refund in self.world.table(Refund).where("status", "succeeded"):
            if refund.currency == "XAF":
                spent[self.world.require(Transaction, refund.transaction).customer] -= refund.amount
        for customer in self.world.table(Customer):
            assert (customer.total_spent, customer.transactions_count) == (spent[customer.id], count[customer.id])

    @invariant()
    def each_succeeded_refund_has_its_transaction(self) -> None:
        returned = sorted(item.amount for item in self.world.table(Transaction).where("type", "refund"))
        assert returned == sorted(refund.amount for refund in self.world.table(Refund).where("status", "succeeded"))

    @invariant()
    def what_waits_for_a_time_has_a_job(self) -> None:
        """Nothing hangs: what only time can move is planned, and what has ended is planned no more."""
        planned = {job.about: job for job in self.world.table(Job) if "payment_method" not in job.name}
        for refund in self.world.table(Refund):
            assert (refund.id in planned) == (refund.status in ("pending", "processing"))
        for intent in self.world.table(PaymentIntent):
            if intent.status == "processing":
                assert intent.id in planned
            elif intent.status != "requires_action":
                assert intent.id not in planned

    def deposits(self) -> list[Transaction]:
        return self.world.table(Transaction).where("type", "deposit")


Money.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestMoney = Money.TestCase
