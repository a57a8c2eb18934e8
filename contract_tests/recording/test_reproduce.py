"""``reproduce``: the shortest story that brings an object to its state; the longer run is a command of its own."""

from __future__ import annotations

import pytest

from contract_tests.recording.conftest import Played

KINDS = ("customer", "payment_method", "product", "subscription_plan", "subscription", "refund", "receipt", "event")


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_of_each_kind_is_reproduced(kind: str, played: Played) -> None:
    """The command itself compares the object in a fresh world with the one in the recorded world."""
    newest = played.payments.api.get("/_emulator/objects", kind=kind)["data"][0]
    ended = played.cli("reproduce", newest["id"], "--as", "curl", "--seconds", "60")
    assert ended.status == 0, ended.errors
    calls = [line for line in ended.output.splitlines() if line.startswith("call ") and "reset" not in line]
    assert len(calls) <= 8, ended.output


def test_each_state_of_an_invoice_is_reproduced(played: Played) -> None:
    """Also where the invoice was made by a job, and no request shows its id."""
    invoices = played.payments.api.get("/_emulator/objects", kind="invoice")["data"]
    states = {invoice["status"]: invoice["id"] for invoice in invoices}
    assert set(states) == {"open", "paid"}
    for id in states.values():
        ended = played.cli("reproduce", id, "--as", "pytest", "--seconds", "60")
        assert ended.status == 0, ended.errors
        assert 'invoices = payments.api.get(f"/_emulator/objects?kind=invoice&related={' in ended.output


def test_an_object_that_is_not_there_is_a_mistake(played: Played) -> None:
    assert "There is no object sub_1" in played.cli("reproduce", "sub_1", "--as", "pytest").usage_error
