"""Under freezegun in the same process the world's time is the frozen one, and moves with it (B-91)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import httpx
import pytest
from freezegun import freeze_time

from contract_tests.support.sandbox import CHARGED
from contract_tests.surfaces.testing.shop import subscribe
from emulator.testing import Emulator, LocalServer


@pytest.fixture
def world(local_server: LocalServer, world_name: str) -> Iterator[Emulator]:
    """A new world, frozen at the present."""
    with Emulator(key=f"sk_test_{world_name}", settings={"tax_rate": 18}, server=local_server) as emulator:
        yield emulator


@freeze_time("2024-02-29 10:00:00.5")
def test_a_world_opens_at_the_frozen_time_though_it_was_asked_for_before(world: Emulator) -> None:
    assert world.clock.now == "2024-02-29T10:00:00.500Z"
    assert subscribe(world)["created_at"] == "2024-02-29T10:00:00.500Z"


def test_it_goes_on_with_tick_and_move_to(world: Emulator) -> None:
    with freeze_time("2024-01-31") as frozen:
        subscribe(world)
        with world.expect(*CHARGED):
            frozen.tick(dt.timedelta(days=29))
        with world.expect(*CHARGED * 2):
            frozen.move_to("2024-04-30")
        assert world.clock.now == "2024-04-30T00:00:00.000Z"


def test_it_keeps_its_lead_when_it_is_advanced_as_well(world: Emulator) -> None:
    with freeze_time("2024-01-01") as frozen:
        world.clock.advance("31d")
        frozen.tick(60)
        assert world.clock.now == "2024-02-01T00:01:00.000Z"


def test_afterwards_it_stands_where_the_freeze_ended(world: Emulator) -> None:
    with freeze_time("2024-01-01") as frozen:
        assert world.clock.now == "2024-01-01T00:00:00.000Z"
        frozen.tick(60)
    assert world.clock.show() == {**world.clock.show(), "now": "2024-01-01T00:01:00.000Z", "mode": "frozen"}
    with freeze_time("2024-03-01"):
        assert world.clock.now == "2024-03-01T00:00:00.000Z"


def test_freezes_within_freezes_are_followed(world: Emulator) -> None:
    with freeze_time("2024-01-01") as outer:
        with freeze_time("2024-02-01"):
            assert world.clock.now == "2024-02-01T00:00:00.000Z"
        outer.move_to("2024-03-01")
        assert world.clock.now == "2024-03-01T00:00:00.000Z"


def test_a_ticking_freeze_ticks(world: Emulator) -> None:
    with freeze_time("2024-01-01", tick=True):
        assert world.clock.now.startswith("2024-01-01T00:0")
        assert world.clock.show()["mode"] == "frozen"


def test_a_freeze_with_steps_of_its_own_is_followed(world: Emulator) -> None:
    with freeze_time("2024-01-01", auto_tick_seconds=1) as frozen:
        assert world.clock.now.startswith("2024-01-01T")
        frozen.move_to("2024-06-01")
        assert world.clock.now.startswith("2024-06-01T")


def test_a_freeze_that_goes_back_is_reported_at_the_next_call(world: Emulator) -> None:
    with freeze_time("2024-02-01") as frozen:
        subscribe(world)
        frozen.move_to("2024-01-01")
        with pytest.raises(AssertionError) as raised:
            _ = world.clock.now
        assert str(raised.value) == (
            "freeze_time is 31 days, 0:00:00 behind this world, which is already at 2024-02-01T00:00:00.000Z; its "
            "clock never goes back. Freeze time before the first use of the world, or set its start: "
            "@pytest.mark.payments(clock=...)."
        )
        assert "clock: 2024-02-01T00:00:00.000Z" in world.story()
    with pytest.raises(AssertionError, match="never goes back"), freeze_time("2023-01-01"):
        world.client.get("/v1/customers/")


def test_a_move_that_the_world_cannot_follow_is_in_the_story(world: Emulator) -> None:
    """The next call may be the application's, which no error of the test's helpers can stop."""
    world.client.get("/v1/customers/")
    with freeze_time("2020-01-01") as frozen:
        httpx.get(f"{world.url}/v1/customers/", headers={"Authorization": f"Bearer {world.key}"})
        frozen.move_to("2020-02-01")
    assert "behind this world" in world.story()


def test_webhooks_and_waits_work_while_time_stands_still(world: Emulator) -> None:
    """Waits go by real time, or they would never end; a JWT's times are the frozen ones, as its reader's are."""
    with freeze_time("2024-01-01"):
        world.webhooks.listen(security_profile="JWT")
        subscribe(world)
        assert world.webhooks.wait_for("invoice.paid")["created_at"] == "2024-01-01T00:00:00.000Z"
        with pytest.raises(AssertionError, match=r"no webhook refund.succeeded arrived"):
            world.webhooks.wait_for("refund.succeeded", timeout=0.01)
        with pytest.raises(AssertionError, match=r"refund.succeeded did not happen"):
            world.events.wait_for("refund.succeeded", timeout=0)


def test_a_world_with_a_later_start_is_not_taken_back(local_server: LocalServer, world_name: str) -> None:
    key = f"sk_test_{world_name}"
    with Emulator(key=key, clock="2026-01-01T00:00:00Z", server=local_server) as world, freeze_time("2024-01-01"):
        assert world.clock.now == "2026-01-01T00:00:00.000Z"
        with pytest.raises(AssertionError, match="731 days, 0:00:00 behind"):
            _ = world.clock.now
