"""What the package costs those who install it: help, ``exec``, the plugin where it is not used, room on the disk."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from contract_tests import ROOT
from contract_tests.quality.benchmarks.measures import Row, Size, beside
from contract_tests.quality.benchmarks.servers import EMULATOR, ENVIRONMENT, running

PROGRAM = ("-P", "-m", "emulator.cli.main")

INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""What a new environment holds already."""


def commands(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """``--help``; ``exec -- true`` beside the start of a server; what the plugin's import adds to that of pytest."""
    program = (size.python, *PROGRAM)
    helps = [_seconds([*program, "--help"]) * 1000 for _ in range(size.starts + 1)][1:]
    yield Row("--help", "ms", None, median(helps), None, "≤ 100 ms")
    serves, execs = [], []
    for _ in range(size.starts):
        with running(EMULATOR, python=size.python) as (server,):
            serves.append(server.start_ms)
        execs.append(_seconds([*program, "exec", "--", "true"]) * 1000)
    yield beside("exec -- true, beside a start", "ms", serves, execs, "≤ 1.5 ×")
    plugin = [_import_ms() for _ in range(size.starts + 1)][1:]
    yield Row("plugin that is not used", "ms", None, median(plugin), None, "≤ 15 ms")


def room(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """MiB of a plain installation, without pip and setuptools."""
    (packages,) = Path(size.python).parents[1].glob("lib/python*/site-packages")
    own = [each for each in packages.iterdir() if not each.name.startswith(INSTALLERS)]
    taken = sum(file.stat().st_blocks * 512 for each in own for file in [each, *each.rglob("*")])
    yield Row("room of an installation", "MiB", None, taken / 2**20, None, "≤ 90 MiB")


@contextmanager
def installed() -> Iterator[str]:
    """The Python of a new environment with the package alone, as its users have it. pip needs an index."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
        yield python


def _seconds(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _import_ms() -> float:
    """Return the time of the plugin's own imports, after those of pytest."""
    code = (
        "import time, pytest; started = time.perf_counter(); import emulator.testing.plugin;"
        "print(f'took {(time.perf_counter() - started) * 1000}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True, text=True
    )
    found = re.search(r"took ([\d.]+)", done.stdout)
    assert found
    return float(found[1])
