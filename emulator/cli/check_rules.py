"""``check --rules``: the probes of ``calibrate`` as a part of a check, with time where the server offers it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from emulator.cli.calibrate import made_profile

if TYPE_CHECKING:
    import httpx

    from emulator.checks.service.verdicts import CalibrationReport

MOST = 1_000
"""Requests that the probes make at most, repeated ones included."""

RATE = 1_000.0
"""Requests each second at most, as many as the server takes: the rest of a check has no limit either."""

CLOCK = "/_emulator/clock"


def ask(url: str, key: str) -> CalibrationReport:
    """The verdicts about a server at a URL (without ``/v1``).

    Probes of webhooks need a server on this machine; those of time one whose clock can be moved.
    """
    import httpx

    from emulator.checks.service.events import EventReceiver
    from emulator.checks.service.progress import CalibrationProgress
    from emulator.checks.service.runner import Help, Runner, new_word
    from emulator.checks.service.service import Service
    from emulator.checks.service.verdicts import CalibrationReport
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
    """What lets days pass at the server; None if it offers no clock."""
    headers = {"Authorization": f"Bearer {key}"}
    answer = http.get(f"{url}{CLOCK}", headers=headers)
    if answer.status_code != 200 or b'"mode"' not in answer.content:
        return None

    def advance(days: int) -> None:
        http.post(f"{url}{CLOCK}/advance", headers=headers, json={"by": f"{days}d"}).raise_for_status()

    return advance


def drift(file: Path, report: CalibrationReport) -> list[str]:
    """What is not as a profile says. Raises ``ClickException`` for a file that is none."""
    from emulator.document.probes import collected
    from emulator.document.profile import InvalidProfile, differences, load

    try:
        return differences(load(file), made_profile(collected(), report))
    except InvalidProfile as error:
        raise click.ClickException(str(error)) from None
