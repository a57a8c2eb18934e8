"""The directory of worlds: finds the world of a request that has no key, however many worlds there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from emulator.core.records import Record
from emulator.core.tables import PART, PartedDict
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.resources.app.clients import Key, domain
from emulator.resources.app.security_profiles import SecurityProfile, open_domains
from emulator.resources.app.settings import Settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt

PUBLIC_KINDS: frozenset[type[Record]] = frozenset([CheckoutSession, PaymentLink, Invoice, Receipt])
"""The kinds of object whose id is all that a buyer's link has."""

ORIGIN_KINDS: frozenset[type[Record]] = frozenset([SecurityProfile, Settings])
"""The kinds of record that decide to which pages of browsers an App opens."""

ANY_DOMAIN = "*"


class Directory:
    """Which world has an object with a public page, which is that of an App's id, and which open to an origin.

    It follows every unit of work; a world that is replaced is removed and added again.
    """

    def __init__(self) -> None:
        self._owners: PartedDict[str, Key] = PartedDict()
        # Snapshots of one world may be restored in others, which then have objects with the same ids.
        self._further_owners: defaultdict[str, list[Key]] = defaultdict(list)
        self._apps: dict[str, Key] = {}
        self._domains: dict[Key, frozenset[str]] = {}
        self._open: defaultdict[str, set[Key]] = defaultdict(set)

    def owner(self, id: str) -> Key | None:
        """Return the key of the world that has the object with this id; of several, the first that got it."""
        return self._owners[id]

    def of_app(self, app: str | None) -> Key | None:
        return None if app is None else self._apps.get(app)

    def any_opens_to(self, origin: str) -> bool:
        return domain(origin) in self._open or ANY_DOMAIN in self._open

    # -- what is in the worlds

    def add(self, world: World) -> None:
        key = Key.of(world)
        self._apps[world.app] = key
        for record in _public_records(world):
            self._add_owner(record.id, key)
        self._note_domains(world)

    def remove(self, world: World) -> None:
        key = Key.of(world)
        self._apps.pop(world.app, None)
        for record in _public_records(world):
            self._remove_owner(record.id, key)
        self._set_domains(key, frozenset())

    def on_commit(self, world: World, unit: UnitOfWork) -> None:
        for change in unit.changes:
            kind = type(change.new or change.old)
            if kind in PUBLIC_KINDS:
                key = self._apps.get(world.app) or Key.of(world)  # one key for all of its objects
                if change.old is None:
                    self._add_owner(change.record.id, key)
                elif change.new is None:
                    self._remove_owner(change.record.id, key)
            elif kind in ORIGIN_KINDS:
                self._note_domains(world)

    def _add_owner(self, id: str, key: Key) -> None:
        owner = self._owners[id]
        if owner is None:
            if len(self._owners) >= PART:
                self._owners.begin_part()
            self._owners[id] = key
        elif owner != key and key not in self._further_owners[id]:
            self._further_owners[id].append(key)

    def _remove_owner(self, id: str, key: Key) -> None:
        owners = [each for each in (self._owners.discard(id), *self._further_owners.pop(id, ())) if each != key]
        for each in filter(None, owners):
            self._add_owner(id, each)

    def _note_domains(self, world: World) -> None:
        domains = open_domains(world) if SecurityProfile in world.kinds else frozenset()
        self._set_domains(Key.of(world), frozenset([ANY_DOMAIN]) if domains is None else domains)

    def _set_domains(self, key: Key, domains: frozenset[str]) -> None:
        for each in self._domains.pop(key, ()):
            self._open[each].discard(key)
            if not self._open[each]:
                del self._open[each]
        if domains:
            self._domains[key] = domains
            for each in domains:
                self._open[each].add(key)


def _public_records(world: World) -> Iterable[Record]:
    return (record for table in world.tables() if table.kind in PUBLIC_KINDS for record in table.unordered())
