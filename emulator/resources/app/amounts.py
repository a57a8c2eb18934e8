"""Amounts: integers in minor units, an App's bounds on them, and rates in per cent (B-23, B-24).

Only rates are computed with fractions, in decimal. An App has its currencies and its bounds on
amounts.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from emulator.core.errors import ApiError, invalid_field
from emulator.core.violations import Body, Violations
from emulator.core.world import World
from emulator.resources.app.settings import settings

# -- rates


@lru_cache(maxsize=4096)  # plans have few prices and many subscribers
def percent(amount: int, rate: float) -> int:
    """Return ``rate`` per cent of minor units, half up (B-23): ``percent(1050, 2.9)`` is 30."""
    exact = Decimal(amount) * Decimal(str(rate)) / 100
    return int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def rate_of(part: int, amount: int, rate: float | None) -> float | None:
    """Return ``rate`` (per cent) if it makes ``part`` of ``amount``; otherwise None."""
    return rate if rate and part == percent(amount, rate) else None


# -- currencies and bounds of an App


def enabled(world: World, currency: str, param: str = "currency") -> str:
    """Return a currency code that the App has enabled; else 403 ``CURRENCY_NOT_IN_PLAN`` (B-24)."""
    if currency not in settings(world).currencies:
        raise ApiError(
            "CURRENCY_NOT_IN_PLAN",
            currency=currency,
            param=param,
            errors={param: [f"{currency} is not enabled"]},
        )
    return currency


def currency_of(violations: Violations, world: World, body: Body) -> str | None:
    """Return a body's currency, by default the App's main one; None if it breaks a rule."""
    with violations:
        return enabled(world, currency_or_main(world, body))
    return None


def currency_or_main(world: World, body: Body) -> str:
    """Return the currency that a body names, by default the App's main one (B-40)."""
    return body.get("currency") or settings(world).main_currency


def minimum(world: World, currency: str | None) -> int:
    """Return one payment's smallest amount in minor units of the currency, or of any (B-23)."""
    app = settings(world)
    return app.minimum_amount if currency == app.main_currency else 1


def chargeable(world: World, amount: int, currency: str | None, param: str) -> int:
    """Return a payment's amount (minor units); else ``AMOUNT_TOO_SMALL``, ``AMOUNT_TOO_LARGE``.

    The client sends ``amount`` in ``param``, before tax. ``currency`` is None if it is missing or
    wrong: then the amount is one that some currency allows (B-12, B-23).
    """
    least = minimum(world, currency)
    if amount < least:
        raise invalid_field(
            param, _measured(param, amount, f"must be at least {least}"), "AMOUNT_TOO_SMALL"
        )
    return bounded(world, amount, param)


def bounded(world: World, amount: int, param: str) -> int:
    """Return an amount (minor units) up to the App's maximum; else ``AMOUNT_TOO_LARGE``."""
    most = settings(world).maximum_amount
    if amount > most:
        raise invalid_field(
            param, _measured(param, amount, f"must be at most {most}"), "AMOUNT_TOO_LARGE"
        )
    return amount


def _measured(param: str, amount: int, message: str) -> str:
    """Return the message, with the amount if the field implies it: lines, a product, a plan."""
    return message if param.endswith("amount") else f"comes to {amount}; {message}"
