"""``compare service``: find out which assumptions of the emulator hold at a running service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from emulator.cli.groups import FOUND, UNFINISHED
from emulator.cli.options import FILE, OUTPUT_FILE, PORT, Integer, Number, option, writing
from emulator.cli.output import ReportOutput, with_report

if TYPE_CHECKING:
    from emulator.checks.service.runner import Help
    from emulator.checks.service.verdicts import Verdict
    from emulator.client.api import Api
    from emulator.document.probes import Collected
    from emulator.document.profile import Profile


@click.command()
@click.argument("url")
@option("--key", required=True, metavar="KEY", help="Secret key of a test App.")
@click.option(
    "--out",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write a profile that serve and exec follow (YAML).",
)
@click.option(
    "--against",
    type=FILE,
    metavar="PROFILE",
    help="Exit status 1 if the service differs from a profile.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="B-nn",
    help="Ask about this assumption alone; may be repeated.",
)
@click.option(
    "--rate", type=Number(0.01), default=2, show_default=True, help="Requests per second at most."
)
@click.option(
    "--max-requests",
    type=Integer(1),
    default=250,
    show_default=True,
    help="Requests in all, retries included.",
)
@click.option(
    "--receiver",
    metavar="URL|local",
    help="Ask about webhooks; where the service reaches the receiver started here.",
)
@click.option(
    "--receiver-port", type=PORT, default=0, show_default=True, help="Port of that receiver."
)
@click.option("--buyer", is_flag=True, help="Ask you to pay on pages where a probe needs it.")
@with_report
def service(
    *, url: str, key: str, only: tuple[str, ...], output: ReportOutput, **chosen: Any
) -> int:
    """Find out which assumptions hold at the service at URL.

    \b
    payments-emulator compare service https://api.example.com --key sk_test_1 \\
        --out profile.yaml
    payments-emulator serve --profile profile.yaml
    payments-emulator compare service https://api.example.com --key sk_test_1 \\
        --against profile.yaml

    Makes the requests of the probes, with a test key, and removes what it created as far as the
    service lets it. Uses /v1 alone, and the clock of this emulator where /_emulator/clock has one:
    elsewhere no days pass. Prints at first how many requests it makes at most. Each assumption is
    confirmed, differs, or was not answered or not asked. Exit status 1 only with --against, 3 if
    --max-requests ended it.
    """
    from emulator.document.probes import collected

    reject_live_key(url, key)
    url, known = service_url(url), collected()
    names, most, rate = chosen_probes(known, only), chosen["max_requests"], chosen["rate"]
    import httpx

    from emulator.checks.service.runner import Runner
    from emulator.checks.service.service import NothingListens, Service
    from emulator.checks.service.verdicts import CalibrationReport, profile_of
    from emulator.document.profile import save
    from emulator.engine.reference_data import numbered_assumptions

    def report_one(verdict: Verdict) -> None:
        if sys.stderr.isatty():
            click.echo(
                f"{verdict.number} {verdict.probe}: {verdict.verdict.replace('_', ' ')}", err=True
            )

    with (
        _helpers(url, key, chosen) as helpers,
        httpx.Client(base_url=f"{url}/v1", timeout=60) as http,
    ):
        possible = [name for name in names if not helpers.missing(known.probes[name])]
        budget = f"at most {known.budget(possible)} requests, {rate:g} a second"
        click.echo(f"{len(possible)} of {len(names)} probes, {budget}", err=True)
        service = Service(http, key, rate, most)
        try:
            verdicts = Runner(service, known, helpers).run(names, report_one)
        except NothingListens as error:
            raise click.ClickException(f"{url} cannot be reached: {error}") from None
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    report = CalibrationReport(
        url=helpers.mask(url), date=date, requests=service.sent, verdicts=verdicts
    )
    profile = profile_of(known, report, len(numbered_assumptions()))
    if chosen["out"]:
        with writing(chosen["out"]):
            save(profile, chosen["out"])
    lines = drift(chosen["against"], profile) if chosen["against"] else []
    result = report.report(profile, lines)
    if chosen["against"]:
        comparison = (
            f"{len(lines)} differences from {chosen['against']}."
            if lines
            else f"As {chosen['against']} says."
        )
        result = result._replace(notes=[*result.notes, comparison])
    output.show(result)
    if lines:
        return FOUND
    return UNFINISHED if service.sent >= most and report.of("not_answered") else 0


def reject_live_key(*keys: str) -> None:
    """Raise ``UsageError`` for a live key: the probes create and delete objects."""
    from emulator.engine.redaction import has_live_key

    if has_live_key(*keys):
        raise click.UsageError("it creates and deletes objects: give it the key of a test App")


def service_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise click.UsageError(f"{url!r} is not an http:// or https:// URL")
    return url.rstrip("/").removesuffix("/v1")


def chosen_probes(known: Collected, only: tuple[str, ...]) -> list[str]:
    numbers = {probe.number for probe in known.probes.values()}
    for number in only:
        if number in known.unknowable:
            raise click.UsageError(f"{number} has no probe: {known.unknowable[number]}")
        if number not in numbers:
            raise click.UsageError(
                f"{number!r} is not an assumption; see payments-emulator's page /docs/assumptions"
            )
    return [name for name, probe in known.probes.items() if not only or probe.number in only]


@contextmanager
def _helpers(url: str, key: str, chosen: dict[str, Any]) -> Iterator[Help]:
    from emulator.checks.service.runner import Help
    from emulator.checks.service.service import EventReceiver
    from emulator.client.api import Api
    from emulator.engine.redaction import redact_value

    def ask_buyer(text: str) -> None:
        click.echo(text, err=True)
        click.pause("Press a key when it is done.", err=True)

    def advance(days: int) -> None:
        control.post("/_emulator/clock/advance", {"by": f"{days}d"})

    wanted, port = chosen["receiver"], chosen["receiver_port"]
    with ExitStack() as stack:
        try:
            at = None if wanted == "local" else wanted
            receiver = stack.enter_context(EventReceiver(at, port)) if wanted else None
        except OSError as error:
            raise click.ClickException(f"port {port}: cannot listen: {error.strerror}") from None
        control = stack.enter_context(Api(url, key))
        buyer = ask_buyer if chosen["buyer"] else None
        yield Help(redact_value, receiver, buyer, advance if _has_clock(control) else None)


def _has_clock(control: Api) -> bool:
    """Return whether a service has a movable clock. The first probe notices an unreachable one."""
    try:
        clock = control.request("GET", "/_emulator/clock")
    except OSError:
        return False
    return clock.status_code == 200 and b'"mode"' in clock.content


def drift(file: Path, profile: Profile) -> list[str]:
    from emulator.document.profile import InvalidProfile, differences, load

    try:
        return differences(load(file), profile)
    except InvalidProfile as error:
        raise click.ClickException(str(error)) from None
