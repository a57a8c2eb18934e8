"""How a scenario ends: its world's digest and the application's own check; how two endings differ.

The digest of a world is how many objects of each kind and status there are, their sums of money,
and their links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from emulator.checks.app.cases import Place
from emulator.checks.app.state import Row, State, state_changes
from emulator.checks.app.steps import Look
from emulator.checks.app.tables import Tables
from emulator.presentation.languages.language import plain_money

# -- an ending, and in what it differs from another one


class SentRequest(NamedTuple):
    """A journal's request. ``content``: path and body; ``changed`` counts the changed objects.

    ``status`` is that of its response.
    """

    method: str
    key: str | None
    content: str
    changed: int
    status: int


class Ending(NamedTuple):
    """How a scenario ended. ``failure`` is its error in one line, ``value`` its own check's result.

    ``reached`` says whether the fault struck (each of a pair); ``sent`` are the requests by
    operation: of a case those of the operation that it strikes. ``audit`` has each rule of the
    audit that was broken, its severity and its title. ``was_reset`` says that the scenario reset
    its world, which no fault survives. ``looks`` are the states around its steps.
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
    rows: tuple[Row, ...] | None = None
    looks: Sequence[Look] = ()

    @property
    def state(self) -> State:
        """The application's own state. Its rows are the tables' without what is left out."""
        return State(self.value, self.rows)


class Weight(IntEnum):
    """What a difference is about, the worst first."""

    MONEY = 0
    OBJECTS = 1
    ACCESS = 2
    RULES = 3


class EndingDifference(NamedTuple):
    """One difference of two endings. ``rule`` is the audit's, for a difference of ``Weight.RULES``.

    ``double`` is the noun of what there is twice as often: a ``refund``. ``grows``: there is only
    more of something.
    """

    weight: Weight
    sentence: str
    rule: str = ""
    double: str = ""
    grows: bool = False

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
    differences += rule_differences(baseline, other)
    return worst_first(differences)


def rule_differences(baseline: Ending, other: Ending) -> tuple[EndingDifference, ...]:
    """Return the rules of the audit that are broken, but not in the baseline."""
    known = {note["rule"] for note in baseline.audit}
    new = [note for note in other.audit if note["rule"] not in known and note["severity"] != "info"]
    return tuple(EndingDifference(Weight.RULES, note["title"], note["rule"]) for note in new)


def worst_first(differences: Sequence[EndingDifference]) -> tuple[EndingDifference, ...]:
    return tuple(sorted(differences, key=lambda difference: difference.weight))


def check_differences(baseline: Ending, other: Ending) -> tuple[EndingDifference, ...]:
    """Return how the application's own check differs from the baseline's."""
    return tuple(
        EndingDifference(Weight.ACCESS, change.sentence, grows=change.grows)
        for change in state_changes(other.state, baseline.state)
    )


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
        yield EndingDifference(
            weight,
            sentence,
            double=noun if is_double else "",
            grows=other_sum.number >= wanted.number and other_sum.amount >= wanted.amount,
        )
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
