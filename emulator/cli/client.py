"""``test client``: report where a client breaks the service's usage rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from emulator.checks.report import SEVERITIES
from emulator.cli.control_client import ControlClient
from emulator.cli.groups import FOUND
from emulator.cli.options import with_client
from emulator.cli.report_output import ReportOutput, with_report


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
    # Imported here: keys import worlds, which no other command needs.
    from emulator.resources.app.clients import Key

    for app in [*emulator.pages("/apps", 100_000)]:
        key = Key(app["name"], app["livemode"])
        result = emulator.call("GET", "/audit", headers={"Authorization": f"Bearer {key}"})
        for finding in result["findings"]:
            finding["app"] = app["name"]
        yield result
