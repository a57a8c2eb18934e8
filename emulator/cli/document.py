"""``compare document``: check any server of the API against the OpenAPI document."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from emulator.cli.groups import FOUND
from emulator.cli.options import DEFAULT_URL, FILE, option, require_extra
from emulator.cli.report_output import ReportOutput, with_report
from emulator.cli.service import ask, drift, made_profile, reject_live_key, service_url

if TYPE_CHECKING:
    from emulator.checks.document.report import DocumentResults
    from emulator.checks.service.verdicts import CalibrationReport


@click.command()
@click.argument("url", default=DEFAULT_URL)
@option("--key", default="sk_test_check", metavar="KEY", help="Secret key of a test App; its data is deleted.")
@click.option(
    "--examples", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Random requests per operation."
)
@click.option("--seed", type=int, help="Seed, to repeat the same requests.")
@click.option(
    "--receiver", metavar="URL", help="A webhook receiver that the server can reach. [default: one started here]"
)
@click.option(
    "--rules", is_flag=True, help="Also ask the probes of compare service, with time where the server offers it."
)
@click.option(
    "--against",
    type=FILE,
    metavar="PROFILE",
    help="With --rules: fail where the server is not as a profile says.",
)
@with_report
def document(*, url: str, key: str, rules: bool, against: Path | None, output: ReportOutput, **choices: Any) -> int:
    """Check the server at URL against the OpenAPI document.

    \b
    payments-emulator compare document
    payments-emulator compare document https://sandbox.example.com --key sk_test_mine --examples 50 --junit report.xml

    Generates valid and invalid requests for every operation, follows links, and runs all checks on every response. Only
    /v1 is used, so the server need not be this emulator. Uses the server's document at /openapi.json if there is one,
    otherwise the one included here. Takes about a minute; use fewer --examples to shorten it.

    --rules also asks which assumptions hold at the server. Exit status 1 if a response violates the document, or if the
    server is not as the profile of --against says.
    """
    require_extra("check", "schemathesis")
    reject_live_key(url, key)
    if against and not rules:
        raise click.UsageError("--against is about the rules; add --rules")
    base_url, document = server_and_document(url)
    # The rules come first: generated security profiles may forbid requests, and a generated reset deletes objects.
    verdicts = ask_rules(base_url.removesuffix("/v1"), key) if rules else None
    report = _report(document, base_url, key, **choices)
    if verdicts is not None:
        from emulator.document.probes import collected

        report.rules, report.drift = verdicts, drift(against, made_profile(collected(), verdicts)) if against else []
    output.show(report.report())
    return 0 if report.passed else FOUND


def server_and_document(url: str) -> tuple[str, dict[str, Any]]:
    """Return where the API is, and the server's document or the shipped one."""
    from emulator.checks.document.links import is_usable
    from emulator.client.connections import ConnectionFailed, Connections, Timeouts
    from emulator.client.messages import ApiRequest
    from emulator.document import bundles

    url = service_url(url)
    try:
        with Connections(url, Timeouts(connect=30, response=30)) as connections:
            document = connections.exchange(ApiRequest("GET", "/openapi.json")).json()
    except ConnectionFailed as error:
        raise click.ClickException(f"{url} cannot be reached: {error}") from None
    except ValueError:
        document = None
    return f"{url}/v1", document if is_usable(document) else bundles.load("service")


def _report(
    document: Any, base_url: str, key: str, *, examples: int, seed: int | None, receiver: str | None
) -> DocumentResults:
    # Imported here: schemathesis is an extra, and slow to import; the help needs no random names.
    import secrets

    from rich.console import Console

    from emulator.checks.document.links import headers
    from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
    from emulator.checks.document.suite import Suite

    console = Console(file=sys.stderr)

    def progress(what: str) -> None:
        if console.is_terminal:
            line.update(f"checking {what}")

    with webhook_receiver() as own, console.status("checking") as line:
        objects = ObjectFactory(base_url, headers(key), receiver or own.url, secrets.token_hex(4))
        return Suite(document, base_url, key, examples, seed, objects).run(progress)


MOST = 1_000
"""Requests that the probes make at most, repeated ones included."""

RATE = 1_000.0
"""Requests each second at most, as many as the server takes: the rest of a check has no limit either."""


def ask_rules(url: str, key: str) -> CalibrationReport:
    """Return the verdicts about a server at a URL (without ``/v1``).

    Probes of webhooks need a server on this machine; those of time one whose clock can be moved.
    """
    import httpx

    from emulator.checks.service.runner import Help
    from emulator.checks.service.service import EventReceiver
    from emulator.document.probes import collected
    from emulator.engine.redaction import redact_value
    from emulator.server.address import is_loopback

    def advance(days: int) -> None:
        http.post("/clock/advance", json={"by": f"{days}d"}).raise_for_status()

    known, is_near = collected(), is_loopback(urlsplit(url).hostname or "")
    headers = {"Authorization": f"Bearer {key}"}
    with (
        httpx.Client(base_url=f"{url}/_emulator", headers=headers, timeout=60) as http,
        EventReceiver() if is_near else nullcontext() as receiver,
    ):
        clock = http.get("/clock")
        has_clock = clock.status_code == 200 and b'"mode"' in clock.content
        helpers = Help(redact_value, receiver, advance=advance if has_clock else None)
        return ask(known, [*known.probes], url, key, helpers, rate=RATE, most=MOST)
