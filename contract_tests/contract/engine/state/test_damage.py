"""Damaged files of every kind: a start uses them or says in one line what is wrong with them, and changes nothing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.engine.storage import maintenance
from emulator.engine.storage.store import CorruptStore, StorageError
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Emulator

ROUNDS = 40
"""Damages of each kind of file."""


def spoil(chance: random.Random, content: bytearray) -> None:
    """Flip some bits, cut off the end, take a piece away, copy it to elsewhere, or write something over it."""
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
    with RunningServer(state=place) as server, closing(Sandbox(server.url, "sk_test_damage")) as sandbox:
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
        spoil(chance, changed)
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
    except (CorruptStore, StorageError) as error:
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
    texts = [*re.finditer(r'"[^"]*"|(?<=: )\d+|null', content.decode())]
    found = set()
    for each in random.Random(7).sample(texts, 2 * ROUNDS):
        file.write_text(f'{each.string[: each.start()]}"{NAME}"{each.string[each.end() :]}')
        if (line := rejection(lambda: maintenance.check(place))) is not None:
            found.add(line)
            assert NAME not in line
    assert len(found) > 10
