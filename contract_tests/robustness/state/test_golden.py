"""What a release wrote opens today: the objects are answered as they were, and the world goes on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests.robustness.state import golden
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.engine.storage import maintenance, serialization

FILES = {
    "tinydb": ("worlds.json", "tinydb:{}"),
    "sqlite": ("worlds.db", "sqlite:///{}"),
    "exported": ("snapshot.json", "tinydb:{}"),
}


def differences(sandbox: Sandbox, release: str, *but: str) -> list[str]:
    """Return where the world is not answered as it was by its release."""
    headers = {"Authorization": f"Bearer {golden.KEY}", "Host": golden.PUBLIC_URL.removeprefix("http://")}
    found: list[str] = []
    for path, expected in golden.answers(release).items():
        if path not in but:
            actual = httpx.get(sandbox.url + path, headers=headers, trust_env=False, timeout=60).json()
            found += golden.differences(expected, actual, path)
    return found


def goes_on(sandbox: Sandbox) -> None:
    """A month passes and a customer is made. The receivers of the release's webhooks are long gone."""
    for endpoint in sandbox.api.get("/webhooks/")["data"]:
        sandbox.api.delete(f"/webhooks/{endpoint['id']}/")
    invoices = sandbox.api.get("/invoices/")["pagination"]["count"]
    sandbox.advance("31d")
    assert sandbox.api.get("/invoices/")["pagination"]["count"] > invoices
    sandbox.pay()


def open_twice(place: str, release: str, contracts: tuple[Contract, Contract], *but: str) -> None:
    """Open a place, look at it and let the world go on; then open what today's code has made of it."""
    assert [str(found.key) for found in maintenance.check(place)] == [golden.KEY]
    with opened(place, contracts) as sandbox:
        assert differences(sandbox, release, *but) == []
        goes_on(sandbox)
    with opened(place, contracts) as sandbox:
        goes_on(sandbox)
        for snapshot in sandbox.control.get("/snapshots")["data"]:
            sandbox.control.post(f"/snapshots/{snapshot['name']}/restore")
            assert len(sandbox.api.get("/customers/")["data"]) == 1
    assert maintenance.check(place)[0].records > 0


@contextmanager
def opened(place: str, contracts: tuple[Contract, Contract], key: str = golden.KEY) -> Iterator[Sandbox]:
    """The world, on a server of this place."""
    with (
        RunningServer(golden.PUBLIC_URL, state=place) as server,
        closing(Sandbox(server.url, key, *contracts)) as world,
    ):
        yield world


@pytest.mark.parametrize("release", golden.RELEASES)
@pytest.mark.parametrize(("file", "form"), FILES.values(), ids=FILES)
def test_a_file_of_a_release_opens(
    release: str, file: str, form: str, tmp_path: Path, contracts: tuple[Contract, Contract]
) -> None:
    shutil.copy(golden.FOLDER / release / file, tmp_path)
    but = ("/_emulator/snapshots",) if file == "snapshot.json" else ()
    open_twice(form.format(tmp_path / file), release, contracts, *but)
    if form.startswith("tinydb"):
        assert serialization.version(json.loads((tmp_path / file).read_text("utf-8"))) == serialization.FORMAT


@pytest.mark.parametrize("release", golden.RELEASES)
def test_a_snapshot_of_a_release_is_brought_in(release: str, contracts: tuple[Contract, Contract]) -> None:
    with opened("memory", contracts) as sandbox:
        exported = json.loads((golden.FOLDER / release / "snapshot.json").read_text("utf-8"))
        sandbox.control.request("PUT", "/snapshots/old", json=exported)
        sandbox.control.post("/snapshots/old/restore")
        assert differences(sandbox, release, "/_emulator/snapshots") == []
        goes_on(sandbox)


def test_a_database_of_a_limited_history_opens(tmp_path: Path, contracts: tuple[Contract, Contract]) -> None:
    file = tmp_path / "worlds.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript((golden.FOLDER / "history" / "sqlite.sql").read_text("utf-8"))
    open_history(f"sqlite:///{file}", contracts)


def renamed(row: Any) -> Any:
    """Return the settings called their assumptions "readings" at that time."""
    return {{"readings": "assumptions"}.get(name, name): value for name, value in row.items()}


def open_history(place: str, contracts: tuple[Contract, Contract]) -> None:
    """All that was in the database alone is in the world; the world takes any text, and goes on."""
    key = "sk_test_story"
    (stored,) = maintenance.contents(place).worlds.values()
    with opened(place, contracts, key) as sandbox:
        sandbox.control.post("/snapshots", {"name": "all"})
        exported = sandbox.control.get("/snapshots/all")
        for kind, rows in stored.rows.items():
            assert exported[f"{key}/{kind}"].keys() == {str(number) for number, _ in rows}
            for number, row in rows:
                shown = exported[f"{key}/{kind}"][str(number)]
                assert [*golden.differences(renamed(row), shown)] == []
        assert sandbox.customer(metadata={"a": "x\u0000y"})["metadata"] == {"a": "x\u0000y"}
        goes_on(sandbox)
