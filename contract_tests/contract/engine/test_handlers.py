"""Lists against the simplest thing that could make them: filter everything, sort everything, cut out the page."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import COLOURS, FIELDS, INSTANTS, SIZES, Toy, make, toy_world, toys
from emulator.core import handlers, tables
from emulator.core.handlers import BOUNDS, paginate

TESTS = {
    **BOUNDS,
    "least": lambda toy, size: toy.size >= size,
    "status": lambda toy, text: toy.status.startswith(text),  # on an indexed field, and not its equality
}

ORDERINGS = st.sampled_from([sign + field for field in ("created_at", "size", "colour") for sign in ("", "-")])

FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "colour": st.one_of(COLOURS, st.lists(COLOURS, min_size=1, max_size=4)),
        "size": st.one_of(SIZES, st.lists(SIZES, min_size=1, max_size=3)),
        "status": st.sampled_from(["n", "u", "us", "x"]),
        "least": SIZES,
        "created_after": st.sampled_from(INSTANTS),
        "created_before": st.sampled_from(INSTANTS),
        "label": st.none(),
    },
)


def fits(toy: Toy, filters: dict[str, Any]) -> bool:
    checks = {
        "colour": lambda wanted: toy.colour in (wanted if isinstance(wanted, list) else [wanted]),
        "size": lambda wanted: toy.size in (wanted if isinstance(wanted, list) else [wanted]),
        "status": toy.status.startswith,
        "least": lambda size: toy.size >= size,
        "created_after": lambda bound: toy.created_at >= bound,
        "created_before": lambda bound: toy.created_at <= bound,
        "label": lambda nothing: True,  # a parameter that was not given
    }
    return all(checks[name](wanted) for name, wanted in filters.items())


def in_order(oldest_first: list[Toy], ordering: str) -> list[Toy]:
    """B-17: what is equal keeps its order of creation, which is reversed with the direction."""
    field, sign = ordering.lstrip("-"), -1 if ordering.startswith("-") else 1
    place = {toy.id: number for number, toy in enumerate(oldest_first)}

    def compare(one: Toy, other: Toy) -> int:
        mine, theirs = (getattr(one, field), place[one.id]), (getattr(other, field), place[other.id])
        return sign * ((mine > theirs) - (mine < theirs))

    return sorted(oldest_first, key=cmp_to_key(compare))


CHANGES = st.lists(st.tuples(st.integers(0, 11), st.one_of(st.none(), FIELDS)), max_size=6)


@given(
    st.lists(FIELDS, max_size=12),
    CHANGES,
    FILTERS,
    st.one_of(st.none(), ORDERINGS),
    st.integers(1, 6),
    st.integers(1, 5),
)
def test_a_list_is_the_page_of_what_fits_in_order(
    fields: list[dict[str, Any]],
    changes: list[tuple[int, dict[str, Any] | None]],
    filters: dict[str, Any],
    ordering: str | None,
    page: int,
    size: int,
) -> None:
    """B-19, B-20: every filter, comma list, ordering and page, the ones past the end included, whatever was changed before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handlers, "STEP", 3)
        patch.setattr(tables, "PART", 2)
        world = toy_world()
        with world.unit_of_work():
            for each in fields:
                make(world, **each)
            for number, change in changes:
                for toy in toys(world)[number : number + 1]:
                    world.remove(toy) if change is None else world.replace(toy, **change)
        query = {**filters, "page": page, "page_size": size, **({"ordering": ordering} if ordering else {})}
        expected = in_order([toy for toy in toys(world) if fits(toy, filters)], ordering or "-created_at")
        answer = paginate(world.table(Toy), query, TESTS)
    assert answer.data == expected[(page - 1) * size : page * size]
    assert (answer.count, answer.page, answer.page_size) == (len(expected), page, size)
