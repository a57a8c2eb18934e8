"""Countries of addresses: from a table of networks in the fixtures, or from a MaxMind database file (B-70)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from emulator.resources.app.client_ip import IpAddress, network

logger = logging.getLogger("emulator")

CountryLookup = Callable[[IpAddress], str | None]
"""The country of an IP address as an ISO 3166-1 alpha-2 code, or None if it is not known."""


class InvalidDatabase(Exception):
    """A database file that cannot be used; the message names the file and says what is wrong."""


class NetworkEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the table: a network and the country it is in."""

    network: str
    country: str


def from_table(entries: Iterable[NetworkEntry]) -> CountryLookup:
    """Looks up the first network of the table that an address is in."""
    table = [(network(entry.network), entry.country) for entry in entries]
    return lambda address: next((country for networks, country in table if address in networks), None)


def from_database(file: Path) -> CountryLookup:
    """Looks up a database in MaxMind's format, such as GeoLite2-Country. Raises :class:`InvalidDatabase`.

    Only its ends are read now; reading all of it would take some ten seconds. An address whose part of the file is
    damaged is in no known country, and one line of the log says so.
    """
    try:
        # An extra of the package: few users need real networks, and the table is enough for the others.
        import maxminddb
    except ImportError:
        raise InvalidDatabase(f"{file}: reading it takes the extra geo: pip install 'payments-emulator[geo]'") from None
    try:
        reader = maxminddb.open_database(str(file))
    except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
        raise InvalidDatabase(f"{file}: cannot be used: {getattr(error, 'strerror', None) or error}") from None

    def lookup(address: IpAddress) -> str | None:
        try:
            return _country(reader, address)
        except (ValueError, maxminddb.InvalidDatabaseError) as error:  # a ValueError for text that is no UTF-8
            logger.error("%s: the country of %s is unknown, the file is damaged: %s", file, address, error)
            return None

    return lookup


def _country(reader: Any, address: IpAddress) -> str | None:
    if address.version == 6 and reader.metadata().ip_version == 4:
        return None
    record = reader.get(str(address))
    country = record.get("country") if isinstance(record, dict) else None
    return country.get("iso_code") if isinstance(country, dict) else None
