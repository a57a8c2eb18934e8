"""The help of the program lists its commands without importing any."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emulator.cli.compare import compare
from emulator.cli.groups import LazyGroup
from emulator.cli.test import test as command_test

IMPORTED = {
    "emulator",
    "emulator.cli",
    "emulator.cli.groups",
    "emulator.cli.main",
    "emulator.cli.options",
    "emulator.cli.output",
    "emulator.core",
    "emulator.core.event_types",
    "emulator.version",
}
"""What the help needs of this package; of others it needs click alone."""


@pytest.mark.parametrize("group", [compare, command_test])
def test_each_line_is_the_first_sentence_of_the_commands_help(group: LazyGroup) -> None:
    shown = {name: each.get_short_help_str(200) for name, each in group.commands.items() if not each.hidden}
    assert shown == group.listed()


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
    assert "compare" in done.stdout
