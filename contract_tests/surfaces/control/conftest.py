"""Real time in the journal, as a test says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


class Seconds:
    """Real time in the journal, which passes as the test says; a request takes a millisecond."""

    now, step = 1000.0, 0.001

    def perf_counter(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seconds]:
    with monkeypatch.context() as patch:
        patch.setattr("emulator.web.root_app.time", seconds := Seconds())
        yield seconds
