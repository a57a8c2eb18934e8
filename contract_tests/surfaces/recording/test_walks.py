"""A world after a random walk, recorded: the steps cause the same events in another world."""

from __future__ import annotations

import msgspec
import pytest

from contract_tests.support.walker import Walker
from emulator.control.recording.model import Recording
from emulator.control.recording.reproduction import play
from emulator.testing import Emulator, LocalServer
from emulator.testing.fresh_world import FreshWorld


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_walk_recorded_as_steps_causes_the_same_events(seed: int, local_server: LocalServer) -> None:
    with Emulator(key="sk_test_walked", clock="2026-01-31T00:00:00Z", seed=7, server=local_server) as payments:
        walker = Walker(payments, seed)
        for _ in range(120):
            assert walker.step() is None
        recording = msgspec.convert(payments.client.get("/_emulator/recording").json(), Recording)
        events = recording.events or payments.events.types()[-100:]
    with FreshWorld("another", recording.url) as world:
        assert play(msgspec.structs.replace(recording, events=None), world).difference is None
        listed = world.send("GET", "/_emulator/events?page_size=100", {}, None).body["data"]
    assert [event["type"] for event in reversed(listed)] == events
