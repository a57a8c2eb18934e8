"""A security profile: limits on who may use the API and on which payments are allowed.

A request or a payment must satisfy every profile of the App (B-70).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import apply_patch, get_handler, get_or_404, list_handler, new_record
from emulator.core.records import N_, Record
from emulator.core.world import World
from emulator.resources.app.clients import IpAddress, domain, network
from emulator.resources.app.settings import settings

WITHOUT_PROFILES = "starter"
"""The pricing plan without security profiles (Enforcement rule 7; B-70)."""


class SecurityProfile(Record, frozen=True, kw_only=True):
    """Empty lists restrict nothing; ``max_amount``: minor units per payment, null for no limit."""

    prefix: ClassVar[str] = "sp"
    names: ClassVar[tuple[str, str] | None] = (N_("Security profile"), N_("Security profiles"))

    object: str = "security_profile"
    name: str
    allowed_ips: tuple[str, ...]
    allowed_domains: tuple[str, ...]
    max_amount: int | None
    allowed_payment_methods: tuple[str, ...]
    blocked_countries: tuple[str, ...]
    livemode: bool
    created_at: str
    updated_at: str


def create(world: World, body: Mapping[str, Any]) -> SecurityProfile:
    """POST /security-profiles/, at once; 403 ``INSUFFICIENT_PERMISSIONS`` on Starter (B-70)."""
    if settings(world).pricing_plan == WITHOUT_PROFILES:
        raise ApiError(
            "INSUFFICIENT_PERMISSIONS", message="The Starter plan has no security profiles."
        )
    return world.add(new_record(world, SecurityProfile, normalised(body)))


def normalised(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body's fields as stored: domains in lower case (B-71), lists as tuples."""
    fields = {
        name: tuple(value) if isinstance(value, list) else value for name, value in body.items()
    }
    if "allowed_domains" in fields:
        fields["allowed_domains"] = tuple(map(str.lower, fields["allowed_domains"]))
    return fields


def update(world: World, id: str, body: Mapping[str, Any]) -> SecurityProfile:
    """PATCH /security-profiles/{id}/: a list that is sent replaces the whole list."""
    return apply_patch(world, get_or_404(world, SecurityProfile, id), normalised(body))


def delete(world: World, id: str) -> None:
    """DELETE /security-profiles/{id}/: effective at once."""
    world.remove(get_or_404(world, SecurityProfile, id))


# -- enforcement


INITIATING = frozenset(
    ["createPaymentIntent", "confirmPaymentIntent", "capturePaymentIntent", "createSubscription"]
)
"""The operations that create, confirm or capture a payment, to which rule 5 applies (B-95)."""


def in_force(world: World) -> Sequence[SecurityProfile]:
    """Return the profiles that apply now (rules 6 and 7)."""
    if not world.holds(SecurityProfile):
        return ()
    profiles = world.table(SecurityProfile)
    return () if settings(world).pricing_plan == WITHOUT_PROFILES else tuple(profiles)


def check_request(
    world: World, address: IpAddress, origin: str | None, operation_id: str | None
) -> None:
    """Raise 403 if a profile forbids a request's address, ``Origin`` or country (rules 1, 2, 5)."""
    for profile in in_force(world):
        if profile.allowed_ips and not any(
            address in network(allowed) for allowed in profile.allowed_ips
        ):
            raise _forbidden(profile, "allowed_ips", f"a request from {address}")
        if (
            origin is not None
            and profile.allowed_domains
            and domain(origin) not in profile.allowed_domains
        ):
            raise _forbidden(profile, "allowed_domains", f"a browser's request from {origin[:260]}")
    if operation_id in INITIATING:
        check_country(world, address)


def check_country(world: World, address: IpAddress) -> None:
    """Raise 403 for a merchant's or buyer's payment from a blocked country (rule 5)."""
    for profile in in_force(world):
        if (
            profile.blocked_countries
            and (country := world.reference_data.country(address)) in profile.blocked_countries
        ):
            raise _forbidden(
                profile, "blocked_countries", f"a payment from {address}, which is in {country}"
            )


def check_amount(world: World, amount: int) -> None:
    """Raise 403 for a new intent of more minor units than a profile allows (rule 3; B-51)."""
    match forbidding(world, amount, None):
        case profile, rule:
            raise _forbidden(
                profile, rule, f"a payment of {amount}, which is more than {profile.max_amount}"
            )


def check_method(world: World, type: str, param: str = "payment_method") -> None:
    """Raise 422 ``PAYMENT_METHOD_NOT_SUPPORTED`` for a type of method not listed (rule 4; B-55)."""
    match forbidding(world, 0, type):
        case profile, rule:
            message = f"the security profile {profile.name!r} ({rule}) does not allow {type}"
            raise invalid_field(param, message, "PAYMENT_METHOD_NOT_SUPPORTED")


def permitted(world: World, types: Iterable[str]) -> tuple[str, ...]:
    """Return the given types that every profile allows (rule 4), for pages that offer a choice."""
    lists = [
        profile.allowed_payment_methods
        for profile in in_force(world)
        if profile.allowed_payment_methods
    ]
    return tuple(type for type in types if all(type in allowed for allowed in lists))


def forbidding(world: World, amount: int, type: str | None) -> tuple[SecurityProfile, str] | None:
    """Return the profile and its field that forbid an amount with a type of method (rules 3, 4)."""
    for profile in in_force(world):
        if profile.max_amount is not None and amount > profile.max_amount:
            return profile, "max_amount"
        allowed = profile.allowed_payment_methods
        if type is not None and allowed and type not in allowed:
            return profile, "allowed_payment_methods"
    return None


def opens_to(world: World, origin: str) -> bool:
    """Return whether a page of this origin may read responses: a profile lists it (rule 2; B-72).

    It may read those to requests that another profile rejects, too: the page is to learn why.
    """
    domains = open_domains(world)
    return domains is None or domain(origin) in domains


def open_domains(world: World) -> frozenset[str] | None:
    """Return the domains whose pages may read responses; None for all."""
    lists = [profile.allowed_domains for profile in in_force(world) if profile.allowed_domains]
    if not lists:
        return None if settings(world).assumptions.cors_without_domains == "any" else frozenset()
    return frozenset().union(*lists)


def _forbidden(profile: SecurityProfile, rule: str, what: str) -> ApiError:
    message = f"The security profile {profile.name!r} ({rule}) does not allow {what}."
    return ApiError("PERMISSION_DENIED", message=message)


OPERATIONS = {
    "createSecurityProfile": create,
    "listSecurityProfiles": list_handler(SecurityProfile),
    "getSecurityProfile": get_handler(SecurityProfile),
    "updateSecurityProfile": update,
    "deleteSecurityProfile": delete,
}
