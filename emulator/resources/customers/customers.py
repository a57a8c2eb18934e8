"""A customer: a person who pays, known to the App by email."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from emulator.core.handlers import apply_patch, get_handler, get_or_404, list_handler, sublist_handler
from emulator.core.records import HIDDEN, Metadata, Record
from emulator.core.state_machine import StateMachine
from emulator.core.world import World
from emulator.errors import ApiError
from emulator.resources.app.settings import settings
from emulator.resources.customers import payment_methods, phones
from emulator.resources.customers.payment_methods import PaymentMethod


class Address(Record, frozen=True, kw_only=True):
    """A postal address of a customer. It stands here because a customer shows the default one (B-30)."""

    kind: ClassVar[str] = "address"
    prefix: ClassVar[str] = "addr"
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
    """``total_spent`` is minor units of ``currency``: completed deposits less what was refunded (B-30).

    ``email`` is null for the anonymous buyer of a checkout session (B-58).
    """

    kind: ClassVar[str] = "customer"
    prefix: ClassVar[str] = "cust"
    not_found_code: ClassVar[str] = "CUSTOMER_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("status",)
    unique: ClassVar[tuple[str, ...]] = ("email",)
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
    # Whether a payment method of the customer was removed: from then on a renewal without one fails (B-41).
    lost_method: Annotated[bool, HIDDEN] = False


LIFECYCLE = StateMachine(Customer, (None, "create", "active", "customer.created"))


def split_name(name: str) -> tuple[str, str]:
    """First and last name, split at the first space (Customer fields; B-30)."""
    first, _, last = name.strip().partition(" ")
    return first, last.strip()


def create(world: World, body: Mapping[str, Any]) -> Customer:
    """POST /customers/: 409 ``customer_email_exists`` if the email is taken, letter case aside."""
    refuse_taken(world, body["email"])
    firstname, lastname = split_name(body["name"])
    customer = LIFECYCLE.create(
        world,
        "create",
        Customer(
            id=world.new_id(Customer),
            app=world.app,
            email=body["email"],
            firstname=firstname,
            lastname=lastname,
            phone=body.get("phone"),
            currency=settings(world).main_currency,
            metadata=body.get("metadata", {}),
            created_at=world.now,
            updated_at=world.now,
        ),
    )
    if customer.phone is not None:
        add_phone(world, customer, customer.phone)
    return customer


def refuse_taken(world: World, email: str | None, by: Customer | None = None) -> None:
    """409 if a customer of the App other than ``by`` has this email."""
    holder = world.table(Customer).find("email", email)
    if holder is not None and holder is not by:
        raise ApiError("customer_email_exists", param="email", errors={"email": ["is the email of another customer"]})


def update(world: World, id: str, body: Mapping[str, Any]) -> Customer:
    """PATCH /customers/{id}/: a new email must be free, a new name is split anew, the phone's method follows (B-31)."""
    customer = get_or_404(world, Customer, id)
    changes = dict(body)
    if "email" in changes:
        refuse_taken(world, changes["email"], by=customer)
    if "name" in changes:
        changes["firstname"], changes["lastname"] = split_name(changes.pop("name"))
    if "phone" in changes:
        change_phone(world, customer, changes["phone"])
    return apply_patch(world, world.require(Customer, id), changes)


def add_phone(world: World, customer: Customer, phone: str) -> None:
    """A first phone brings a mobile money method on its number, the customer's default (B-31)."""
    payment_methods.add(world, customer.id, "mobile_money", phones.details(phone), is_default=True)


def change_phone(world: World, customer: Customer, phone: str | None) -> None:
    """The mobile money method on the customer's phone takes over a new number, or goes with the phone (B-31)."""
    if phone == customer.phone:
        return
    method = payment_methods.on_phone(world, customer.id, customer.phone)
    if method is not None and phone is not None:
        world.replace(method, details=phones.details(phone))
    elif method is not None:
        remove_method(world, method)
    elif phone is not None:
        add_phone(world, customer, phone)


def remove_method(world: World, method: PaymentMethod) -> None:
    """Take a method from its customer, who now has lost one (B-41). A job informs the subscriptions that charge it."""
    world.cancel_jobs(method)
    world.remove(method)
    if (customer := world.get(Customer, method.customer)) is not None and not customer.lost_method:
        world.replace(customer, lost_method=True)
    world.schedule(world.now, "payment_method.removed", method, customer=method.customer)


def has_had_method(world: World, customer: Customer) -> bool:
    """Whether the customer has or ever had a payment method (B-41)."""
    return customer.lost_method or bool(payment_methods.of_customer(world, customer.id))


def is_blocked(customer: Customer) -> bool:
    """Whether nothing may be paid by this customer: ``CUSTOMER_BLACKLISTED`` (B-32)."""
    return customer.is_blacklisted or customer.status == "blocked"


def delete(world: World, id: str) -> None:
    """DELETE /customers/{id}/: gone for good, and its payment methods with it (B-32).

    Told before it is done: whoever reacts still finds the customer, and the event shows it as it was.
    """
    world.emit("customer.deleted", get_or_404(world, Customer, id))
    for method in payment_methods.of_customer(world, id):
        world.cancel_jobs(method)
        world.remove(method)
    world.remove(world.require(Customer, id))


def matches_search(customer: Customer, text: str) -> bool:
    """Case-blind substring of email, names, phone and id (B-20)."""
    name = f"{customer.firstname} {customer.lastname}"
    fields = (customer.email or "", name, customer.phone or "", customer.id)
    return any(text.strip().casefold() in field.casefold() for field in fields)


retrieve = get_handler(Customer)
index = list_handler(Customer, {"search": matches_search})
methods = sublist_handler(Customer, PaymentMethod, "customer")

OPERATIONS = {
    "createCustomer": create,
    "listCustomers": index,
    "getCustomer": retrieve,
    "updateCustomer": update,
    "deleteCustomer": delete,
    "listCustomerPaymentMethods": methods,
}
