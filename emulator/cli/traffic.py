"""``compare traffic`` passes requests on to the real service and shows what differs; ``replay`` repeats a recording."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import DEFAULT_URL, FILE, PORT, PROFILE, option, variable
from emulator.cli.service import reject_live_key, service_url

if TYPE_CHECKING:
    from emulator.checks.traffic.beside import SideBySide
    from emulator.checks.traffic.findings import Findings, ProxyFinding
    from emulator.checks.traffic.proxy_server import ProxyServer
    from emulator.checks.traffic.traffic_log import Passed, RunWriter
    from emulator.control.recording.reproduction import PlayedWorld
    from emulator.document.profile import Profile


DEFAULT_PORT = 4748

LAST = 200
"""Differences that the page shows one by one."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--upstream", required=True, metavar="URL", help="The service: its URL, with or without /v1.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=PORT, default=DEFAULT_PORT, show_default=True, help="0 picks a free port.")
@click.option("--port-file", type=FILE, help="Write the port to this file.")
@click.option("--webhooks-to", metavar="URL", help="Pass on webhooks that arrive at the proxy's inbox to this URL.")
@click.option("--record", type=FILE, metavar="FILE", help="Record what passes, masked.")
@option("--profile", type=PROFILE, metavar="FILE", help="Play in a world that follows a profile of compare service.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: each difference, then the report.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def traffic(*, upstream: str, record: Path | None, as_json: bool, command: tuple[str, ...], **chosen: Any) -> int:
    """Compare the real service with the emulator, request by request.

    \b
    payments-emulator compare traffic --upstream https://sandbox.example.com --record run.jsonl
    payments-emulator compare traffic --upstream https://sandbox.example.com -- npm test
    payments-emulator replay run.jsonl

    Use the proxy's URL in place of the service's, with your own test key. Each request is also played in a world in
    this process, with its own ids and at the service's time, and each difference is shown. The report at the end
    groups them by operation and by assumption.

    With COMMAND, the proxy runs until COMMAND ends, which finds it in PAYMENTS_EMULATOR_URL. Exit status 1 if an answer
    differs; otherwise that of COMMAND.
    """
    from emulator.checks.traffic.proxy_server import ProxyTargets
    from emulator.checks.traffic.traffic_log import RunWriter
    from emulator.cli.listen import destination
    from emulator.testing.fresh_world import FreshWorld

    reject_live_key(upstream)
    url = service_url(upstream)
    webhooks_to = chosen["webhooks_to"]
    targets = ProxyTargets(url, webhooks_to and destination(webhooks_to, "'--webhooks-to'"))
    profile = chosen["profile"]
    with ExitStack() as stack:
        world = stack.enter_context(FreshWorld("demo", DEFAULT_URL))
        try:
            writer = stack.enter_context(RunWriter(record, url)) if record else None
        except OSError as error:
            raise click.ClickException(f"{record}: cannot be written: {error.strerror}") from None
        run = _Run(world, profile.chosen() if profile else {}, writer, as_json=as_json)
        status = run.serve(targets, chosen, command)
    return run.report() or status


class _Run:
    """One run of the proxy: what it shows, records and reports."""

    def __init__(self, world: Any, settings: Mapping[str, Any], writer: RunWriter | None, *, as_json: bool) -> None:
        from emulator.checks.traffic.beside import SideBySide

        self._as_json = as_json
        self._writer = writer
        self._side_by_side: SideBySide = SideBySide(world, settings, self._found)
        self._last: deque[ProxyFinding] = deque(maxlen=LAST)

    def serve(self, targets: Any, chosen: dict[str, Any], command: tuple[str, ...]) -> int:
        """Serve until COMMAND, or a signal, ends the run; the status of COMMAND."""
        from emulator.checks.traffic.proxy_server import INBOX, PAGE, ProxyOutcome, ProxyServer
        from emulator.cli.server import serving, start_errors, write_port
        from emulator.engine.redaction import redact_text

        upstream, webhooks_to = (redact_text(url or "") for url in (targets.upstream, targets.webhooks_to))
        outcome = ProxyOutcome(self._take, self._side_by_side.findings, self._last)
        if not command:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with start_errors():
            server = ProxyServer(targets, outcome, chosen["host"], chosen["port"])
        with serving(server):
            write_port(server.port, chosen["port_file"])
            for line in (
                f"The service     {upstream} by way of {server.url}/v1/",
                f"Differences     {server.url}{PAGE}",
                f"Webhooks        {server.url}{INBOX}  ({webhooks_to or 'passed on to no one'})",
                "Ready.",
            ):
                click.echo(line, err=self._as_json or bool(command))
            return _run_command(command, server) if command else _wait()

    def report(self) -> int:
        """Print the report; 1 if an answer differs."""
        self._side_by_side.finish()
        show_report(self._side_by_side.findings, as_json=self._as_json)
        return int(self._side_by_side.findings.differing > 0)

    def _take(self, passed: Passed) -> None:
        if self._writer is not None:
            try:
                self._writer.add(passed)
            except OSError as error:
                click.echo(f"The recording ends here: {error.strerror}", err=True)
                self._writer = None
        self._side_by_side.take(passed)

    def _found(self, finding: ProxyFinding) -> None:
        self._last.append(finding)
        show_finding(finding, as_json=self._as_json)


def show_finding(finding: ProxyFinding, *, as_json: bool) -> None:
    """Write one line for a difference."""
    click.echo(json.dumps(finding._asdict(), ensure_ascii=False) if as_json else str(finding))
    sys.stdout.flush()


def show_report(findings: Findings, *, as_json: bool) -> None:
    """Write the report by operation and assumption."""
    if as_json:
        click.echo(json.dumps(findings.as_json(), ensure_ascii=False))
        return
    click.echo()
    for line in findings.lines():
        click.echo(line)


def _run_command(command: tuple[str, ...], server: ProxyServer) -> int:
    from emulator.cli.exec import Child, not_run, past_proxies

    found = {variable("--url"): server.url} | past_proxies(server.url)
    with not_run():
        return Child().run(command, {**os.environ, **found})


def _wait() -> int:
    """Wait for Ctrl-C or SIGTERM."""
    with suppress(KeyboardInterrupt, SystemExit):
        threading.Event().wait()
    return 0


APP = "demo"
"""The App in whose world it is played."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@option("--profile", type=PROFILE, help="Play in a world that follows a profile of compare service.")
@click.option("--url", metavar="URL", help="Play at this emulator, in its App demo, which is reset first.")
@click.option("--control-token", metavar="TOKEN", help="Control token that it was started with, if any.")
@click.option("--json", "as_json", is_flag=True, help="The differences as JSON, one a line.")
def replay(file: Path, profile: Profile | None, url: str | None, control_token: str | None, *, as_json: bool) -> int:
    """Replay what compare traffic recorded and compare each response.

    \b
    payments-emulator compare traffic --upstream https://sandbox.example.com --record run.jsonl
    payments-emulator replay run.jsonl

    It is played in a world of this process, as compare traffic plays it beside the service, unless --url is typed.

    Exit status 1 if an answer differs.
    """
    from emulator.checks.traffic.beside import SideBySide
    from emulator.checks.traffic.traffic_log import read_run
    from emulator.engine.reference_data import ReferenceData

    settings = profile.chosen() if profile else {}
    cards = {rule.value[-4:]: rule.value for rule in ReferenceData(None).magic["bank_card"]}
    with _world(url, control_token) as world, _explained(file):
        side_by_side = SideBySide(world, settings, partial(show_finding, as_json=as_json))
        for passed in read_run(file, cards):
            side_by_side.take(passed)
        side_by_side.finish()
    show_report(side_by_side.findings, as_json=as_json)
    return int(side_by_side.findings.differing > 0)


@contextmanager
def _world(url: str | None, token: str | None) -> Iterator[PlayedWorld]:
    """Give the world that it is played in: an emulator's, or one in this process."""
    from emulator.cli.client import ControlClient
    from emulator.testing.fresh_world import FreshWorld

    if url is None:
        with FreshWorld(APP, DEFAULT_URL) as world:
            yield world
        return
    with ControlClient(url, None, token=token) as emulator:
        emulator.get("/clock", app=APP)
        yield emulator


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Report a file that cannot be read, or is no recording, on one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{file}: {getattr(error, 'strerror', None) or error}") from None
