"""Several servers that start in one process at once, as the commands with several runs at a time start them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

START = """
import sys, threading
from pathlib import Path
from emulator.server.sandbox import Options
from emulator.server.server import Server

sys.setswitchinterval(1e-6)
ready = threading.Barrier(4)

def start():
    ready.wait()
    Server(Options(fixtures=(Path(sys.argv[1]),)), "127.0.0.1", 0)

threads = [threading.Thread(target=start) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


def test_servers_that_start_at_once_do_not_crash(tmp_path: Path) -> None:
    """msgspec prepares a type on its first use: with two threads at once the process ended with SIGSEGV."""
    fixture = tmp_path / "fixture.json"
    fixture.write_text('{"settings": {"assumptions": {"search_nothing_found": "error"}}}')
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", START, str(fixture)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
