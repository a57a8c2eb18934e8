"""The progress of a calibration, in a file from which an interrupted run goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from emulator.checks.service.verdicts import Verdict


class _Stored(msgspec.Struct, kw_only=True):
    url: str
    word: str
    words: int = 0
    objects: dict[str, dict[str, Any]] = {}
    created: dict[str, dict[str, list[str]]] = {}
    waiting: dict[str, dict[str, Any]] = {}
    verdicts: dict[str, Verdict] = {}


class CalibrationProgress:
    """What is done, what was created, and which probes wait. Saved in ``file`` after each probe, secrets masked."""

    def __init__(self, file: Path | None, url: str, word: str, mask: Callable[[Any], Any]) -> None:
        self._file = file
        self._mask = mask
        self._state = _Stored(url=url, word=word)
        if file is not None and file.exists():
            self._state = msgspec.json.decode(file.read_bytes(), type=_Stored)
            if self._state.url != url:
                raise ValueError(f"it is the progress of a calibration of {self._state.url}")
        self._numbers = count(self._state.words)
        self.objects = self._state.objects
        self.created = self._state.created
        self.waiting = self._state.waiting
        self.verdicts = self._state.verdicts

    def words(self) -> str:
        """A new word for a probe or an object."""
        number = next(self._numbers)
        self._state.words = number + 1
        return f"{self._state.word}{number}"

    def add(self, name: str, answer: dict[str, Any]) -> None:
        """Remember a shared object."""
        self.objects[name] = self._mask(answer)

    def made(self, owner: str, path: str, id: str) -> None:
        """Remember an object that has to be removed after its owner: a probe, or the shared objects."""
        self.created.setdefault(owner, {}).setdefault(path, []).append(id)

    def done(self, verdict: Verdict) -> None:
        """Remember a verdict."""
        self.verdicts[verdict.probe] = verdict

    def wait(self, name: str, answers: dict[str, Any], until: datetime) -> None:
        """Remember a probe that goes on later."""
        self.waiting[name] = self._mask(answers)

    def save(self) -> None:
        """Write the file."""
        if self._file is not None:
            self._file.write_bytes(msgspec.json.format(msgspec.json.encode(self._state)))
