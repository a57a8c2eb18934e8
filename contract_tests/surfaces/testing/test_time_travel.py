"""freezegun and time-machine move the world, in this process and elsewhere, and a move settles."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import time_machine
from freezegun import freeze_time

from contract_tests.surfaces.testing.shop import subscribe
from emulator.engine.world_clock import Clock
from emulator.testing import AsyncEmulator, Emulator, LocalServer, RemoteServer

Freeze = Callable[[str], AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[RemoteServer]:
    """A server whose clocks know nothing of the time that a test of this process sets."""
    server = LocalServer(strict=True, clock=Clock)
    remote = RemoteServer(server.url)
    yield remote
    remote.stop()
    server.stop()


@pytest.fixture(params=["in process", "elsewhere"])
def world(request: pytest.FixtureRequest, world_name: str) -> Iterator[Emulator]:
    server = request.getfixturevalue("local_server" if request.param == "in process" else "elsewhere")
    with Emulator(key=f"sk_test_{world_name}", server=server) as emulator:
        yield emulator


@pytest.fixture(params=["freezegun", "time-machine"])
def freeze(request: pytest.FixtureRequest) -> Freeze:
    """Sets the time of this process."""
    if request.param == "freezegun":
        return freeze_time
    return lambda instant: time_machine.travel(dt.datetime.fromisoformat(f"{instant}T00:00:00+00:00"), tick=False)


class Shop:
    """An application that counts what its webhook receiver hears."""

    def __init__(self) -> None:
        self.deliveries = 0

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        self.deliveries += 1
        start_response("204 No Content", [])
        return [b""]


def test_a_move_settles(world: Emulator, freeze: Freeze) -> None:
    """What the test looks at next is the application, which asks the emulator nothing."""
    shop = Shop()
    with freeze("2024-01-31") as frozen:
        world.webhooks.listen("invoice.paid").forward_to(shop)
        subscribe(world)
        world.settle()
        assert shop.deliveries == 1
        frozen.move_to(dt.datetime(2024, 4, 30, tzinfo=dt.UTC))
        assert shop.deliveries == 4
        assert world.clock.now == "2024-04-30T00:00:00.000Z"


def test_a_world_starts_at_the_time_that_is_set_before_its_first_use(world: Emulator, freeze: Freeze) -> None:
    with freeze("2028-02-29"):
        assert world.clock.now == "2028-02-29T00:00:00.000Z"


def test_the_past_is_no_obstacle_for_an_unused_world(world: Emulator, freeze: Freeze) -> None:
    with freeze("2020-02-29"):
        assert subscribe(world)["created_at"] == "2020-02-29T00:00:00.000Z"


def test_a_later_freeze_moves_it_on_and_its_lead_is_added(world: Emulator, freeze: Freeze) -> None:
    with freeze("2024-01-01"):
        world.clock.advance("1d")
    with freeze("2024-03-01") as frozen:
        assert world.clock.now == "2024-03-01T00:00:00.000Z"
        world.clock.advance("1d")
        frozen.move_to(dt.datetime(2024, 3, 2, tzinfo=dt.UTC))
        assert world.clock.now == "2024-03-03T00:00:00.000Z"


def test_it_never_goes_back(world: Emulator, freeze: Freeze) -> None:
    with freeze("2024-02-01") as frozen:
        subscribe(world)
        frozen.move_to(dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
        assert "is 31 days, 0:00:00 behind this world" in world.story()
        with pytest.raises(AssertionError, match=r"is 31 days, 0:00:00 behind this world.*2024-02-01.*never goes back"):
            _ = world.clock.now
    with freeze("2023-02-01"), pytest.raises(AssertionError, match="never goes back"):
        _ = world.clock.now
    assert world.clock.now == "2024-02-01T00:00:00.000Z"


def test_steps_of_travel(world: Emulator) -> None:
    with time_machine.travel(dt.datetime(2024, 1, 31, tzinfo=dt.UTC), tick=False) as traveller:
        subscribe(world)
        traveller.shift(dt.timedelta(days=29))
        assert world.clock.now == "2024-02-29T00:00:00.000Z"
    with time_machine.travel(dt.datetime(2024, 3, 1, tzinfo=dt.UTC)):
        assert world.clock.now.startswith("2024-03-01T00:0")
    assert world.clock.now.startswith("2024-03-01T00:0")
    assert world.clock.show()["mode"] == "frozen"


@pytest.mark.parametrize("world", ["in process"], indirect=True)
def test_a_move_on_an_event_loop_leaves_it_free_to_answer(world: Emulator, freeze: Freeze) -> None:
    async def story() -> None:
        async with AsyncEmulator(world) as emulator:
            with freeze("2024-01-31") as frozen:
                await emulator.webhooks.listen("invoice.paid")
                await asyncio.to_thread(subscribe, world)
                frozen.move_to(dt.datetime(2024, 4, 30, tzinfo=dt.UTC))
                await emulator.settle()
                assert len(await emulator.webhooks.deliveries()) == 4

    asyncio.run(story())


def test_a_world_with_a_start_of_its_own_is_not_taken_back(elsewhere: RemoteServer, world_name: str) -> None:
    key = f"sk_test_{world_name}"
    with (
        Emulator(key=key, clock="2026-01-01T00:00:00Z", server=elsewhere) as world,
        freeze_time("2024-01-01"),
        pytest.raises(AssertionError, match="731 days, 0:00:00 behind"),
    ):
        _ = world.clock.now
