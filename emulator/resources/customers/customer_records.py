"""The records of customers and of their addresses, on which all modules of this package build."""

from __future__ import annotations

from typing import Annotated, ClassVar

from emulator.core.records import HIDDEN, Metadata, Record
from emulator.core.translatable import N_


class Address(Record, frozen=True, kw_only=True):
    """A postal address of a customer."""

    kind: ClassVar[str] = "address"
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
    """A person who pays, known to the App by email.

    ``address`` is the default address. ``total_spent`` is in minor units of ``currency``: completed deposits less
    refunds (B-30). ``email`` is null for the anonymous buyer of a checkout session (B-58).
    """

    kind: ClassVar[str] = "customer"
    prefix: ClassVar[str] = "cust"
    names: ClassVar[tuple[str, str] | None] = (N_("Customer"), N_("Customers"))
    not_found_code: ClassVar[str] = "CUSTOMER_NOT_FOUND"
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
    # Whether a payment method of the customer was removed: from then on a renewal without one fails (B-41).
    lost_method: Annotated[bool, HIDDEN] = False
