"""A unit of work is all or nothing: committed, it is the sum of its changes; undone, it leaves no trace."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import COLOURS, FIELDS, LABELS, NOW, Toy, Undone, agenda, make, toy_world, toys
from emulator.core import world
from emulator.core.events import Event
from emulator.core.ids import IdSource
from emulator.core.jobs import Job
from emulator.core.repository import Copying
from emulator.core.state_machine import StateMachine
from emulator.core.unit_of_work import DeliverWebhook
from emulator.core.world import World, encode

LIFE = StateMachine(Toy, ("new", "use", "used", "toy.used"), ("used", "use", "used", "toy.used"))
DUES = [f"2026-01-0{day}T00:00:00.000Z" for day in range(1, 6)]

Step = Callable[[World], object]


def image(world: World) -> bytes:
    """Return everything a world holds, as bytes: equal images are equal worlds, the order of everything included."""
    tables = {
        kind.kind: [
            [msgspec.structs.asdict(record) for record in table],
            table.order,
            sorted(table.slots.items()),
            {
                field: sorted(
                    (str(value), slots) for value, slots in zip(index.all_keys(), index.all_values(), strict=True)
                )
                for field in kind.indexes
                for index in [table.indexes[field]]
            },
            {field: sorted(found.items()) for field, found in table.unique.items()},
        ]
        for kind in world.kinds
        for table in [world.table(kind)]
    }
    return msgspec.json.encode([tables, sorted(world.counters.items()), agenda(world), world.now])


def add(fields: dict[str, Any], label: str | None) -> Step:
    def step(world: World) -> None:
        free = world.table(Toy).find("label", label) is None
        make(world, label=label if free else None, **fields)

    return step


def on_one(pick: int, change: Callable[[World, Toy], object]) -> Step:
    def step(world: World) -> None:
        if present := toys(world):
            change(world, present[pick % len(present)])

    return step


def plan(due: str, pick: int) -> Step:
    return lambda world: world.schedule(due, "play", next(iter(toys(world)[pick:]), None), note="later")


def cancel_one(pick: int) -> Step:
    def step(world: World) -> None:
        jobs = list(world.table(Job))
        if jobs:
            world.remove(jobs[pick % len(jobs)])

    return step


PICK = st.integers(0, 6)
STEPS = st.lists(
    st.one_of(
        st.builds(add, FIELDS, LABELS),
        st.builds(lambda pick, fields: on_one(pick, lambda world, toy: world.replace(toy, **fields)), PICK, FIELDS),
        st.builds(lambda pick: on_one(pick, lambda world, toy: world.remove(toy)), PICK),
        st.builds(lambda pick: on_one(pick, lambda world, toy: LIFE.transition(world, toy, "use")), PICK),
        st.builds(lambda pick: on_one(pick, lambda world, toy: world.cancel_jobs(toy)), PICK),
        st.builds(plan, st.sampled_from(DUES), PICK),
        st.builds(cancel_one, PICK),
        st.builds(lambda colour: lambda world: world.count(colour), COLOURS),
        st.just(lambda world: world.secret("whsec")),
    ),
    max_size=15,
)


def give_up(world: World) -> None:
    raise Undone


def take(world: World, steps: list[Step]) -> None:
    for step in steps:
        step(world)


@given(STEPS, STEPS, STEPS)
def test_a_unit_of_work_that_raises_leaves_no_trace(before: list[Step], undone: list[Step], after: list[Step]) -> None:
    """Idea 3. What follows it, ids and order of jobs included, is what would have followed without it (B-93)."""
    world, twin = toy_world(), toy_world()
    for each in (world, twin):
        with each.unit_of_work():
            take(each, before)
    pristine = image(world)
    with pytest.raises(Undone), world.unit_of_work():
        take(world, [*undone, give_up])
    assert image(world) == pristine == image(twin)
    for each in (world, twin):
        with each.unit_of_work():
            take(each, after)
    assert image(world) == image(twin)


@given(STEPS, STEPS)
def test_a_unit_of_work_that_was_undone_can_be_done_again(before: list[Step], steps: list[Step]) -> None:
    world = toy_world()
    with world.unit_of_work():
        take(world, before)
    with world.unit_of_work() as unit:
        take(world, steps)
    done, counters = image(world), world.counters
    world.undo(unit)
    world.undo(unit.inverse())
    world.counters = counters
    assert image(world) == done


@given(STEPS, STEPS)
def test_a_copy_made_in_slices_is_of_the_world_as_it_was(before: list[Step], meanwhile: list[Step]) -> None:
    """However it changes between two of them; jobs come in the order in which they would have come."""
    world = toy_world()
    with world.unit_of_work():
        take(world, before)
    expected, later = world.copy(), iter(meanwhile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emulator.core.tables.STEP", 1)
        copying = Copying(world)
        slices, copied = copying.slices(), None
        while copied is None:
            try:
                next(slices)
            except StopIteration as end:
                copied = end.value
            with world.unit_of_work() as unit:
                take(world, [*islice(later, 1)])
            copying.note(unit)
    assert image(copied) == image(expected)
    while (job := expected.jobs.next()) is not None:
        assert copied.jobs.next() == job
        for each in (expected, copied):
            with each.unit_of_work():
                each.remove(job)
    assert copied.jobs.next() is None


@given(STEPS)
def test_a_unit_of_work_lists_what_it_changed(steps: list[Step]) -> None:
    """The list of changes, taken back one by one, leads to the world before, and taken again to the one after."""
    world = toy_world()
    with world.unit_of_work() as unit:
        take(world, steps)
    stored = {record.id: record for table in world.tables() for record in table}
    replayed: dict[str, Any] = {}
    for change in unit.changes:
        if change.old is not None:
            assert replayed.pop(change.old.id) is change.old
        if change.new is not None:
            replayed[change.new.id] = change.new
    assert replayed == stored
    assert unit.events == list(world.table(Event))


@given(st.lists(st.tuples(st.sampled_from(DUES), st.booleans(), st.booleans()), max_size=30))
def test_jobs_come_in_order_of_due_time_and_planning(plans: list[tuple[str, bool, bool]]) -> None:
    """B-91: (due, sequence); canceled and undone ones do not come, and disturb no other."""
    world = toy_world()
    expected: list[tuple[str, int]] = []
    for number, (due, canceled, undone) in enumerate(plans):
        try:
            with world.unit_of_work():
                job = world.schedule(due, "play", number=str(number))
                if undone:
                    raise Undone
                if canceled:
                    world.remove(job)
                else:
                    expected.append((due, number))
        except Undone:
            pass
    assert [(job.due, int(job.data["number"])) for job in agenda(world)] == sorted(expected)


def test_a_job_is_never_planned_for_the_past() -> None:
    world = toy_world()
    with world.unit_of_work():
        assert world.schedule("2020-01-01T00:00:00.000Z", "play").due == NOW


def test_a_moved_job_comes_at_its_new_time_only() -> None:
    world = toy_world()
    with world.unit_of_work():
        moved = world.schedule(DUES[1], "moved")
        world.schedule(DUES[2], "other")
        world.replace(moved, due=DUES[3])
    assert [(job.name, job.due) for job in agenda(world)] == [("other", DUES[2]), ("moved", DUES[3])]


def test_the_schedule_does_not_hoard_canceled_jobs() -> None:
    """Cancelling costs nothing, and what was canceled is forgotten before it is due."""
    world = toy_world()
    with world.unit_of_work():
        for _ in range(5000):
            world.remove(world.schedule(DUES[4], "canceled"))
        remaining = world.schedule(DUES[4], "remaining")
    assert len(world.jobs._heap) < 200
    assert agenda(world) == [remaining]


def test_forget_cancels_by_object_and_name() -> None:
    world = toy_world()
    with world.unit_of_work():
        one, other = make(world), make(world)
        for toy in (one, other):
            for name in ("play", "clean"):
                world.schedule(DUES[1], name, toy)
        world.cancel_jobs(one, "play")
        world.cancel_jobs(other)
    assert [(job.about, job.name) for job in agenda(world)] == [(one.id, "clean")]


def test_a_world_changes_only_inside_a_unit_of_work_and_they_do_not_nest() -> None:
    world = toy_world()
    before = image(world)
    for change in (
        lambda: world.add(Toy(id="toy_1")),
        lambda: world.enqueue(DeliverWebhook(webhook="w", delivery="d")),
    ):
        with pytest.raises(RuntimeError, match="only inside a unit of work"):
            change()
    assert list(world.table(Toy)) == []
    with pytest.raises(RuntimeError, match="do not nest"), world.unit_of_work(), world.unit_of_work():
        pass
    with world.unit_of_work():
        assert world.get(Toy, "toy_1") is None
    assert msgspec.json.decode(image(world))[0] == msgspec.json.decode(before)[0]


def test_what_has_changed_in_between_cannot_be_overwritten_unseen() -> None:
    """A command that holds an old copy would overwrite a later change; it raises, and its unit of work is undone."""
    world = toy_world()
    with world.unit_of_work():
        old = make(world)
        gone = make(world)
        new = world.replace(old, size=3)
        world.remove(gone)
    before = image(world)
    changes: list[Step] = [
        lambda world: world.replace(old, colour="blue"),
        lambda world: world.remove(old),
        lambda world: world.remove(gone),
    ]
    for change in changes:
        with pytest.raises(RuntimeError, match="look it up again"), world.unit_of_work():
            take(world, [lambda world: world.replace(new, colour="green"), change])
        assert image(world) == before


def test_an_id_or_a_unique_value_is_never_taken_twice() -> None:
    """Rules reject a duplicate with an API error; the table makes sure, and the unit can still be undone."""
    world = toy_world()
    with world.unit_of_work():
        first = make(world, label="a")
        second = make(world, label="b")
    before = image(world)
    changes: list[Step] = [
        lambda world: world.add(Toy(id=first.id)),
        lambda world: make(world, label="a"),
        lambda world: world.replace(second, label="a"),
    ]
    for change in changes:
        with pytest.raises(ValueError, match=r"already|another"), world.unit_of_work():
            take(world, [lambda world: make(world, label="c"), change])
        assert image(world) == before


def test_an_event_shows_its_object_as_it_was_and_reactions_hear_all_of_it() -> None:
    """B-80. A hidden field is there for the reactions and stays off the wire."""
    heard: list[Toy] = []
    world = toy_world(reactions={"toy.used": (lambda world, event: heard.append(event.data.object),)})
    with world.unit_of_work("req_1") as unit:
        toy = LIFE.transition(world, make(world, secret="s"), "use")
        world.replace(toy, size=4)
    assert heard == [toy]
    assert (heard[0].size, heard[0].secret) == (0, "s")
    sent = msgspec.json.decode(encode(unit.events[0]))
    assert sent["data"]["object"] == {
        name: value for name, value in msgspec.structs.asdict(toy).items() if name != "secret"
    }
    assert (sent["request"], sent["created_at"], sent["app"]) == ("req_1", NOW, world.app)


def test_every_reaction_is_part_of_the_unit_of_work() -> None:
    """What a reaction does is undone with the rest; those to all events come first."""
    order: list[str] = []

    def reject(world: World, event: Event) -> None:
        order.append(event.type)
        make(world)
        raise Undone

    world = toy_world(reactions={"*": (lambda world, event: order.append("*"),), "toy.used": (reject,)})
    with world.unit_of_work():
        toy = make(world)
    before = image(world)
    with pytest.raises(Undone), world.unit_of_work():
        LIFE.transition(world, toy, "use")
    assert order == ["*", "toy.used"]
    assert image(world) == before


def test_effects_belong_to_their_unit_of_work() -> None:
    world = toy_world()
    post = DeliverWebhook(webhook="wh_1", delivery="whd_1")
    with world.unit_of_work() as unit:
        world.enqueue(post)
    assert unit.effects == [post]
    with world.unit_of_work() as unit:
        pass
    assert unit.effects == []


# -- The essay at the top of ``core/world.py``: its example runs and prints what it says


def test_the_example_of_the_essay_is_true() -> None:
    outcome = doctest.testmod(world)
    assert outcome.attempted >= 10
    assert outcome.failed == 0


# -- Ids: their form, that they never collide, and that a seed decides them


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
