"""Money is taken once, in whatever order things happen; each double payment that there was is found when put back."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from contract_tests.robustness.interleavings.machine import Interleavings
from emulator.resources.app.settings import Assumptions
from emulator.resources.billing import renewals
from emulator.resources.payments import payment_intents

SEARCH = settings(
    max_examples=60,
    stateful_step_count=30,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)
FIND = settings(SEARCH, max_examples=1500, phases=(Phase.generate,))

ASSUMPTIONS = ("intent", "transaction")


RARE = ("act", "answer", "cancel_intent", "cancel_transaction", "change_collection", "change_tax", "delete_customer")
RARE += ("delete_method", "dispute", "pay_session", "refund", "write_off")
"""Rules that no double payment needs: without them one is found sooner."""


def machine(assumption: str, **fields: Any) -> type[Interleavings]:
    """The machine under one assumption of when a payment is received (B-61)."""
    fields["settings"] = {"assumptions": Assumptions(payment_received=assumption)}
    return type("Drawn", (Interleavings,), fields)


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_money_is_taken_once_in_any_order(assumption: str) -> None:
    run_state_machine_as_test(machine(assumption), settings=SEARCH)


def settling_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A payment that has succeeded and is settling does not count as under way, so a second one is taken."""
    real = payment_intents.current_payment

    def of(world: Any, owner: Any) -> Any:
        intent = real(world, owner)
        return intent if intent is not None and intent.status in payment_intents.UNDER_WAY else None

    monkeypatch.setattr(payment_intents, "current_payment", of)


def retries_do_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry charges the card while the buyer's own transfer is on its way."""
    seen = SimpleNamespace(**{**vars(payment_intents), "current_payment": lambda world, owner: None})
    monkeypatch.setattr(renewals, "payment_intents", seen)


def void_cancels_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invoice is voided, or paid manually, and the payment under way goes on."""
    monkeypatch.setattr(payment_intents, "cancel_current", lambda world, owner: None)


@pytest.mark.parametrize("with_ledger", [True, False], ids=["ledger and model", "model alone"])
@pytest.mark.parametrize("mistake", [settling_is_over, retries_do_not_look, void_cancels_nothing])
def test_a_double_payment_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], with_ledger: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    unneeded = dict.fromkeys((*RARE, "void", "pay_manually") if mistake is retries_do_not_look else RARE)
    begins_with = "card without funds" if mistake is retries_do_not_look else None
    drawn = machine("transaction", with_ledger=with_ledger, begins_with=begins_with, **unneeded)
    with pytest.raises(Exception, match=r"paid 2 times|not owed any more|out of balance: payments"):
        run_state_machine_as_test(drawn, settings=FIND)
