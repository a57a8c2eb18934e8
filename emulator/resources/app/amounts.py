"""What an App may charge: its currencies and its bounds on amounts (B-23, B-24)."""

from __future__ import annotations

from emulator.core.world import World
from emulator.errors import ApiError, invalid_field
from emulator.resources.app.settings import settings


def enabled(world: World, currency: str, param: str = "currency") -> str:
    """A currency code the App has enabled; else 403 ``CURRENCY_NOT_IN_PLAN``. Its form was checked before (B-24)."""
    if currency not in settings(world).currencies:
        raise ApiError(
            "CURRENCY_NOT_IN_PLAN", currency=currency, param=param, errors={param: [f"{currency} is not enabled"]}
        )
    return currency


def minimum(world: World, currency: str) -> int:
    """The least that may be charged at once, in minor units of the currency (B-23)."""
    own = settings(world)
    return own.minimum_amount if currency == own.main_currency else 1


def chargeable(world: World, amount: int, currency: str, param: str) -> int:
    """An amount in minor units that may be charged at once; else ``AMOUNT_TOO_SMALL`` or ``AMOUNT_TOO_LARGE``."""
    least = minimum(world, currency)
    if amount < least:
        raise invalid_field(param, f"must be at least {least}", "AMOUNT_TOO_SMALL")
    return bounded(world, amount, param)


def bounded(world: World, amount: int, param: str) -> int:
    """An amount in minor units that is not more than the App allows; else ``AMOUNT_TOO_LARGE``."""
    most = settings(world).maximum_amount
    if amount > most:
        raise invalid_field(param, f"must be at most {most}", "AMOUNT_TOO_LARGE")
    return amount
