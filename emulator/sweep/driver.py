"""The driver of a sweep: which runs are made, in which order, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from emulator.sweep.findings import Ending, SweepFinding, SweepReport, advice, compare
from emulator.sweep.placed_faults import Case, cases

Play = Callable[[Case | None], Ending]
"""Runs the story once in a new world, with the fault of a case or without any; called from several threads."""


def sweep(
    play: Play,
    *,
    only: Sequence[str] = (),
    budget: float | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> SweepReport:
    """Run the story twice without a fault, then once for each case, or for those named in ``only``.

    ``budget`` is in seconds (real time): no run starts later. ``progress`` is called with the runs done so far and all.
    Raises ``LookupError`` for a name in ``only`` that is no case of the story.
    """
    deadline = None if budget is None else time.monotonic() + budget
    clean, again = play(None), play(None)
    if clean.failure is not None:
        return SweepReport(clean.places, 2, (), failure=clean.failure)
    if unstable := compare(clean, again):
        return SweepReport(clean.places, 2, (), unstable=unstable)
    chosen = _chosen(cases(clean.places), only)
    played: dict[str, Ending] = {}

    def run(case: Case) -> None:
        if deadline is None or time.monotonic() < deadline:
            played[case.name] = play(case)
            progress(len(played), len(chosen))

    with ThreadPoolExecutor(workers) as pool:
        try:
            list(pool.map(run, chosen))
        except KeyboardInterrupt:
            # What was found so far is reported.
            pool.shutdown(cancel_futures=True)
    findings = [
        SweepFinding(case, found, advice(case, clean, ending))
        for case in chosen
        if (ending := played.get(case.name)) and ending.reached and (found := compare(clean, ending))
    ]
    unreached = [case for case in chosen if (ending := played.get(case.name)) and not ending.reached]
    return SweepReport(clean.places, 2 + len(played), findings, (), None, len(chosen) - len(played), unreached)


def _chosen(every: list[Case], only: Sequence[str]) -> list[Case]:
    names = {case.name for case in every}
    if unknown := [name for name in only if name not in names]:
        raise LookupError(f"{unknown[0]} is no case of this story")
    return [case for case in every if not only or case.name in only]
