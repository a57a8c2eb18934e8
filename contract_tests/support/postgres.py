"""A PostgreSQL server of the tests: in a temporary folder, on a free loopback port, gone later.

It is Debian's (``apt-get install postgresql``), run by an unprivileged user, for it does not run as
root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import sql

from contract_tests.support.servers import free_port

ROOT = 0

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
"""The proxy before servers that share a database, or None where there is none."""


def programs() -> Path | None:
    initdb = shutil.which("initdb")
    folders = [Path(initdb).parent] if initdb else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@contextmanager
def running(*, sync: bool = False) -> Iterator[str]:
    """The URL of a new, empty database; ``sync`` if it is to outlast the machine, as in earnest."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = "postgres" if os.geteuid() == ROOT else pwd.getpwuid(os.geteuid()).pw_name
    shutil.chown(folder, user)
    try:
        port = free_port()
        _run(
            user,
            folder,
            "initdb",
            "-D",
            str(folder / "data"),
            "-U",
            "emulator",
            "-A",
            "trust",
            "--no-sync",
        )
        options = (
            f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c"
            f" fsync={'on' if sync else 'off'}"
        )
        control = ("pg_ctl", "-D", str(folder / "data"), "-w", "-s", "-l", str(folder / "log"))
        _run(user, folder, *control, "-o", options, "start")
        try:
            yield f"postgresql://emulator@127.0.0.1:{port}/postgres"
        finally:
            _run(user, folder, *control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
    " 'payments-emulator'"
)


def restart(url: str, mode: str = "fast") -> None:
    """Restart a server; with ``immediate`` it ends at once and leaves data unwritten."""
    data = _data(url)
    control = (
        "pg_ctl",
        "-D",
        str(data),
        "-w",
        "-s",
        "-l",
        str(data.parent / "log"),
        "-m",
        mode,
        "restart",
    )
    _run(data.parent.owner(), data.parent, *control)


@contextmanager
def frozen(url: str) -> Iterator[None]:
    """All processes of a server stand still while the context lasts."""
    server = int((_data(url) / "postmaster.pid").read_text().split()[0])
    listed = subprocess.run(
        ["pgrep", "-P", str(server)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    processes = [server, *map(int, listed.split())]
    try:
        for process in processes:
            with suppress(ProcessLookupError):  # it served a session that has ended
                os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):  # as above
                os.kill(process, signal.SIGCONT)


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """New sessions can only read while the context lasts, and there are no others."""
    name = sql.Identifier(url.rpartition("/")[2].partition("?")[0])
    with psycopg.connect(
        url, autocommit=True, options="-c default_transaction_read_only=off"
    ) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name)
        )
        connection.execute(SESSIONS)
        try:
            yield
        finally:
            connection.execute(
                sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name)
            )


def _data(url: str) -> Path:
    with psycopg.connect(url) as connection:
        [[data]] = connection.execute("SHOW data_directory").fetchall()
    return Path(data)


def _run(user: str, folder: Path, name: str, *arguments: str) -> None:
    place = programs()
    assert place is not None, "there is no PostgreSQL: apt-get install postgresql"
    owner = user if os.geteuid() == ROOT else None
    command = [str(place / name), *arguments]
    # Into a file: a server that was started would hold a pipe open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, user=owner, cwd=folder, stdout=output, stderr=output, check=False, timeout=60
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode()
