"""Limits on requests: rate and concurrency, off until they are set, counted in real time (B-25)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.core.errors import ApiError
from emulator.engine.runtime import MAX_RETRY_SECONDS, Bucket, RateLimiter
from emulator.resources.app.settings import RateLimit, Settings

HOURLY = 1 / 3600
"""Requests per second; none comes back while a test runs."""


def limit(sandbox: Sandbox, **settings: Any) -> None:
    sandbox.control.patch("/app", {"settings": settings})


def statuses(sandbox: Sandbox, times: int) -> list[int]:
    return [sandbox.api.request("GET", "/customers/").status_code for _ in range(times)]


def test_without_a_limit_requests_are_not_counted(sandbox: Sandbox) -> None:
    assert statuses(sandbox, 100) == [200] * 100


@pytest.mark.parametrize("burst", [1, 3])
def test_a_burst_may_come_and_no_more(sandbox: Sandbox, burst: int) -> None:
    """429 RATE_LIMIT_EXCEEDED with Retry-After (Errors; Limits: present on every 429)."""
    limit(sandbox, rate_limit={"per_second": HOURLY, "burst": burst})
    assert statuses(sandbox, burst) == [200] * burst
    answer = sandbox.api.request("GET", "/customers/")
    assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert answer.json()["type"] == "RATE_LIMIT_ERROR"
    wait = int(answer.headers["retry-after"])
    assert answer.json()["retry_after"] == wait
    assert 3590 <= wait <= 3600


def test_every_operation_counts_and_the_limit_comes_after_key_and_profile(sandbox: Sandbox) -> None:
    """B-05: what is rejected before is not counted; what comes after it is not even looked at."""
    limit(sandbox, rate_limit={"per_second": HOURLY, "burst": 2})
    sandbox.api.rejected("GET", "/nothing/", 404, "NOT_FOUND")
    sandbox.api.post("/security-profiles/", {"name": "Shop", "allowed_ips": ["203.0.113.7"]})
    sandbox.api.rejected("GET", "/customers/", 403, "PERMISSION_DENIED")
    there = {"X-Forwarded-For": "203.0.113.7"}
    sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", content=b"{", headers=there)
    sandbox.api.rejected("POST", "/customers/", 429, "RATE_LIMIT_EXCEEDED", content=b"{", headers=there)
    forced = {**there, "Emulator-Answer": "DATABASE_ERROR"}
    sandbox.api.rejected("GET", "/customers/", 429, "RATE_LIMIT_EXCEEDED", headers=forced)


def test_the_world_s_clock_does_not_fill_the_bucket(sandbox: Sandbox) -> None:
    """B-25: limits count real time, not the world's."""
    limit(sandbox, rate_limit={"per_second": HOURLY, "burst": 1})
    assert statuses(sandbox, 2) == [200, 429]
    sandbox.advance("31d")
    assert statuses(sandbox, 1) == [429]


def test_real_time_does(sandbox: Sandbox) -> None:
    """A client that waits for as long as Retry-After says is served again."""
    limit(sandbox, rate_limit={"per_second": 200, "burst": 1})
    answers = statuses(sandbox, 200)
    assert answers.count(200) > 2


def test_a_changed_limit_applies_at_once(sandbox: Sandbox) -> None:
    limit(sandbox, rate_limit={"per_second": HOURLY, "burst": 1})
    assert statuses(sandbox, 2) == [200, 429]
    limit(sandbox, rate_limit={"per_second": HOURLY, "burst": 2})
    assert statuses(sandbox, 3) == [200, 200, 429]
    limit(sandbox, rate_limit=None)
    assert statuses(sandbox, 3) == [200, 200, 200]


def test_a_key_has_its_own_limit_and_the_control_api_none(sandbox: Sandbox) -> None:
    """B-01."""
    limit(sandbox, rate_limit={"per_second": HOURLY, "burst": 1})
    assert statuses(sandbox, 2) == [200, 429]
    live = {"Authorization": f"Bearer {sandbox.key.replace('test', 'prod', 1)}"}
    assert sandbox.api.request("GET", "/customers/", headers=live).status_code == 200
    assert sandbox.now


@contextmanager
def under_way(sandbox: Sandbox) -> Iterator[socket.socket]:
    """A request that is not done: the server waits for the rest of its body."""
    parts = urlsplit(sandbox.url)
    head = (
        f"POST /v1/customers/ HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {sandbox.key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as line:
        line.sendall(head.encode())
        # "Continue" is said when the body is asked for, which is after the limits.
        yield line


@pytest.mark.parametrize("most", [1, 2])
def test_so_many_at_once_and_no_more(sandbox: Sandbox, most: int) -> None:
    """429 TOO_MANY_REQUESTS: too many concurrent requests from one key."""
    limit(sandbox, concurrency_limit=most)
    with ExitStack() as lines:
        for _ in range(most):
            line = lines.enter_context(under_way(sandbox))
            assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        answer = sandbox.api.request("GET", "/customers/")
        assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY_REQUESTS")
        assert answer.headers["retry-after"] == str(answer.json()["retry_after"]) == "1"
        with under_way(sandbox) as another:
            assert another.recv(100).startswith(b"HTTP/1.1 429")
        line.sendall(b"{}")
        assert line.recv(100).startswith(b"HTTP/1.1 422")
        assert statuses(sandbox, 3) == [200] * 3


def test_a_client_that_leaves_makes_room(sandbox: Sandbox) -> None:
    limit(sandbox, concurrency_limit=1)
    with under_way(sandbox) as line:
        line.recv(100)
        assert statuses(sandbox, 1) == [429]
    # The server hears of it before anything that comes later; whatever it does then is done in one unit of work.
    assert 200 in statuses(sandbox, 20)


# -- the bucket itself


def test_a_bucket_fills_steadily_up_to_its_burst() -> None:
    bucket = Bucket(RateLimit(per_second=2, burst=3), now=0)
    for _ in range(3):
        bucket.take(0)
    with pytest.raises(ApiError) as error:
        bucket.take(0.4)
    assert error.value.retry_after == 1
    bucket.take(0.5)
    for _ in range(3):
        bucket.take(100)
    with pytest.raises(ApiError):
        bucket.take(100)


@pytest.mark.parametrize(
    ("per_second", "wait"),
    [(1, 1), (0.5, 2), (0.3, 4), (1000, 1), (1e-9, MAX_RETRY_SECONDS), (5e-324, MAX_RETRY_SECONDS)],
)
def test_the_wait_is_in_whole_seconds_and_enough(per_second: float, wait: int) -> None:
    """Retry guidance: wait the number of seconds in Retry-After, then retry."""
    bucket = Bucket(RateLimit(per_second=per_second, burst=1), now=0)
    bucket.take(0)
    with pytest.raises(ApiError) as error:
        bucket.take(0)
    assert error.value.retry_after == wait
    if wait < MAX_RETRY_SECONDS:
        bucket.take(wait)


def test_each_request_that_has_ended_makes_room_for_one() -> None:
    traffic, own = RateLimiter(), Settings(concurrency_limit=2)
    with traffic.acquire(own, 0):
        with traffic.acquire(own, 0):
            pass
        with (
            traffic.acquire(own, 0),
            pytest.raises(ApiError, match="TOO_MANY_REQUESTS"),
            traffic.acquire(own, 0),
        ):
            pytest.fail("admitted")


def test_one_too_many_takes_no_token() -> None:
    traffic = RateLimiter()
    own = Settings(rate_limit=RateLimit(per_second=HOURLY, burst=2), concurrency_limit=1)
    with traffic.acquire(own, 0):
        for _ in range(5):
            with pytest.raises(ApiError, match="TOO_MANY_REQUESTS"), traffic.acquire(own, 0):
                pytest.fail("admitted")
    with traffic.acquire(own, 0):
        pass
    with pytest.raises(ApiError, match="RATE_LIMIT_EXCEEDED"), traffic.acquire(own, 0):
        pytest.fail("admitted")
