"""Payments by the tester: a session, a link or an invoice is paid as a buyer would on its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.checkout import hosted_payments

Query = Mapping[str, Any]


def paying(command: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of POST …/{id}/pay, which runs the command of the buyer's page."""

    async def pay(engine: Engine, runtime: Runtime, id: str, query: Query, body: Query) -> Any:
        return await runtime.serve(command, {"id": id, "payment": body}, None)

    return pay


OPERATIONS = {
    "payCheckoutSession": paying(hosted_payments.pay_session),
    "payPaymentLink": paying(hosted_payments.pay_link),
    "payInvoicePage": paying(hosted_payments.pay_invoice),
}
