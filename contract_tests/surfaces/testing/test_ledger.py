"""``payments.ledger``: totals, entries and an assertion, for synchronous and asynchronous tests."""

from __future__ import annotations

import asyncio

import pytest

from contract_tests.surfaces.testing.conftest import START
from emulator.testing import Api, Emulator, Ledger, LocalServer


def charge(world: Emulator) -> str:
    """Return a customer who subscribes and is charged; its id."""
    contact = {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"}
    customer = world.api.post("/v1/customers/", contact)
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    return str(world.api.post("/v1/subscriptions/", body)["customer"])


def test_it_says_where_the_money_is(local_server: LocalServer) -> None:
    with Emulator(key="sk_test_ledger", clock=START, server=local_server) as world:
        customer = charge(world)
        assert world.ledger.balanced
        assert world.ledger.totals == {"XAF": {"buyers": -5000, "merchant": 4855, "fees": 145, "commissions": 0}}
        spending = [each["amount"] for each in world.ledger.entries(object=customer)]
        assert sorted(spending) == [-5000, 5000]
        assert world.ledger.entries(currency="EUR") == []
        world.ledger.assert_balanced()


def test_asynchronously(local_server: LocalServer) -> None:
    async def play() -> None:
        async with Emulator(key="sk_test_ledger-aio", clock=START, server=local_server) as world:
            await asyncio.to_thread(charge, world.plain)
            assert await world.ledger.balanced()
            assert (await world.ledger.totals())["XAF"]["buyers"] == -5000
            assert await world.ledger.entries()
            await world.ledger.assert_balanced()

    asyncio.run(play())


class BrokenApi(Api):
    """Answers a ledger that does not add up."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1", "sk_test_none")

    def get(self, path: str, /, **query: object) -> object:
        cause = {"id": "job_3", "summary": "job subscription.retry of sub_1 ran"}
        earlier = {"id": "req_1", "summary": "POST /_emulator/invoices/inv_1/pay"}
        found = {"account": "payments of inv_1", "amount": 5000, "currency": "XAF", "at": "2026-01-15T09:30:00.000Z"}
        return {"balanced": False, "broken_by": [{**found, "cause": cause, "earlier": earlier}]}


def test_the_assertion_names_what_broke_it() -> None:
    with pytest.raises(
        AssertionError, match=r"payments of inv_1 is off by 5,000 XAF: job .* \(job_3\); before it POST"
    ):
        Ledger(BrokenApi()).assert_balanced()
