"""Records of customers and addresses, which all modules of this package use; address operations.

At most one address is the default: the one shown in the customer.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from emulator.core.errors import invalid_field
from emulator.core.handlers import apply_patch, get_or_404, new_record, not_found, sublist_handler
from emulator.core.records import HIDDEN, N_, Metadata, Record
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app.settings import settings


class Address(Record, frozen=True, kw_only=True):
    prefix: ClassVar[str] = "addr"
    names: ClassVar[tuple[str, str] | None] = (N_("Address"), N_("Addresses"))
    indexes: ClassVar[tuple[str, ...]] = ("customer",)

    object: str = "address"
    customer: str
    line1: str
    line2: str | None
    city: str
    state: str | None
    postal_code: str | None
    country: str
    is_default: bool
    created_at: str
    updated_at: str


class Customer(Record, frozen=True, kw_only=True):
    """A payer, known to the App by email, which is null for a session's anonymous buyer (B-58).

    ``address`` is the default one, ``total_spent`` (minor units) the completed deposits less
    refunds (B-30).
    """

    prefix: ClassVar[str] = "cust"
    names: ClassVar[tuple[str, str] | None] = (N_("Customer"), N_("Customers"))
    indexes: ClassVar[tuple[str, ...]] = ("status",)
    unique: ClassVar[tuple[str, ...]] = ("email",)
    checked: ClassVar[frozenset[str]] = frozenset({"total_spent"})
    caseless: ClassVar[tuple[str, ...]] = ("email",)

    object: str = "customer"
    app: str
    email: str | None
    firstname: str
    lastname: str
    phone: str | None
    address: Address | None = None
    status: str = "active"
    is_blacklisted: bool = False
    transactions_count: int = 0
    total_spent: int = 0
    currency: str
    metadata: Metadata
    created_at: str
    updated_at: str
    # Whether a payment method of the customer was removed: from then on a renewal without one fails
    # (B-41).
    lost_method: Annotated[bool, HIDDEN] = False

    @property
    def is_blocked(self) -> bool:
        """Whether the customer's payments fail with ``CUSTOMER_BLACKLISTED`` (B-32)."""
        return self.is_blacklisted or self.status == "blocked"


# -- operations on addresses


@with_rules
def create(world: World, id: str, body: Body) -> Address:
    """POST /customers/{id}/addresses/: a new default address replaces the former default."""
    check_country(world, body)
    get_or_404(world, Customer, id)
    if body["is_default"]:
        clear_default(world, id)
    address = world.add(new_record(world, Address, body, customer=id))
    show_default(world, id)
    return address


def retrieve(world: World, id: str, addr_id: str) -> Address:
    """GET /customers/{id}/addresses/{addr_id}/: 404 ``NOT_FOUND`` for another customer's, too."""
    get_or_404(world, Customer, id)
    address = get_or_404(world, Address, addr_id)
    if address.customer != id:
        raise not_found(Address, addr_id)
    return address


@with_rules
def update(world: World, id: str, addr_id: str, body: Body) -> Address:
    """PATCH /customers/{id}/addresses/{addr_id}/: true ``is_default`` clears the former."""
    check_country(world, body)
    address = retrieve(world, id, addr_id)
    if body.get("is_default") and not address.is_default:
        clear_default(world, id)
    address = apply_patch(world, address, body)
    show_default(world, id)
    return address


def delete(world: World, id: str, addr_id: str) -> None:
    """DELETE /customers/{id}/addresses/{addr_id}/: no default is left if it was that."""
    world.remove(retrieve(world, id, addr_id))
    show_default(world, id)


def check_country(world: World, body: Body) -> None:
    """Raise 422 for an address in a country that the App does not cover (Address fields; B-15)."""
    violations, covered = Violations(body), settings(world).countries
    with violations:
        if "country" in body and body["country"] not in covered:
            raise invalid_field(
                "country",
                f"the App does not cover {body['country']}; it covers {', '.join(covered)}",
            )
    violations.done()


def of_customer(world: World, customer: str) -> list[Address]:
    return world.table(Address).where("customer", customer)


def default(world: World, customer: str) -> Address | None:
    return next((address for address in of_customer(world, customer) if address.is_default), None)


def clear_default(world: World, customer: str) -> None:
    if (former := default(world, customer)) is not None:
        world.replace(former, is_default=False)


def show_default(world: World, id: str) -> None:
    """Copy the default address into the customer (B-30)."""
    customer, address = world.require(Customer, id), default(world, id)
    if customer.address != address:
        world.replace(customer, address=address)


def delete_for_customer(world: World, customer: Customer) -> None:
    """Reaction to ``customer.deleted``: the customer's addresses are deleted as well (B-32)."""
    for address in of_customer(world, customer.id):
        world.remove(address)


index = sublist_handler(Customer, Address, ordering="-is_default")
"""The default address comes first, then the newest."""

OPERATIONS = {
    "createAddress": create,
    "listAddresses": index,
    "getAddress": retrieve,
    "updateAddress": update,
    "deleteAddress": delete,
}
