"""Addresses: where a customer lives, and which of the addresses is the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract_tests.support.sandbox import Sandbox

HOME = {"line1": "14 Boulevard Triomphal", "city": "Libreville", "country": "GA"}


def addresses_of(customer: Any) -> str:
    return f"/customers/{customer['id']}/addresses/"


def add(sandbox: Sandbox, customer: Any, **fields: Any) -> Any:
    return sandbox.api.post(addresses_of(customer), {**HOME, **fields})


def defaults(sandbox: Sandbox, customer: Any) -> list[str]:
    return [each["id"] for each in sandbox.api.get(addresses_of(customer))["data"] if each["is_default"]]


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
    path = f"{addresses_of(customer)}{first['id']}/"
    for default, id in ((True, first["id"]), (True, first["id"]), (False, None)):
        sandbox.api.patch(path, {"is_default": default})
        assert defaults(sandbox, customer) == ([id] if id else [])
    sandbox.api.patch(path, {"is_default": True})
    sandbox.api.delete(path)
    assert defaults(sandbox, customer) == []
    assert sandbox.api.get(f"/customers/{customer['id']}/")["address"] is None
