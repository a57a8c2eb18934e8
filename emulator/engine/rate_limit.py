"""Limits on the requests of one key: how many at the same time, and how many a second, in real time (B-25)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.core.errors import ApiError
from emulator.resources.app.settings import RateLimit, Settings

RETRY_SECONDS = 1
"""Seconds to wait when too many requests are under way; it is not known when one of them ends."""

MAX_RETRY_SECONDS = 24 * 3600
"""The longest that a client is asked to wait, however low the rate."""


class Bucket:
    """A token bucket: it fills steadily, and each request takes a token. A new one is full, which allows a burst."""

    def __init__(self, limit: RateLimit, now: float) -> None:
        self.limit = limit
        self._tokens = float(limit.burst)
        self._since = now

    def take(self, now: float) -> None:
        """Take a token, or raise 429 ``RATE_LIMIT_EXCEEDED`` with the whole seconds until there is one."""
        filled = self._tokens + (now - self._since) * self.limit.per_second
        self._tokens, self._since = min(filled, float(self.limit.burst)), now
        if self._tokens < 1:
            wait = min((1 - self._tokens) / self.limit.per_second, MAX_RETRY_SECONDS)
            raise ApiError("RATE_LIMIT_EXCEEDED", retry_after=math.ceil(wait))
        self._tokens -= 1


class RateLimiter:
    """The limits of one key. ``now`` is always in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._in_progress = 0
        self._bucket: Bucket | None = None

    @contextmanager
    def acquire(self, own: Settings, now: float) -> Iterator[None]:
        """Hold a place for one request, while the context lasts; 429 for one too many, which takes no token."""
        if own.concurrency_limit is not None and self._in_progress >= own.concurrency_limit:
            raise ApiError("TOO_MANY_REQUESTS", retry_after=RETRY_SECONDS)
        if own.rate_limit is not None:
            self._bucket_for(own.rate_limit, now).take(now)
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

    def _bucket_for(self, limit: RateLimit, now: float) -> Bucket:
        """The bucket of the present limit; a changed limit starts with a full one."""
        if self._bucket is None or self._bucket.limit != limit:
            self._bucket = Bucket(limit, now)
        return self._bucket
