"""Limits on requests: rate and concurrency, off until they are set, counted in real time (B-25)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import Sandbox
from emulator.core.errors import ApiError
from emulator.engine.rate_limits import MAX_RETRY_SECONDS, RateLimiter
from emulator.resources.app.settings import RateLimit, Settings

HOURLY = 1 / 3600
"""Requests per second; none comes back while a test runs."""


def statuses(sandbox: Sandbox, times: int) -> list[int]:
    return [sandbox.api.request("GET", "/customers/").status_code for _ in range(times)]


def test_no_more_than_a_burst_may_come(sandbox: Sandbox) -> None:
    """429 RATE_LIMIT_EXCEEDED with Retry-After (as every 429)."""
    sandbox.settings(rate_limit={"per_second": HOURLY, "burst": 3})
    assert statuses(sandbox, 3) == [200] * 3
    response = sandbox.api.request("GET", "/customers/")
    assert (response.status_code, response.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert response.json()["type"] == "RATE_LIMIT_ERROR"
    wait = int(response.headers["retry-after"])
    assert response.json()["retry_after"] == wait
    assert 3590 <= wait <= 3600


def test_a_rate_limit_is_that_of_one_key(sandbox: Sandbox, live: Sandbox) -> None:
    """B-01. The control API has none."""
    sandbox.settings(rate_limit={"per_second": HOURLY, "burst": 3})
    assert statuses(sandbox, 4) == [200] * 3 + [429]
    assert (statuses(live, 5), statuses(sandbox, 1)) == ([200] * 5, [429])
    assert sandbox.now


def test_a_changed_rate_limit_applies_at_once(sandbox: Sandbox) -> None:
    sandbox.settings(rate_limit={"per_second": HOURLY, "burst": 3})
    assert statuses(sandbox, 4) == [200] * 3 + [429]
    sandbox.settings(rate_limit={"per_second": HOURLY, "burst": 2})
    assert statuses(sandbox, 3) == [200, 200, 429]
    sandbox.settings(rate_limit=None)
    assert statuses(sandbox, 20) == [200] * 20


def test_the_rate_limit_has_its_place_in_the_order(sandbox: Sandbox) -> None:
    """B-05: what is rejected before is not counted, such as an unknown route and a foreign address;
    what comes after is counted, whatever the operation, and not looked at beyond the limit.
    """
    sandbox.settings(rate_limit={"per_second": HOURLY, "burst": 2})
    sandbox.api.rejected("GET", "/nothing/", 404, "NOT_FOUND")
    sandbox.api.post("/security-profiles/", {"name": "Shop", "allowed_ips": ["203.0.113.7"]})
    sandbox.api.rejected("GET", "/customers/", 403, "PERMISSION_DENIED")
    there = {"X-Forwarded-For": "203.0.113.7"}
    sandbox.api.rejected(
        "POST", "/customers/", 400, "VALIDATION_ERROR", content=b"{", headers=there
    )
    sandbox.api.rejected(
        "POST", "/customers/", 429, "RATE_LIMIT_EXCEEDED", content=b"{", headers=there
    )
    forced = {**there, "Emulator-Answer": "DATABASE_ERROR"}
    sandbox.api.rejected("GET", "/customers/", 429, "RATE_LIMIT_EXCEEDED", headers=forced)


def test_the_clock_of_a_world_does_not_fill_the_bucket(sandbox: Sandbox) -> None:
    """B-25: limits count real time, not the world's."""
    sandbox.settings(rate_limit={"per_second": HOURLY, "burst": 1})
    assert statuses(sandbox, 2) == [200, 429]
    sandbox.advance("31d")
    assert statuses(sandbox, 1) == [429]


def test_real_time_fills_the_bucket(sandbox: Sandbox) -> None:
    """B-25."""
    sandbox.settings(rate_limit={"per_second": 200, "burst": 1})
    assert statuses(sandbox, 60).count(200) > 2


@contextmanager
def under_way(sandbox: Sandbox) -> Iterator[Line]:
    """A request that is not done: the server waits for the rest of its body."""
    body = (b"Content-Type: application/json", b"Content-Length: 2", b"Expect: 100-continue")
    with Line(sandbox.url, sandbox.key) as line:
        line.request(b"POST /v1/customers/ HTTP/1.1", *body)
        # "Continue" is said when the body is asked for, which is after the limits.
        yield line


def test_no_more_than_so_many_may_be_under_way_at_once(sandbox: Sandbox) -> None:
    """429 TOO_MANY_REQUESTS: too many at once from one key. A client that leaves makes room."""
    sandbox.settings(concurrency_limit=2)
    with under_way(sandbox) as line, under_way(sandbox) as leaving:
        assert line.response().status == leaving.response().status == 100
        response = sandbox.api.request("GET", "/customers/")
        assert (response.status_code, response.json()["code"]) == (429, "TOO_MANY_REQUESTS")
        assert response.headers["retry-after"] == str(response.json()["retry_after"]) == "1"
        with under_way(sandbox) as another:
            assert another.response().status == 429
        line.say(b"{}")
        assert line.response().status == 422
        assert statuses(sandbox, 3) == [200] * 3
        with under_way(sandbox) as another:
            assert another.response().status == 100
            assert statuses(sandbox, 1) == [429]
            leaving.abort()
            # The server hears of it before anything that comes later; whatever it does then is done
            # in one unit of work.
            assert 200 in statuses(sandbox, 20)


# -- the limiter itself


def test_an_idle_bucket_fills_to_one_burst_and_no_further() -> None:
    """B-25."""
    settings = Settings(rate_limit=RateLimit(per_second=1, burst=2))
    limiter = RateLimiter()

    def requests_let_in(now: float) -> int:
        number = 0
        with suppress(ApiError):
            while number < 10:
                with limiter.acquire(settings, now):
                    number += 1
        return number

    assert [requests_let_in(now) for now in (0, 0.5, 1, 3600)] == [2, 0, 1, 2]


def test_the_wait_is_enough_whole_seconds() -> None:
    """Retry guidance: wait the number of seconds in Retry-After, then retry."""
    for per_second, wait in ((1, 1), (0.5, 2), (0.3, 4), (1000, 1), (1e-9, MAX_RETRY_SECONDS)):
        settings, limiter = (
            Settings(rate_limit=RateLimit(per_second=per_second, burst=1)),
            RateLimiter(),
        )
        with (
            limiter.acquire(settings, 0),
            pytest.raises(ApiError) as error,
            limiter.acquire(settings, 0),
        ):
            pass
        assert error.value.retry_after == wait
        if wait < MAX_RETRY_SECONDS:
            with limiter.acquire(settings, wait):
                pass
