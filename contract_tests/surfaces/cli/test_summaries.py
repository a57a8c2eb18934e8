"""The help of the program lists its commands without importing any."""

from __future__ import annotations

import subprocess
import sys

import click

from emulator.cli.main import COMMANDS
from emulator.cli.summaries import SUMMARIES

IMPORTED = {
    "emulator",
    "emulator.cli",
    "emulator.cli.completion",
    "emulator.cli.exit_status",
    "emulator.cli.help",
    "emulator.cli.lazy_groups",
    "emulator.cli.main",
    "emulator.cli.options",
    "emulator.cli.summaries",
    "emulator.core",
    "emulator.core.event_types",
    "emulator.version",
}
"""What the help needs of this package; of others it needs click alone."""


def _summary(command: click.Command) -> str:
    return "" if command.hidden else command.get_short_help_str(200)


def test_each_summary_is_the_first_sentence_of_the_commands_help() -> None:
    assert {name: _summary(command) for name, command in COMMANDS.items()} == SUMMARIES


def test_the_help_imports_no_command() -> None:
    script = (
        "import sys; before = set(sys.modules)\n"
        "from emulator.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(eval(done.stderr)) - set(sys.stdlib_module_names)
    foreign = {name.partition(".")[0] for name in modules if not name.startswith("emulator")} - sys.stdlib_module_names
    assert foreign == {"click"}
    assert {name for name in modules if name.startswith("emulator")} == IMPORTED
    assert "calibrate" in done.stdout
