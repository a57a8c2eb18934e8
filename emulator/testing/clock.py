"""The clock of a world, controlled by the test (B-91). Instants are UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""

from __future__ import annotations

import datetime as dt
from typing import Any

from emulator.testing.api import JSON, Api

PATH = "/_emulator/clock"


class WorldClock:
    """Shows and moves the clock. Jobs that become due on the way are run; webhooks and emails are sent."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def now(self) -> str:
        """The current instant of the world."""
        return str(self.show()["now"])

    @property
    def datetime(self) -> dt.datetime:
        """The current instant as an aware ``datetime`` in UTC."""
        return dt.datetime.fromisoformat(self.now)

    def show(self) -> JSON:
        """``now``, ``mode``, ``rate``, ``next_due_at`` and the number of ``pending`` jobs."""
        shown: JSON = self._api.get(PATH)
        return shown

    def advance(
        self,
        by: str | dt.timedelta | None = None,
        *,
        to: str | dt.datetime | None = None,
        until: str | None = None,
        until_event: str | None = None,
    ) -> JSON:
        """Move the clock ``by`` a duration (``31d``, ``P1M``), ``to`` an instant, ``until="next"`` or ``until_event``.

        Returns when all jobs that became due have run and all deliveries have ended, with counts of what happened.
        Raises ``AssertionError`` if a job failed.
        """
        body = {"by": _duration(by), "to": _instant(to), "until": until, "until_event": until_event}
        return self._advance({name: value for name, value in body.items() if value is not None})

    def freeze(self, at: str | dt.datetime | None = None) -> JSON:
        """Stop the clock, now or at a later instant."""
        shown: JSON = self._api.post(f"{PATH}/freeze", {"at": _instant(at)} if at else {})
        return shown

    def run(self, rate: float = 1) -> JSON:
        """Let the clock run from the current instant, ``rate`` seconds for each real second."""
        shown: JSON = self._api.post(f"{PATH}/run", {"rate": rate})
        return shown

    def schedule(self, until: str | None = None) -> list[JSON]:
        """The planned jobs in order of time; ``until`` (instant or duration) runs a copy of the world up to there."""
        # The list is in order of time already.
        return list(self._api.newest("/_emulator/schedule", until=until))

    def next_job(self) -> JSON | None:
        """The next job (``due_at``, ``kind``, ``object``, ``summary``); None if no job is planned."""
        jobs = self._api.get("/_emulator/schedule", page_size=1)["data"]
        return jobs[0] if jobs else None

    def settle(self) -> JSON:
        """Wait until every webhook and email has its outcome, and what is due is done; a frozen clock does not move."""
        return self._advance({"by": "0s"})

    def _advance(self, body: JSON) -> JSON:
        done: JSON = self._api.post(f"{PATH}/advance", body)
        if done["failures"]:
            raise AssertionError(f"jobs of the emulator failed before {done['now']}: {done['failures']}")
        return done


def _duration(by: str | dt.timedelta | None) -> str | None:
    return f"PT{by.total_seconds():.3f}S" if isinstance(by, dt.timedelta) else by


def _instant(moment: Any) -> Any:
    if not isinstance(moment, dt.datetime):
        return moment
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).isoformat()
