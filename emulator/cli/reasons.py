"""The reason of a command's failure: the line of its output that names the error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

ERRORS: Mapping[str, str] = {
    "any language's class, and Java's thread": r"(Uncaught )?[\w.:]*(Error|Exception)\b.*: ",
    "pytest": r"FAILED ",
    "TAP, such as Node's tests": r"not ok ",
    "Ruby": r"\S+:\d+:in .*: .*\([A-Z][\w:]*\)$",
    "minitest": r"[A-Z][\w:]*#\w+ \[.+:\d+\]:$",
    "RSpec": r"Failure/Error: ",
    "Go": r"panic: ",
    "Go's tests": r"--- FAIL: ",
    "Rust": r"thread '.*'.* panicked at ",
    ".NET": r"Unhandled exception[.:] ",
    "PHP": r"(PHP )?(Fatal|Parse) error: ",
    "PHPUnit": r"\d+\) [\w\\]+::\w+",
    "Elixir": r"\*\* \([A-Z][\w.]*\) ",
}
"""By language or tool: the start of a line that names an error, without its indentation."""

ERROR = re.compile("|".join(f"(?:{pattern})" for pattern in ERRORS.values()))

CONTINUED = re.compile(
    r".*:$|Failure/Error: |--- FAIL: |\d+\) [\w\\]+::\w+|thread '.*'.* panicked at [^']*$"
)
"""An error whose next lines say more: what was compared, or where."""

TRACE = re.compile(r"(at|from) |stack backtrace:|#|goroutine \d|note: |\S+\.\w+:\d+(:in .*)?$")
"""The start of a line that names only a place in the code, as the lines of a traceback do."""

SUMMARY = re.compile(r"exit status \d+$|\d+ (runs|tests|examples?), |FAIL$|FAILURES!$|Tests: \d")
"""A last line that only counts."""

LONGEST_LINE = 300


def failure_of(status: int, output: str) -> str | None:
    """Return the failure's line: the last with an error, else the last; None for status 0."""
    if status == 0:
        return None
    line = _reason([line.strip() for line in output.strip().splitlines()])
    shortened = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
    return ", ".join(filter(None, [f"exit status {status}", shortened]))


def _reason(lines: list[str]) -> str:
    errors = [
        number
        for number, line in enumerate(lines)
        if ERROR.match(line) and not line.startswith(("from ", "at "))
    ]
    if not errors:
        telling = [line for line in lines if line and not _is_noise(line)]
        return (telling or lines or [""])[-1]
    first = lines[errors[-1]]
    if not CONTINUED.match(first):
        return first
    return " ".join([first, *_more(lines[errors[-1] + 1 :])])


def _more(lines: list[str]) -> Iterator[str]:
    yield from takewhile(lambda line: not _is_noise(line), filter(None, lines))


def _is_noise(line: str) -> bool:
    return bool(TRACE.match(line) or SUMMARY.match(line))
