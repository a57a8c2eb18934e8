"""What passed through the proxy: requests with their answers, and webhooks; the file of a run; the time at the service.

A file has a line of JSON for the start and for each request and webhook, without secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import msgspec

from emulator.control.recording.builder import with_test_values
from emulator.core import calendar
from emulator.engine.redaction import redact_text, redact_value
from emulator.version import VERSION


class PassedRequest(msgspec.Struct, frozen=True, kw_only=True, tag="request"):
    """A request and the answer of the service.

    ``app`` is the App in whose world the request is played. ``authorization`` is ``sk`` or ``pk`` for a secret or a
    public key, else the header without its secret. ``date`` is the answer's ``Date`` as an instant (UTC). Bodies are
    texts; ``answer`` is None if it is no text.
    """

    number: int
    app: str
    method: str
    target: str
    authorization: str | None = None
    headers: dict[str, str] = {}
    body: str = ""
    status: int
    request_id: str | None = None
    date: str | None = None
    answer: str | None = None


class PassedWebhook(msgspec.Struct, frozen=True, kw_only=True, tag="webhook"):
    """A webhook of the service, and the status that the application answered; None if it was not passed on."""

    number: int
    body: str
    status: int | None = None


Passed = PassedRequest | PassedWebhook


class PassedAnswer(NamedTuple):
    """A status and a body: JSON, a text if it is not JSON, or None."""

    status: int
    body: Any


# -- the file of a run


FORMAT = "payments-emulator compare traffic"

MAX_LINE = 64 * 1024 * 1024
"""Bytes of the longest line that is read."""


class RunStart(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """The first line: which service the run was with."""

    format: str = FORMAT
    version: str = VERSION
    service: str


_RunLine = RunStart | PassedRequest | PassedWebhook


class RunWriter:
    """Writes a run, each line at once, into a file that only its owner can read. Raises ``OSError``."""

    def __init__(self, file: Path, service: str) -> None:
        self._file: IO[bytes] = os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
        os.chmod(file, 0o600)  # it may have been there, for others to read
        self._file.truncate()
        self._write(RunStart(service=redact_text(service)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, passed: Passed) -> None:
        self._write(_redacted(passed))

    def _write(self, line: _RunLine) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


def _redacted(passed: Passed) -> Passed:
    names = ("target", "headers", "body", "answer") if isinstance(passed, PassedRequest) else ("body",)
    return msgspec.structs.replace(passed, **{name: redact_value(getattr(passed, name)) for name in names})


def read_run(file: Path, cards: Mapping[str, str]) -> Iterator[Passed]:
    """Yield the exchanges of a run, with test values for masked ones: ``cards`` are test cards by their last four digits.

    Raises ``OSError`` and ``ValueError``.
    """
    with file.open("rb") as opened:
        for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE), b""), 1):
            try:
                passed = msgspec.json.decode(line, type=_RunLine)
            except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
                raise ValueError(f"line {number} is no request: {error}") from None
            if isinstance(passed, PassedRequest):
                yield msgspec.structs.replace(passed, body=_playable(passed.body, cards))
            elif isinstance(passed, PassedWebhook):
                yield passed


def _playable(body: str, cards: Mapping[str, str]) -> str:
    """Return a body with test values for what is masked."""
    if "***" not in body:
        return body
    try:
        return msgspec.json.encode(with_test_values(msgspec.json.decode(body), cards)).decode()
    except (ValueError, RecursionError):
        return body


# -- the time at the service, as its answers show it


PAST = ("created_at", "updated_at")
"""Fields whose instants are never ahead; so is that at which something expired."""

TRUSTED = 5.0
"""How many seconds a ``Date`` may be from what an object that was just created shows, for the service's clock to be that of its
dates."""

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*")


def latest(body: Any) -> str | None:
    """Return the latest instant in an answer that is not ahead (UTC, with milliseconds); None if there is none."""
    return max(_past(body), default=None)


def _past(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _past(each)
    elif isinstance(value, dict):
        past = (*PAST, "expires_at") if value.get("status") == "expired" else PAST
        for name, part in value.items():
            if name in past and isinstance(part, str) and _INSTANT.fullmatch(part):
                yield from normal(part)
            elif name != "metadata":
                yield from _past(part)


def normal(text: str) -> Iterator[str]:
    """Yield an instant in the form of the emulator; nothing if it is none."""
    try:
        instant = datetime.fromisoformat(text)
        yield calendar.stamp((instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        return


def of_date(header: str | None) -> str | None:
    """Return the instant of a ``Date`` header; None if there is none, or it is none."""
    try:
        return calendar.stamp(parsedate_to_datetime(header).astimezone(UTC)) if header else None
    except (ValueError, TypeError, OverflowError):
        return None


def agree(date: str, instant: str) -> bool:
    """Return whether a ``Date`` and the instant of an object that was just created are of one clock."""
    return abs(calendar.seconds_between(date, instant)) <= TRUSTED
