"""Lists against the simplest thing that could make them: filter everything, sort everything, cut out the page."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import COLOURS, FIELDS, INSTANTS, SIZES, STATUSES, Toy, make, toy_world, toys
from emulator.core import handlers
from emulator.core.errors import ApiError
from emulator.core.handlers import BOUNDS, get_handler, get_or_404, paginate
from emulator.core.world import World

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


@given(
    st.lists(FIELDS, max_size=12),
    FILTERS,
    st.one_of(st.none(), ORDERINGS),
    st.integers(1, 6),
    st.integers(1, 5),
)
def test_a_list_is_the_page_of_what_fits_in_order(
    fields: list[dict[str, Any]], filters: dict[str, Any], ordering: str | None, page: int, size: int
) -> None:
    """B-19, B-20: every filter, comma list, ordering and page, the ones past the end included."""
    world = toy_world()
    with world.unit_of_work():
        for each in fields:
            make(world, **each)
    query = {**filters, "page": page, "page_size": size, **({"ordering": ordering} if ordering else {})}
    expected = in_order([toy for toy in toys(world) if fits(toy, filters)], ordering or "-created_at")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handlers, "STEP", 3)
        answer = paginate(world.table(Toy), query, TESTS)
    assert answer.data == expected[(page - 1) * size : page * size]
    assert (answer.count, answer.page, answer.page_size) == (len(expected), page, size)


def test_a_missing_record_has_the_error_code_of_its_kind_and_names_the_parameter() -> None:
    """B-15."""
    world = toy_world()
    with world.unit_of_work():
        toy = make(world)
    assert get_or_404(world, Toy, toy.id) is get_handler(Toy)(world, id=toy.id) is toy
    with pytest.raises(ApiError) as rejected:
        get_or_404(world, Toy, "toy_none", "toy")
    raised = rejected.value
    assert (raised.code, raised.status, raised.param) == ("NOT_FOUND", 404, "toy")
    assert raised.errors == {"toy": ["there is no toy_none"]}
    with pytest.raises(ApiError) as rejected:
        get_handler(Toy)(world, id="toy_none")
    assert (rejected.value.param, rejected.value.errors) == (None, None)


@given(COLOURS, STATUSES)
def test_reading_changes_nothing(colour: str, status: str) -> None:
    world: World = toy_world()
    with world.unit_of_work():
        make(world, colour=colour, status=status)
    before = dict(world.counters)
    paginate(world.table(Toy), {"colour": colour, "page": 1, "page_size": 1})
    assert world.counters == before
