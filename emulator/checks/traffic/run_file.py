"""The file of a run: a line of JSON for the start and for each request and webhook, without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Self

import msgspec

from emulator.checks.traffic.passed import Passed, PassedRequest, PassedWebhook
from emulator.control.recording.test_values import with_test_values
from emulator.engine.redaction import redact_text, redact_value
from emulator.version import VERSION

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
        """Write what passed, masked."""
        self._write(_redacted(passed))

    def _write(self, line: _RunLine) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


def _redacted(passed: Passed) -> Passed:
    names = ("target", "headers", "body", "answer") if isinstance(passed, PassedRequest) else ("body",)
    return msgspec.structs.replace(passed, **{name: redact_value(getattr(passed, name)) for name in names})


def read_run(file: Path, cards: Mapping[str, str]) -> Iterator[Passed]:
    """What passed in a run, with test values for what is masked: ``cards`` are test cards by their last four digits.

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
    """A body with test values for what is masked."""
    if "***" not in body:
        return body
    try:
        return msgspec.json.encode(with_test_values(msgspec.json.decode(body), cards)).decode()
    except (ValueError, RecursionError):
        return body
