"""The digest of a world: how many objects of each kind and status there are, and their sums of money."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
        kind = self.kind.replace("_", " ")
        return f"{kind}s {self.status}" if self.status else f"{kind}s"


class Sum(NamedTuple):
    """How many objects a group has, and their amount in minor units."""

    number: int = 0
    amount: int = 0


Digest = dict[Group, Sum]


def digest(exported: Mapping[str, Any]) -> Digest:
    """The digest of an exported snapshot. Ids, times and texts are left out: they may differ between two runs."""
    sums: Digest = {}
    for name, rows in exported.items():
        kind = name.rpartition("/")[2]
        if "/" not in name or kind not in AMOUNTS:
            continue
        for row in rows.values():
            field = AMOUNTS[kind]
            group = Group(kind, str(row.get("status") or ""), row.get("currency") if field else None)
            number, amount = sums.get(group, Sum())
            sums[group] = Sum(number + 1, amount + (int(row.get(field) or 0) if field else 0))
    return sums


def differences(clean: Digest, other: Digest) -> Iterator[str]:
    """What the other world has more or less of, as sentences."""
    for group in sorted({*clean, *other}, key=str):
        wanted, found = clean.get(group, Sum()), other.get(group, Sum())
        if wanted.number != found.number:
            yield f"{found.number} {group}{_amount(group, found)} instead of {wanted.number}{_amount(group, wanted)}"
        elif wanted.amount != found.amount:
            yield f"{group}:{_amount(group, found)} instead of{_amount(group, wanted)}"


def _amount(group: Group, part: Sum) -> str:
    return f" ({part.amount:,} {group.currency})" if group.currency else ""
