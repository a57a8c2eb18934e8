"""The checks: what the ledger adds to the rules of a create, a payment and a renewal, in processor time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

from contract_tests.quality.benchmarks.measures import Row, Size, beside
from contract_tests.support.rules_harness import RulesHarness

CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2035, "cvc": "123"}
BLOCK = 50
"""Units of work between two assumptions of the processor's clock."""


def checks(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Microseconds of the rules alone, without a server: in the place of the bare application, no check is made.

    Both worlds do the same alternately, a short block each, so that a busy minute counts on both sides.
    """
    for name, prepare in OPERATIONS.items():
        unchecked, checked = RulesHarness(), RulesHarness()
        unchecked.world.registry = unchecked.world.registry._replace(checks=())
        acts = prepare(unchecked), prepare(checked)
        times: tuple[list[float], list[float]] = [], []
        gc.collect()
        gc.disable()
        try:
            for number in range(size.blocks):
                for side in (0, 1) if number % 2 else (1, 0):
                    times[side].append(_block(acts[side], number * BLOCK))
        finally:
            gc.enable()
        yield beside(f"{name}: rules with the ledger", "µs", *times, "≤ 1.03 ×")


def _block(act: Callable[[int], object], first: int) -> float:
    """Microseconds of processor time for each unit of work of a block."""
    started = time.process_time_ns()
    for number in range(first, first + BLOCK):
        act(number)
    return (time.process_time_ns() - started) / BLOCK / 1000


def _creates(harness: RulesHarness) -> Callable[[int], object]:
    return lambda number: harness.do("createCustomer", email=f"buyer-{number}@example.com", name="Awa Diop")


def _renewals(harness: RulesHarness) -> Callable[[int], object]:
    harness.subscribe(interval="day")
    return lambda number: harness.advance(days=1)


def _payments(harness: RulesHarness) -> Callable[[int], object]:
    customer = harness.do("createCustomer", email="awa@example.com", name="Awa Diop").id
    method = harness.do("createPaymentMethod", customer=customer, is_default=True, metadata={}, **CARD).id
    fields = {"amount": 5000, "currency": "XAF", "customer": customer, "payment_method": method, "metadata": {}}

    def pay(number: int) -> None:
        intent = harness.do("createPaymentIntent", **fields)
        harness.do("confirmPaymentIntent", intent.id, payment_method=method)

    return pay


OPERATIONS: dict[str, Callable[[RulesHarness], Callable[[int], object]]] = {
    "create a customer": _creates,
    "make and confirm a payment": _payments,
    "renew a subscription": _renewals,
}
