"""A payment method: what a customer pays with, kept without anything that could be stolen (B-52)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core.jobs import Job
from emulator.core.records import HIDDEN, Metadata, Record
from emulator.core.state_machine import StateMachine
from emulator.core.world import World
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_details import PaymentDetails


class PaymentMethod(Record, frozen=True, kw_only=True):
    """What ``details`` holds depends on ``type``.

    ``operator, phone, country`` or ``brand, last4, exp_month, exp_year`` or ``bank, last4`` or ``email``.
    """

    kind: ClassVar[str] = "payment_method"
    prefix: ClassVar[str] = "meth"
    not_found_code: ClassVar[str] = "PAYMENT_METHOD_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("customer",)

    object: str = "payment_method"
    app: str
    customer: str
    type: str
    status: str = "active"
    is_default: bool = False
    details: Mapping[str, Any]
    metadata: Metadata = msgspec.field(default_factory=dict)
    livemode: bool
    created_at: str
    updated_at: str
    # A card's number is never kept; the name of its magic line is what tells the operator what to do (B-54).
    magic: Annotated[str | None, HIDDEN] = None

    @property
    def instrument(self) -> PaymentDetails:
        """What is paid with."""
        return PaymentDetails(type=self.type, details=self.details, magic=self.magic)


LIFECYCLE = StateMachine(PaymentMethod, (None, "add", "active"), ("active", "expire", "expired"))


def add(
    world: World, customer: str, type: str, details: Mapping[str, Any], *, is_default: bool, **fields: Any
) -> PaymentMethod:
    """File a method of a customer; as the default it takes the place of the former one."""
    if is_default:
        clear_default(world, customer)
    method = LIFECYCLE.create(
        world,
        "add",
        PaymentMethod(
            id=world.new_id(PaymentMethod),
            app=world.app,
            customer=customer,
            type=type,
            is_default=is_default,
            details=details,
            livemode=world.livemode,
            created_at=world.now,
            updated_at=world.now,
            **fields,
        ),
    )
    if (end := payment_details.expiry(method.instrument)) is not None:
        world.schedule(end, "payment_method.expire", method)
    return method


def expire(world: World, job: Job) -> None:
    """Job ``payment_method.expire``, when a card's month is over."""
    method = world.get(PaymentMethod, job.about)
    if method is not None and LIFECYCLE.allows(method, "expire"):
        LIFECYCLE.transition(world, method, "expire")


def clear_default(world: World, customer: str) -> None:
    """Nobody's default any more."""
    if (former := default(world, customer)) is not None:
        world.replace(former, is_default=False)


def of_customer(world: World, customer: str) -> list[PaymentMethod]:
    """A customer's methods, oldest first."""
    return world.table(PaymentMethod).where("customer", customer)


def default(world: World, customer: str) -> PaymentMethod | None:
    """The customer's default method, if there is one."""
    return next((method for method in of_customer(world, customer) if method.is_default), None)


def on_phone(world: World, customer: str, phone: str | None) -> PaymentMethod | None:
    """The customer's (oldest) mobile money method on this number."""
    methods = of_customer(world, customer)
    return next((each for each in methods if each.type == "mobile_money" and each.details["phone"] == phone), None)


def usable(world: World, customer: str, id: str | None) -> PaymentMethod | None:
    """The method to charge, if it is active: the one with this id or, without an id, the default (B-41)."""
    method = world.get(PaymentMethod, id) or default(world, customer)
    return method if method is not None and method.status == "active" else None


JOBS = {"payment_method.expire": expire}
