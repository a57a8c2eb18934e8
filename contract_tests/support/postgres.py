"""A PostgreSQL server of the tests' own: in a temporary folder, on a free port of loopback, gone afterwards.

It is Debian's (``apt-get install postgresql``), run by an unprivileged user, for it does not run as root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

ROOT = 0

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
"""The proxy before servers that share a database, or None where there is none."""


def programs() -> Path | None:
    """Return where the server's programs are, or None where there are none."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@contextmanager
def running(*, sync: bool = False) -> Iterator[str]:
    """The URL of a new, empty database; ``sync`` if it is to outlast the machine, as in earnest."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = "postgres" if os.geteuid() == ROOT else pwd.getpwuid(os.geteuid()).pw_name
    shutil.chown(folder, user)
    try:
        port = _free_port()
        _run(user, folder, "initdb", "-D", str(folder / "data"), "-U", "emulator", "-A", "trust", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync={'on' if sync else 'off'}"
        control = ("pg_ctl", "-D", str(folder / "data"), "-w", "-s", "-l", str(folder / "log"))
        _run(user, folder, *control, "-o", options, "start")
        try:
            yield f"postgresql://emulator@127.0.0.1:{port}/postgres"
        finally:
            _run(user, folder, *control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def crash(url: str) -> None:
    """End a server at once, with all that was not written, and start it again."""
    with psycopg.connect(url) as connection:
        [[data]] = connection.execute("SHOW data_directory").fetchall()
    folder = Path(data).parent
    control = ("pg_ctl", "-D", data, "-w", "-s", "-l", str(folder / "log"), "-m", "immediate", "restart")
    _run(folder.owner(), folder, *control)


def _run(user: str, folder: Path, name: str, *arguments: str) -> None:
    place = programs()
    assert place is not None, "there is no PostgreSQL: apt-get install postgresql"
    owner = user if os.geteuid() == ROOT else None
    command = [str(place / name), *arguments]
    # Into a file: a server that was started would hold a pipe open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(command, user=owner, cwd=folder, stdout=output, stderr=output, check=False, timeout=60)
        output.seek(0)
        assert done.returncode == 0, output.read().decode()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
