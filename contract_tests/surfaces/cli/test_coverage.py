"""``coverage``: what was exercised, as a table and as JSON, and as a check in CI."""

from __future__ import annotations

import json

import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.cli.conftest import Cli, OnScreen


def test_each_group_has_its_share_and_what_is_missing(
    sandbox: Sandbox, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning of that, as much as a line holds, and how many more."""
    sandbox.customer()
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("coverage").lines
    assert lines[0] == "2 requests to the service"
    coverage = sandbox.control.get("/coverage")
    for line, name in zip(lines[1::2], ("operations", "statuses", "fields", "parameters"), strict=False):
        own = coverage[name]
        assert line.split()[:4] == [name, str(own["count"]), "of", str(own["total"])]
    assert "operations     2 of  87     2.2 %" in lines
    first = ", ".join(coverage["operations"]["missing"][:3])
    assert f"  missing: {first}, and 82 more" in lines
    assert max(map(len, lines)) <= 80
    assert cli("coverage", "--key", f"{sandbox.key}x").lines[0] == "0 requests to the service"


def test_the_list_of_what_is_missing_fits_the_width(
    sandbox: Sandbox, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.customer()
    events = sandbox.control.get("/coverage")["events"]["missing"]
    for columns, line in ((30, "13 more"), (60, f"{events[0]}, and 12 more"), (1000, ", ".join(events))):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert cli("coverage", "--group", "events").lines[2:] == [f"  missing: {line}"]


def test_all_that_is_missing_a_line_each(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.customer()
    lines = cli("coverage", "--missing", "--group", "events").lines
    missing = sandbox.control.get("/coverage")["events"]["missing"]
    assert lines[2:] == [f"  {name}" for name in missing]
    assert "  customer.created" not in lines


def test_programs_read_what_the_control_api_says(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.customer()
    assert cli("coverage", "--json").objects == [sandbox.control.get("/coverage")]
    groups = ["--group", "events", "--group", "states"]
    assert cli("coverage", "--json", *groups).objects == [sandbox.control.get("/coverage", group="events,states")]


@pytest.mark.parametrize(
    ("groups", "floors", "short"),
    [
        (["events"], ["0"], []),
        (["events"], ["7"], []),
        (["events"], ["7.2"], ["events: 7.1 % is less than 7.2 %"]),
        (["events", "states"], ["8%"], ["events: 7.1 % is less than 8 %", "states: 2.2 % is less than 8 %"]),
        (["events", "states"], ["events=8"], ["events: 7.1 % is less than 8 %"]),
        (["events", "states"], ["50", "events=7", "states=2"], []),
    ],
    ids=str,
)
def test_too_little_is_a_failed_check(
    sandbox: Sandbox, cli: Cli, groups: list[str], floors: list[str], short: list[str]
) -> None:
    """Exit status 1, and why. What is said of one group counts more than what is said of all that are shown."""
    sandbox.customer()
    shown = [word for group in groups for word in ("--group", group)]
    result = cli("coverage", *shown, *(word for floor in floors for word in ("--fail-on", floor)))
    assert (result.status, result.errors.splitlines()) == (1 if short else 0, short)
    assert "events         1 of  14     7.1 %" in result.output


def test_the_check_is_the_same_for_programs(sandbox: Sandbox, cli: Cli) -> None:
    """The output is JSON all the same."""
    result = cli("coverage", "--json", "--group", "events", "--fail-on", "1")
    assert (result.status, result.errors) == (1, "events: 0.0 % is less than 1 %\n")
    assert json.loads(result.output)["events"]["count"] == 0


def test_of_every_app(server: RunningServer, contracts: tuple[Contract, Contract], sandbox: Sandbox, cli: Cli) -> None:
    """A suite gives each test an App of its own; what one of them exercised was exercised."""
    sandbox.customer()
    (before,) = cli("coverage", "--every-app", "--json").objects
    with server.world("everyapp", *contracts) as other:
        other.plan()
        (whole,) = cli("coverage", "--every-app", "--json").objects
        (one,) = cli("coverage", "--json", "--group", "operations").objects
        assert {"createCustomer", "createSubscriptionPlan"} <= set(whole["operations"]["exercised"])
        assert "createSubscriptionPlan" in one["operations"]["missing"]
        plans = [each["operations"]["calls"].get("createSubscriptionPlan", 0) for each in (before, whole)]
        assert plans[1] == plans[0] + 1
        assert whole["request_count"] >= 3
        result = cli("coverage", "--every-app", "--group", "events", "--fail-on", "100")
        assert (result.status, result.output.startswith(f"{whole['request_count']} requests")) == (1, True)
    for name in ("operations", "moves"):
        assert len(whole[name]["missing"]) + whole[name]["count"] == whole[name]["total"]


def test_it_can_be_read_in_a_terminal(sandbox: Sandbox, screen: OnScreen) -> None:
    shown = screen("coverage", "--url", sandbox.url, "--key", sandbox.key)
    assert shown.status() == 0
    assert "\x1b[1moperations" in shown.text
