"""Payments by the tester: a session, a link or an invoice is paid as a buyer would on its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.control import working_method
from emulator.core.handlers import Query
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.payment_details import EVERY_TYPE
from emulator.resources.payments.payment_links import PaymentLink


def paying(kind: type[Record], command: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of POST …/{id}/pay, which runs the command of the buyer's page; a ``method`` left out is chosen."""

    def pay_somehow(world: World, id: str, payment: Query) -> Any:
        target: Any = world.get(kind, id)
        if target is not None and "method" not in payment:
            allowed = getattr(target, "payment_method_types", EVERY_TYPE)
            method = working_method.choose(world, getattr(target, "customer", None), allowed)
            payment = {**payment, "method": method}
        return command(world, id, payment)

    async def pay(engine: Engine, runtime: Runtime, id: str, query: Query, body: Query) -> Any:
        return await runtime.serve(pay_somehow, {"id": id, "payment": body}, None)

    return pay


OPERATIONS = {
    "payCheckoutSession": paying(CheckoutSession, hosted_payments.pay_session),
    "payPaymentLink": paying(PaymentLink, hosted_payments.pay_link),
    "payInvoicePage": paying(Invoice, hosted_payments.pay_invoice),
}
