"""The event loop where uvloop is not installed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

from freezegun import freeze_time

from emulator.server.event_loop import RealTimeLoop


def slept(loop: type[asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.sleep(0.01))


def test_its_timers_run_while_a_test_has_frozen_time() -> None:
    with freeze_time("2030-01-01"):
        thread = threading.Thread(target=slept, args=[RealTimeLoop], daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


SERVED = """
import sys
sys.modules["uvloop"] = None
from datetime import timedelta
from freezegun import freeze_time
with freeze_time("2030-01-01") as frozen:
    from emulator import Emulator
    payments = Emulator()
    print(payments.clock.now)
    frozen.tick(timedelta(days=31))
    print(payments.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa"})["created_at"])
payments.close()
"""


def test_a_server_answers_and_ends_under_frozen_time() -> None:
    """Also where the package is first imported while time is frozen."""
    ended = subprocess.run([sys.executable, "-c", SERVED], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert [line[:10] for line in ended.stdout.splitlines()] == ["2030-01-01", "2030-02-01"]
