"""A world's clock in the tester's hand (B-91). Instants are UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""

from __future__ import annotations

import datetime as dt
from typing import Any

from emulator.testing.api import JSON, Api

PATH = "/_emulator/clock"


class Clock:
    """Shows and moves the clock. Whatever falls due on the way is done, webhooks and emails included."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def now(self) -> str:
        """The present instant of the world."""
        return str(self.show()["now"])

    @property
    def datetime(self) -> dt.datetime:
        """The same as an aware ``datetime``, UTC."""
        return dt.datetime.fromisoformat(self.now)

    def show(self) -> JSON:
        """``now``, ``mode``, ``rate``, ``next_due_at`` and how many jobs are ``pending``."""
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
        """Move on ``by`` a duration (``31d``, ``2h``, ``P1M``), ``to`` an instant, ``until="next"`` or ``until_event``.

        Answers when all that fell due is done, every delivery included: what happened, counted. Raises
        ``AssertionError`` if a job failed on the way.
        """
        body = {"by": _duration(by), "to": _instant(to), "until": until, "until_event": until_event}
        return self._advance({name: value for name, value in body.items() if value is not None})

    def freeze(self, at: str | dt.datetime | None = None) -> JSON:
        """Stand still, now or at a later instant."""
        shown: JSON = self._api.post(f"{PATH}/freeze", {"at": _instant(at)} if at else {})
        return shown

    def run(self, rate: float = 1) -> JSON:
        """Go on by itself from the present instant, ``rate`` seconds there each second here."""
        shown: JSON = self._api.post(f"{PATH}/run", {"rate": rate})
        return shown

    def schedule(self, until: str | None = None) -> list[JSON]:
        """What will happen, in order; ``until`` (an instant or a duration) plays the future on a throw-away copy."""
        # The list is in order of time as it is.
        return list(self._api.newest("/_emulator/schedule", until=until))

    def next_job(self) -> JSON | None:
        """What will happen next: ``due_at``, ``kind``, ``object``, ``summary``; None if nothing is planned."""
        jobs = self._api.get("/_emulator/schedule", page_size=1)["data"]
        return jobs[0] if jobs else None

    def settle(self) -> JSON:
        """Wait until every webhook and email has its outcome, and what is due is done; a frozen clock stays."""
        return self._advance({"by": "0s"})

    def _advance(self, body: JSON) -> JSON:
        done: JSON = self._api.post(f"{PATH}/advance", body)
        if done["failures"]:
            raise AssertionError(f"jobs of the emulator failed on the way to {done['now']}: {done['failures']}")
        return done


def _duration(by: str | dt.timedelta | None) -> str | None:
    return f"PT{by.total_seconds():.3f}S" if isinstance(by, dt.timedelta) else by


def _instant(moment: Any) -> Any:
    if not isinstance(moment, dt.datetime):
        return moment
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).isoformat()
