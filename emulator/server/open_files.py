"""How many files this process may have open: each connection is one."""

from __future__ import annotations

import sys

from emulator.core.limits import CONNECTIONS

RESERVED = 512
"""Open files beside clients' connections, for example, those to webhook receivers."""


def allow_open_files() -> None:
    """Raise the soft limit of open files where it is lower than a server can use."""
    if sys.platform == "win32":
        return
    import resource

    wanted = CONNECTIONS.most + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def connections_allowed() -> int:
    """Return how many connections may be open at once, by the system's limit of open files.

    Of a small limit a quarter is left for other files, including those of the connections that
    get a 503: where no file is left, the system resets a connection without a response.
    """
    if sys.platform == "win32":
        return CONNECTIONS.most
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS.most
    return min(CONNECTIONS.most, soft - min(RESERVED, soft // 4))
