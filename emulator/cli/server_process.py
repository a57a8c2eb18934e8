"""The process of a server: open files, garbage collection, and its end with the program that started it."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from emulator.core.limits import CONNECTIONS

if TYPE_CHECKING:
    from emulator.server.server import Server

OTHER_FILES = 512
"""Files that are open beside the connections of clients, such as connections to webhook receivers."""

STDIN = 0
"""The file descriptor of the standard input."""


def allow_open_files() -> None:
    """Raise the soft limit of open files, of which each connection is one, where the system sets a lower one."""
    if sys.platform == "win32":
        return
    import resource

    wanted = CONNECTIONS.most + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def stop_with_stdin(server: Server) -> None:
    """Stop the server once the standard input ends.

    However a program ends, the system closes its end of its pipes, so a server never outlives its parent.
    """
    # Not sys.stdin: a thread that waits in it at the end of the process holds a lock that Python needs there.
    with suppress(OSError):
        while os.read(STDIN, 4096):
            pass
    server.stop()


def tune_garbage_collector() -> None:
    """Exclude what was loaded at start from garbage collection, and collect rarely: the objects of worlds live long.

    The collector is off until then, because a start creates no garbage. Each object is looked at twice, however often
    that happens; so each look is at few objects, which takes some milliseconds at most.
    """
    gc.freeze()
    gc.set_threshold(5_000, 5, 40_000)
    gc.enable()
