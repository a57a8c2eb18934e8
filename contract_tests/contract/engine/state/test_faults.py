"""What goes wrong with a state store: it is reported in one line, and nothing is damaged."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import resource
import sqlite3
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from contract_tests.contract.engine.state.conftest import (
    STORED,
    Serve,
    records,
    records_after_replacing,
)
from contract_tests.simulator.crashes import rounds
from contract_tests.simulator.crashes.rounds import HEADERS
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import ServerProcess
from emulator.cli.main import cli
from emulator.engine.storage import urls
from emulator.engine.storage.sqlite import SqliteStore
from emulator.engine.storage.store import CorruptStore, StorageError
from emulator.engine.storage.tinydb_store import AtomicStorage
from emulator.engine.storage.urls import open_store
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts


def filled(place: str) -> Path:
    """Return the file of a place that holds a world."""
    kind, _, name = place.partition(":")
    file = Path(name)
    file.write_bytes(file_of_a_world(kind))
    return file


@cache
def file_of_a_world(kind: str) -> bytes:
    """Return the file that a server of this kind of state has left, one for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "worlds")
        with (
            RunningServer(state=f"{kind}:{file}") as server,
            closing(Sandbox(server.url, "sk_test_lasting")) as sandbox,
        ):
            sandbox.session(customer=sandbox.customer()["id"])
        return file.read_bytes()


BROKEN: dict[tuple[str, str], Any] = {
    ("tinydb", "its format is 99; this version"): (
        lambda tables: tables["emulator"]["1"].update(format=99)
    ),
    ("tinydb", "missing required field"): (
        lambda tables: tables["sk_test_lasting/customer"].update({"99": {"id": "x"}})
    ),
    ("tinydb", "the world sk_test_lasting is there twice"): (
        lambda tables: tables["worlds"].update({"9": tables["worlds"]["1"]})
    ),
    ("tinydb", "a snapshot of sk_test_gone, but no such world"): lambda tables: tables.update(
        snapshots={"1": {"key": "sk_test_gone", "name": "a", "tables": {**tables, "snapshots": {}}}}
    ),
    ("tinydb", "does not say the version of its format"): b"[]",
    ("tinydb", "is not JSON"): b'{"emulator": ',
    ("sqlite", "is not a SQLite database"): b"hello",
    ("sqlite", "its format is 99; this version"): "UPDATE emulator_format SET format = 99",
    ("sqlite", "but not one of the emulator"): "DROP TABLE emulator_format",
    ("sqlite", "an unknown kind"): "UPDATE emulator_records SET kind = 'ship' WHERE kind = 'job'",
    ("sqlite", "Could not decode to UTF-8 column 'data'"): (
        "UPDATE emulator_records SET data = CAST(CAST(data AS BLOB) || X'FF' AS TEXT) WHERE kind ="
        " 'customer'"
    ),
    ("sqlite", "truncated"): "UPDATE emulator_records SET data = '{' WHERE kind = 'job'",
}
"""Stores and the reason for their rejection: changed tables, a statement, or their content."""


def break_file(tmp_path: Path, row: tuple[str, str]) -> tuple[str, Path]:
    """Return a place whose file is broken in the way of this row, and the file."""
    place, how = f"{row[0]}:{tmp_path}/worlds", BROKEN[row]
    file = filled(place)
    if isinstance(how, bytes):
        file.write_bytes(how)
    elif isinstance(how, str):
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute(how)
    else:
        tables = json.loads(file.read_text())
        how(tables)
        file.write_text(json.dumps(tables))
    return place, file


def check_place(place: str) -> Result:
    return CliRunner().invoke(cli, ["state", "check", place], standalone_mode=False)


@pytest.mark.parametrize("row", BROKEN, ids=" ".join)
def test_a_start_rejects_a_broken_file_with_the_reason(
    tmp_path: Path, row: tuple[str, str]
) -> None:
    place, file = break_file(tmp_path, row)
    message = rejection(lambda: start(place)) or ""
    assert message.startswith(f"{file}: ")
    assert row[1] in message


@pytest.mark.parametrize("row", BROKEN, ids=" ".join)
def test_a_check_rejects_a_broken_file_in_one_line(tmp_path: Path, row: tuple[str, str]) -> None:
    place, _ = break_file(tmp_path, row)
    checked = check_place(place)
    assert checked.return_value == 1
    assert checked.output.count("\n") == 1


@pytest.mark.parametrize("row", BROKEN, ids=" ".join)
def test_a_broken_file_is_left_as_it_is(tmp_path: Path, row: tuple[str, str]) -> None:
    place, file = break_file(tmp_path, row)
    before = file.read_bytes()
    assert rejection(lambda: start(place))
    check_place(place)
    assert file.read_bytes() == before


PLACES = {
    "a folder": ("tinydb:{}", "is a directory"),
    "nowhere": ("tinydb:{}/none/worlds.json", "there is no folder"),
    "in a circle": ("sqlite:{}/circle", "lead nowhere|cannot be locked|cannot be opened"),
    "a pipe": ("tinydb:{}/pipe", "is not a regular file"),
    "a pipe in SQL": ("sqlite:{}/pipe", "is not a regular file"),
    "no folder": ("sqlite:/proc/version/worlds.db", "there is no folder"),
    "no kind": ("disk", "memory, tinydb:FILE, sqlite:FILE or postgresql://…"),
    "no file": ("tinydb:", "memory, tinydb:FILE, sqlite:FILE or postgresql://…"),
    "another database": (
        "mysql://localhost/worlds",
        "memory, tinydb:FILE, sqlite:FILE or postgresql://…",
    ),
}


@pytest.mark.parametrize(("place", "message"), PLACES.values(), ids=PLACES)
def test_a_state_url_that_cannot_be_opened_is_rejected(
    tmp_path: Path, place: str, message: str
) -> None:
    """And not waited for, as a pipe would be."""
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    commands = [
        ["serve", "--port", "0", "--state"],
        *([["state", "check"], ["state", "compact"]] if "pipe" in place else []),
    ]
    for command in commands:
        rejected = CliRunner().invoke(cli, [*command, place.format(tmp_path)])
        assert re.search(message, " ".join(rejected.output.split()))


def test_a_read_only_file_is_rejected(place: str) -> None:
    """The superuser is rejected as well."""
    file = filled(place)
    file.chmod(0o400)
    with pytest.raises(CorruptStore, match="is read-only"):
        Parts(Options(state=place))
    assert urls.check(place)[0].records > 0


def test_a_second_process_is_rejected(serve: Serve, place: str) -> None:
    """When the first one is gone, so is its lock. Only a TinyDB file can be looked at meanwhile."""
    filled(place)
    serve(place).customer()
    uses: list[Callable[[], object]] = [
        lambda: Parts(Options(state=place)),
        lambda: urls.compact(place),
    ]
    if place.startswith("tinydb"):
        assert urls.check(place)
    else:
        uses.append(lambda: urls.check(place))
    for use in uses:
        with pytest.raises(CorruptStore, match="another process works on it"):
            use()
    serve(None)
    store = open_store(place)
    assert store is not None
    store.close()


def test_a_link_is_the_file_that_it_leads_to(serve: Serve, place: str, tmp_path: Path) -> None:
    """One process at a time uses the file by any of its names; an older link works, and stays."""
    file, link = Path(place.partition(":")[2]), tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(file)
    linked = place.replace(str(file), str(link))
    serve(linked).customer()
    serve(None)
    for first, second in ((linked, place), (place, linked)):
        made = serve(first).customer(email=f"{first == place}@example.com")["id"]
        with pytest.raises(CorruptStore, match="another process works on it"):
            Parts(Options(state=second))
        with pytest.raises(CorruptStore, match="another process works on it"):
            urls.compact(second)
        assert made in [row["id"] for row in serve(second).api.get("/customers/")["data"]]
        serve(None)
        urls.compact(linked)
        assert link.is_symlink()
        assert urls.check(linked) == urls.check(place)
    link.unlink()
    link.hardlink_to(file)
    for name in (place, linked):
        with pytest.raises(CorruptStore, match="has 2 names"):
            Parts(Options(state=name))


EMAILS = (f"{number}@example.com" for number in count())


def creating(sandbox: Sandbox, until: int) -> httpx.Response:
    """Create customers; return the first response of a status: TinyDB saves after the response."""
    while True:
        response = sandbox.api.http.post("/customers/", json={"email": next(EMAILS), "name": "Awa"})
        if response.status_code == until:
            return response
        assert response.status_code in (201, 500), response.text
        time.sleep(0.02)


def test_a_file_that_is_no_longer_there_takes_no_changes(
    serve: Serve, place: str, tmp_path: Path
) -> None:
    """A change would be lost in silence. Reads go on; with the file back, writes do as well.

    What took its place, such as a backup that was put back, is left as it is and served by the next
    server.
    """
    file = filled(place)
    backup = serve(f"{place.partition(':')[0]}:{tmp_path}/backup").customer()["id"]
    sandbox = serve(place)
    before = sandbox.customer()["id"]
    for put_in_place in (None, "backup"):
        file.rename(tmp_path / "away")
        if put_in_place:
            (tmp_path / "backup").replace(file)
        rejected = creating(sandbox, until=500).json()
        assert rejected["code"] == "DATABASE_ERROR"
        assert "was deleted or replaced while the server was using it" in rejected["message"]
        assert sandbox.api.get(f"/customers/{before}/")["id"] == before
        if not put_in_place:
            (tmp_path / "away").rename(file)
            after = creating(sandbox, until=201).json()["id"]
            sandbox = serve(place)
            assert sandbox.api.get(f"/customers/{after}/")["id"] == after
    assert [row["id"] for row in serve(place).api.get("/customers/")["data"]] == [backup]
    if place.startswith("tinydb"):
        sandbox = serve(place)
        file.with_name(f"{file.name}.lock").unlink()  # another process may have the file by then
        assert (
            f"{file.name}.lock was deleted or replaced"
            in creating(sandbox, until=500).json()["message"]
        )


def test_parts_of_what_is_never_put_are_removed(tmp_path: Path) -> None:
    """Of a restore, a reset or a snapshot that was canceled or could not be stored."""

    async def pause() -> None:
        raise asyncio.CancelledError

    async def prepare() -> None:
        async with store.persistence(STORED.key).prepared(STORED, pause):
            pass

    with closing(SqliteStore(tmp_path / "worlds.db")) as store:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(prepare())
        assert records(store) > 0
        while store.dead:
            store.tidy()
        assert records(store) == 0


def test_a_world_that_is_replaced_often_takes_no_more_room(tmp_path: Path) -> None:
    """Who restores a snapshot before each of their tests leaves no pause to tidy in."""
    with closing(SqliteStore(tmp_path / "worlds.db")) as store:
        assert records_after_replacing(store, times=30) <= 3 * 600


SUBSCRIPTION = {"unit_amount": 500, "interval": "day", "currency": "XAF"}

CHANGES = {
    "advance": ("POST", "/clock/advance", {"by": "1h"}),
    "advance past a job": ("POST", "/clock/advance", {"by": "3d"}),
    "advance to an event": ("POST", "/clock/advance", {"until_event": "invoice.paid"}),
    "freeze": ("POST", "/clock/freeze", {}),
    "freeze later": ("POST", "/clock/freeze", {"at": "2030-01-01T00:00:00Z"}),
    "run": ("POST", "/clock/run", {"rate": 60}),
    "settings": ("PATCH", "/app", {"settings": {"unknown_fields": "ignore"}}),
    "fault": ("POST", "/faults", {"match": {}, "then": {"status": 500}}),
    "outcome": ("POST", "/outcomes", {"operation": "delivery", "result": "failed"}),
    "trigger": ("POST", "/trigger", {"event": "customer.created"}),
    "save": ("POST", "/snapshots", {"name": "b"}),
    "save again": ("POST", "/snapshots", {"name": "a"}),
    "restore": ("POST", "/snapshots/a/restore", None),
    "delete a snapshot": ("DELETE", "/snapshots/a", None),
    "rewind": ("POST", "/rewind", {"steps": 1}),
    "reset": ("POST", "/reset", {}),
}
"""Operations of the control API that change a world."""

SHOWN = ("/app", "/faults", "/outcomes", "/events", "/snapshots", "/schedule", "/inbox/shop")
"""What they change, and what the server remembers beside."""


def test_a_change_that_cannot_be_stored_is_not_seen(serve: Serve, place: str) -> None:
    """Each responds with an error, and then all is as it was, the clock too (B-103)."""
    file = Path(place.partition(":")[2])
    needed = file if place.startswith("sqlite") else file.with_name(f"{file.name}.lock")
    sandbox = serve(place)
    sandbox.api.post("/subscriptions/", {"customer": sandbox.customer()["id"], **SUBSCRIPTION})
    sandbox.control.post("/snapshots", {"name": "a"})
    sandbox.customer()
    httpx.post(f"{sandbox.url}/_emulator/inbox/shop?app=lasting", json={})

    def shown() -> list[Any]:
        clock = sandbox.control.get("/clock")
        return [clock["now"], clock["mode"], *(sandbox.control.get(path) for path in SHOWN)]

    def asked(name: str) -> tuple[int, str | None]:
        method, path, body = changes[name]
        response = sandbox.control.http.request(method, path, json=body)
        return response.status_code, response.json().get("code")

    imported = ("PUT", "/snapshots/c", sandbox.control.get("/snapshots/a"))
    before, changes = shown(), {**CHANGES, "import": imported}
    away = needed.rename(needed.with_name("away"))
    for name in changes:
        assert (name, *asked(name)) == (name, 500, "DATABASE_ERROR")
        assert (name, shown()) == (name, before)
    away.rename(needed)
    creating(sandbox, until=201)
    sandbox.control.post("/clock/run", {"rate": 0.001})
    needed.rename(away)
    for name in ("freeze", "freeze later", "run"):
        assert (name, *asked(name)) == (name, 500, "DATABASE_ERROR")
        clock = sandbox.control.get("/clock")
        assert (name, clock["mode"], clock["rate"]) == (name, "running", 0.001)


@pytest.mark.long
def test_a_change_of_the_clock_is_stored_before_its_response(tmp_path: Path) -> None:
    """However soon the server is killed then."""
    with process(f"sqlite:{tmp_path}/worlds.db") as (emulator, make, _):
        make(0)
        clock = f"{emulator.url}/_emulator/clock"
        for path, body in (("/advance", {"by": "1h"}), ("/run", {"rate": 0.001}), ("/freeze", {})):
            response = (
                httpx.post(clock + path, json=body, headers=HEADERS).raise_for_status().json()
            )
            emulator.kill()
            emulator.start()
            now = httpx.get(clock, headers=HEADERS).json()
            assert now["now"] >= response["now"]
            assert now["mode"] == ("running" if path == "/run" else "frozen")


@contextmanager
def process(
    place: str,
) -> Iterator[tuple[ServerProcess, Callable[[int], httpx.Response], Callable[[], list[str]]]]:
    """A server of its own, a function to make a customer, and one for all ids, oldest first."""
    with (
        ServerProcess("--state", place, *rounds.START) as emulator,
        http_client(headers=HEADERS) as http,
    ):

        def make(number: int) -> httpx.Response:
            body = {"email": f"c{number}@example.com", "name": "Awa", "phone": f"+2417{number:07}0"}
            return http.post(f"{emulator.url}/v1/customers/", json=body)

        def known() -> list[str]:
            query = {"page_size": 100, "ordering": "created_at"}
            return [
                row["id"]
                for row in http.get(f"{emulator.url}/v1/customers/", params=query).json()["data"]
            ]

        yield emulator, make, known


def limited(emulator: ServerProcess, size: int) -> None:
    """Let no file of this server grow beyond so many bytes."""
    resource.prlimit(emulator.id, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_full_disk_costs_only_clear_errors(tmp_path: Path) -> None:
    """A write without room is undone: ``DATABASE_ERROR``. Reads go on; writes return with room."""
    with process(f"sqlite:{tmp_path}/worlds.db") as (emulator, make, known):
        made = [make(0).json()["id"]]
        limited(emulator, 200_000)
        responses = [make(number) for number in range(1, 25)]
        rejected = [response.json() for response in responses if response.status_code == 500]
        made += [response.json()["id"] for response in responses if response.is_success]
        assert {response["code"] for response in rejected} == {"DATABASE_ERROR"}
        assert "cannot be stored, so nothing was done" in rejected[-1]["message"]
        assert known() == made
        advance = f"{emulator.url}/_emulator/clock/advance"
        # A change of one page may still find room where a customer does not.
        while (
            advanced := httpx.post(advance, json={"by": "1h"}, headers=HEADERS, timeout=60)
        ).is_success:
            pass
        assert advanced.json()["code"] == "DATABASE_ERROR"
        limited(emulator, resource.RLIM_INFINITY)
        made.append(make(99).json()["id"])
        emulator.kill()
        emulator.start()
        assert known() == made
        assert rounds.faults(rounds.truth(emulator.url)) == []


def test_a_file_that_cannot_be_written_is_reported_until_it_can(tmp_path: Path) -> None:
    """TinyDB writes later, so some changes may succeed before it notices; then none does."""
    with process(f"tinydb:{tmp_path}/worlds.json") as (emulator, make, known):
        limited(emulator, 100)
        made, numbers = [], count()
        while (response := make(next(numbers))).is_success:
            made.append(response.json()["id"])
            time.sleep(0.02)
        assert response.json()["code"] == "DATABASE_ERROR"
        assert known() == made[:100]
        limited(emulator, resource.RLIM_INFINITY)
        while not (response := make(next(numbers))).is_success:
            time.sleep(0.02)
        made.append(response.json()["id"])
        assert emulator.stop() == 0
    assert not list(tmp_path.glob(".*.part"))
    tables = json.loads((tmp_path / "worlds.json").read_text())
    assert [row["id"] for row in tables["sk_test_crash/customer"].values()] == made


def test_reading_goes_on_while_nothing_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every GET of both documents and the console responds as before, also with a job due."""

    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    def statuses() -> dict[str, int]:
        return {path: client.get(path).status_code for path in reads}

    with (
        RunningServer(state=f"tinydb:{tmp_path}/worlds.json", strict=False) as server,
        http_client(base_url=server.url, headers=HEADERS) as client,
    ):
        about = client.post(
            "/v1/customers/", json={"email": "awa@example.com", "name": "Awa"}
        ).json()["id"]
        client.post("/_emulator/snapshots", json={"name": "here"})
        reads = ["/_emulator/", "/_emulator/?app=crash"]
        for document, base in (("/openapi.json", "/v1"), ("/_emulator/openapi.json", "/_emulator")):
            paths = [
                path for path, item in client.get(document).json()["paths"].items() if "get" in item
            ]
            reads += [
                base + re.sub(r"\{[^}]+\}", about, path) for path in paths if path != "/stream"
            ]
        before = statuses()
        assert Counter(before.values())[200] > 30
        subscription = {"customer": about, "unit_amount": 500, "interval": "day", "currency": "XAF"}
        client.post("/v1/subscriptions/", json=subscription).raise_for_status()
        client.post("/_emulator/clock/run", json={"rate": 1_000_000}).raise_for_status()
        monkeypatch.setattr(server.server.sandbox.store, "write", fail)
        assert (
            client.post("/v1/customers/", json={"email": "b@example.com", "name": "B"}).status_code
            == 500
        )
        assert statuses() == before


def test_the_temporary_file_follows_no_link(tmp_path: Path) -> None:
    victim, part, file = tmp_path / "victim", tmp_path / ".l.json.part", tmp_path / "l.json"
    victim.write_text("mine")
    part.symlink_to(victim)
    AtomicStorage(file).write({"emulator": {"1": {"format": 2}}})
    assert (victim.read_text(), file.is_symlink()) == ("mine", False)


def test_the_temporary_file_takes_over_no_mode(tmp_path: Path) -> None:
    part, file = tmp_path / ".l.json.part", tmp_path / "l.json"
    part.touch()
    part.chmod(0o666)
    AtomicStorage(file).write({"emulator": {"1": {"format": 2}}})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


# -- damaged files of every kind: a start uses them or names the damage in one line; none is changed


ROUNDS = 40
"""Damages of each kind of file."""


def spoil(chance: random.Random, content: bytearray) -> None:
    """Flip bits, cut the end off, take a piece away, copy it elsewhere, or overwrite a part."""
    size, at = chance.choice((1, 50, 4096)), chance.randrange(len(content))
    source = chance.randrange(max(len(content) - size, 1))
    match chance.randrange(5):
        case 0:
            for _ in range(chance.choice((1, 5, 100))):
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        case 1:
            del content[at:]
        case 2:
            del content[at : at + size]
        case 3:
            content[at : at + size] = content[source : source + size]
        case _:
            piece = chance.choice((b"\xff", b"\0", b"null", b'"', b"9" * 40, b"[" * 99))
            content[at : at + len(piece)] = piece * chance.choice((1, 8))


NAME = "zebra"
"""What customers and their metadata are called: no message has it in it."""


@pytest.fixture
def sound(place: str) -> tuple[str, Path, bytes]:
    """A place, its file and what a sound one holds."""
    with (
        RunningServer(state=place) as server,
        closing(Sandbox(server.url, "sk_test_damage")) as sandbox,
    ):
        sandbox.subscribe()
        for number in range(20):
            sandbox.customer(
                email=f"{NAME}{number}@{NAME}.com",
                name=NAME * 4,
                metadata={NAME: NAME, "n": NAME * 9},
            )
        sandbox.control.post("/snapshots", {"name": "s"})
    file = Path(place.partition(":")[2])
    return place, file, file.read_bytes()


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield the content after each of many damages."""
    for seed in range(ROUNDS):
        chance, changed = random.Random(seed), bytearray(content)
        spoil(chance, changed)
        yield bytes(changed)
    yield from (b"", b"null", b"{}", b"[]", b'""', b"0", b"[" * 100_000, b"\xef\xbb\xbf{}", b"\0")


def start(place: str) -> None:
    """Open every world, and end at once."""
    store = Parts(Options(state=place)).store
    assert store
    store.close()


def rejection(read: Callable[[], object]) -> str | None:
    """Return why a file is rejected, in one line; None if it is used."""
    try:
        read()
    except (CorruptStore, StorageError) as error:
        line = error.why if isinstance(error, StorageError) else str(error)
        return line if "\n" not in line and len(line) < 1000 else "more than a line"
    return None


def test_a_damaged_state_file_is_used_or_rejected_in_one_line(
    sound: tuple[str, Path, bytes],
) -> None:
    place, file, content = sound
    rejected = 0
    for changed in damaged(content):
        file.write_bytes(changed)
        if (line := rejection(lambda: start(place))) is not None:
            rejected += 1
            assert NAME not in line
            assert line.startswith(str(file))
            assert file.read_bytes() == changed
    assert rejected > ROUNDS / 5
