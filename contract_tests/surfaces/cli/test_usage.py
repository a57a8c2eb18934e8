"""``test suite --usage``: what a test suite uses of the service, as a table and as JSON, and as a check in CI."""

from __future__ import annotations

import json
import sys

import pytest

from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.core.event_types import EVENTS

SUITE = """
import os, httpx
for app in ("demo", "other"):
    key = {"Authorization": f"Bearer sk_test_{app}"}
    with httpx.Client(base_url=os.environ["PAYMENTS_EMULATOR_URL"], headers=key, trust_env=False) as client:
        if app == "demo":
            client.post("/v1/customers/", json={"name": "Awa", "email": "awa@example.com"}).raise_for_status()
        else:
            client.get("/v1/customers/").raise_for_status()
"""
"""Two tests with an App of their own each."""

NEVER = sorted({*EVENTS} - {"customer.created"}, key=lambda each: (each != "customer.deleted", [*EVENTS].index(each)))
"""The events that are not emitted, those of customers first, because the tests have customers."""


def usage(*options: str, code: str = SUITE) -> Ended:
    return run("test", "suite", "--usage", *options, "--", sys.executable, "-c", code)


def test_each_group_has_its_share_and_what_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of that, as much as a line holds, and how many more. What any of the Apps uses is used."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = usage().lines
    assert lines[0] == "What the tests never used, with 2 requests:"
    names = ("events", "states", "moves", "errors", "operations", "statuses", "fields", "parameters")
    assert [line.split()[0] for line in lines[1::2]] == [*names]
    assert "operations     2 of  87     2.2 %" in lines
    (report,) = usage("--json").objects
    first = ", ".join(report["usage"]["groups"]["operations"]["missing"][:3])
    assert f"  never: {first}, and 82 more" in lines
    assert max(map(len, lines)) <= 80


def test_what_is_never_used_fits_the_width_or_is_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite that fails uses nothing."""
    for columns, line in ((30, "13 more"), (60, f"{NEVER[0]}, and 12 more"), (1000, ", ".join(NEVER))):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert usage("--group", "events").lines[2:] == [f"  never: {line}"]
    assert usage("--missing", "--group", "events").lines[2:] == [f"  {name}" for name in NEVER]
    failed = usage(code="raise SystemExit(3)")
    why = "The command fails with the right service, so nothing else was tried: exit status 3"
    assert (failed.status, failed.output.startswith(why), "never used" in failed.output) == (1, True, False)


@pytest.mark.parametrize(
    ("floors", "short"),
    [
        (["events=7.2%"], ["events: 7.1 % is less than 7.2 %"]),
        (["events=8", "states=8"], ["events: 7.1 % is less than 8 %", "states: 2.2 % is less than 8 %"]),
        (["50", "events=7", "states=2"], []),
    ],
    ids=str,
)
def test_too_little_is_a_failed_check(floors: list[str], short: list[str]) -> None:
    """Exit status 1, and why; JSON all the same for programs. The score is that of mutants, and none is tried."""
    fail_on = [word for floor in floors for word in ("--fail-on", floor)]
    as_json = ("--json",) if len(floors) == 1 else ()
    result = usage("--group", "events", "--group", "states", *as_json, *fail_on)
    assert (result.status, result.errors.splitlines()) == (1 if short else 0, short)
    if as_json:
        report = json.loads(result.output)
        assert report["usage"]["groups"]["events"]["exercised"] == ["customer.created"]
        assert (report["caught"], report["usage"]["request_count"]) == ([], 2)
    else:
        assert "events         1 of  14     7.1 %" in result.output


SHOP = """
from emulator import Emulator
with Emulator() as payments:
    payments.configure(operator_delay={delay})
    payments.pay(payments.session())
    payments.clock.advance("2h")
"""


@pytest.mark.parametrize(("delay", "is_named"), [(0, True), (3600, False)])
def test_a_payment_that_takes_no_time_is_not_seen_processing(delay: int, is_named: bool) -> None:
    missing = "  no test sees a payment that takes time, as operator_delay makes it (checkout_session processing)"
    assert (missing in usage("--group", "states", code=SHOP.format(delay=delay)).lines) == is_named
