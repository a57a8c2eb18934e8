"""``test``: what an application, its tests, its receiver and its client make of a service that fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.checks.report import SEVERITIES
from emulator.cli.groups import FOUND, LazyGroup
from emulator.cli.options import with_client
from emulator.cli.report_output import ReportOutput, with_report

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.group(
    cls=LazyGroup,
    table={
        "app": "app:app",
        "suite": "suite:suite",
        "receiver": "receiver:receiver",
        "client": "test:client",
        "all": "all:all_four",
        "scenario": "app:app_scenario",
    },
)
def test() -> None:
    """Test an application, its tests, its webhook receiver and its client.

    \b
    payments-emulator test app -- python buy.py
    payments-emulator test suite -- pytest -x
    payments-emulator test receiver http://localhost:3000/webhooks
    payments-emulator test all --app 'python buy.py' -- pytest -x

    Exit status 1 if something was found, 3 if a --budget ended before all was tried.
    """


@click.command()
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit with status 1 on findings of this severity or higher. [default: never]",
)
@click.option("--every-app", is_flag=True, help="Include all open Apps (for example one per test).")
@with_report
@with_client
def client(emulator: ControlClient, fail_on: str | None, every_app: bool, output: ReportOutput) -> int:
    """Report where your client breaks the service's usage rules.

    \b
    payments-emulator test client
    payments-emulator test client --fail-on warning
    payments-emulator test client --every-app --fail-on warning
    payments-emulator test client --app checkout --json | jq .broken[].rule

    Covers the App's last 1,000 requests, its webhook endpoints and their deliveries. It checks that retries
    wait and repeat their Idempotency-Key, that lists are read to the end, that webhook signatures are verified and
    deliveries acknowledged, and that secrets are not exposed. To see a request that a finding names, use
    'payments-emulator logs REQUEST'.
    """
    from emulator.checks.client import report

    found = report([*audits(emulator)] if every_app else [emulator.get("/audit")])
    output.show(found)
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on else ()
    return FOUND if any(each.severity in failing for each in found.findings) else 0


def audits(emulator: ControlClient) -> Iterator[Any]:
    """Yield the audit of each open App, with the App's name in its findings."""
    for app, result in emulator.of_every_app("/audit"):
        for finding in result["findings"]:
            finding["app"] = app
        yield result
