"""The runs of ``test app``: the baseline twice, then each case, and which of them did not end as the baseline did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from emulator.checks.app.cases import AGAIN, REQUEST, UNSTEADY, Case, cases, chosen, pairs, parts
from emulator.checks.app.endings import Ending, compare, totals
from emulator.checks.app.report import PAUSES, AppFinding, AppReport, ignoring, without_pauses
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs

UNSEEN = ("drop-before", "drop-after", "timeout", "sent-together")
"""The faults after which the journal has one request less, or as many for one more."""

Play = Callable[[Case | None], Ending]
"""Runs the scenario once in a new world, with the faults of a case or without any; called from several threads."""

RESETS = "it resets its world, and with it the fault that is to strike; it must use the world as it is"

SENDS_NOTHING = "it sends no request to the service in its world, and gets no webhook"


class Search(NamedTuple):
    """What is tried: the cases that patterns in ``only`` name, or all; with ``pairs`` each two that alone change nothing.

    ``ignore`` are rules of the audit that count for nothing. ``in_test``: the scenario is a
    test, whose client may do without pauses. ``kills``: the application can be killed, and is started again.
    """

    only: Sequence[str] = ()
    pairs: bool = False
    ignore: Sequence[str] = ()
    in_test: bool = False
    kills: bool = False


def examine(play: Play, limits: RunLimits = ONE_AT_A_TIME, search: Search = Search()) -> AppReport:  # noqa: B008  # immutable
    """Run the scenario twice without a fault, then once for each case of the search.

    Ctrl-C ends it; the report has what was found before. Raises ``LookupError`` for a pattern that names no case.
    """
    runs = Runs[Case, Ending](play, limits)
    try:
        baseline, again = play(None), play(None)
    except KeyboardInterrupt:
        limits.stop()
        return AppReport((), 0, (), interrupted=True)
    if reason := _unsuitable(baseline):
        return AppReport(baseline.places, 2, (), failure=reason)
    if unstable := compare(baseline, again):
        return AppReport(baseline.places, 2, (), unstable=unstable)
    tried = chosen(cases(baseline.places, kills=search.kills), search.only)
    runs.play_all(tried)
    if search.pairs and not runs.interrupted:
        # What one of two faults changes already is no finding about both.
        tried += (both := pairs([case for case in tried if not _differs(baseline, runs.endings.get(case.name), case)]))
        runs.play_all(both)
    findings = ignoring(list(_findings(tried, baseline, runs.endings)), search.ignore)
    unpaused: list[str] = []
    if search.in_test:
        findings, unpaused = without_pauses(findings, _kept(tried, baseline, runs.endings))
    return AppReport(
        baseline.places,
        2 + len(runs.endings),
        findings,
        remaining=len(tried) - len(runs.endings),
        unreached=[case for case in tried if (ending := runs.endings.get(case.name)) and not ending.reached],
        interrupted=runs.interrupted,
        audit=baseline.audit,
        unpaused=unpaused,
    )


def _kept(tried: Sequence[Case], baseline: Ending, endings: Mapping[str, Ending]) -> set[str]:
    """Return the rules about pauses that the client followed: it was asked to wait, and nothing differed.

    In a quarter of the cases at least: now and then a busy machine delays a client that never waits.
    """
    reached = [case for case in tried if case.kind.name in PAUSES and (end := endings.get(case.name)) and end.reached]
    asked = Counter(PAUSES[case.kind.name] for case in reached)
    followed = Counter(PAUSES[case.kind.name] for case in reached if not compare(baseline, endings[case.name]))
    return {rule for rule, times in followed.items() if 4 * times >= asked[rule]}


def _differs(baseline: Ending, ending: Ending | None, case: Case) -> bool:
    """Return whether a run ended otherwise than the baseline; not if it was not made, or its fault did not strike."""
    return bool(ending and ending.reached and compare(baseline, ending, case))


def _findings(cases: Sequence[Case], baseline: Ending, endings: Mapping[str, Ending]) -> Iterator[AppFinding]:
    """Yield the cases that ended otherwise than the baseline."""
    for case in cases:
        ending = endings.get(case.name)
        if ending is None or not (found := compare(baseline, ending, case)):
            continue
        if ending.reached:
            repetitions = ((part, _repetition(part, baseline, ending)) for part in parts(case))
            part, problem = next(((part, how) for part, how in repetitions if how), (case, case.kind.advice.problem))
            yield AppFinding(case, found, problem, part.kind.advice.section)
        elif case.second is None:
            # Of a pair one fault may strike, and keep the other from being reached.
            yield AppFinding(case, found, UNSTEADY.problem, UNSTEADY.section)


def _repetition(case: Case, baseline: Ending, other: Ending) -> str | None:
    """Return how the request of the case was sent again as a new one; None if it was not."""
    if case.place.about != REQUEST or case.kind.advice is not AGAIN:
        return None
    title = case.place.title
    sent = [write for write in other.writes if write.title == title]
    # A request whose connection was cut is not in the journal.
    expected = sum(write.title == title for write in baseline.writes) + (case.kind.name not in UNSEEN)
    if len(sent) < expected:
        return None
    if any(write.key is None for write in sent):
        return "A request is sent again without an Idempotency-Key"
    before, after = totals(baseline.digest), totals(other.digest)
    is_more = any(number > before[kind] for kind, number in after.items())
    return "A request is sent again with another Idempotency-Key" if is_more else None


def _unsuitable(baseline: Ending) -> str | None:
    """Return why a scenario cannot be tried."""
    if baseline.failure is not None:
        return baseline.failure
    if baseline.was_reset:
        return RESETS
    return None if baseline.places else SENDS_NOTHING
