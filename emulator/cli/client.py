"""``test client``: report where a client breaks the service's usage rules."""

from __future__ import annotations

import click

from emulator.checks.report import SEVERITIES
from emulator.cli.control_client import ControlClient
from emulator.cli.groups import FOUND
from emulator.cli.options import with_client
from emulator.cli.output import ReportOutput, with_report


@click.command()
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit with status 1 on findings of this severity or higher. [default: never]",
)
@with_report
@with_client
def client(emulator: ControlClient, fail_on: str | None, output: ReportOutput) -> int:
    """Report where your client breaks the service's usage rules.

    \b
    payments-emulator test client
    payments-emulator test client --fail-on warning
    payments-emulator test client --app checkout --json | jq .broken[].rule

    Covers the App's last 1,000 requests, its webhook endpoints and their deliveries. It checks that
    retries wait and repeat their Idempotency-Key, that lists are read to the end, that webhook
    signatures are verified and deliveries acknowledged, and that secrets are not exposed. To see a
    request that a finding names, use 'payments-emulator logs REQUEST'.
    """
    from emulator.checks.client import report

    result = report([emulator.get("/audit")])
    output.show(result)
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on else ()
    return FOUND if any(finding.severity in failing for finding in result.findings) else 0
