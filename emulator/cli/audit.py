"""``audit``: how well the client follows the service's guidance, as a report or as a check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import as_json, speaking
from emulator.cli.output import counted, print_line, printable

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

SEVERITIES = ("error", "warning", "info")
"""From the gravest to the least."""

COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}

WIDEST = 29
"""Characters of the longest name of a rule."""

NAMED = 5
"""Requests and objects of a finding that are named; all that the emulator tells are in the JSON."""


@click.command()
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit status 1 if anything as grave as this, or graver, is found. [default: never]",
)
@click.option("--every-app", is_flag=True, help="Of all Apps whose worlds are open, such as one for each test.")
@as_json
@speaking
def audit(emulator: ControlClient, fail_on: str | None, every_app: bool, as_json: bool) -> int:
    """Tell how well the client follows the guidance.

    \b
    payments-emulator audit
    payments-emulator audit --fail-on warning
    payments-emulator audit --every-app --fail-on warning
    payments-emulator audit --app checkout --json | jq .rule

    Looked at are the last thousand requests of the App, its webhook endpoints and their deliveries: whether retries
    wait and keep their Idempotency-Key, lists are followed, webhooks are signed, answered and believed as they should
    be, and secrets stay secret. 'payments-emulator logs REQUEST' shows a request that a finding names.
    """
    told = together([*audits(emulator)]) if every_app else emulator.get("/audit")
    if as_json:
        for finding in told["findings"]:
            print_line(finding, paragraph, as_json)
    else:
        click.echo(report(printable(told)))
    return 1 if fails(told["findings"], fail_on) else 0


def audits(emulator: ControlClient) -> Iterator[Any]:
    """The audit of each App whose world is open, its findings with the App's name."""
    for app, told in emulator.of_every_app("/audit"):
        for finding in told["findings"]:
            finding["app"] = app
        yield told


def together(audits: list[Any]) -> Any:
    """Several audits as one: a rule was kept if it was broken nowhere, and untried if it was so everywhere."""
    findings = sorted(
        (finding for told in audits for finding in told["findings"]),
        key=lambda finding: (SEVERITIES.index(finding["severity"]), finding["rule"]),
    )
    broken = {finding["rule"] for finding in findings}
    kept = {rule["rule"]: rule for told in audits for rule in told["kept"] if rule["rule"] not in broken}
    rest = {
        rule["rule"]: rule for told in audits for rule in told["untried"] if rule["rule"] not in broken | kept.keys()
    }
    counts = sum(told["request_count"] for told in audits)
    return {"request_count": counts, "findings": findings, "kept": [*kept.values()], "untried": [*rest.values()]}


def fails(findings: list[Any], on: str | None) -> bool:
    """Whether any of the findings is at least so grave."""
    grave = SEVERITIES[: SEVERITIES.index(on) + 1] if on else ()
    return any(finding["severity"] in grave for finding in findings)


def report(told: Any) -> str:
    """The audit for people: findings, rules that were kept, and what it all comes to."""
    parts = [paragraph(finding) for finding in told["findings"]]
    parts += [names(title, told[part]) for title, part in (("Kept", "kept"), ("No occasion", "untried")) if told[part]]
    return "\n\n".join([*parts, summary(told)])


def paragraph(finding: Any) -> str:
    """A row, how grave and what it is and how often; below it what to do about it, and what shows it."""
    severity = click.style(finding["severity"].ljust(9), fg=COLOURS[finding["severity"]], bold=True)
    name = click.style(finding["rule"].ljust(WIDEST), bold=True)
    shown = [*finding["requests"], *finding["object_ids"]][:NAMED]
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
    """Rules that were not broken, by their names."""
    return f"{click.style(title.ljust(11), bold=True)}  {', '.join(rule['rule'] for rule in rules)}"


def summary(told: Any) -> str:
    """What it all comes to, in a line."""
    found = [sum(each["severity"] == severity for each in told["findings"]) for severity in SEVERITIES]
    numbers = f"{counted(found[0], 'error')}, {counted(found[1], 'warning')}, {found[2]} info"
    kept = f"{counted(len(told['kept']), 'rule')} kept, {len(told['untried'])} without occasion"
    return f"{counted(told['request_count'], 'request')} looked at: {numbers}; {kept}."
