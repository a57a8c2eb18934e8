"""Damaged files of every kind: a start uses them or says in one line what is wrong with them, and changes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from contract_tests.contract import Contract
from contract_tests.sandbox import RunningServer, Sandbox
from emulator.cli.main import cli, one_line
from emulator.engine.fixtures import Fixtures, InvalidFixture
from emulator.sandbox import Options
from emulator.sandbox import Sandbox as Emulator
from emulator.state.store import CorruptStore, StorageError

ROUNDS = 60
"""Damages of each kind of file."""

FIXTURE = b"""settings: {tax_rate: 18, currencies: [XAF, EUR], readings: {webhook_success: 2xx}}
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


DAMAGES: list[Damage] = [flipped, cut, without_a_piece, mixed_up, overwritten]


@pytest.fixture
def sound(place: str, contracts: tuple[Contract, Contract]) -> tuple[str, Path, bytes]:
    """A place, its file and what a sound one holds."""
    server = RunningServer(state=place)
    sandbox = Sandbox(server.url, "sk_test_damage", *contracts)
    sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "s"})
    sandbox.close()
    server.stop()
    file = Path(place.partition(":")[2].removeprefix("///"))
    return place, file, file.read_bytes()


def damaged(content: bytes) -> Iterator[bytes]:
    """The content after each of many damages."""
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
    """Why a file is rejected, in one line; None if it is used."""
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
            assert line.startswith(str(file))
            assert file.read_bytes() == changed
    assert rejected > ROUNDS / 5


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
