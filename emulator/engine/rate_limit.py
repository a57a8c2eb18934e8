"""Traffic: how many requests of one key are under way, and how many more may come now (B-25). It counts real time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.errors import ApiError
from emulator.resources.app.settings import RateLimit, Settings

AFTER_A_WHILE = 1
"""Seconds to wait when too many requests are under way: nobody knows when one of them ends."""

LONGEST = 24 * 3600
"""The most seconds a client is asked to wait, however low the rate."""


class Bucket:
    """A bucket of tokens that fills steadily; each request takes one. A new one is full: a burst is at hand."""

    def __init__(self, limit: RateLimit, now: float) -> None:
        self.limit = limit
        self._tokens = float(limit.burst)
        self._since = now

    def take(self, now: float) -> None:
        """Take a token, or raise 429 ``RATE_LIMIT_EXCEEDED`` with the whole seconds until there is one."""
        grown = self._tokens + (now - self._since) * self.limit.per_second
        self._tokens, self._since = min(grown, float(self.limit.burst)), now
        if self._tokens < 1:
            wait = min((1 - self._tokens) / self.limit.per_second, LONGEST)
            raise ApiError("RATE_LIMIT_EXCEEDED", retry_after=math.ceil(wait))
        self._tokens -= 1


class RateLimiter:
    """The requests of one key. ``now`` is always seconds of a clock that only goes forward."""

    def __init__(self) -> None:
        self._in_progress = 0
        self._bucket: Bucket | None = None

    @contextmanager
    def acquire(self, own: Settings, now: float) -> Iterator[None]:
        """One request, while it is under way; raises 429 for one too many. A refused one takes no token."""
        if own.concurrency_limit is not None and self._in_progress >= own.concurrency_limit:
            raise ApiError("TOO_MANY_REQUESTS", retry_after=AFTER_A_WHILE)
        if own.rate_limit is not None:
            self._bucket_for(own.rate_limit, now).take(now)
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

    def _bucket_for(self, limit: RateLimit, now: float) -> Bucket:
        """The bucket of the limit in force; a changed limit begins with a full one."""
        if self._bucket is None or self._bucket.limit != limit:
            self._bucket = Bucket(limit, now)
        return self._bucket
