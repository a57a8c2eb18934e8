"""What goes wrong with a state store: it is reported in one line, and nothing is damaged."""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from contract_tests.contract.engine.state.conftest import Serve
from contract_tests.simulator.crashes import rounds
from contract_tests.simulator.crashes.rounds import HEADERS
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import ServerProcess
from emulator.cli.main import cli, one_line
from emulator.engine.storage import maintenance, state_file
from emulator.engine.storage.serialization import StoredTables
from emulator.engine.storage.store import CorruptStore, StorageError
from emulator.engine.storage.tinydb_file import AtomicStorage
from emulator.engine.storage.urls import open_store
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts


def filled(serve: Serve, place: str) -> Path:
    """Return the file of a place that holds a world."""
    serve(place).subscribe()
    serve(None)
    file = Path(place.partition(":")[2])
    assert file.is_file()
    return file


def in_json(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return a TinyDB file after a change of its tables."""

    def spoil(file: Path) -> None:
        tables = json.loads(file.read_text())
        change(tables)
        file.write_text(json.dumps(tables))

    return spoil


def in_sql(*statements: str) -> Callable[[Path], None]:
    """Return a SQLite file after some statements."""

    def spoil(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return spoil


def cut(file: Path) -> None:
    """Only half of it is left."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwritten(file: Path) -> None:
    """A page in the middle is something else."""
    content = bytearray(file.read_bytes())
    middle = len(content) // 8192 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(content)


def exported(tables: StoredTables) -> StoredTables:
    """Return these tables without their snapshots, as a snapshot has them."""
    return {name: table for name, table in tables.items() if name != "snapshots"}


BROKEN: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "newer JSON": (
        "tinydb",
        in_json(lambda tables: tables["emulator"]["1"].update(format=99)),
        "its format is 99; this",
    ),
    "half a JSON": ("tinydb", cut, "is not JSON"),
    "other JSON": ("tinydb", lambda file: file.write_text("[]") and None, "does not say the version of its format"),
    "binary": ("tinydb", lambda file: file.write_bytes(bytes(range(256))) and None, "is not JSON"),
    "a record in part": (
        "tinydb",
        in_json(lambda tables: tables["sk_test_lasting/customer"].update({"99": {"id": "cust_1"}})),
        "missing required field",
    ),
    "a world twice": (
        "tinydb",
        in_json(lambda tables: tables["worlds"].update({"9": tables["worlds"]["1"]})),
        "the world sk_test_lasting is there twice",
    ),
    "a snapshot of no world": (
        "tinydb",
        in_json(
            lambda tables: tables.update(
                snapshots={"1": {"key": "sk_test_gone", "name": "a", "tables": exported(tables)}}
            )
        ),
        "a snapshot of sk_test_gone, but no such world",
    ),
    "newer SQL": ("sqlite", in_sql("UPDATE emulator_format SET format = 99"), "its format is 99; this version"),
    "no version": ("sqlite", in_sql("DELETE FROM emulator_format"), "does not say the version of its format"),
    "other SQL": ("sqlite", in_sql("DROP TABLE emulator_format"), "but not one of the emulator"),
    "no SQL": ("sqlite", lambda file: file.write_text("hello") and None, "is not a SQLite database"),
    "half a SQL": ("sqlite", cut, "malformed"),
    "a page of SQL": ("sqlite", overwritten, "is damaged|malformed"),
    "an unknown kind": (
        "sqlite",
        in_sql("UPDATE emulator_records SET kind = 'ship' WHERE kind = 'job'"),
        "an unknown kind",
    ),
    "no JSON in SQL": ("sqlite", in_sql("UPDATE emulator_records SET data = '{' WHERE kind = 'job'"), "truncated"),
}


@pytest.mark.parametrize(("kind", "spoil", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_rejected_and_left_as_it_is(
    serve: Serve, tmp_path: Path, kind: str, spoil: Callable[[Path], None], message: str
) -> None:
    place = {"tinydb": f"tinydb:{tmp_path}/worlds", "sqlite": f"sqlite:{tmp_path}/worlds"}[kind]
    file = filled(serve, place)
    spoil(file)
    before = file.read_bytes()
    with pytest.raises(CorruptStore, match=message) as rejected:
        Parts(Options(state=place))
    assert "\n" not in str(rejected.value)
    checked = CliRunner().invoke(cli, ["state", "check", place], standalone_mode=False)
    assert checked.return_value == 1
    assert checked.output.count("\n") == 1
    assert file.read_bytes() == before


def test_a_server_does_not_start_on_a_broken_file(tmp_path: Path) -> None:
    """One line, exit status 2."""
    file = tmp_path / "worlds.json"
    file.write_text("{}")
    rejected = CliRunner().invoke(cli, ["serve", "--port", "0", "--state", f"tinydb:{file}"], standalone_mode=False)
    said = one_line(rejected.exception)  # type: ignore[arg-type]  # a usage error it is
    assert said == f"{file}: it is no file that the emulator wrote: it does not say the version of its format"


PLACES = {
    "a folder": ("tinydb:{}", "is a directory"),
    "nowhere": ("tinydb:{}/none/worlds.json", "there is no folder"),
    "nowhere in SQL": ("sqlite:{}/none/worlds.db", "there is no folder"),
    "in a circle": ("sqlite:{}/circle", "lead nowhere|cannot be locked|cannot be opened"),
    "a pipe": ("tinydb:{}/pipe", "is not a regular file"),
    "a pipe in SQL": ("sqlite:{}/pipe", "is not a regular file"),
    "no folder": ("sqlite:/proc/version/worlds.db", "there is no folder"),
}


@pytest.mark.parametrize(("place", "message"), PLACES.values(), ids=PLACES)
def test_a_state_url_that_cannot_be_opened_is_rejected(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorruptStore, match=message):
        Parts(Options(state=place.format(tmp_path)))


@pytest.mark.parametrize("command", ["check", "compact"])
def test_a_pipe_is_not_waited_for(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    rejected = CliRunner().invoke(cli, ["state", command, f"tinydb:{tmp_path}/pipe"])
    assert "is not a regular file" in rejected.output


@pytest.mark.parametrize("word", ["disk", "tinydb:", "sqlite:///worlds.db", "mysql://localhost/worlds"])
def test_a_malformed_state_url_is_rejected(word: str) -> None:
    rejected = CliRunner().invoke(cli, ["serve", "--state", word], standalone_mode=False)
    assert "memory, tinydb:FILE, sqlite:FILE or postgresql://…" in str(rejected.exception)


def test_a_read_only_file_is_rejected(serve: Serve, place: str) -> None:
    """The superuser is rejected as well."""
    file = filled(serve, place)
    before = file.read_bytes()
    file.chmod(0o400)
    with pytest.raises(CorruptStore, match="is read-only"):
        Parts(Options(state=place))
    assert maintenance.check(place)[0].records > 0
    assert file.read_bytes() == before


def test_a_second_process_is_rejected(serve: Serve, place: str) -> None:
    """When the first one is gone, so is its lock. Only a TinyDB file can be looked at meanwhile."""
    filled(serve, place)
    serve(place).customer()
    if place.startswith("tinydb"):
        assert maintenance.check(place)
    else:
        with pytest.raises(CorruptStore, match="another process works on it"):
            maintenance.check(place)
    with pytest.raises(CorruptStore, match="another process works on it"):
        Parts(Options(state=place))
    with pytest.raises(CorruptStore, match="another process works on it"):
        maintenance.compact(place)
    serve(None)
    store = open_store(place)
    assert store is not None
    store.close()


def test_a_link_is_the_file_that_it_leads_to(serve: Serve, place: str, tmp_path: Path) -> None:
    """One process at a time uses it by any of its names; and it stays where it is, and so does the link."""
    file, link = filled(serve, place), tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(file)
    linked = place.replace(str(file), str(link))
    for first, second in ((place, linked), (linked, place)):
        made = serve(first).customer(email=f"{first == place}@example.com")["id"]
        with pytest.raises(CorruptStore, match="another process works on it"):
            Parts(Options(state=second))
        with pytest.raises(CorruptStore, match="another process works on it"):
            maintenance.compact(second)
        assert made in [row["id"] for row in serve(second).api.get("/customers/")["data"]]
        serve(None)
        maintenance.compact(linked)
        assert link.is_symlink()
        assert maintenance.check(linked) == maintenance.check(place)
    link.unlink()
    link.hardlink_to(file)
    for name in (place, linked):
        with pytest.raises(CorruptStore, match="has 2 names"):
            Parts(Options(state=name))


def test_a_link_to_no_file_yet_is_where_the_file_is_made(serve: Serve, place: str, tmp_path: Path) -> None:
    file = Path(place.partition(":")[2])
    (tmp_path / "link").symlink_to(file)
    filled(serve, place.replace(str(file), str(tmp_path / "link")))
    assert (tmp_path / "link").is_symlink()
    assert maintenance.check(place)


def test_a_file_that_is_mounted_by_itself_is_rejected(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be replaced, and its lock and its log would stand elsewhere."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    file = folder / "worlds"
    file.touch()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"36 35 98:0 /mnt1 {str(file).replace(' ', chr(92) + '040')} rw,noatime - ext3 /dev/root rw\n")
    monkeypatch.setattr(state_file, "MOUNTS", mounts)
    with pytest.raises(CorruptStore, match="is mounted by itself; mount the folder that has worlds in it"):
        Parts(Options(state=f"{place.partition(':')[0]}:{file}"))


@pytest.mark.parametrize("is_replaced", [False, True], ids=["deleted", "replaced"])
def test_a_file_that_is_no_longer_there_takes_no_changes(
    serve: Serve, place: str, is_replaced: bool, tmp_path: Path
) -> None:
    """What was answered would be lost without a word. Reading goes on; and once the file is back, so does writing."""
    file = filled(serve, place)
    sandbox = serve(place)
    before = sandbox.customer()["id"]
    file.rename(tmp_path / "away")
    if is_replaced:
        file.write_text("{}")
    rejected = creating(sandbox, until=500)
    assert rejected.json()["code"] == "DATABASE_ERROR"
    assert "was deleted or replaced while the server was using it" in rejected.json()["message"]
    assert sandbox.api.get(f"/customers/{before}/")["id"] == before
    (tmp_path / "away").rename(file)
    after = creating(sandbox, until=201).json()["id"]
    assert serve(place).api.get(f"/customers/{after}/")["id"] == after


def test_a_file_that_takes_the_place_of_a_served_one_is_left_as_it_is(serve: Serve, place: str, tmp_path: Path) -> None:
    """Also when the server ends: a backup that was put back is what the next one serves."""
    file = filled(serve, place)
    backup = serve(f"{place.partition(':')[0]}:{tmp_path}/backup").customer()["id"]
    sandbox = serve(place)
    sandbox.customer()
    (tmp_path / "backup").replace(file)
    assert creating(sandbox, until=500)
    assert [row["id"] for row in serve(place).api.get("/customers/")["data"]] == [backup]


def creating(sandbox: Sandbox, until: int) -> httpx.Response:
    """Create customers, and return the first answer of this status: a TinyDB file is saved after the response."""
    for number in range(10_000):
        answer = sandbox.api.http.post("/customers/", json={"email": f"{until}.{number}@example.com", "name": "Awa"})
        if answer.status_code == until:
            break
        assert answer.status_code in (201, 500), answer.text
    return answer


def test_a_tinydb_file_without_its_lock_takes_no_changes(serve: Serve, tmp_path: Path) -> None:
    """Another process may have the file by then."""
    sandbox = serve(f"tinydb:{tmp_path}/worlds.json")
    sandbox.customer()
    (tmp_path / "worlds.json.lock").unlink()
    rejected = creating(sandbox, until=500)
    assert "worlds.json.lock was deleted or replaced" in rejected.json()["message"]


def test_a_sqlite_file_that_was_only_begun_is_a_new_one(serve: Serve, tmp_path: Path) -> None:
    """As a kill leaves it between the first page and the tables."""
    file = tmp_path / "worlds.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert file.stat().st_size
    assert maintenance.check(f"sqlite:{file}") == []
    assert serve(f"sqlite:{file}").customer()


def test_a_place_that_holds_worlds_is_not_converted_into(serve: Serve, place: str, tmp_path: Path) -> None:
    filled(serve, place)
    with pytest.raises(CorruptStore, match="holds worlds already"):
        maintenance.convert(place, f"tinydb:{filled(serve, f'tinydb:{tmp_path}/other.json')}")


def test_a_full_disk_ends_in_clear_errors_and_no_damage(tmp_path: Path) -> None:
    """A write that cannot be stored is undone and answered with ``DATABASE_ERROR``; reading still works, and
    writing works again once there is room."""
    emulator = ServerProcess("--state", f"sqlite:{tmp_path}/worlds.db", *rounds.START)

    def make(number: int) -> httpx.Response:
        body = {"email": f"c{number}@example.com", "name": "Awa", "phone": f"+2417{number:07}0"}
        return httpx.post(f"{emulator.url}/v1/customers/", json=body, headers=HEADERS, timeout=60, trust_env=False)

    with emulator:
        made = [make(0).json()["id"]]
        limited(emulator, 300_000)
        answers = [make(number) for number in range(1, 60)]
        rejected = [answer for answer in answers if answer.status_code == 500]
        made += [answer.json()["id"] for answer in answers if answer.is_success]
        assert rejected
        assert {answer.json()["code"] for answer in rejected} == {"DATABASE_ERROR"}
        assert "cannot be stored, so nothing was done" in rejected[-1].json()["message"]
        assert known(emulator) == made
        advanced = httpx.post(f"{emulator.url}/_emulator/clock/advance", json={"by": "1h"}, headers=HEADERS, timeout=60)
        assert advanced.json()["code"] == "DATABASE_ERROR"
        limited(emulator, resource.RLIM_INFINITY)
        made.append(make(99).json()["id"])
        emulator.kill()
        emulator.start()
        assert known(emulator) == made
        assert rounds.faults(rounds.truth(emulator.url)) == []


def limited(emulator: ServerProcess, size: int) -> None:
    """Let no file of this server grow beyond so many bytes."""
    resource.prlimit(emulator.id, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def known(emulator: ServerProcess) -> list[str]:
    """Return the ids of all customers, oldest first."""
    query = {"page_size": 100, "ordering": "created_at"}
    found = httpx.get(f"{emulator.url}/v1/customers/", params=query, headers=HEADERS, timeout=60, trust_env=False)
    return [row["id"] for row in found.json()["data"]]


def test_a_file_that_cannot_be_written_is_reported_until_it_can(tmp_path: Path) -> None:
    """TinyDB writes afterwards, so one change may be answered before it is noticed; then nothing is taken any more."""
    emulator = ServerProcess("--state", f"tinydb:{tmp_path}/worlds.json", *rounds.START)

    def make(number: int) -> httpx.Response:
        body = {"email": f"c{number}@example.com", "name": "Awa"}
        return httpx.post(f"{emulator.url}/v1/customers/", json=body, headers=HEADERS, timeout=60, trust_env=False)

    with emulator:
        limited(emulator, 100)
        made, rejected = [], None
        for number in range(100_000):
            answer = make(number)
            if not answer.is_success:
                rejected = answer
                break
            made.append(answer.json()["id"])
        assert rejected is not None
        assert rejected.json()["code"] == "DATABASE_ERROR"
        assert known(emulator)[-1] == made[-1] if len(made) <= 100 else True
        limited(emulator, resource.RLIM_INFINITY)
        number = 200_000
        while not (answer := make(number)).is_success:
            number += 1
        made.append(answer.json()["id"])
        assert emulator.stop() == 0
    assert not list(tmp_path.glob(".*.part"))
    tables = json.loads((tmp_path / "worlds.json").read_text())
    assert [row["id"] for row in tables["sk_test_crash/customer"].values()] == made


def test_reading_goes_on_while_nothing_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every GET of both documents and the console, also when a job is due, is answered as before."""
    with ExitStack() as stack:
        server = stack.enter_context(RunningServer(state=f"tinydb:{tmp_path}/worlds.json", strict=False))
        client = stack.enter_context(httpx.Client(base_url=server.url, headers=HEADERS, trust_env=False, timeout=60))
        about = client.post("/v1/customers/", json={"email": "awa@example.com", "name": "Awa"}).json()["id"]
        client.post("/_emulator/snapshots", json={"name": "here"})
        reads = ["/_emulator/", "/_emulator/?app=crash"]
        for document, base in (("/openapi.json", "/v1"), ("/_emulator/openapi.json", "/_emulator")):
            paths = [path for path, item in client.get(document).json()["paths"].items() if "get" in item]
            reads += [base + re.sub(r"\{[^}]+\}", about, path) for path in paths if path != "/stream"]

        def statuses() -> dict[str, int]:
            return {path: client.get(path).status_code for path in reads}

        before = statuses()
        assert Counter(before.values())[200] > 30
        subscription = {"customer": about, "unit_amount": 500, "interval": "day", "currency": "XAF"}
        client.post("/v1/subscriptions/", json=subscription).raise_for_status()
        client.post("/_emulator/clock/run", json={"rate": 1_000_000}).raise_for_status()
        monkeypatch.setattr(server.server.sandbox.store, "write", fail)
        assert client.post("/v1/customers/", json={"email": "b@example.com", "name": "B"}).status_code == 500
        assert statuses() == before


def fail(*_: object) -> None:
    raise StorageError("the disk is full")


TABLES = {"emulator": {"1": {"format": 2}}}


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".l.json.part").symlink_to(victim)
    AtomicStorage(tmp_path / "l.json").write(TABLES)
    assert victim.read_text() == "mine"
    assert not (tmp_path / "l.json").is_symlink()


@pytest.mark.parametrize("mode", [0o666, 0o644])
def test_the_mode_of_a_file_in_the_place_of_the_temporary_one_is_not_taken_over(tmp_path: Path, mode: int) -> None:
    part = tmp_path / ".m.json.part"
    part.touch()
    part.chmod(mode)
    AtomicStorage(tmp_path / "m.json").write(TABLES)
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o600
