"""Orders of requests and jobs about one subscription, one invoice and one session, as Hypothesis draws them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from contract_tests.robustness.interleavings.model import Model
from contract_tests.support.rules_harness import RulesHarness
from emulator.core.errors import ApiError
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoices
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments import payment_intents, refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.ui.buyer import payables


def _card(number: str) -> dict[str, Any]:
    return {"type": "bank_card", "number": number, "exp_month": 12, "exp_year": 2030, "cvc": "123"}


METHODS: dict[str, dict[str, Any]] = {
    "card": _card("4242424242424242"),
    "card that settles later": _card("4000000000000077"),
    "card that is checked": _card("4000000000003220"),
    "card without funds": _card("4000000000009995"),
    "bank transfer": {"type": "bank_transfer", "iban": "FR7630006000011234567890189"},
    "phone": {"type": "mobile_money", "phone": "+24177000000"},
    "phone without funds": {"type": "mobile_money", "phone": "+24177000001"},
    "phone that does not answer": {"type": "mobile_money", "phone": "+24177000003"},
    "PayPal": {"type": "paypal", "email": "awa@example.com"},
}
HOURS = (0.1, 1, 12, 24, 25, 48, 24 * 7, 24 * 31)

methods = st.sampled_from(sorted(METHODS))
numbers = st.integers(0, 3)


class Interleavings(RuleBasedStateMachine):
    """Every rule is one request or the passing of time; what the service rejects changes nothing, and is allowed.

    ``settings``: those of the App. ``with_ledger``: whether the ledger checks each unit of work, beside the model.
    ``begins_with``: the method that the subscription charges at first; drawn where it is None.
    """

    settings: ClassVar[dict[str, Any]] = {}
    with_ledger: ClassVar[bool] = True
    begins_with: ClassVar[str | None] = None

    @initialize(method=methods)
    def begin(self, method: str) -> None:
        """A subscription that is charged, an open invoice of the same customer, and a session."""
        method = self.begins_with or method
        self.harness = RulesHarness(refund_timing="instant", **self.settings)
        self.model = Model()
        self.harness.observers.append(self.model.observe)
        if not self.with_ledger:
            self.harness.world.registry = self.harness.world.registry._replace(checks=())
        customer = self.harness.do("createCustomer", email="awa@example.com", name="Awa Diop").id
        self.harness.do(
            "createPaymentMethod", customer=customer, is_default=True, **{"metadata": {}, **METHODS[method]}
        )
        self.harness.do("createSubscription", customer=customer, unit_amount=5000, interval="month")
        line = {"description": "Basket", "quantity": 1, "unit_amount": 700}
        draft = self.harness.do("createInvoice", customer=customer, line_items=[line])
        self.harness.do("finalizeInvoice", draft.id)
        body = {"mode": "payment", "currency": "XAF", "expires_in": 86400, "metadata": {}, "line_items": [line]}
        self.harness.do("createCheckoutSession", customer=customer, **body)

    # -- helpers

    def _one(self, kind: type[Record], number: int) -> str:
        """The id of one of the newest records of a kind; raises ``KeyError`` where there is none."""
        records = list(self.harness.world.table(kind))[-4:]
        if not records:
            raise KeyError(kind.kind)
        return records[number % len(records)].id

    def _request(self, kind: type[Record], number: int, send: Callable[[str], object]) -> None:
        with suppress(ApiError, KeyError):
            send(self._one(kind, number))

    def _do(self, operation: str, kind: type[Record], number: int = 0, **body: Any) -> None:
        self._request(kind, number, lambda one: self.harness.do(operation, one, **body))

    # -- time

    @rule(hours=st.sampled_from(HOURS))
    def wait(self, hours: float) -> None:
        """Time passes: renewals, retries, settlements and due dates."""
        self.harness.advance(hours=hours)

    # -- buyers

    @rule(method=methods, number=numbers)
    def pay_invoice(self, method: str, number: int) -> None:
        pay, payment = hosted_payments.pay_invoice, {"method": METHODS[method]}
        self._request(Invoice, number, lambda one: self.harness.run(pay, id=one, payment=payment))

    @rule(method=methods)
    def pay_session(self, method: str) -> None:
        pay, payment = hosted_payments.pay_session, {"method": METHODS[method]}
        self._request(CheckoutSession, 0, lambda one: self.harness.run(pay, id=one, payment=payment))

    @rule(number=numbers, code=st.sampled_from([None, "INSUFFICIENT_FUNDS"]))
    def answer(self, number: int, code: str | None) -> None:
        """The operator answers before its time: the payment is settled, or fails."""
        self._request(
            PaymentIntent, number, lambda one: self.harness.run(payment_intents.answer_now, id=one, code=code)
        )

    @rule(number=numbers)
    def dispute(self, number: int) -> None:
        self._request(Transaction, number, lambda one: self.harness.job("transaction.dispute", one))

    # -- the merchant

    @rule(number=numbers)
    def void(self, number: int) -> None:
        self._do("voidInvoice", Invoice, number)

    @rule(number=numbers)
    def pay_manually(self, number: int) -> None:
        self._do("payInvoice", Invoice, number)

    @rule(number=numbers)
    def write_off(self, number: int) -> None:
        """As after the last retry; an invoice of a subscription is written off by its retries alone."""

        def write_off(world: World, id: str) -> None:
            invoice = world.require(Invoice, id)
            if invoice.subscription is None:
                invoices.write_off(world, invoice)

        self._request(Invoice, number, lambda one: self.harness.run(write_off, id=one))

    @rule(number=numbers)
    def cancel_intent(self, number: int) -> None:
        self._do("cancelPaymentIntent", PaymentIntent, number)

    @rule(number=numbers)
    def cancel_transaction(self, number: int) -> None:
        self._do("cancelTransaction", Transaction, number)

    @rule(number=numbers, amount=st.sampled_from([None, 1, 700]), code=st.sampled_from([None, "UPSTREAM_ERROR"]))
    def refund(self, number: int, amount: int | None, code: str | None) -> None:
        body = {} if amount is None else {"amount": amount}
        with suppress(ApiError, KeyError):
            self.harness.do("createRefund", transaction=self._one(Transaction, number), **body)
        self._request(Refund, 3, lambda one: self.harness.run(refunds.answer_now, id=one, code=code))

    @rule(action=st.sampled_from(["pause", "resume", "cancel", "reactivate"]))
    def act(self, action: str) -> None:
        self._do(f"{action}Subscription", Subscription)

    @rule(method=st.sampled_from(["charge_automatically", "send_invoice"]))
    def change_collection(self, method: str) -> None:
        self._do("updateSubscription", Subscription, collection_method=method)

    @rule(method=methods)
    def change_method(self, method: str) -> None:
        fields = {"metadata": {}, "is_default": True, **METHODS[method]}
        with suppress(ApiError, KeyError):
            method_id = self.harness.do("createPaymentMethod", customer=self._one(Customer, 0), **fields).id
            self._do("updateSubscription", Subscription, payment_method=method_id)

    @rule()
    def delete_method(self) -> None:
        with suppress(ApiError, KeyError):
            method = payment_methods.default(self.harness.world, self._one(Customer, 0))
            if method is not None:
                self.harness.do("deletePaymentMethod", method.id)

    @rule(chance=st.integers(0, 9))
    def delete_customer(self, chance: int) -> None:
        if chance == 0:
            self._do("deleteCustomer", Customer)

    @rule(rate=st.sampled_from([0, 18]))
    def change_tax(self, rate: int) -> None:
        self.harness.run(lambda world: world.replace(settings(world), tax_rate=rate))

    # -- what holds between any two of them

    @invariant()
    def agrees_with_the_model(self) -> None:
        if hasattr(self, "harness"):
            self.model.compare(self.harness.world)
            assert self.harness.failed_jobs() == []

    @invariant()
    def redirects_only_from_a_complete_session(self) -> None:
        world = self.harness.world if hasattr(self, "harness") else None
        for session in world.table(CheckoutSession) if world else ():
            offer = payables.of_session(world, session)
            assert (offer.state == "paid") == (session.status == "complete"), session
