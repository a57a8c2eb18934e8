"""Makes ``docs/images/year.svg``, a recording of a terminal in which a year passes: ``python -m docs.recording``.

What the commands print is theirs; only the pace of typing and reading is made. The world, its clock and its ids are the
same each time, so a test compares the file with what the commands print today.
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
    "payments-emulator events --type invoice.paid -n 12",
    "payments-emulator ledger -n 1",
)

COLUMNS, ROWS = 96, 22
WIDTH, HEIGHT, MARGIN = 8.4, 20, 16
"""Of a character and of the margin around all, in pixels."""

SECONDS = 15.0

TYPING, PRINTING, READING = 0.045, 0.11, 1.2
"""How long a character, a line of output and a pause take, before all of it is stretched to ``SECONDS``."""

STYLES = {"1": "b", "2": "d", "32": "g"}
"""Classes of the picture by what a terminal is told."""

CSS = f"""
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}}
.b{{font-weight:700}}.d{{fill:#9198a1}}.g{{fill:#3fb950}}.back{{fill:#0d1117}}.cursor{{fill:#e6edf3}}
g{{animation:{SECONDS:.0f}s step-end infinite}}
@media(prefers-reduced-motion:reduce){{g{{animation:none}}}}
"""


class Line(NamedTuple):
    """A line of the terminal with its escape sequences, and when it appears or its first character is typed."""

    text: str
    at: float
    is_typed: bool = False


def printed(command: str, payments: Emulator) -> list[str]:
    """What a command prints on a terminal."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(ours, (ROWS, COLUMNS))
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PAYMENTS_EMULATOR_", "NO_COLOR"))}
    there = {"PAYMENTS_EMULATOR_URL": payments.url.removesuffix("/v1"), "PAYMENTS_EMULATOR_KEY": payments.key}
    with subprocess.Popen(  # noqa: S603  # the commands are those above
        [sys.executable, "-m", "emulator.cli.main", *command.split()[1:]],
        env={**own, **there, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)},
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=its,
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
    """Each line of the recording, in seconds from its start."""
    now = 0.5
    for command in COMMANDS:
        yield Line(f"\x1b[32m$\x1b[0m {command}", now, is_typed=True)
        now += TYPING * len(command) + READING / 3
        for line in printed(command, payments):
            yield Line(line, now)
            now += PRINTING
        yield Line("", now)
        now += READING


def spans(text: str) -> str:
    """A line as text of SVG."""
    parts = re.split(r"\x1b\[(\d+)m", text)
    styled = zip(["0", *parts[1::2]], parts[::2], strict=True)
    return "".join(
        f'<tspan class="{STYLES[code]}">{escape(part)}</tspan>' if code in STYLES else escape(part)
        for code, part in styled
        if part
    )


def length(line: Line) -> int:
    """How many characters a line shows."""
    return len(re.sub(r"\x1b\[\d+m", "", line.text))


def cover(number: int, line: Line, stretch: float) -> tuple[str, str]:
    """A rule of the style sheet and a shape: what hides a command, with the cursor before it, until each key is pressed."""
    count, x, y = length(line) - 2, 2 * WIDTH, number * HEIGHT
    begin, end = line.at * stretch, (line.at + count * TYPING) * stretch
    rule = (
        f"@keyframes t{number}{{0%{{transform:translateX(2000px)}}"
        f"{begin:.2f}%{{transform:none;animation-timing-function:steps({count})}}"
        f"{end:.2f}%{{transform:translateX({count * WIDTH:.1f}px)}}{end + 0.5:.2f}%,to{{transform:translateX(2000px)}}}}"
    )
    shape = (
        f'<g style="animation-name:t{number}" transform="translate(2000)">'
        f'<rect class="back" x="{x:.1f}" y="{y}" width="{count * WIDTH:.1f}" height="{HEIGHT}"/>'
        f'<rect class="cursor" x="{x:.1f}" y="{y + 2}" width="{WIDTH}" height="16"/></g>'
    )
    return rule, shape


def drawn(lines: list[Line]) -> str:
    """Return the picture: a line appears at its time, a cover moves from what is typed, and the page scrolls."""
    stretch = 100 / (lines[-1].at + 2 * READING)
    rules, shown, scrolled = [], [], ["0%{transform:none}"]
    for number, line in enumerate(lines):
        at = f"{line.at * stretch:.2f}%"
        if number >= ROWS:
            scrolled.append(f"{at}{{transform:translateY({(ROWS - number - 1) * HEIGHT}px)}}")
        if not line.text:
            continue
        rules.append(f"@keyframes l{number}{{0%{{opacity:0}}{at}{{opacity:1}}}}")
        shown.append(
            f'<g style="animation-name:l{number}"><text x="0" y="{number * HEIGHT + 15}"'
            f' textLength="{length(line) * WIDTH:.1f}">{spans(line.text)}</text></g>'
        )
        if line.is_typed:
            rule, shape = cover(number, line, stretch)
            rules.append(rule)
            shown.append(shape)
    rules.append(f"@keyframes page{{{''.join(scrolled)}}}")
    return framed("".join(rules), "\n".join(shown), min(0, ROWS - len(lines)) * HEIGHT)


def framed(rules: str, shown: str, end: int) -> str:
    """A picture of a terminal; ``end`` is how far it has scrolled where nothing moves."""
    wide, high = round(COLUMNS * WIDTH), ROWS * HEIGHT
    width, height = wide + 2 * MARGIN, high + 2 * MARGIN
    title = "A subscription, a year that passes, its thirteen invoices, and a ledger that balances"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{title}</title><style>{CSS}{rules}</style>"
        f'<rect class="back" width="100%" height="100%" rx="8"/>'
        f'<svg x="{MARGIN}" y="{MARGIN}" width="{wide}" height="{high}">'
        f'<g style="animation-name:page" transform="translate(0 {end})">\n{shown}\n</g></svg></svg>\n'
    )


def recorded() -> str:
    """The recording, as an SVG document."""
    with Emulator(key="sk_test_Okoume", clock="2026-01-01T00:00:00Z", seed=7) as payments:
        return drawn(list(played(payments)))


if __name__ == "__main__":
    FILE.write_text(recorded(), "utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size // 1000} KB")
