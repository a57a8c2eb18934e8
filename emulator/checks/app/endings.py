"""How a scenario ends: its world's digest and the application's own check; how two endings differ.

The digest of a world is how many objects of each kind and status there are, their sums of money,
and their links.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any, NamedTuple, TypeGuard

from emulator.checks.app.cases import Place
from emulator.checks.app.tables import Tables
from emulator.presentation.languages.language import plain_money

# -- an ending, and in what it differs from another one


class SentRequest(NamedTuple):
    """A journal's request. ``content``: path and body; ``changed`` counts the changed objects."""

    method: str
    key: str | None
    content: str
    changed: int


class Ending(NamedTuple):
    """How a scenario ended. ``failure`` is its error in one line, ``value`` its own check's result.

    ``reached`` says whether the fault struck (each of a pair); ``sent`` are the requests by
    operation: of a case those of the operation that it strikes. ``audit`` has each rule of the
    audit that was broken, its severity and its title. ``was_reset`` says that the scenario reset
    its world, which no fault survives.
    """

    failure: str | None
    value: object
    digest: Digest
    balanced: bool
    places: Sequence[Place]
    sent: Mapping[str, Sequence[SentRequest]]
    reached: bool
    audit: Sequence[Mapping[str, str]] = ()
    was_reset: bool = False
    tables: Tables | None = None


class Weight(IntEnum):
    """What a difference is about, the worst first."""

    MONEY = 0
    OBJECTS = 1
    ACCESS = 2
    RULES = 3


class EndingDifference(NamedTuple):
    """One difference of two endings. ``rule`` is the audit's, for a difference of ``Weight.RULES``.

    ``double`` is the noun of what there is twice as often: a ``refund``.
    """

    weight: Weight
    sentence: str
    rule: str = ""
    double: str = ""

    @property
    def short(self) -> str:
        """The difference in a few words: ``a double refund``."""
        return f"a double {self.double}" if self.double else self.sentence


def compare(baseline: Ending, other: Ending) -> tuple[EndingDifference, ...]:
    """Return how an ending differs from the baseline, the worst first."""
    differences = list(_digest_differences(baseline.digest, other.digest))
    if not other.balanced:
        differences.append(EndingDifference(Weight.MONEY, "the ledger is not balanced"))
    if other.failure is not None:
        differences.append(EndingDifference(Weight.ACCESS, f"the scenario fails: {other.failure}"))
    else:
        differences += check_differences(baseline, other)
    known = {note["rule"] for note in baseline.audit}
    new = [note for note in other.audit if note["rule"] not in known and note["severity"] != "info"]
    differences += [EndingDifference(Weight.RULES, note["title"], note["rule"]) for note in new]
    return tuple(sorted(differences, key=lambda difference: difference.weight))


def check_differences(baseline: Ending, other: Ending) -> tuple[EndingDifference, ...]:
    """Return how the application's own check differs from the baseline's."""
    sentences = value_differences(other.value, baseline.value)
    return tuple(
        EndingDifference(Weight.ACCESS, f"the check returns {sentence}") for sentence in sentences
    )


def value_differences(value: object, wanted: object, at: str = "") -> Iterator[str]:
    """Yield each part of a value that differs from the wanted one, whole; nothing if equal."""
    if value == wanted:
        return
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key in {**wanted, **value}:
            inner = f"{at}.{key}" if at else str(key)
            yield from value_differences(value.get(key, MISSING), wanted.get(key, MISSING), inner)
    elif (
        isinstance(value, list | tuple)
        and isinstance(wanted, list | tuple)
        and len(value) == len(wanted)
    ):
        for number, (one, other) in enumerate(zip(value, wanted, strict=True)):
            yield from value_differences(one, other, f"{at}[{number}]")
    elif isinstance(value, str) and isinstance(wanted, str) and not at and "\n" in value + wanted:
        lines = [
            line
            for line in difflib.ndiff(wanted.splitlines(), value.splitlines())
            if line[0] in "+-"
        ]
        yield "other lines: " + ", ".join(f"{line[0]} {line[2:]!r}" for line in lines)
    elif _is_json(value) and _is_json(wanted) and not at:
        yield from value_differences(json.loads(value), json.loads(wanted))
    else:
        yield f"{at}{': ' if at else ''}{value!r} instead of {wanted!r}"


def taken_for_paid(paid: object, refused: object, actual: object) -> bool:
    """Return whether a part belongs to a buyer's payment, not to the operator's immediate no."""
    return bool(_parts(actual) & _parts(paid) - _parts(refused))


def _parts(value: object) -> set[str]:
    """Return a value's parts with their places; a text's parts are its lines, unless it is JSON."""
    value = json.loads(value) if _is_json(value) else value
    if isinstance(value, str):
        return set(value.splitlines())
    return {*value_differences(value, _emptied(value))}


def _emptied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _emptied(part) for key, part in value.items()}
    return [_emptied(part) for part in value] if isinstance(value, list | tuple) else MISSING


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""The value of a key that only the other dictionary has."""


def _is_json(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that holds a JSON object or array."""
    with suppress(ValueError):
        return (
            isinstance(value, str)
            and value.startswith(("{", "["))
            and json.loads(value) is not None
        )
    return False


# -- the digest of a world


MONEY_KINDS = frozenset(["payment_intent", "transaction", "refund"])
"""The kinds whose objects move money when they have succeeded."""

MOVED = frozenset(["succeeded", "completed", "refunded", "partially_refunded"])
"""The statuses in which they have moved it."""

AMOUNTS = {
    **dict.fromkeys(["subscription_plan", "payment_intent", "transaction", "refund"], "amount"),
    "invoice": "total",
    "checkout_session": "amount_total",
    **dict.fromkeys(
        ["customer", "address", "payment_method", "product", "subscription", "payment_link"]
    ),
    **dict.fromkeys(["security_profile", "webhook_endpoint"]),
}
"""The counted kinds, and the field with the amount (minor units) that is summed, if any."""


class Group(NamedTuple):
    """Objects that are counted together. ``currency`` is None where no amount is summed."""

    kind: str
    status: str
    currency: str | None

    def __str__(self) -> str:
        return f"{_plural(self.kind)} {self.status}".rstrip()

    def amount(self, part: Sum) -> str:
        return (
            f" ({plain_money(part.amount, self.currency)})" if self.currency and part.number else ""
        )


class Sum(NamedTuple):
    number: int = 0
    amount: int = 0


Link = tuple[str, str]
"""The kind of the naming objects and the named kind, such as refunds and their transaction."""


class Digest(NamedTuple):
    """``links``: for each link, how many objects are named by one, by two and by more objects."""

    sums: Mapping[Group, Sum]
    links: Mapping[Link, Mapping[int, int]]


def digest(exported: Mapping[str, Any]) -> Digest:
    """Return a snapshot's digest. It lacks ids, times and texts, which may differ between runs."""
    rows = {
        kind: list(objects.values())
        for name, objects in exported.items()
        if "/" in name and (kind := name.rpartition("/")[2]) in AMOUNTS
    }
    kinds = {row["id"]: kind for kind, objects in rows.items() for row in objects}
    sums: dict[Group, Sum] = {}
    naming: dict[Link, Counter[str]] = {}
    for kind, objects in rows.items():
        field = AMOUNTS[kind]
        for row in objects:
            group = Group(
                kind, str(row.get("status") or ""), row.get("currency") if field else None
            )
            number, amount = sums.get(group, Sum())
            sums[group] = Sum(number + 1, amount + (int(row.get(field) or 0) if field else 0))
            for id in {
                value for value in row.values() if isinstance(value, str) and value in kinds
            } - {row["id"]}:
                naming.setdefault((kind, kinds[id]), Counter())[id] += 1
    return Digest(sums, {link: Counter(numbers.values()) for link, numbers in naming.items()})


def _digest_differences(baseline: Digest, other: Digest) -> Iterator[EndingDifference]:
    """Yield the other world's surplus and lack; links only of kinds with equal counts."""
    numbers, others = Counter[str](), Counter[str]()
    for counts, world in ((numbers, baseline), (others, other)):
        for group, part in world.sums.items():
            counts[group.kind] += part.number
    for group in sorted({*baseline.sums, *other.sums}, key=str):
        wanted, other_sum = baseline.sums.get(group, Sum()), other.sums.get(group, Sum())
        if wanted == other_sum:
            continue
        singular = group.kind.replace("_", " ")
        of = f"{singular} {group.status}".rstrip() if other_sum.number == 1 else str(group)
        sentence = (
            f"{other_sum.number} {of}{group.amount(other_sum)} instead of"
            f" {wanted.number}{group.amount(wanted)}"
        )
        # A payment that fails is none; of other things there is one more, whatever its status.
        before, after = (counts[group.kind] for counts in (numbers, others))
        if group.kind in MONEY_KINDS:
            before, after = wanted.number, other_sum.number
        is_double = (
            before > 0 and after in (2 * before, 1 + before) and other_sum.number > wanted.number
        )
        noun = "payment" if group.kind in ("payment_intent", "transaction") else singular
        is_money = group.kind in MONEY_KINDS and group.status in MOVED
        weight = Weight.MONEY if is_money else Weight.OBJECTS
        yield EndingDifference(weight, sentence, double=noun if is_double else "")
    for link in sorted({*baseline.links, *other.links}):
        spread, found_spread = (_spread(world.links.get(link, {})) for world in (baseline, other))
        if spread != found_spread and all(numbers[kind] == others[kind] for kind in link):
            kind, of = map(_plural, link)
            yield EndingDifference(
                Weight.OBJECTS, f"{of} by their {kind}: {found_spread} instead of {spread}"
            )


def _plural(kind: str) -> str:
    words = kind.replace("_", " ")
    return f"{words}es" if words.endswith("s") else f"{words}s"


def _spread(numbers: Mapping[int, int]) -> str:
    return (
        ", ".join(f"{count} with {number}" for number, count in sorted(numbers.items())) or "none"
    )
