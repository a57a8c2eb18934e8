"""Customers: created, changed, searched and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.handlers import (
    apply_patch,
    check_metadata,
    get_handler,
    get_or_404,
    sublist_handler,
)
from emulator.core.lists import Selection, select
from emulator.core.records import folded
from emulator.core.state_machine import StateMachine
from emulator.core.violations import Violations, with_rules
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.customers import payment_details, payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod

STATE_MACHINE = StateMachine(Customer, (None, "create", "active", "customer.created"))


def split_name(name: str) -> tuple[str, str]:
    """Return first and last name, split at the first space (Customer fields; B-30)."""
    first, _, last = name.strip().partition(" ")
    return first, last.strip()


def create(world: World, body: Mapping[str, Any]) -> Customer:
    """POST /customers/: 409 ``customer_email_exists`` if the email is taken, in any case."""
    require_free_email(world, body["email"])
    firstname, lastname = split_name(body["name"])
    own = {"firstname": firstname, "lastname": lastname, "currency": settings(world).main_currency}
    customer = STATE_MACHINE.create(world, "create", body, **own)
    if customer.phone is not None:
        add_phone(world, customer, customer.phone)
    return customer


def require_free_email(world: World, email: str | None, by: Customer | None = None) -> None:
    """Raise 409 if a customer of the App other than ``by`` has this email."""
    holder = world.table(Customer).find("email", email)
    if holder is not None and holder is not by:
        raise ApiError(
            "customer_email_exists",
            param="email",
            errors={"email": ["is the email of another customer"]},
        )


@with_rules
def update(world: World, id: str, body: Mapping[str, Any]) -> Customer:
    """PATCH /customers/{id}/: a new name is split; a new phone changes its method (B-31)."""
    customer = get_or_404(world, Customer, id)
    violations = Violations(body)
    check_metadata(violations, customer, body)
    violations.done()
    changes = dict(body)
    if "email" in changes:
        require_free_email(world, changes["email"], by=customer)
    if "name" in changes:
        changes["firstname"], changes["lastname"] = split_name(changes.pop("name"))
    if "phone" in changes:
        change_phone(world, customer, changes["phone"])
    return apply_patch(world, world.require(Customer, id), changes)


def add_phone(world: World, customer: Customer, phone: str) -> None:
    """Add the phone's mobile money method, as default unless there is one (B-31)."""
    instrument = PaymentDetails(type="mobile_money", details=payment_details.phone_details(phone))
    payment_methods.add(world, customer.id, instrument)


def change_phone(world: World, customer: Customer, phone: str | None) -> None:
    """Give the phone's mobile money method the new number, or remove it with the phone (B-31)."""
    if phone == customer.phone:
        return
    method = payment_methods.on_phone(world, customer.id, customer.phone)
    if method is not None and phone is not None:
        world.replace(method, details=payment_details.phone_details(phone))
    elif method is not None:
        payment_methods.remove(world, method)
    elif phone is not None:
        add_phone(world, customer, phone)


def delete(world: World, id: str) -> None:
    """DELETE /customers/{id}/: deletes the customer and its payment methods (B-32).

    The event is emitted first, so that it shows the customer as it was and reactions can still look
    it up.
    """
    world.emit("customer.deleted", get_or_404(world, Customer, id))
    for method in payment_methods.of_customer(world, id):
        world.cancel_jobs(method)
        world.remove(method)
    world.remove(world.require(Customer, id))


def matches_search(customer: Customer, text: str) -> bool:
    """Return whether a text occurs in email, names or phone, case aside, or is the id (B-20)."""
    name = f"{customer.firstname} {customer.lastname}"
    fields = (customer.email or "", name, customer.phone or "")
    text = folded(text.strip())
    return text == folded(customer.id) or any(text in folded(field) for field in fields)


def index(world: World, query: Mapping[str, Any]) -> Selection[Customer]:
    """GET /customers/: no match is an empty list or, under one assumption, 404 (B-20)."""
    is_error = query.get("search") and settings(world).assumptions.search_nothing_found == "error"
    nothing_found = ApiError("SEARCH_NO_RESULTS") if is_error else None
    return select(world.table(Customer), query, {"search": matches_search}, nothing_found)


methods = sublist_handler(Customer, PaymentMethod)

OPERATIONS = {
    "createCustomer": create,
    "listCustomers": index,
    "getCustomer": get_handler(Customer),
    "updateCustomer": update,
    "deleteCustomer": delete,
    "listCustomerPaymentMethods": methods,
}
