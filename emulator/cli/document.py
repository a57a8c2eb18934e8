"""``compare document``: check any server of the API against the OpenAPI document."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from emulator.cli.options import DEFAULT_URL, FILE, OUTPUT_FILE, option, require_extra, write_text
from emulator.cli.service import drift, made_profile, reject_live_key, service_url

if TYPE_CHECKING:
    import httpx
    from rich.console import Console

    from emulator.checks.document.report import OperationCount, Report
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
@click.option("--junit", type=OUTPUT_FILE, help="Also write the report as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def document(
    *, url: str, key: str, rules: bool, against: Path | None, junit: Path | None, as_json: bool, **choices: Any
) -> int:
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
    verdicts = ask(base_url.removesuffix("/v1"), key) if rules else None
    report = _report(document, base_url, key, **choices)
    if verdicts is not None:
        from emulator.document.probes import collected

        report.rules, report.drift = verdicts, drift(against, made_profile(collected(), verdicts)) if against else []
    if junit:
        write_text(junit, report.as_junit())
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=1))
    else:
        _show(report)
    return 0 if report.passed else 1


def server_and_document(url: str) -> tuple[str, dict[str, Any]]:
    """Return where the API is, and the server's document or the shipped one."""
    from emulator.checks.document.links import is_usable
    from emulator.client.connections import ConnectionFailed, Connections, Timeouts
    from emulator.client.messages import Request
    from emulator.document import bundles

    url = service_url(url)
    try:
        with Connections(url, Timeouts(connect=30, response=30)) as connections:
            document = connections.exchange(Request("GET", "/openapi.json")).json()
    except ConnectionFailed as error:
        raise click.ClickException(f"{url} cannot be reached: {error}") from None
    except ValueError:
        document = None
    return f"{url}/v1", document if is_usable(document) else bundles.load("service")


def _report(document: Any, base_url: str, key: str, *, examples: int, seed: int | None, receiver: str | None) -> Report:
    # Imported here: schemathesis is an extra, and slow to import; the help needs no random names.
    import secrets

    from emulator.checks.document.links import headers
    from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
    from emulator.checks.document.suite import Suite

    with webhook_receiver() as own, _progress() as progress:
        objects = ObjectFactory(base_url, headers(key), receiver or own.url, secrets.token_hex(4))
        return Suite(document, base_url, key, examples, seed, objects).run(progress)


@contextmanager
def _progress() -> Iterator[Any]:
    """Show in a terminal what is being checked."""
    from rich.console import Console

    console = Console(file=sys.stderr)
    with console.status("checking") as line:
        yield lambda what: line.update(f"checking {what}") if console.is_terminal else None


def _show(report: Report) -> None:
    from rich.console import Console
    from rich.markup import escape

    from emulator.checks.junit import printable

    console = Console()
    console.print(_table(report))
    for count in report.operations.values():
        for failing in count.failures.values():
            _block(console, f"{count.operation}  {failing.check}", failing.message, failing.curl, failing.answer)
    for note in dict.fromkeys(report.notes):
        console.print(f"[yellow]not created:[/] {escape(printable(note))}", highlight=False)
    for problem in report.problems:
        _block(console, "could not be checked", problem)
    if report.rules is not None:
        console.print(printable("\n".join(_rule_lines(report))), markup=False, highlight=False)
    console.print(
        f"{report.requests} requests in {report.seconds:.0f} s; {len(report.checks)} kinds of check; "
        f"{report.followed} of {len(report.links)} links succeeded.",
        highlight=False,
    )
    console.print(
        "[green]All responses match the document."
        if report.passed
        else "[red]Some responses do not match the document, or the profile."
        if report.drift
        else "[red]Some responses do not match the document."
    )


def _rule_lines(report: Report) -> Iterator[str]:
    """Yield the differences from the emulator's assumptions and from the profile, and the counts."""
    assert report.rules is not None
    yield from (verdict.line for verdict in report.rules.of("differs"))
    yield from (f"not as the profile says: {line}" for line in report.drift)
    yield f"Rules: {report.rules.counted()}; {report.rules.requests} requests."


def _table(report: Report) -> Any:
    from rich.table import Table

    table = Table("operation", box=None, pad_edge=False)
    for name in ("requests", "valid", "succeeded", "failures"):
        table.add_column(name, justify="right")
    for count in sorted(report.operations.values(), key=lambda count: count.operation.split(" ")[::-1]):
        table.add_row(*_row(count))
    return table


def _row(count: OperationCount) -> tuple[str, ...]:
    failed = f"[red]{len(count.failures)}" if count.failures else "[green]0"
    rate = f"[yellow]{count.rate:.0%}" if count.valid and not count.succeeded else f"{count.rate:.0%}"
    return count.operation, str(count.requests), str(count.valid), rate, failed


def _block(console: Console, title: str, *lines: str) -> None:
    from emulator.checks.junit import printable

    console.print(f"\n[bold red]{title}")
    for line in lines:
        console.print(printable(line), markup=False, highlight=False)


MOST = 1_000
"""Requests that the probes make at most, repeated ones included."""

RATE = 1_000.0
"""Requests each second at most, as many as the server takes: the rest of a check has no limit either."""

CLOCK = "/_emulator/clock"


def ask(url: str, key: str) -> CalibrationReport:
    """Return the verdicts about a server at a URL (without ``/v1``).

    Probes of webhooks need a server on this machine; those of time one whose clock can be moved.
    """
    import httpx

    from emulator.checks.service.runner import Help, Runner, new_word
    from emulator.checks.service.service import EventReceiver, Service
    from emulator.checks.service.verdicts import CalibrationProgress, CalibrationReport
    from emulator.document.probes import collected
    from emulator.engine.redaction import redact_value
    from emulator.server.server import is_loopback

    known = collected()
    with ExitStack() as stack:
        is_near = is_loopback(urlsplit(url).hostname or "")
        receiver = stack.enter_context(EventReceiver()) if is_near else None
        http = stack.enter_context(httpx.Client(base_url=f"{url}/v1", timeout=60))
        helpers = Help(redact_value, receiver, advance=_offered_time(http, url, key))
        service = Service(http, key, RATE, MOST)
        progress = CalibrationProgress(None, url, new_word(), redact_value)
        verdicts = Runner(service, known, helpers, progress).run([*known.probes], time=False, after=lambda _: None)
    return CalibrationReport(
        url=redact_value(url), date=f"{datetime.now(UTC):%Y-%m-%d}", requests=service.sent, verdicts=verdicts
    )


def _offered_time(http: httpx.Client, url: str, key: str) -> Callable[[int], None] | None:
    """Return a function that lets days pass at the server; None if it offers no clock."""
    headers = {"Authorization": f"Bearer {key}"}
    answer = http.get(f"{url}{CLOCK}", headers=headers)
    if answer.status_code != 200 or b'"mode"' not in answer.content:
        return None

    def advance(days: int) -> None:
        http.post(f"{url}{CLOCK}/advance", headers=headers, json={"by": f"{days}d"}).raise_for_status()

    return advance
