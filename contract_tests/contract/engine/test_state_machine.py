"""Life cycles: what is in the table happens, what is not in it cannot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import Toy, make, toy_world
from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.state_machine import StateMachine

STATES = ("new", "used", "broken", "gone")
TRIGGERS = ("use", "break", "mend", "throw away")

TABLES = st.lists(
    st.tuples(
        st.sampled_from(STATES),
        st.sampled_from(TRIGGERS),
        st.sampled_from(STATES),
        st.sampled_from([None, "toy.moved"]),
    ),
    unique_by=lambda row: row[:2],
)


@given(TABLES, st.sampled_from(STATES), st.lists(st.sampled_from(TRIGGERS), max_size=8))
def test_only_what_the_table_says_happens(
    rows: list[tuple[str, str, str, str | None]], start: str, triggers: list[str]
) -> None:
    """Idea 1: a move outside the table is 422 INVALID_STATUS_TRANSITION and names object, status and trigger."""
    machine = StateMachine(Toy, *rows)
    world = toy_world()
    with world.unit_of_work():
        toy = make(world, status=start)
    emitted = 0
    for trigger in triggers:
        row = next((row for row in rows if row[:2] == (toy.status, trigger)), None)
        assert machine.allows(toy, trigger) == (row is not None)
        if row is None:
            with pytest.raises(ApiError) as rejected, world.unit_of_work():
                machine.transition(world, toy, trigger)
            raised = rejected.value
            assert (raised.code, raised.status) == ("INVALID_STATUS_TRANSITION", 422)
            assert all(word in raised.message for word in ("toy", toy.status, trigger))
        else:
            emitted += row[3] is not None
            with world.unit_of_work():
                moved = machine.transition(world, toy, trigger, size=emitted)
            assert (moved.status, moved.size, moved.id) == (row[2], emitted, toy.id)
            toy = moved
        assert world.require(Toy, toy.id) is toy
    assert len(world.table(Event)) == emitted


def test_creating_a_record_stores_it_and_emits_its_event() -> None:
    machine = StateMachine(Toy, (None, "make", "new", "toy.made"))
    world = toy_world()
    with world.unit_of_work() as unit:
        toy = machine.create(world, "make", Toy(id="toy_1"))
    assert world.require(Toy, "toy_1") is toy
    assert [(event.type, event.data.object) for event in unit.events] == [("toy.made", toy)]
    with pytest.raises(AssertionError), world.unit_of_work():
        machine.create(world, "make", Toy(id="toy_2", status="used"))
    assert world.get(Toy, "toy_2") is None


def test_a_move_returns_what_the_reactions_made_of_the_record() -> None:
    def paint(world: object, event: Event) -> None:
        world.replace(world.require(Toy, event.data.object.id), colour="blue")  # type: ignore[attr-defined]

    machine = StateMachine(Toy, ("new", "use", "used", "toy.used"))
    world = toy_world(reactions={"toy.used": (paint,)})
    with world.unit_of_work():
        assert machine.transition(world, make(world), "use").colour == "blue"


def test_carried_metadata_goes_with_the_event() -> None:
    """B-80."""
    machine = StateMachine(
        Toy, ("new", "use", "used", "toy.used"), event_metadata=lambda world, toy, event: {"box": {"of": event}}
    )
    world = toy_world()
    with world.unit_of_work() as unit:
        machine.transition(world, make(world), "use")
    assert unit.events[0].data.metadata == {"box": {"of": "toy.used"}}


def test_a_table_does_not_say_two_things_about_one_trigger() -> None:
    with pytest.raises(ValueError, match="two transitions"):
        StateMachine(Toy, ("new", "use", "used"), ("new", "use", "broken"))
