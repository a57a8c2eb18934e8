"""Plays a HAR in a world and compares each answer with the recorded one; ids that differ are mapped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from emulator.recording.har import HarEntry, HarFile
from emulator.recording.id_search import ID

MASKED = "***"
"""What stands in an answer in the place of a secret; it is equal to any text."""

CONTROL = "/_emulator/"

ADVANCE = "/_emulator/clock/advance"

NOT_PLAYED = re.compile(
    r"/_emulator/(clock/(freeze|run|advances/.*)|reset|rewind|snapshots/.*|recording/.*|inbox/\w+)(\?.*)?"
)
"""Requests that move the world elsewhere, marks of recordings, and webhooks that the recorded world sent to itself."""

URL = re.compile(r"https?://(127\.0\.0\.1|localhost)(:\d+)?")


class ByteWorld(Protocol):
    """A world that answers requests with bytes."""

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer to a request."""


class AnswerDifference(NamedTuple):
    """A difference between a recorded answer and the one that was played, at a field of the body or at the status."""

    number: int
    request: str
    field: str
    recorded: Any
    played: Any

    def __str__(self) -> str:
        return f"{self.number}. {self.request}: {self.field} is {self.played!r} instead of {self.recorded!r}"


class PlayedFile(NamedTuple):
    """How many requests were played, how many answers were equal byte for byte, and every difference."""

    played: int
    identical: int
    differences: list[AnswerDifference]


Masking = Callable[[bytes], bytes]
"""Masks the secrets in an answer, as those in recorded answers are."""


def play_file(file: HarFile, world: ByteWorld, app: str, masked: Masking = bytes) -> PlayedFile:
    """Play every request of a file, with the moves of the clock between them, in the world of an App at its start."""
    playback = _Playback(file.world.clock, world, {file.world.app or app: app}, masked)
    for number, entry in enumerate(file.entries, 1):
        if not (NOT_PLAYED.fullmatch(entry.target) and entry.method != "GET"):
            playback.play(number, entry)
    return PlayedFile(playback.played, playback.identical, playback.differences)


class _Playback:
    def __init__(self, clock: str | None, world: ByteWorld, apps: Mapping[str, str], masked: Masking) -> None:
        self.played = self.identical = 0
        self.differences: list[AnswerDifference] = []
        self._world = world
        self._now = clock
        self._ids: dict[str, str] = {}
        self._apps = apps
        self._masked = masked

    def play(self, number: int, entry: HarEntry) -> None:
        """Play one request at its instant."""
        self._move_to(entry.at)
        text = self._mapped(entry.body or "")
        status, answer = self._world.exchange(entry.method, self._mapped(entry.target), entry.headers, text.encode())
        if entry.answer is None:
            return
        is_masked = MASKED in entry.answer
        played = (self._masked(answer) if is_masked else answer).decode("utf-8", "replace")
        self.played += 1
        request = f"{entry.method} {entry.target}"
        recorded_text = entry.answer
        if status != entry.status:
            self.differences.append(AnswerDifference(number, request, "the status", entry.status, status))
        elif played != recorded_text:
            self._compare(number, request, recorded_text, played)
        # The ids of requests to the control API are numbered for all worlds of a server, so they alone may differ.
        expected = self._mapped(recorded_text) if entry.target.startswith(CONTROL) else recorded_text
        self.identical += status == entry.status and played == expected
        if entry.target == ADVANCE and status == 200:
            self._now = json.loads(played)["now"]

    def _move_to(self, instant: str | None) -> None:
        if instant is None or self._now is None or instant <= self._now:
            return
        body = json.dumps({"to": instant}).encode()
        self._world.exchange("POST", ADVANCE, {"content-type": "application/json"}, body)
        self._now = instant

    def _mapped(self, text: str) -> str:
        return ID.sub(lambda match: self._ids.get(match[0], match[0]), text)

    def _compare(self, number: int, request: str, recorded: str, played: str) -> None:
        """Add the differences between two bodies, field by field if both are JSON."""
        try:
            values = json.loads(recorded), json.loads(played)
        except ValueError:
            values = recorded, played
        for field, one, other in self._values("", *values):
            self.differences.append(AnswerDifference(number, request, field or "the body", one, other))

    def _values(self, field: str, recorded: Any, played: Any) -> Iterator[tuple[str, Any, Any]]:
        if isinstance(recorded, dict) and isinstance(played, dict):
            for name in {**recorded, **played}:
                yield from self._values(f"{field}.{name}".lstrip("."), recorded.get(name), played.get(name))
        elif isinstance(recorded, list) and isinstance(played, list) and len(recorded) == len(played):
            for index, (one, other) in enumerate(zip(recorded, played, strict=True)):
                yield from self._values(f"{field}.{index}".lstrip("."), one, other)
        elif isinstance(recorded, str) and isinstance(played, str):
            if not self._same_text(recorded, played):
                yield field, recorded, played
        elif recorded != played:
            yield field, recorded, played

    def _same_text(self, recorded: str, played: str) -> bool:
        """Whether two texts are equal but for ids, which are mapped from now on, and for the emulator's address."""
        if self._apps.get(recorded) == played:
            return True
        ids, others = ID.findall(recorded), ID.findall(played)
        if len(ids) == len(others):
            for id, other in zip(ids, others, strict=True):
                self._ids.setdefault(id, other)
        return MASKED in recorded or URL.sub("", self._mapped(recorded)) == URL.sub("", played)
