"""An App's settings: values of the merchant's contract, the merchant, testers' choices (B-90)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from emulator.core.errors import invalid_field
from emulator.core.records import Record
from emulator.core.violations import Violations
from emulator.core.world import World
from emulator.resources.app.clients import network

# -- the merchant, as invoices, emails and buyers' pages show it


ShortText = Annotated[str, Meta(min_length=1, max_length=200)]


class Merchant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``name`` defaults to the App's; ``address``: lines; ``logo``: PNG or JPEG ``data:`` URI."""

    name: ShortText | None = None
    address: Annotated[tuple[ShortText, ...], Meta(max_length=8)] = ()
    tax_number: ShortText | None = None
    email: ShortText | None = None
    phone: ShortText | None = None
    logo: Annotated[str, Meta(max_length=32_768)] | None = None

    @property
    def contact(self) -> tuple[str, ...]:
        return tuple(text for text in (self.email, self.phone) if text)


# -- settings


FEE_RATES = {"starter": 3.5, "growth": 2.9, "business": 2.4, "enterprise": 1.9}
"""Per cent of each deposit, by pricing plan (B-56)."""


# Not $, before which Python takes a line break.
Currency = Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")]
Country = Annotated[str, Meta(pattern=r"^[A-Z]{2}\Z")]
# int | float, not float alone, so that a rate sent as 18 is still 18, and not 18.0, after it was
# saved.
Rate = Annotated[int, Meta(ge=0, le=100)] | Annotated[float, Meta(ge=0, le=100)]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


class RateLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The requests a key may make: a steady rate and a burst above it, in real time (B-25)."""

    per_second: Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)]
    burst: Annotated[int, Meta(ge=1)]


class Assumptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The named assumptions: the readings of ambiguous sentences, by default the most literal.

    What each value does stands in ``fixtures/named-assumptions.yaml`` (B-99). Three more are
    settings: ``OLDER_SETTINGS``.
    """

    search_nothing_found: Literal["empty", "error"] = "empty"
    metadata_values: Literal["scalars", "any"] = "scalars"

    renewal_without_method: Literal["invoice", "fail"] = "invoice"
    past_due_periods: Literal["skipped", "charged"] = "skipped"
    success_url: Literal["optional", "required"] = "optional"
    anonymous_customer: Literal["made", "none"] = "made"
    payment_received: Literal["intent", "transaction"] = "intent"
    webhook_success: Literal["200", "2xx"] = "200"
    webhook_retry: Literal["faults", "all"] = "faults"
    cors_without_domains: Literal["none", "any"] = "none"


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Minor units and per cent; ``operator_delay`` and ``confirmation_timeout`` in seconds."""

    prefix: ClassVar[str] = "settings"

    id: Literal["settings"] = "settings"
    main_currency: Currency = "XAF"
    currencies: Annotated[tuple[Currency, ...], Meta(min_length=1)] = ("XAF", "XOF", "EUR", "USD")
    countries: tuple[Country, ...] = (
        "GA",
        "CM",
        "CI",
        "SN",
        "CG",
        "TD",
        "BJ",
        "TG",
        "BF",
        "ML",
        "FR",
        "US",
    )
    pricing_plan: Literal["starter", "growth", "business", "enterprise"] = "growth"
    commission_rate: Rate = 0
    tax_rate: Rate = 0
    minimum_amount: Positive = 100
    maximum_amount: Count = 99_999_999
    error_shape: Literal["documented", "flat", "nested"] = "documented"
    unknown_fields: Literal["reject", "ignore"] = "reject"
    rate_limit: RateLimit | None = None
    concurrency_limit: Annotated[int, Meta(ge=1)] | None = None
    renewal_retry_days: tuple[Annotated[int, Meta(ge=1)], ...] = (1, 3, 5, 7)
    reactivation_days: Count = 30
    operator_delay: Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)] = 0
    confirmation_timeout: Annotated[int, Meta(ge=1, le=86_400)] = 900
    mobile_money: Literal["auto", "handset"] = "auto"
    refund_timing: Literal["documented", "instant"] = "documented"
    refund_review: bool = False
    refund_expiry_days: Count = 30
    webhook_http: Literal["loopback", "never", "any"] = "loopback"
    trusted_proxies: tuple[str, ...] = ("127.0.0.0/8", "::1/128")
    merchant: Merchant | None = None
    assumptions: Assumptions = Assumptions()


OLDER_SETTINGS = ("unknown_fields", "error_shape", "refund_timing")
"""Named assumptions that were settings before; they are shown and taken in both places."""


def values_of_assumptions(settings: Settings) -> dict[str, str]:
    older = {name: getattr(settings, name) for name in OLDER_SETTINGS}
    return {**msgspec.structs.asdict(settings.assumptions), **older}


def settings(world: World) -> Settings:
    return world.require(Settings, "settings")


def merchant_name(world: World) -> str:
    """Return what buyers read as the name of the merchant (B-90)."""
    merchant = settings(world).merchant
    return (merchant and merchant.name) or world.name


def merged(*changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of settings as one; later values win, for assumptions by name (B-99)."""
    result: dict[str, Any] = {}
    for change in changes:
        readings = {
            name: value
            for part in (result, change)
            for name, value in (part.get("assumptions") or {}).items()
        }
        result = {**result, **change, **({"assumptions": readings} if readings else {})}
    return result


def changed(
    old: Settings, changes: Mapping[str, Any], read_logo: Callable[[str], object]
) -> Settings:
    """Return changed settings; ``assumptions`` are merged with the present ones (B-90, B-99).

    ``read_logo`` reads the picture of a ``data:`` URI, or raises ``ValueError`` with a sentence.
    Raises ``ValueError`` with a sentence for a wrong name or value, and the error of the rules.
    """
    if not changes:
        return old
    if unknown := changes.keys() - set(Settings.__struct_fields__[1:]):
        raise ValueError(
            f"{sorted(unknown)[0]} is not a setting; there are"
            f" {', '.join(Settings.__struct_fields__[1:])}"
        )
    if isinstance(read := changes.get("assumptions"), Mapping):
        older = {name: value for name, value in read.items() if name in OLDER_SETTINGS}
        newer = {name: value for name, value in read.items() if name not in OLDER_SETTINGS}
        if unknown := newer.keys() - set(Assumptions.__struct_fields__):
            names = ", ".join((*Assumptions.__struct_fields__, *OLDER_SETTINGS))
            raise ValueError(
                f"assumptions: {sorted(unknown)[0]} is not an assumption; there are {names}"
            )
        changes = {
            **changes,
            **older,
            "assumptions": {**msgspec.to_builtins(old.assumptions), **newer},
        }
    new = msgspec.convert({**msgspec.to_builtins(old), **changes}, Settings)
    violations = Violations(changes)
    check(violations, msgspec.to_builtins(new), read_logo)
    violations.done()
    return new


def check(
    violations: Violations,
    fields: Mapping[str, Any],
    read_logo: Callable[[str], object],
    prefix: str = "",
) -> None:
    """Check the rules between settings and beyond their form; ``prefix`` begins the paths."""
    with violations:
        if fields["main_currency"] not in fields["currencies"]:
            sentence = f"{fields['main_currency']} is not among currencies"
            raise invalid_field(f"{prefix}main_currency", sentence)
    with violations:
        if any(day >= later for day, later in pairwise(fields["renewal_retry_days"])):
            sentence = "each day must be later than the one before"
            raise invalid_field(f"{prefix}renewal_retry_days", sentence)
    with violations:
        for number, text in enumerate(fields["trusted_proxies"]):
            with violations:
                _check_network(text, f"{prefix}trusted_proxies.{number}")
    with violations:
        merchant = fields["merchant"]
        if merchant is not None and (logo := merchant.get("logo")) is not None:
            try:
                read_logo(logo)
            except ValueError as error:
                raise invalid_field(f"{prefix}merchant.logo", str(error)) from None


def _check_network(text: str, param: str) -> None:
    try:
        network(text)
    except ValueError:
        sentence = f"{text[:60]!r} is no address and no CIDR range without host bits"
        raise invalid_field(param, sentence) from None
