"""``test``: what an application, its tests, its receiver and its client make of a service that fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.groups import FOUND, LazyGroup
from emulator.cli.options import as_json, with_client
from emulator.cli.output import counted, print_line

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


SEVERITIES = ("error", "warning", "info")
"""The severities of findings, the highest first."""

COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}

NAME_WIDTH = 29
"""The length of the longest name of a rule."""

SHOWN_IDS = 5
"""How many request and object ids are shown for a finding; --json prints all."""


@click.group(
    cls=LazyGroup,
    table={
        "app": "app:app",
        "suite": "suite:suite",
        "receiver": "receiver:receiver",
        "client": "test:client",
        "all": "everything:everything",
        "scenario": "app:app_scenario",
    },
)
def test() -> None:
    """Test an application, its tests, its webhook receiver and its client.

    \b
    payments-emulator test app -- python buy.py
    payments-emulator test suite -- pytest -x
    payments-emulator test receiver http://localhost:3000/webhooks
    payments-emulator test all --story 'python buy.py' -- pytest -x

    Exit status 1 if something was found, 3 if a --budget ended before all was tried.
    """


@click.command()
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit with status 1 on findings of this severity or higher. [default: never]",
)
@click.option("--every-app", is_flag=True, help="Include all open Apps (for example one per test).")
@as_json
@with_client
def client(emulator: ControlClient, fail_on: str | None, every_app: bool, as_json: bool) -> int:
    """Report where your client breaks the service's usage rules.

    \b
    payments-emulator test client
    payments-emulator test client --fail-on warning
    payments-emulator test client --every-app --fail-on warning
    payments-emulator test client --app checkout --json | jq .rule

    Covers the App's last 1,000 requests, its webhook endpoints and their deliveries. It checks that retries
    wait and repeat their Idempotency-Key, that lists are read to the end, that webhook signatures are verified and
    deliveries acknowledged, and that secrets are not exposed. To see a request that a finding names, use
    'payments-emulator logs REQUEST'.
    """
    result = merged([*audits(emulator)]) if every_app else emulator.get("/audit")
    if as_json:
        for finding in result["findings"]:
            print_line(finding, paragraph, as_json)
    else:
        print_line(result, report, as_json)
    return FOUND if fails(result["findings"], fail_on) else 0


def audits(emulator: ControlClient) -> Iterator[Any]:
    """Yield the audit of each open App, with the App's name in its findings."""
    for app, result in emulator.of_every_app("/audit"):
        for finding in result["findings"]:
            finding["app"] = app
        yield result


def merged(audits: list[Any]) -> Any:
    """Return several audits as one. A rule passed if none found it broken, and was not exercised if it was so in all."""
    findings = sorted(
        (finding for each in audits for finding in each["findings"]),
        key=lambda finding: (SEVERITIES.index(finding["severity"]), finding["rule"]),
    )
    broken = {finding["rule"] for finding in findings}
    passed = {rule["rule"]: rule for each in audits for rule in each["kept"] if rule["rule"] not in broken}
    known = broken | passed.keys()
    rest = {rule["rule"]: rule for each in audits for rule in each["untried"] if rule["rule"] not in known}
    count = sum(each["request_count"] for each in audits)
    return {"request_count": count, "findings": findings, "kept": [*passed.values()], "untried": [*rest.values()]}


def fails(findings: list[Any], on: str | None) -> bool:
    """Return whether any finding has this severity or a higher one."""
    failing = SEVERITIES[: SEVERITIES.index(on) + 1] if on else ()
    return any(finding["severity"] in failing for finding in findings)


def report(result: Any) -> str:
    """Return the audit as text: findings, rules without findings, and a summary."""
    parts = [paragraph(finding) for finding in result["findings"]]
    lists = {"Passed": result["kept"], "Not exercised": result["untried"]}
    parts += [names(title, rules) for title, rules in lists.items() if rules]
    return "\n\n".join([*parts, summary(result)])


def paragraph(finding: Any) -> str:
    """Return a finding: severity, rule, count and title; below them the advice, and the ids of requests and objects."""
    severity = click.style(finding["severity"].ljust(9), fg=COLOURS[finding["severity"]], bold=True)
    name = click.style(finding["rule"].ljust(NAME_WIDTH), bold=True)
    shown = [*finding["requests"], *finding["object_ids"]][:SHOWN_IDS]
    more = finding["count"] - len(shown)
    app = f"App {finding['app']}: " if "app" in finding else ""
    return "\n         ".join(
        [
            f"{severity}{name}  {finding['count']:>4} x  {finding['title']}",
            f"{finding['advice']} ({finding['section']})",
            f"{app}{' '.join(shown)}{f' and {more} more' if more else ''}",
        ]
    )


def names(title: str, rules: list[Any]) -> str:
    """Return the names of rules without findings."""
    return f"{click.style(title.ljust(13), bold=True)}  {', '.join(rule['rule'] for rule in rules)}"


def summary(result: Any) -> str:
    """Return the counts, in one line."""
    found = [sum(each["severity"] == severity for each in result["findings"]) for severity in SEVERITIES]
    numbers = f"{counted(found[0], 'error')}, {counted(found[1], 'warning')}, {found[2]} info"
    rules = f"{counted(len(result['kept']), 'rule')} passed, {len(result['untried'])} not exercised"
    return f"{counted(result['request_count'], 'request')} checked: {numbers}; {rules}."
