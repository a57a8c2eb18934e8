"""Makes ``docs/images/year.svg``, a terminal recording of a year: ``python -m docs.recording``.

What the commands print is theirs; only the pace of typing and reading is made. The world, its clock
and its ids are the same each time, so a test compares the file with what the commands print today.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from emulator import Emulator

FILE = Path(__file__).parent / "images" / "year.svg"

COMMANDS = (
    "payments-emulator trigger subscription.created",
    "payments-emulator clock advance 365d",
    "payments-emulator events --type invoice.paid -n 3",
    "payments-emulator ledger -n 1",
)

COLUMNS, ROWS = 96, 26
WIDTH, HEIGHT, MARGIN = 8.4, 20, 16
"""Of a character and of the margin around all, in pixels."""

SECONDS = 15.0
"""The length of the recording. All of it is on the screen after two seconds, and stays there."""

TYPING, PRINTING, READING = 0.006, 0.006, 0.08
"""Seconds for a character, a line of output and a pause: quicker than people, so nobody waits."""

STYLES = {"1": "b", "2": "d", "32": "g"}
"""Classes of the picture by what a terminal is told."""

FONTS = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'

CSS = f"""
text{{font:14px {FONTS};fill:#e6edf3;white-space:pre}}
.b{{font-weight:700}}.d{{fill:#9198a1}}.g{{fill:#3fb950}}.back{{fill:#0d1117}}.cursor{{fill:#e6edf3}}
g{{animation:{SECONDS:.0f}s step-end infinite}}
@media(prefers-reduced-motion:reduce){{g{{animation:none}}}}
"""


class Line(NamedTuple):
    """A terminal line with escape sequences, and the time it appears or its typing begins."""

    text: str
    at: float
    is_typed: bool = False


def printed(command: str, payments: Emulator) -> list[str]:
    """Return the output of a command on a terminal."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(ours, (ROWS, COLUMNS))
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PAYMENTS_EMULATOR_", "NO_COLOR"))
    }
    there = {
        "PAYMENTS_EMULATOR_URL": payments.url.removesuffix("/v1"),
        "PAYMENTS_EMULATOR_KEY": payments.key,
    }
    with subprocess.Popen(  # noqa: S603  # the commands are those above
        [sys.executable, "-m", "emulator.cli.main", *command.split()[1:]],
        env={**own, **there, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)},
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=subprocess.DEVNULL,  # there the commands say what to run next
    ):
        os.close(its)
        output = b""
        try:
            while part := os.read(ours, 65536):
                output += part
        except OSError:  # so Linux says that nobody writes to a terminal any more
            pass
    os.close(ours)
    return output.decode().replace("\r", "").splitlines()


def played(payments: Emulator) -> Iterator[Line]:
    """Yield each line of the recording, in seconds from its start."""
    now = 0.3
    for command in COMMANDS:
        yield Line(f"\x1b[32m$\x1b[0m {command}", now, is_typed=True)
        now += TYPING * len(command) + READING
        for line in printed(command, payments):
            yield Line(line, now)
            now += PRINTING
        now += READING


def spans(text: str) -> str:
    """Return a line as text of SVG."""
    parts = re.split(r"\x1b\[(\d+)m", text)
    styled = zip(["0", *parts[1::2]], parts[::2], strict=True)
    return "".join(
        f'<tspan class="{STYLES[code]}">{escape(part)}</tspan>' if code in STYLES else escape(part)
        for code, part in styled
        if part
    )


def length(line: Line) -> int:
    """Return how many characters a line shows."""
    return len(re.sub(r"\x1b\[\d+m", "", line.text))


def cover(number: int, line: Line) -> tuple[str, str]:
    """Return the style rule and shape that hide a command and its cursor until its keys come."""
    count, x, y = length(line) - 2, 2 * WIDTH, number * HEIGHT
    begin, end = (100 * at / SECONDS for at in (line.at, line.at + count * TYPING))
    rule = (
        f"@keyframes t{number}{{0%{{transform:translateX(2000px)}}"
        f"{begin:.2f}%{{transform:none;animation-timing-function:steps({count})}}"
        f"{end:.2f}%{{transform:translateX({count * WIDTH:.1f}px)}}"
        f"{end + 0.5:.2f}%,to{{transform:translateX(2000px)}}}}"
    )
    shape = (
        f'<g style="animation-name:t{number}" transform="translate(2000)">'
        f'<rect class="back" x="{x:.1f}" y="{y}" width="{count * WIDTH:.1f}" height="{HEIGHT}"/>'
        f'<rect class="cursor" x="{x:.1f}" y="{y + 2}" width="{WIDTH}" height="16"/></g>'
    )
    return rule, shape


def drawn(lines: list[Line]) -> str:
    """Return the picture: a line appears at its time, and a cover moves from what is typed."""
    assert len(lines) <= ROWS, "all of it is to be seen at once"
    rules, shown = [], []
    for number, line in enumerate(lines):
        if not line.text:
            continue
        rules.append(
            f"@keyframes l{number}{{0%{{opacity:0}}{100 * line.at / SECONDS:.2f}%{{opacity:1}}}}"
        )
        shown.append(
            f'<g style="animation-name:l{number}"><text x="0" y="{number * HEIGHT + 15}"'
            f' textLength="{length(line) * WIDTH:.1f}">{spans(line.text)}</text></g>'
        )
        if line.is_typed:
            rule, shape = cover(number, line)
            rules.append(rule)
            shown.append(shape)
    return framed("".join(rules), "\n".join(shown), len(lines))


def framed(rules: str, shown: str, rows: int) -> str:
    """Return a picture of a terminal of so many rows."""
    wide, high = round(COLUMNS * WIDTH), rows * HEIGHT
    width, height = wide + 2 * MARGIN, high + 2 * MARGIN
    title = "A subscription, a year that passes, its thirteen invoices, and a ledger that balances"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0'
        f' {width} {height}" role="img"><title>{title}</title><style>{CSS}{rules}</style><rect'
        f' class="back" width="100%" height="100%" rx="8"/><svg x="{MARGIN}" y="{MARGIN}"'
        f' width="{wide}" height="{high}">\n{shown}\n</svg></svg>\n'
    )


def recorded() -> str:
    """Return the recording, as an SVG document."""
    with Emulator(key="sk_test_Okoume", clock="2026-01-01T00:00:00Z", seed=7) as payments:
        return drawn(list(played(payments)))


if __name__ == "__main__":
    FILE.write_text(recorded(), "utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size // 1000} KB")
