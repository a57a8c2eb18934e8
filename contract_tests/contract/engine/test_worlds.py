"""A unit of work is all or nothing: a commit is the sum of its changes, an undo leaves no trace."""

from __future__ import annotations

import doctest
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import (
    FIELDS,
    INSTANTS,
    LABELS,
    NOW,
    Toy,
    Undone,
    agenda,
    make,
    toy_world,
    toys,
)
from emulator.core import tables, world
from emulator.core.jobs import Job
from emulator.core.lists import select
from emulator.core.state_machine import StateMachine
from emulator.core.unit_of_work import DeliverWebhook
from emulator.core.world import World, WorldContents

LIFE = StateMachine(Toy, ("new", "use", "used", "toy.used"), ("used", "use", "used", "toy.used"))
DUES = [f"2026-01-0{day}T00:00:00.000Z" for day in range(1, 6)]

Steps = list[tuple[str, int, dict[str, Any], str | None]]

INDEXED = [
    ("colour", "red"),
    ("colour", "green"),
    ("colour", "blue"),
    ("status", "new"),
    ("status", "used"),
]


def image(world: World) -> bytes:
    """Return a world's whole content as bytes: equal images are equal worlds, order included."""
    assert all(len(world.table(kind)) == len(list(world.table(kind))) for kind in world.kinds)
    records = {
        kind.kind: [msgspec.structs.asdict(record) for record in world.table(kind)]
        for kind in world.kinds
    }
    table = world.table(Toy)
    results = (
        [[toy.id for toy in table.where(*indexed)] for indexed in INDEXED],
        [table.find("label", label) for label in "abc"],
    )
    return msgspec.json.encode(
        [records, results, sorted(world.counters.items()), agenda(world), world.now]
    )


ACTIONS = st.sampled_from(
    ["add", "replace", "remove", "use", "plan", "cancel", "cancel all", "count"]
)
STEPS = st.lists(st.tuples(ACTIONS, st.integers(0, 6), FIELDS, LABELS), max_size=15)


def take(world: World, steps: Steps) -> None:
    """Take steps, each with one of the toys or jobs that there are."""
    for action, pick, fields, label in steps:
        present, jobs = toys(world), list(world.table(Job))
        toy = present[pick % len(present)] if present else None
        match action:
            case "add":
                make(
                    world,
                    label=label if world.table(Toy).find("label", label) is None else None,
                    **fields,
                )
            case "plan":
                world.schedule(DUES[pick % len(DUES)], "play", toy, note="later")
            case "cancel" if jobs:
                world.remove(jobs[pick % len(jobs)])
            case "count":
                world.count(str(pick))
                world.secret("whsec")
            case "replace" if toy:
                world.replace(toy, **fields)
            case "remove" if toy:
                world.remove(toy)
            case "use" if toy:
                LIFE.transition(world, toy, "use")
            case "cancel all" if toy:
                world.cancel_jobs(toy)


def take_and_raise(world: World, steps: Steps) -> None:
    take(world, steps)
    raise Undone


@pytest.fixture(scope="module", autouse=True)
def _small_parts() -> Iterator[None]:
    """Every table has several parts, as otherwise only very large ones have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "PART", 2)
        yield


@settings(max_examples=50)
@given(STEPS, STEPS, STEPS)
def test_a_unit_of_work_that_raises_leaves_no_trace(
    before: Steps, undone: Steps, after: Steps
) -> None:
    """Idea 3. Later ids and the order of jobs are those of a world without it (B-93)."""
    world, twin = toy_world(), toy_world()
    for copy in (world, twin):
        with copy.unit_of_work():
            take(copy, before)
    pristine = image(world)
    with pytest.raises(Undone), world.unit_of_work():
        take_and_raise(world, undone)
    assert image(world) == pristine == image(twin)
    for copy in (world, twin):
        with copy.unit_of_work():
            take(copy, after)
    assert image(world) == image(twin)


@settings(max_examples=50)
@given(STEPS, STEPS)
def test_a_copy_is_of_the_world_as_it_was_when_its_contents_were_taken(
    before: Steps, meanwhile: Steps
) -> None:
    """However it changes before the copy is made; jobs come in the order in which they would have
    come.
    """
    world = toy_world()
    with world.unit_of_work():
        take(world, before)
    expected, contents = WorldContents(world).world(), WorldContents(world)
    with world.unit_of_work():
        take(world, meanwhile)
    copied = contents.world()
    assert image(copied) == image(expected)
    assert image(contents.view()) == image(expected)
    while (job := expected.jobs.next()) is not None:
        assert copied.jobs.next() == job
        for copy in (expected, copied):
            with copy.unit_of_work():
                copy.remove(job)
    assert copied.jobs.next() is None


@settings(max_examples=50)
@given(STEPS, STEPS)
def test_a_change_of_a_copy_does_not_reach_the_world(before: Steps, later: Steps) -> None:
    world = toy_world()
    with world.unit_of_work():
        take(world, before)
    pristine, copied = image(world), WorldContents(world).world()
    with copied.unit_of_work():
        take(copied, later)
    assert image(world) == pristine


def planned(world: World) -> list[tuple[str | None, str, str]]:
    return [(job.about, job.name, job.due) for job in agenda(world)]


def test_a_job_is_moved() -> None:
    world = toy_world()
    with world.unit_of_work():
        one, other = make(world), make(world)
        moved = world.schedule(DUES[1], "play", one)
        world.schedule(DUES[2], "play", other)
        world.replace(moved, due=DUES[3])
    assert planned(world) == [(other.id, "play", DUES[2]), (one.id, "play", DUES[3])]


def test_jobs_are_canceled_by_object_and_name() -> None:
    world = toy_world()
    with world.unit_of_work():
        one, other = make(world), make(world)
        for toy in (one, other):
            for name in ("play", "clean"):
                world.schedule(DUES[1], name, toy)
        world.cancel_jobs(one, "play")
    expected = [(one.id, "clean"), (other.id, "play"), (other.id, "clean")]
    assert [(about, name) for about, name, _ in planned(world)] == expected


def test_no_job_is_planned_for_the_past() -> None:
    world = toy_world()
    with world.unit_of_work():
        toy = make(world)
        world.schedule("2020-01-01T00:00:00.000Z", "play", toy)
    assert planned(world) == [(toy.id, "play", NOW)]


def test_a_world_changes_only_inside_a_unit_of_work() -> None:
    world = toy_world()
    with pytest.raises(RuntimeError, match="only inside a unit of work"):
        world.add(Toy(id="toy_1"))
    with pytest.raises(RuntimeError, match="only inside a unit of work"):
        world.enqueue(DeliverWebhook(webhook="w", delivery="d"))
    assert toys(world) == []


def test_units_of_work_do_not_nest() -> None:
    world = toy_world()
    with (
        pytest.raises(RuntimeError, match="do not nest"),
        world.unit_of_work(),
        world.unit_of_work(),
    ):
        pass


def test_nothing_is_overwritten_unseen_or_taken_twice() -> None:
    """A command with an old copy, or an unrejected duplicate, raises; its work is undone."""
    world = toy_world()
    with world.unit_of_work():
        old, gone, first = make(world), make(world), make(world, label="a")
        second = make(world, label="b")
        world.replace(old, size=3)
        world.remove(gone)
    before = image(world)
    changes: list[Callable[[], object]] = [
        lambda: world.replace(old, colour="blue"),
        lambda: world.remove(old),
        lambda: world.remove(gone),
        lambda: world.add(Toy(id=first.id)),
        lambda: make(world, label="a"),
        lambda: world.replace(second, label="a"),
    ]
    for change in changes:
        with (
            pytest.raises((RuntimeError, ValueError), match=r"look it up again|already|another"),
            world.unit_of_work(),
        ):
            change()
        assert image(world) == before


def test_every_reaction_is_part_of_the_unit_of_work() -> None:
    """What a reaction does is undone with the rest; those to all events come first."""
    order: list[str] = []

    def reject(world: World, toy: Toy) -> None:
        order.append(toy.status)
        make(world)
        raise Undone

    world = toy_world(
        reactions={"*": (lambda world, event: order.append("*"),), "toy.used": (reject,)}
    )
    with world.unit_of_work():
        toy = make(world)
    before = image(world)
    with pytest.raises(Undone), world.unit_of_work():
        LIFE.transition(world, toy, "use")
    assert order == ["*", "used"]
    assert image(world) == before


# -- The essay at the top of ``core/world.py``: its example runs and prints what it says


def test_the_example_of_the_essay_is_true() -> None:
    outcome = doctest.testmod(world)
    assert outcome.attempted >= 10
    assert outcome.failed == 0


# -- lists: what they are of whatever is filed, contract_tests/contract/every/test_lists.py has


@pytest.mark.parametrize(
    "query", [{}, {"colour": "red"}, {"colour": ["red", "blue"]}, {"ordering": "colour"}]
)
def test_a_list_is_of_the_records_that_were_taken_whatever_changes_afterwards(
    query: dict[str, Any],
) -> None:
    world = toy_world()
    with world.unit_of_work():
        for number in range(7):
            make(world, colour="red" if number % 2 else "blue", created_at=INSTANTS[number % 5])
    selection = select(world.table(Toy), {"page": 1, "page_size": 10, **query})
    expected, taken = selection.page(), selection.taken()
    with world.unit_of_work():
        first, second, third, *_ = world.table(Toy).unordered()
        world.replace(first, colour="red" if first.colour == "blue" else "blue")
        world.replace(third, created_at=INSTANTS[4])
        world.remove(second)
        make(world, colour="red", created_at=INSTANTS[0])
    assert selection.page_of(taken) == expected


class Counted:
    """A filter that counts the records it looks at."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self, toy: Toy, colours: str) -> bool:
        self.looks += 1
        return toy.colour in colours


def walk(world: World, filters: dict[str, Any], size: int = 10, **query: Any) -> list[str]:
    """Return the ids of a list, read page by page."""
    ids: list[str] = []
    for number in count(1):
        query |= {"page": number, "page_size": size}
        page = select(world.table(Toy), query, filters).page()
        ids += [toy.id for toy in page.data]
        if number * size >= page.count:
            return ids
    raise AssertionError


def many_toys() -> World:
    world = toy_world()
    with world.unit_of_work():
        for number in range(300):
            make(world, colour="red" if number % 3 else "blue", created_at=INSTANTS[number % 5])
    return world


@pytest.mark.parametrize("query", [{}, {"ordering": "colour"}, {"ordering": "-id"}])
def test_a_walk_through_pages_looks_at_each_record_twice_at_most(query: dict[str, str]) -> None:
    world, looks = many_toys(), Counted()
    ids = walk(world, {"made_of": looks}, made_of="red blue", **query)
    assert len(ids) == len({*ids}) == 300
    assert looks.looks <= 2 * 300


@pytest.mark.parametrize("change", ["add", "replace", "remove", "undo"])
def test_a_page_is_right_after_a_change_in_the_middle_of_a_walk(change: str) -> None:
    world = many_toys()
    query = {"ordering": "colour", "page_size": 10}
    second = select(world.table(Toy), {**query, "page": 2}).page()
    with suppress(ZeroDivisionError), world.unit_of_work():
        if change in ("add", "undo"):
            make(world, colour="a colour before all others")
            select(world.table(Toy), {**query, "page": 2}).page()
        elif change == "replace":
            world.replace(second.data[3], colour="zinc")
        else:
            world.remove(second.data[3])
        if change == "undo":
            raise ZeroDivisionError
    pages = [select(world.table(Toy), {**query, "page": number}).page() for number in (2, 3, 1)]
    fresh = sorted(world.table(Toy), key=lambda toy: toy.colour)
    assert [page.data for page in pages] == [fresh[10:20], fresh[20:30], fresh[:10]]


def test_no_list_is_kept_once_its_last_page_is_read() -> None:
    world = many_toys()
    table = world.table(Toy)
    select(table, {"ordering": "colour", "page": 2, "page_size": 100}).page()
    assert table.walk is not None
    select(table, {"ordering": "colour", "page": 3, "page_size": 100}).page()
    assert table.walk is None


def test_what_is_found_for_a_walk_is_not_kept_if_the_table_has_changed_meanwhile() -> None:
    world = many_toys()
    table = world.table(Toy)
    selection = select(table, {"ordering": "colour", "page": 2, "page_size": 10})
    taken = selection.taken()
    with world.unit_of_work():
        world.remove(table.unordered()[0])
    assert selection.page_of(taken).count == 300
    assert selection.page().count == 299


def test_walks_through_different_lists_are_not_mistaken_for_each_other() -> None:
    world = many_toys()
    filters = {"made_of": Counted()}
    lists = [
        {"made_of": "red"},
        {"made_of": "blue"},
        {"ordering": "colour"},
        {"ordering": "-colour"},
        {"ordering": "colour", "made_of": "red"},
        {"ordering": "id", "colour": "red"},
    ]
    alone = [walk(many_toys(), filters, **query) for query in lists]
    for page in (2, 3):
        for query, ids in zip(lists, alone, strict=True):
            numbered = {**query, "page": page, "page_size": 10}
            read = select(world.table(Toy), numbered, filters).page()
            assert [toy.id for toy in read.data] == ids[10 * (page - 1) : 10 * page]
