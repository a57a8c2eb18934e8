"""Addresses: where a customer lives, and which of the addresses is the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contract_tests.support.sandbox import Sandbox

HOME = {"line1": "14 Boulevard Triomphal", "city": "Libreville", "country": "GA"}


def addresses_of(customer: Any) -> str:
    return f"/customers/{customer['id']}/addresses/"


def add(sandbox: Sandbox, customer: Any, **fields: Any) -> Any:
    return sandbox.api.post(addresses_of(customer), {**HOME, **fields})


def test_the_app_says_which_countries_it_covers(with_settings: Callable[..., Sandbox]) -> None:
    """B-90."""
    sandbox = with_settings(countries=["JP"])
    customer = sandbox.customer()
    assert add(sandbox, customer, country="JP")["country"] == "JP"
    sandbox.api.rejected("POST", addresses_of(customer), 422, "INVALID_FIELD", json=HOME)


def test_the_customer_shows_the_default_as_it_is_now(sandbox: Sandbox) -> None:
    """B-30: only one default per customer, and the customer changes with it, but not with another address."""
    customer, other = sandbox.customer(), sandbox.customer()
    first, theirs = add(sandbox, customer, is_default=True), add(sandbox, other, is_default=True)
    sandbox.advance("1h")
    second = add(sandbox, customer, is_default=True)
    listed = sandbox.api.get(addresses_of(customer))["data"]
    assert listed == [second, {**first, "is_default": False, "updated_at": sandbox.now}]
    assert sandbox.api.get(f"/customers/{other['id']}/")["address"] == theirs
    sandbox.advance("1h")
    changed = sandbox.api.patch(f"{addresses_of(customer)}{second['id']}/", {"city": "Oyem"})
    shown = sandbox.api.get(f"/customers/{customer['id']}/")
    assert (shown["address"], shown["updated_at"]) == (changed, sandbox.now)
    assert shown in sandbox.api.get("/customers/")["data"]
    sandbox.advance("1h")
    sandbox.api.delete(f"{addresses_of(customer)}{add(sandbox, customer)['id']}/")
    assert sandbox.api.get(f"/customers/{customer['id']}/") == shown


MOVES = st.tuples(st.sampled_from(["add", "add default", "promote", "demote", "delete"]), st.integers(0, 9))


@given(moves=st.lists(MOVES, max_size=12))
@example(moves=[("add", 0), ("add default", 0), ("delete", 1)])
@example(moves=[("add default", 0), ("demote", 0)])
@example(moves=[("add default", 0), ("promote", 0), ("add", 0), ("promote", 1)])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_done_there_is_at_most_one_default_and_the_customer_shows_it(
    sandbox: Sandbox, moves: list[tuple[str, int]]
) -> None:
    """Only one default address per customer; held against a model of two variables."""
    customer = sandbox.customer()
    ids: list[str] = []
    default: str | None = None
    for move, number in moves:
        if move.startswith("add"):
            ids.append(add(sandbox, customer, is_default=move == "add default")["id"])
            default = ids[-1] if move == "add default" else default
        elif ids:
            id = ids[number % len(ids)]
            path = f"{addresses_of(customer)}{id}/"
            if move == "delete":
                sandbox.api.delete(path)
                ids.remove(id)
            else:
                sandbox.api.patch(path, {"is_default": move == "promote"})
            default = id if move == "promote" else None if id == default else default
    addresses = sandbox.api.get(addresses_of(customer))["data"]
    newest_first = sorted(ids, key=lambda each: (each == default, ids.index(each)), reverse=True)
    assert [address["id"] for address in addresses] == newest_first
    assert [address["id"] for address in addresses if address["is_default"]] == ([default] if default else [])
    assert sandbox.api.get(f"/customers/{customer['id']}/")["address"] == (addresses[0] if default else None)
