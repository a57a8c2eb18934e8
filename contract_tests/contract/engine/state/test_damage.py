"""Damaged files of every kind: a start uses them or says in one line what is wrong with them, and changes nothing."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.cli.main import cli, one_line
from emulator.engine.fixtures import Fixtures, InvalidFixture
from emulator.engine.storage import maintenance
from emulator.engine.storage.store import CorruptStore, StorageError
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Emulator

ROUNDS = 60
"""Damages of each kind of file."""

FIXTURE = b"""settings: {tax_rate: 18, currencies: [XAF, EUR], assumptions: {webhook_success: 2xx}}
keys: [sk_test_demo, sk_prod_demo]
apps: {demo: {settings: {commission_rate: 2.5}}}
"""

Damage = Callable[[random.Random, bytearray], None]


def flipped(chance: random.Random, content: bytearray) -> None:
    """Some bits are others."""
    for _ in range(chance.choice((1, 1, 5, 100))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def cut(chance: random.Random, content: bytearray) -> None:
    """The end is missing."""
    del content[chance.randrange(len(content)) :]


def without_a_piece(chance: random.Random, content: bytearray) -> None:
    """A piece in the middle is missing."""
    start = chance.randrange(len(content))
    del content[start : start + chance.choice((1, 10, 4096))]


def mixed_up(chance: random.Random, content: bytearray) -> None:
    """A piece stands where another one was."""
    size = chance.choice((2, 50, 4096))
    source, target = (chance.randrange(max(len(content) - size, 1)) for _ in range(2))
    content[target : target + size] = content[source : source + size]


def overwritten(chance: random.Random, content: bytearray) -> None:
    """A piece is something else."""
    start, piece = chance.randrange(len(content)), chance.choice((b"\xff", b"\0", b"null", b'"', b"9" * 40, b"[" * 99))
    content[start : start + len(piece) * 20] = piece * chance.choice((1, 20))


NAME = "zebra"
"""What customers and their metadata are called: no message has it in it."""

DAMAGES: list[Damage] = [flipped, cut, without_a_piece, mixed_up, overwritten]


@pytest.fixture
def sound(place: str, contracts: tuple[Contract, Contract]) -> tuple[str, Path, bytes]:
    """A place, its file and what a sound one holds."""
    with RunningServer(state=place) as server, closing(Sandbox(server.url, "sk_test_damage", *contracts)) as sandbox:
        sandbox.subscribe()
        for number in range(20):
            sandbox.customer(email=f"{NAME}{number}@{NAME}.com", name=NAME * 4, metadata={NAME: NAME, "n": NAME * 9})
        sandbox.control.post("/snapshots", {"name": "s"})
    file = Path(place.partition(":")[2])
    return place, file, file.read_bytes()


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield the content after each of many damages."""
    for seed in range(ROUNDS):
        chance, changed = random.Random(seed), bytearray(content)
        chance.choice(DAMAGES)(chance, changed)
        yield bytes(changed)
    yield from (b"", b"null", b"{}", b"[]", b'""', b"0", b"[" * 100_000, b"\xef\xbb\xbf{}", b"\0")


def start(place: str) -> None:
    """Open every world, and end at once."""
    emulator = Emulator(Options(state=place))
    assert emulator.store
    emulator.store.close()


def rejection(read: Callable[[], object]) -> str | None:
    """Return why a file is rejected, in one line; None if it is used."""
    try:
        read()
    except (CorruptStore, StorageError, InvalidFixture) as error:
        line = error.why if isinstance(error, StorageError) else str(error)
        return line if "\n" not in line and len(line) < 1000 else "more than a line"
    return None


def test_a_damaged_state_file_is_used_or_rejected_in_one_line(sound: tuple[str, Path, bytes]) -> None:
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


@pytest.mark.parametrize("place", ["tinydb:{}/worlds.json"], indirect=True)
def test_whatever_stands_in_the_wrong_place_is_not_quoted(sound: tuple[str, Path, bytes]) -> None:
    """A value of the file, or the name of a field, is the name of a customer."""
    place, file, content = sound
    found = set()
    for changed in with_a_name_in_it(json.loads(content)):
        file.write_text(json.dumps(changed))
        if (line := rejection(lambda: maintenance.check(place))) is not None:
            found.add(line)
            assert NAME not in line
    assert len(found) > 10


def with_a_name_in_it(tables: Any) -> Iterator[Any]:
    """Yield the tables with a name in place of a value, then of its field; of the rows of a table only in the first."""

    def places(node: Any, depth: int) -> Iterator[tuple[Any, Any]]:
        inner = (
            list(node.items() if isinstance(node, dict) else enumerate(node)) if isinstance(node, dict | list) else []
        )
        for name, value in inner[:1] if depth == 1 else inner:
            yield node, name
            yield from places(value, depth + 1)

    for node, name in random.Random(7).sample(list(places(tables, 0)), ROUNDS):
        value = node[name]
        node[name] = NAME
        yield tables
        if isinstance(node, dict):
            del node[name]
            node[NAME] = value
            yield tables
            del node[NAME]
        node[name] = value


@pytest.mark.parametrize("place", ["sqlite:{}/worlds.db"], indirect=True)
def test_a_text_that_is_not_utf_8_is_reported_once_and_not_quoted(sound: tuple[str, Path, bytes]) -> None:
    place, file, _ = sound
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE emulator_records SET data = CAST(CAST(data AS BLOB) || X'FF' AS TEXT) WHERE kind = 'customer'"
        )
    connection.close()
    serve = [sys.executable, "-m", "emulator.cli.main", "serve", "--port", "0", "--state", place]
    ended = subprocess.run(serve, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"payments-emulator: {file}: Could not decode to UTF-8 column 'data'\n"


def test_a_damaged_snapshot_or_fixture_is_used_or_rejected_in_one_line(
    sound: tuple[str, Path, bytes], tmp_path: Path
) -> None:
    """A state file in JSON is a fixture, too, and so is a snapshot, which is such a file with one world."""
    place, _, content = sound
    file = tmp_path / "fixture.yaml"
    for changed in damaged(content if place.startswith("tinydb") else FIXTURE):
        file.write_bytes(changed)
        if (line := rejection(lambda: Fixtures([file]))) is not None:
            assert line.startswith(str(file))


@pytest.mark.parametrize("place", ["tinydb:{}/worlds.json"], indirect=True)
def test_a_fixture_with_a_damaged_record_is_rejected_at_the_start(sound: tuple[str, Path, bytes]) -> None:
    _, file, content = sound
    file.write_bytes(content.replace(b'"due"', b'"dew"'))
    rejected = CliRunner().invoke(cli, ["serve", "--port", "0", "--fixtures", str(file)], standalone_mode=False)
    assert one_line(rejected.exception).startswith(f"{file}: the world sk_test_damage: ")  # type: ignore[arg-type]  # it is a usage error
