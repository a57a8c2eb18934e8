"""Ids: their form, that they never collide, and that a seed decides them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.core.toys import Toy, make, toy_world
from emulator.core.ids import IdSource


@given(st.text(), st.integers(0, 2**63))
def test_the_form_of_an_id(seed: str, position: int) -> None:
    """B-18, B-81: prefix and 24 (a secret 32) characters of 0-9A-Za-z."""
    assert re.fullmatch(r"cust_[0-9A-Za-z]{24}", IdSource(seed).id("cust", position))
    assert re.fullmatch(r"whsec_[0-9A-Za-z]{32}", IdSource(seed).secret("whsec", position))


@pytest.mark.parametrize("drawn", [IdSource.id, IdSource.secret])
@given(st.text(), st.integers(0, 2**63))
def test_seed_and_position_decide(drawn: Callable[[IdSource, str, int], str], seed: str, position: int) -> None:
    """B-93."""
    assert drawn(IdSource(seed), "x", position) == drawn(IdSource(seed), "x", position)
    assert drawn(IdSource(seed), "x", position) != drawn(IdSource(f"{seed}."), "x", position)
    assert drawn(IdSource(seed), "x", position) != drawn(IdSource(seed), "x", position + 1)


def test_a_hundred_thousand_ids_do_not_collide_and_use_every_character() -> None:
    source = IdSource("7")
    ids = {source.id("x", position) for position in range(100_000)}
    assert len(ids) == 100_000
    for place in range(2, 26):
        assert len({id[place] for id in ids}) == 62


def test_worlds_of_one_seed_draw_alike_and_others_do_not() -> None:
    def ids(count: int) -> list[str]:
        world = toy_world()
        with world.unit_of_work():
            return [make(world).id for _ in range(count)]

    assert ids(5) == ids(5)
    assert ids(5)[:3] == ids(3)
    assert len(set(ids(5))) == 5
    assert all(id.startswith(f"{Toy.prefix}_") for id in ids(5))


@pytest.mark.parametrize("name", ["count", "draw"])
def test_counters_begin_at_one(name: str) -> None:
    assert [toy_world().count(name), toy_world().count(name)] == [1, 1]
