"""Values that a field may have by the document, but not beside the other fields of its object.

Set directly, they are refused (B-89): no request to the service leads to them. Each kind of object
that has such values has one function in ``BOUNDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_methods import PaymentMethod

Changed = Mapping[str, Any]
"""The fields that get another value, with that value."""


def check(world: World, old: Record, changed: Changed) -> None:
    """Raise 422 for a value that no object of this kind has beside its other fields."""
    if changed and (rule := BOUNDS.get(type(old))) is not None:
        rule(world, old.replace(**changed), changed)


def _method(world: World, new: PaymentMethod, changed: Changed) -> None:
    if "details" in changed:
        payment_details.check_details(new.details, new.type)


BOUNDS: Mapping[type[Record], Callable[[World, Any, Changed], None]] = {PaymentMethod: _method}
