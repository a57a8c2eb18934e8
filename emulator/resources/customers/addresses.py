"""The addresses of a customer. At most one is the default: the one shown in the customer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.errors import ApiError, invalid_field
from emulator.core.events import Event
from emulator.core.handlers import apply_patch, get_or_404, new_record, sublist_handler
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.customers.customer_records import Address, Customer


def create(world: World, id: str, body: Mapping[str, Any]) -> Address:
    """POST /customers/{id}/addresses/: a new default address replaces the former one as the default."""
    get_or_404(world, Customer, id)
    if body["is_default"]:
        clear_default(world, id)
    address = world.add(new_record(world, Address, body, customer=id))
    show_default(world, id)
    return address


def retrieve(world: World, id: str, addr_id: str) -> Address:
    """GET /customers/{id}/addresses/{addr_id}/: 404 ``NOT_FOUND`` also for the address of another customer."""
    get_or_404(world, Customer, id)
    address = get_or_404(world, Address, addr_id)
    if address.customer != id:
        raise ApiError(Address.not_found_code)
    return address


def update(world: World, id: str, addr_id: str, body: Mapping[str, Any]) -> Address:
    """PATCH /customers/{id}/addresses/{addr_id}/: ``is_default`` true also clears the former default."""
    address = retrieve(world, id, addr_id)
    if body.get("is_default") and not address.is_default:
        clear_default(world, id)
    address = apply_patch(world, address, body)
    show_default(world, id)
    return address


def delete(world: World, id: str, addr_id: str) -> None:
    """DELETE /customers/{id}/addresses/{addr_id}/: if it was the default, the customer has none then."""
    world.remove(retrieve(world, id, addr_id))
    show_default(world, id)


def check(found: Violations, world: World, id: str, body: Body, addr_id: str | None = None) -> None:
    """The rule for a new or changed address: its country is one of the App's (Address fields; B-15)."""
    covered = settings(world).countries
    with found:
        if "country" in body and body["country"] not in covered:
            raise invalid_field("country", f"the App does not cover {body['country']}; it covers {', '.join(covered)}")


def of_customer(world: World, customer: str) -> list[Address]:
    """A customer's addresses, oldest first."""
    return world.table(Address).where("customer", customer)


def default(world: World, customer: str) -> Address | None:
    """The customer's default address, if any."""
    return next((address for address in of_customer(world, customer) if address.is_default), None)


def clear_default(world: World, customer: str) -> None:
    """Make the customer's default address an ordinary one."""
    if (former := default(world, customer)) is not None:
        world.replace(former, is_default=False)


def show_default(world: World, id: str) -> None:
    """Copy the default address into the customer (B-30)."""
    customer, address = world.require(Customer, id), default(world, id)
    if customer.address != address:
        world.replace(customer, address=address)


def delete_for_customer(world: World, event: Event) -> None:
    """Reaction to ``customer.deleted``: the customer's addresses are deleted as well (B-32)."""
    for address in of_customer(world, event.data.object.id):
        world.remove(address)


index = sublist_handler(Customer, Address, "customer", ordering="-is_default")
"""The default address comes first, then the newest."""

OPERATIONS = {
    "createAddress": create,
    "listAddresses": index,
    "getAddress": retrieve,
    "updateAddress": update,
    "deleteAddress": delete,
}
