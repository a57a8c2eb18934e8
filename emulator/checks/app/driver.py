"""The driver of a sweep: which runs are made, in which order, and when it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from emulator.checks.app.findings import AppFinding, AppReport, Ending, advice, compare
from emulator.checks.app.placed_faults import Case, cases, named, pairs, parts
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs

Play = Callable[[Case | None], Ending]
"""Runs the story once in a new world, with the faults of a case or without any; called from several threads."""

RESETS = "it resets its world, and with it the fault that is to strike; it must use the world as it is"

SENDS_NOTHING = "it sends no request to the service in its world, and gets no webhook"


def sweep(
    play: Play, limits: RunLimits = ONE_AT_A_TIME, *, only: Sequence[str] = (), with_pairs: bool = False
) -> AppReport:
    """Run the story twice without a fault, then once for each case, or for those named in ``only``.

    With ``with_pairs`` each two cases that changed nothing are tried together afterwards. Ctrl-C ends the search; the
    report has what was found before. Raises ``LookupError`` for a name in ``only`` that is no case of the story.
    """
    runs = Runs[Case, Ending](play, limits)
    try:
        clean, again = play(None), play(None)
    except KeyboardInterrupt:
        limits.stop()
        return AppReport((), 0, (), interrupted=True)
    if reason := _unsuitable(clean):
        return AppReport(clean.places, 2, (), failure=reason)
    if unstable := compare(clean, again):
        return AppReport(clean.places, 2, (), unstable=unstable)
    chosen = _chosen(cases(clean.places), only)
    runs.play_all(chosen)
    if with_pairs and not runs.interrupted:
        # What one of two faults changes already is no finding about both.
        chosen += (both := pairs([case for case in chosen if not _differences(clean, runs.endings.get(case.name))]))
        runs.play_all(both)
    return AppReport(
        clean.places,
        2 + len(runs.endings),
        list(_findings(chosen, clean, runs.endings)),
        remaining=len(chosen) - len(runs.endings),
        unreached=[case for case in chosen if (ending := runs.endings.get(case.name)) and not ending.reached],
        interrupted=runs.interrupted,
        audit=clean.audit,
    )


def _differences(clean: Ending, ending: Ending | None) -> tuple[str, ...]:
    """How a run ended otherwise than the clean one; empty if it was not made, or its fault did not strike."""
    return compare(clean, ending) if ending and ending.reached else ()


def _findings(cases: Sequence[Case], clean: Ending, endings: Mapping[str, Ending]) -> Iterator[AppFinding]:
    """The cases that ended otherwise than the clean run."""
    for case in cases:
        if found := _differences(clean, endings.get(case.name)):
            advised = (advice(part, clean, endings[case.name]) for part in parts(case))
            yield AppFinding(case, found, list(dict.fromkeys(advised)))


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
