"""The driver of a sweep: which runs are made, in which order, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from emulator.sweep.findings import Ending, SweepFinding, SweepReport, advice, compare
from emulator.sweep.placed_faults import Case, cases, named, pairs, parts

Play = Callable[[Case | None], Ending]
"""Runs the story once in a new world, with the faults of a case or without any; called from several threads."""

RESETS = "it resets its world, and with it the fault that is to strike; it must use the world as it is"

SENDS_NOTHING = "it sends no request to the service in its world, and gets no webhook"


def sweep(
    play: Play,
    *,
    only: Sequence[str] = (),
    budget: float | None = None,
    workers: int = 1,
    with_pairs: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
    stop: Callable[[], None] = lambda: None,
) -> SweepReport:
    """Run the story twice without a fault, then once for each case, or for those named in ``only``.

    ``budget`` is in seconds (real time): no run starts later. With ``with_pairs`` each two cases that changed nothing
    are tried together afterwards. ``progress`` is called with the runs done so far and all. Ctrl-C calls ``stop``,
    which is to end the runs under way, and then ends the search; the report has what was found before.
    Raises ``LookupError`` for a name in ``only`` that is no case of the story.
    """
    try:
        deadline = None if budget is None else time.monotonic() + budget
        clean, again = play(None), play(None)
    except KeyboardInterrupt:
        stop()
        return SweepReport((), 0, (), interrupted=True)
    if reason := _unsuitable(clean):
        return SweepReport(clean.places, 2, (), failure=reason)
    if unstable := compare(clean, again):
        return SweepReport(clean.places, 2, (), unstable=unstable)
    runs = _CaseRuns(play, deadline, workers, progress, stop)
    chosen = _chosen(cases(clean.places), only)
    runs.play_all(chosen)
    if with_pairs and not runs.interrupted:
        # What one of two faults changes already is no finding about both.
        chosen += (both := pairs([case for case in chosen if not runs.differences(case, clean)]))
        runs.play_all(both)
    unreached = [case for case in chosen if (ending := runs.endings.get(case.name)) and not ending.reached]
    return SweepReport(
        clean.places,
        2 + len(runs.endings),
        list(runs.findings(chosen, clean)),
        remaining=len(chosen) - len(runs.endings),
        unreached=unreached,
        interrupted=runs.interrupted,
        audit=clean.audit,
    )


class _CaseRuns:
    """The runs of cases, several at a time, and how each ended, by the name of its case."""

    def __init__(
        self,
        play: Play,
        deadline: float | None,
        workers: int,
        progress: Callable[[int, int], None],
        stop: Callable[[], None],
    ) -> None:
        self._play = play
        self._deadline = deadline
        self._workers = workers
        self._progress = progress
        self._stop = stop
        self._planned = 0
        self.endings: dict[str, Ending] = {}
        self.interrupted = False

    def play_all(self, cases: Sequence[Case]) -> None:
        """Run these cases, until the time is over or Ctrl-C."""
        self._planned += len(cases)
        with ThreadPoolExecutor(self._workers) as pool:
            try:
                list(pool.map(self._play_case, cases))
            except KeyboardInterrupt:
                self.interrupted = True
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop()

    def _play_case(self, case: Case) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return
        ending = self._play(case)
        # A run that was stopped shows nothing.
        if not self.interrupted:
            self.endings[case.name] = ending
            self._progress(len(self.endings), self._planned)

    def differences(self, case: Case, clean: Ending) -> tuple[str, ...]:
        """How the run of a case ended otherwise than the clean one; empty if its fault did not strike."""
        ending = self.endings.get(case.name)
        return compare(clean, ending) if ending and ending.reached else ()

    def findings(self, cases: Sequence[Case], clean: Ending) -> Iterator[SweepFinding]:
        """The cases that ended otherwise than the clean run."""
        for case in cases:
            if found := self.differences(case, clean):
                advised = (advice(part, clean, self.endings[case.name]) for part in parts(case))
                yield SweepFinding(case, found, list(dict.fromkeys(advised)))


def _unsuitable(clean: Ending) -> str | None:
    """Why a story cannot be swept."""
    if clean.failure is not None:
        return clean.failure
    if clean.was_reset:
        return RESETS
    return None if clean.places else SENDS_NOTHING


def _chosen(every: list[Case], only: Sequence[str]) -> list[Case]:
    if not only:
        return every
    found = {name: named(name, every) for name in only}
    if unknown := [name for name, case in found.items() if case is None]:
        raise LookupError(_unknown(unknown[0], every))
    return [case for case in found.values() if case]


def _unknown(name: str, every: list[Case]) -> str:
    """What the story has instead of a case."""
    number = name.partition(":")[0]
    near = [case.name for case in every if str(case.place.number) == number]
    last = max((case.place.number for case in every), default=0)
    has = f"at {number} it has {', '.join(near)}" if near else f"its places are 1 to {last}"
    return f"{name} is no case of this story; {has}"
