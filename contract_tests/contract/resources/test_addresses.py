"""Addresses: where a customer lives, and which of the addresses is the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contract_tests.support.sandbox import START, Sandbox

HOME = {"line1": "14 Boulevard Triomphal", "city": "Libreville", "country": "GA"}
NOWHERE = "addr_000000000000000000000000"


def addresses_of(customer: Any) -> str:
    return f"/customers/{customer['id']}/addresses/"


def add(sandbox: Sandbox, customer: Any, **fields: Any) -> Any:
    return sandbox.api.post(addresses_of(customer), {**HOME, **fields})


def shown(sandbox: Sandbox, customer: Any) -> Any:
    """Return the address the customer shows."""
    return sandbox.api.get(f"/customers/{customer['id']}/")["address"]


def listed(sandbox: Sandbox, customer: Any) -> list[Any]:
    return list(sandbox.api.pages(addresses_of(customer), page_size=1))


# POST


def test_an_address_is_made_with_everything_given(sandbox: Sandbox) -> None:
    """Address fields."""
    customer = sandbox.customer()
    fields = {**HOME, "line2": "Immeuble Okoumé", "state": "Estuaire", "postal_code": "BP 2190", "is_default": True}
    with sandbox.expect():
        address = sandbox.api.post(addresses_of(customer), fields)
    assert address == {
        "id": address["id"],
        "object": "address",
        "customer": customer["id"],
        **fields,
        "created_at": START,
        "updated_at": START,
    }
    assert sandbox.api.get(f"{addresses_of(customer)}{address['id']}/") == address


@pytest.mark.parametrize("left_out", [{}, {"line2": None, "state": None, "postal_code": None}])
def test_what_is_optional_is_null(sandbox: Sandbox, left_out: dict[str, None]) -> None:
    """is_default defaults to false, also for the first address."""
    customer = sandbox.customer()
    address = add(sandbox, customer, **left_out)
    assert (address["line2"], address["state"], address["postal_code"]) == (None, None, None)
    assert address["is_default"] is False
    assert shown(sandbox, customer) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("line1", ""),
        ("line1", "  "),
        ("line1", None),
        ("city", ""),
        ("city", "\t"),
        ("city", None),
        ("line2", 2),
        ("state", 3),
        ("postal_code", 2190),
        ("country", "Gabon"),
        ("country", "ga"),
        ("country", "GAB"),
        ("country", "ZZ"),
        ("country", None),
        ("country", "JP"),  # a country, but none the App covers
        ("is_default", "yes"),
        ("is_default", None),
    ],
)
def test_a_wrong_field(sandbox: Sandbox, field: str, value: Any) -> None:
    """Country names are rejected, and countries the App does not cover (B-15, B-90)."""
    customer = sandbox.customer()
    address = add(sandbox, customer)
    one = f"{addresses_of(customer)}{address['id']}/"
    body = {**HOME, field: value}
    error = sandbox.api.rejected("POST", addresses_of(customer), 422, "INVALID_FIELD", json=body)
    assert (error["param"], set(error["errors"])) == (field, {field})
    assert sandbox.api.rejected("PATCH", one, 422, "INVALID_FIELD", json={field: value})["param"] == field
    assert listed(sandbox, customer) == [address]


def test_the_app_says_which_countries_it_covers(with_settings: Callable[..., Sandbox]) -> None:
    """B-90."""
    sandbox = with_settings(countries=["JP"])
    customer = sandbox.customer()
    assert add(sandbox, customer, country="JP")["country"] == "JP"
    sandbox.api.rejected("POST", addresses_of(customer), 422, "INVALID_FIELD", json=HOME)


# the default address


def test_a_new_default_demotes_the_former(sandbox: Sandbox) -> None:
    """Only one default address per customer."""
    customer = sandbox.customer()
    first = add(sandbox, customer, is_default=True)
    assert shown(sandbox, customer) == first
    sandbox.advance("1h")
    second = add(sandbox, customer, is_default=True)
    assert listed(sandbox, customer) == [second, {**first, "is_default": False, "updated_at": sandbox.now}]
    assert shown(sandbox, customer) == second


def test_customers_do_not_share_a_default(sandbox: Sandbox) -> None:
    customers = [sandbox.customer(), sandbox.customer()]
    defaults = [add(sandbox, customer, is_default=True) for customer in customers]
    assert [shown(sandbox, customer) for customer in customers] == defaults


def test_the_customer_shows_the_default_as_it_is_now(sandbox: Sandbox) -> None:
    """B-30; the customer changes with it."""
    customer = sandbox.customer()
    address = add(sandbox, customer, is_default=True)
    sandbox.advance("1h")
    changed = sandbox.api.patch(f"{addresses_of(customer)}{address['id']}/", {"city": "Oyem"})
    customer = sandbox.api.get(f"/customers/{customer['id']}/")
    assert (customer["address"], customer["updated_at"]) == (changed, sandbox.now)
    assert sandbox.api.get("/customers/")["data"] == [customer]


def test_another_address_changes_nothing_the_customer_shows(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    add(sandbox, customer, is_default=True)
    before = sandbox.api.get(f"/customers/{customer['id']}/")
    sandbox.advance("1h")
    sandbox.api.delete(f"{addresses_of(customer)}{add(sandbox, customer)['id']}/")
    assert sandbox.api.get(f"/customers/{customer['id']}/") == before


MOVES = st.tuples(st.sampled_from(["add", "add default", "promote", "demote", "delete"]), st.integers(0, 9))


@given(moves=st.lists(MOVES, max_size=12))
@example(moves=[("add", 0), ("add default", 0), ("delete", 1)])
@example(moves=[("add default", 0), ("demote", 0)])
@example(moves=[("add default", 0), ("promote", 0), ("add", 0), ("promote", 1)])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    addresses = listed(sandbox, customer)
    newest_first = sorted(ids, key=lambda each: (each == default, ids.index(each)), reverse=True)
    assert [address["id"] for address in addresses] == newest_first
    assert [address["id"] for address in addresses if address["is_default"]] == ([default] if default else [])
    assert shown(sandbox, customer) == (addresses[0] if default else None)


# PATCH, DELETE, GET


def test_only_the_fields_sent_change_and_null_removes(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    address = add(sandbox, customer, line2="B", state="Estuaire", postal_code="BP 1")
    path = f"{addresses_of(customer)}{address['id']}/"
    sandbox.advance("1h")
    changes = {"line1": "1 Rue", "city": "Dakar", "country": "SN", "line2": None}
    assert sandbox.api.patch(path, changes) == {**address, **changes, "updated_at": sandbox.now}
    removed = sandbox.api.patch(path, {"state": None, "postal_code": None})
    assert (removed["state"], removed["postal_code"]) == (None, None)
    assert sandbox.api.get(path) == removed


def test_the_list_has_the_default_first_and_then_the_newest(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    made = []
    for number in range(4):
        made.append(add(sandbox, customer, line1=str(number), is_default=number == 1))
        sandbox.advance("1h")
    assert [address["line1"] for address in listed(sandbox, customer)] == ["1", "3", "2", "0"]
    sandbox.api.delete(f"{addresses_of(customer)}{made[1]['id']}/")
    assert [address["line1"] for address in listed(sandbox, customer)] == ["3", "2", "0"]


def test_a_deleted_address_is_gone(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    path = f"{addresses_of(customer)}{add(sandbox, customer)['id']}/"
    sandbox.api.delete(path)
    for method in ("GET", "PATCH", "DELETE"):
        sandbox.api.rejected(method, path, 404, "NOT_FOUND")


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_an_address_that_is_not_this_customers_is_not_there(sandbox: Sandbox, method: str) -> None:
    """B-15: 404 NOT_FOUND, for an unknown one and for another customer's."""
    customer, stranger = sandbox.customer(), sandbox.customer()
    address = add(sandbox, customer)
    for id in (address["id"], NOWHERE, "nothing"):
        sandbox.api.rejected(method, f"{addresses_of(stranger)}{id}/", 404, "NOT_FOUND")
    assert listed(sandbox, customer) == [address]
