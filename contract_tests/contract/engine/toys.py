"""Toys: records, jobs and a world that mean nothing, for tests of what the core does with any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec
from hypothesis import strategies as st

from emulator.core.jobs import Job
from emulator.core.records import HIDDEN, Metadata, Record
from emulator.core.world import JobFunction, Reaction, Registry, World

NOW = "2026-01-01T00:00:00.000Z"
INSTANTS = [f"2026-01-01T00:00:00.{number:03d}Z" for number in range(5)]


class Toy(Record, frozen=True, kw_only=True):
    """Indexed by colour and status, unique by label."""

    prefix: ClassVar[str] = "toy"
    indexes: ClassVar[tuple[str, ...]] = ("colour", "status")
    unique: ClassVar[tuple[str, ...]] = ("label",)

    colour: str = "red"
    size: int = 0
    status: str = "new"
    label: str | None = None
    metadata: Metadata = msgspec.field(default_factory=dict)
    created_at: str = NOW
    updated_at: str = NOW
    secret: Annotated[str, HIDDEN] = "hidden"


LABELS = st.sampled_from(["a", "b", "c", None])

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "colour": st.sampled_from(["red", "green", "blue"]),
        "size": st.integers(0, 4),
        "status": st.sampled_from(["new", "used"]),
        "created_at": st.sampled_from(INSTANTS),
    },
)


def toy_world(
    jobs: Mapping[str, JobFunction] | None = None,
    reactions: Mapping[str, tuple[Reaction, ...]] | None = None,
) -> World:
    """Return a world of toys, at the start of 2026."""
    return World(
        name="toys",
        livemode=False,
        registry=Registry(kinds=(Toy,), reactions=reactions or {}, jobs=jobs or {}),
        reference_data=None,
        seed="7",
        now=NOW,
        base_url="http://toys",
    )


def make(world: World, **fields: object) -> Toy:
    """Return a new toy, filed."""
    return world.add(Toy(id=world.new_id(Toy), **fields))


def toys(world: World) -> list[Toy]:
    """Return all toys, oldest first."""
    return list(world.table(Toy))


class Undone(Exception):
    """What a test raises to have a unit of work undone."""


def agenda(world: World) -> list[Job]:
    """Return the jobs in the order in which the schedule gives them, which is left as it was."""
    in_order = []
    try:
        with world.unit_of_work():
            while (job := world.jobs.next()) is not None:
                in_order.append(job)
                world.remove(job)
            raise Undone
    except Undone:
        return in_order
