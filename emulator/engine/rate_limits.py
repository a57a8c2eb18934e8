"""Limits on the requests of one key: so many at a time, and so many a second (B-25)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.core.errors import ApiError
from emulator.resources.app.settings import RateLimit, Settings

CONCURRENCY_RETRY_SECONDS = 1
"""Seconds to wait when too many requests are under way; it is not known when one of them ends."""

MAX_RETRY_SECONDS = 24 * 3600
"""The longest that a client is asked to wait, however low the rate."""


class RateLimiter:
    """A key's limits: requests take tokens from a filling bucket. ``now`` is monotonic seconds."""

    def __init__(self) -> None:
        self._in_progress = 0
        self._limit: RateLimit | None = None
        self._tokens = self._since = 0.0

    @contextmanager
    def acquire(self, settings: Settings, now: float) -> Iterator[None]:
        """Hold a place for one request while the context lasts; else 429, taking no token."""
        if (
            settings.concurrency_limit is not None
            and self._in_progress >= settings.concurrency_limit
        ):
            raise ApiError("TOO_MANY_REQUESTS", retry_after=CONCURRENCY_RETRY_SECONDS)
        if settings.rate_limit is not None:
            self._take(settings.rate_limit, now)
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

    def _take(self, limit: RateLimit, now: float) -> None:
        """Take a token, or raise 429 ``RATE_LIMIT_EXCEEDED`` with the whole seconds to wait."""
        filled = self._tokens + (now - self._since) * limit.per_second
        if limit != self._limit:  # a new bucket is full, which allows a burst
            self._limit, filled = limit, limit.burst
        self._tokens, self._since = min(filled, float(limit.burst)), now
        if self._tokens < 1:
            wait = min((1 - self._tokens) / limit.per_second, MAX_RETRY_SECONDS)
            raise ApiError("RATE_LIMIT_EXCEEDED", retry_after=math.ceil(wait))
        self._tokens -= 1
