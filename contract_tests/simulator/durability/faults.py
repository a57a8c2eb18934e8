"""The faults: what happens to server, disk, network and database while clients are busy.

Each is a context: clients work for some seconds of it, and when it ends, all is as it was before.
"""

from __future__ import annotations

import os
import random
import resource
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psycopg

from contract_tests.support import postgres
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.servers import CLIENT, ServerProcess

SILENCE = 7.0
"""Seconds for which the database answers nothing: the server waits for 5 (docs/guide/state.md)."""

LOCK = 11.0
"""Seconds for which another client holds the table of worlds: the server waits for 5, twice."""

START = ("--clock", "frozen@2026-01-01T00:00:00Z")


class Proxy:
    """Stands before a database, forwards bytes, and stops to while it is ``silent``."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._to = (address.hostname, address.port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._forwarding = threading.Event()
        self._forwarding.set()
        port = self._server.getsockname()[1]
        self.url = url.replace(f"{address.hostname}:{address.port}", f"127.0.0.1:{port}")
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def silent(self) -> Iterator[None]:
        self._forwarding.clear()
        try:
            yield
        finally:
            self._forwarding.set()

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                try:
                    database = socket.create_connection(self._to, 10)
                except OSError:
                    client.close()
                    continue
                database.settimeout(None)
                threading.Thread(target=self._serve, args=(client, database), daemon=True).start()

    def _serve(self, client: socket.socket, database: socket.socket) -> None:
        with client, database:
            back = threading.Thread(target=self._forward, args=(database, client), daemon=True)
            back.start()
            self._forward(client, database)
            back.join()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._forwarding.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass
class Scene:
    """What faults happen to. ``servers``: the first is the leader; others are there in a fault."""

    chance: random.Random
    folder: Path
    servers: list[ServerProcess]
    receiver: Receiver
    file: Path | None = None
    database: str = ""
    proxy: Proxy | None = None

    @property
    def url(self) -> str:
        """Return the URL of the server that serves, as soon as there is one."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for server in self.servers:
                with suppress(httpx.HTTPError):
                    if CLIENT.get(f"{server.url}/_emulator/clock").is_success:
                        return server.url
            time.sleep(0.05)
        raise AssertionError("no server serves")

    def restart(self) -> None:
        """Kill all servers, and start the first again."""
        for server in self.servers:
            server.kill()
        del self.servers[1:]
        self.servers[0].start()


class Fault(NamedTuple):
    """``seconds``: for how long, at least and at most, clients work in it.

    ``anew``: afterwards the server is another one, or has read its worlds again, so that inboxes
    answer as they did at first (docs/guide/state.md).
    """

    context: Callable[[Scene], AbstractContextManager[None]]
    seconds: tuple[float, float]
    kills: bool = False
    anew: bool = False


@contextmanager
def calm(scene: Scene) -> Iterator[None]:
    """Nothing happens; all operations are answered, and then the server is killed."""
    yield


@contextmanager
def killed(scene: Scene) -> Iterator[None]:
    yield
    scene.restart()


# -- a file


@contextmanager
def _file_limit(scene: Scene, size: int) -> Iterator[None]:
    server, unlimited = scene.servers[0].id, resource.RLIM_INFINITY
    resource.prlimit(server, resource.RLIMIT_FSIZE, (size, unlimited))
    try:
        yield
    finally:
        resource.prlimit(server, resource.RLIMIT_FSIZE, (unlimited, unlimited))


def unwritable(scene: Scene) -> AbstractContextManager[None]:
    """No byte can be written to any file.

    It stands for a disk that is read-only: permissions do not bind root nor a file that is open,
    and a disk cannot be remounted while one is.
    """
    return _file_limit(scene, 0)


@contextmanager
def full(scene: Scene) -> Iterator[None]:
    """No file can grow: the disk is full if it is our own, else the size of a file is limited."""
    assert scene.file is not None
    if not os.path.ismount(scene.file.parent):
        log = scene.file.with_name(f"{scene.file.name}-wal")
        with _file_limit(scene, log.stat().st_size + 4096):
            yield
        return
    filler = scene.file.with_name("filler")
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def file_locked(scene: Scene) -> Iterator[None]:
    """Another process wants the file all the time, and has it once the server is killed.

    While it has it, no server starts on the file.
    """
    assert scene.file is not None
    over = threading.Event()
    taken: list[str] = []

    def want(file: Path) -> None:
        while not over.wait(0.01):
            with (
                suppress(sqlite3.OperationalError),
                closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other,
            ):
                other.execute("BEGIN IMMEDIATE")
                taken.append("another process has the lock of a file that is served")

    thread = threading.Thread(target=want, args=(scene.file,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not taken, taken[0]
    server = scene.servers[0]
    server.kill()
    with closing(sqlite3.connect(scene.file, timeout=10, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with suppress(AssertionError):
            server.start()
        assert server.process.poll(), "a server has a file that another process has locked"
    server.start()


@contextmanager
def disk(folder: Path) -> Iterator[None]:
    """A disk of our own in a folder, where the machine allows it: it takes root, on Linux."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    is_there = False
    with suppress(OSError):
        is_there = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield
    finally:
        if is_there:
            subprocess.run(["umount", "-l", str(folder)], check=True)


# -- a database


@contextmanager
def silent(scene: Scene) -> Iterator[None]:
    assert scene.proxy is not None
    with scene.proxy.silent():
        yield


@contextmanager
def killed_in_silence(scene: Scene) -> Iterator[None]:
    assert scene.proxy is not None
    with scene.proxy.silent():
        yield
        scene.servers[0].kill()
    scene.servers[0].start()


@contextmanager
def table_locked(scene: Scene) -> Iterator[None]:
    with psycopg.connect(scene.database) as other:
        other.execute("LOCK TABLE emulator_worlds IN EXCLUSIVE MODE")
        yield


@contextmanager
def read_only(scene: Scene) -> Iterator[None]:
    with postgres.read_only(scene.database):
        yield


FULL = """
CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END $$;
"""
TABLES = ("emulator_worlds", "emulator_records", "emulator_snapshots")


@contextmanager
def rejecting(scene: Scene) -> Iterator[None]:
    """The database rejects each new row, as it does when its disk is full."""
    with psycopg.connect(scene.database, autocommit=True) as other:
        other.execute(FULL)
        for table in TABLES:
            moment = f"CREATE TRIGGER is_full BEFORE INSERT OR UPDATE ON {table}"
            other.execute(f"{moment} FOR EACH ROW EXECUTE FUNCTION is_full()")
        try:
            yield
        finally:
            other.execute("DROP FUNCTION is_full CASCADE")


@contextmanager
def restarted(scene: Scene) -> Iterator[None]:
    """The database ends at once, with all that it had not written, and starts again."""
    with _soon(scene, lambda: postgres.restart(scene.database, "immediate")):
        yield


@contextmanager
def leader_frozen(scene: Scene) -> Iterator[None]:
    """The server stands still, a standby takes over, and the server goes on."""
    assert scene.proxy is not None
    standby = ServerProcess("--state", scene.proxy.url, *START, log=scene.folder / "standby.log")
    scene.servers.append(standby.start())
    with ExitStack() as stack:
        leader = scene.servers[0]
        with _soon(scene, lambda: stack.enter_context(leader.frozen())):
            yield


@contextmanager
def _soon(scene: Scene, act: Callable[[], object]) -> Iterator[None]:
    """Do something while the first requests are under way."""
    timer = threading.Timer(scene.chance.uniform(0, 0.3), act)
    timer.start()
    yield
    timer.join()


AT_ONCE = (0.0, 0.6)

FAULTS = {
    "sqlite": {
        "calm": Fault(calm, AT_ONCE),
        "kill": Fault(killed, AT_ONCE, kills=True, anew=True),
        "full": Fault(full, (0.8, 1.2)),
        "unwritable": Fault(unwritable, (0.8, 1.2)),
        "locked": Fault(file_locked, (0.8, 1.2), kills=True, anew=True),
    },
    "postgres": {
        "calm": Fault(calm, AT_ONCE),
        "lock": Fault(table_locked, (LOCK, LOCK), anew=True),
        "silence": Fault(silent, (SILENCE, SILENCE), anew=True),
        "silence, kill": Fault(killed_in_silence, (0.5, 4), kills=True, anew=True),
        "kill": Fault(killed, AT_ONCE, kills=True, anew=True),
        "read-only": Fault(read_only, (1, 2), anew=True),
        "full": Fault(rejecting, (1, 2), anew=True),
        "restart": Fault(restarted, (0.5, 1), anew=True),
        "frozen leader": Fault(leader_frozen, (7.5, 8.5), anew=True),
    },
}
"""By kind of store and name."""


@contextmanager
def staged(store: str, folder: Path, chance: random.Random) -> Iterator[Scene]:
    """Return a scene with a new store, and a server on it."""
    with ExitStack() as stack:
        receiver = Receiver()
        # Deliveries fail, so that there are some to be attempted again.
        receiver.reply = lambda received: Reply(200 if received.is_ping else 404)
        stack.callback(receiver.close)
        log = folder / "server.log"
        if store == "sqlite":
            place = folder / "disk"
            place.mkdir()
            stack.enter_context(disk(place))
            file = place / "worlds.db"
            server = ServerProcess("--state", f"sqlite:{file}", *START, log=log)
            scene = Scene(chance, folder, [server.start()], receiver, file=file)
        else:
            url = stack.enter_context(postgres.running())
            proxy = Proxy(url)
            stack.callback(proxy.close)
            server = ServerProcess("--state", proxy.url, *START, log=log)
            scene = Scene(chance, folder, [server.start()], receiver, database=url, proxy=proxy)
        try:
            yield scene
        finally:
            for server in scene.servers:
                server.kill()
