"""The digest of a world: how many objects of each kind and status there are, their sums of money, and their links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from emulator.presentation.languages.language import plain_money

AMOUNTS = {
    "customer": None,
    "address": None,
    "product": None,
    "subscription_plan": "amount",
    "subscription": None,
    "invoice": "total",
    "payment_intent": "amount",
    "transaction": "amount",
    "refund": "amount",
    "checkout_session": "amount_total",
    "payment_link": None,
}
"""The kinds that are counted, and the field with the amount in minor units that is summed, if there is one."""


class Group(NamedTuple):
    """Objects that are counted together. ``currency`` is None where no amount is summed."""

    kind: str
    status: str
    currency: str | None

    def __str__(self) -> str:
        return f"{_plural(self.kind)} {self.status}".rstrip()

    def counted(self, part: Sum) -> str:
        """``1 refund succeeded``."""
        noun = _singular(self.kind) if part.number == 1 else _plural(self.kind)
        return f"{part.number} {noun} {self.status}".rstrip() + _amount(self, part)


class Sum(NamedTuple):
    """How many objects a group has, and their amount in minor units."""

    number: int = 0
    amount: int = 0


class LinkedKinds(NamedTuple):
    """Objects of one kind that name an object of another one, such as the refunds of a transaction."""

    kind: str
    of: str


class Digest(NamedTuple):
    """``links`` says for each link how many objects are named by one, by two and by more objects."""

    sums: Mapping[Group, Sum]
    links: Mapping[LinkedKinds, Mapping[int, int]]


def digest(exported: Mapping[str, Any]) -> Digest:
    """The digest of an exported snapshot. Ids, times and texts are left out: they may differ between two runs."""
    rows = {
        kind: list(objects.values())
        for name, objects in exported.items()
        if "/" in name and (kind := name.rpartition("/")[2]) in AMOUNTS
    }
    return Digest(_sums(rows), _links(rows))


def _sums(rows: Mapping[str, list[Any]]) -> dict[Group, Sum]:
    sums: dict[Group, Sum] = {}
    for kind, objects in rows.items():
        field = AMOUNTS[kind]
        for row in objects:
            group = Group(kind, str(row.get("status") or ""), row.get("currency") if field else None)
            number, amount = sums.get(group, Sum())
            sums[group] = Sum(number + 1, amount + (int(row.get(field) or 0) if field else 0))
    return sums


def _links(rows: Mapping[str, list[Any]]) -> dict[LinkedKinds, dict[int, int]]:
    kinds = {row["id"]: kind for kind, objects in rows.items() for row in objects}
    naming: dict[LinkedKinds, Counter[str]] = {}
    for kind, objects in rows.items():
        for row in objects:
            named = {value for value in row.values() if isinstance(value, str) and value in kinds} - {row["id"]}
            for id in named:
                naming.setdefault(LinkedKinds(kind, kinds[id]), Counter())[id] += 1
    return {link: dict(Counter(numbers.values())) for link, numbers in naming.items()}


def differences(clean: Digest, other: Digest) -> Iterator[str]:
    """What the other world has more or less of, as sentences; links only of kinds that it has as many of."""
    for group in sorted({*clean.sums, *other.sums}, key=str):
        wanted, found = clean.sums.get(group, Sum()), other.sums.get(group, Sum())
        if wanted.number != found.number:
            yield f"{group.counted(found)} instead of {wanted.number}{_amount(group, wanted)}"
        elif wanted.amount != found.amount:
            yield f"{group}:{_amount(group, found)} instead of{_amount(group, wanted)}"
    numbers, others = totals(clean), totals(other)
    for link in sorted({*clean.links, *other.links}):
        spread, found_spread = (_spread(each.links.get(link, {})) for each in (clean, other))
        if spread != found_spread and all(numbers[kind] == others[kind] for kind in link):
            yield f"{_plural(link.of)} by their {_plural(link.kind)}: {found_spread} instead of {spread}"


def totals(digest: Digest) -> Counter[str]:
    """How many objects of each kind there are, in any status."""
    numbers: Counter[str] = Counter()
    for group, part in digest.sums.items():
        numbers[group.kind] += part.number
    return numbers


def _amount(group: Group, part: Sum) -> str:
    return f" ({plain_money(part.amount, group.currency)})" if group.currency and part.number else ""


def _singular(kind: str) -> str:
    return kind.replace("_", " ")


def _plural(kind: str) -> str:
    words = _singular(kind)
    return f"{words}es" if words.endswith("s") else f"{words}s"


def _spread(numbers: Mapping[int, int]) -> str:
    return ", ".join(f"{count} with {number}" for number, count in sorted(numbers.items())) or "none"
