"""The runs of ``test app``: two baselines, then the cases; and the cases with another ending."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from emulator.checks.app.cases import (
    ADVICE,
    AT_WORK,
    PAYMENT,
    REFUND,
    REQUEST,
    Case,
    cases,
    check_patterns,
    chosen,
)
from emulator.checks.app.dates import undated, undated_rows
from emulator.checks.app.endings import (
    MONEY_KINDS,
    MOVED,
    Ending,
    EndingDifference,
    Group,
    SentRequest,
    Weight,
    check_differences,
    compare,
    rule_differences,
    worst_first,
)
from emulator.checks.app.report import AppFinding, AppReport, problem_of
from emulator.checks.app.state import is_same, keeps, taken_for_paid
from emulator.checks.app.steps import Expected, wrong_stretch
from emulator.checks.app.tables import rows, unsteady
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs

PAUSES = {"throttled": "ignored-retry-after", "error-after": "retried-too-soon"}
"""By fault the rule about how long a client waits after it, which tests often cut short."""

VARIABLE = re.compile(r"[\w-]*\d[\w-]*")
"""What may differ in a request between two runs: ids, numbers, times."""


def examine(
    play: Callable[[Case | None], Ending],
    limits: RunLimits = ONE_AT_A_TIME,
    *,
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    in_test: bool = False,
    kills: bool = False,
    expected: Expected | None = None,
    starts: bool = True,
    zones: bool = True,
    every: bool = False,
    reuse: bool = False,
) -> AppReport:
    """Run the scenario faultless twice, then its cases or those of ``only``; Ctrl-C ends the run.

    ``play`` runs the scenario once in a new world, with the faults of a case or without any;
    several threads call it. ``ignore`` are rules of the audit that count for nothing. ``in_test``:
    the scenario is a test, whose client may do without pauses. ``kills``: the application can be
    killed, and is started again. ``expected`` learns the states around the baseline's steps, which
    ``play`` compares. ``starts``: worlds can begin at another time. ``zones``: the application can
    run in another time zone. ``every``: also the cases at places that are like others, as ``only``
    does. ``reuse``: a case that differs is played once more, for a process that plays many may
    remember one. Raises ``LookupError`` for an unknown pattern.
    """
    check_patterns(only)
    left_out: set[tuple[str, str]] = set()
    first_problems: list[str] = []
    expected = expected or Expected("0s")

    def play_case(case: Case) -> Ending:
        ending = _with_rows(play(case), left_out)
        played = Played(case, ending, None if case.kind.reference else baseline)
        finding = None if first_problems else _finding(played, baseline, expected)
        for kept in _ignoring([finding] if finding else [], ignore):
            first_problems.append(f"{case.name}: {problem_of([kept])}")
            limits.named(first_problems[0])
        return ending

    runs = Runs[Case, Ending](play_case, limits)
    started = time.monotonic()
    try:
        baseline, again = play(None), play(None)
    except KeyboardInterrupt:
        limits.stop()
        return AppReport((), 0, (), interrupted=True)
    if reason := _why_nothing_is_tried(baseline):
        return AppReport(baseline.places, 2, (), failure=reason)
    left_out |= unsteady(baseline.tables or {}, again.tables or {})
    baseline, again = (_with_rows(ending, left_out) for ending in (baseline, again))
    if unstable := compare(baseline, again):
        return AppReport(baseline.places, 2, (), unstable=unstable)
    expected.learn(baseline.looks, again.looks, left_out)
    possible = cases(baseline.places, kills=kills, starts=starts, zones=zones)
    wanted = chosen(possible, only, every=every)
    tried = [case for case in wanted if not case.place.is_rejected]
    if tried:
        seconds = (time.monotonic() - started) / 2 * len(tried) / limits.workers
        limits.planned(len(tried), seconds)
    references = {
        case.name: Case(case.place, case.kind.reference) for case in tried if case.kind.reference
    }
    # Each reference shortly before the first case that wants it: a first finding comes soon.
    ordered = (run for case in tried for run in (references.get(case.name), case) if run)
    runs.play_all([*{run.name: run for run in ordered}.values()])
    played = _all_played(tried, references, baseline, runs.endings)
    if reuse and not runs.interrupted:
        runs.play_all([run.case for run in played if _finding(run, baseline, expected)])
        played = _all_played(tried, references, baseline, runs.endings)
    refused = [runs.endings.get(references[case.name].name) for case in tried if case.kind.refuses]
    findings = _ignoring(
        [finding for run in played if (finding := _finding(run, baseline, expected))], ignore
    )
    unpaused = _cut_short(findings, played, baseline) if in_test else []
    return AppReport(
        baseline.places,
        2 + len(runs.endings),
        _ignoring(findings, unpaused),
        tried=[run.case for run in played],
        remaining=len(tried) - len(played),
        missed=[] if runs.interrupted else _missed(tried, played),
        rejected=[case for case in wanted if case.place.is_rejected],
        unreached=[
            run.case
            for run in played
            if not run.ending.reached and run.case.kind.name not in AT_WORK
        ],
        unjudged=[
            run.case
            for run in played
            if run.case.place.about == PAYMENT and run.wants_payment_at_once
        ],
        unshown=[run.case for run in played if not is_shown(run, baseline, expected)],
        interrupted=runs.interrupted,
        steps=max((look.steps for look in baseline.looks), default=0),
        unsteady=expected.unsteady,
        audit=baseline.audit,
        unpaused=unpaused,
        alike=0 if only else len(possible) - len(wanted),
        left_out=[f"{table}.{name}".rstrip(".") for table, name in sorted(left_out)],
        is_unseen=not baseline.state.is_known,
        is_unmoved=_is_unmoved(baseline, refused),
    )


def _why_nothing_is_tried(baseline: Ending) -> str | None:
    if baseline.failure is None and baseline.was_reset:
        return (
            "it resets its world, and with it the fault that is to strike; it must use the world as"
            " it is"
        )
    if baseline.failure is None and not baseline.places:
        return "it sends no request to the service in its world, and gets no webhook"
    return baseline.failure


def listed(
    play: Callable[[Case | None], Ending], *, only: Sequence[str] = (), **possible: bool
) -> list[Case]:
    """Run the scenario faultless once; return the cases that :func:`examine` would then try.

    Raises ``LookupError`` for an unknown pattern, and ``AssertionError`` where the scenario fails.
    """
    check_patterns(only)
    every = possible.pop("every", False)
    baseline = play(None)
    if baseline.failure:
        raise AssertionError(baseline.failure)
    wanted = chosen(cases(baseline.places, **possible), only, every=every)
    return [case for case in wanted if not case.place.is_rejected]


class Played(NamedTuple):
    """A case, its run's ending, and the ending it should have; None for a run that was not made."""

    case: Case
    ending: Ending
    wanted: Ending | None

    @property
    def wants_payment_at_once(self) -> bool:
        """Whether the scenario fails, or goes on, only for the payment that it wants at once."""
        return self.wanted is not None and (self.wanted.failure is None) != (
            self.ending.failure is None
        )


def _all_played(
    tried: Sequence[Case],
    references: Mapping[str, Case],
    baseline: Ending,
    endings: Mapping[str, Ending],
) -> list[Played]:
    """Return the cases that were run, with the ending that each should have."""
    return [
        Played(
            case,
            ending,
            endings.get(references[case.name].name) if case.kind.reference else baseline,
        )
        for case in tried
        if (ending := endings.get(case.name))
    ]


def _with_rows(ending: Ending, left_out: Collection[tuple[str, str]]) -> Ending:
    """Return an ending with its tables' rows, as far as they are compared."""
    return ending if ending.tables is None else ending._replace(rows=rows(ending.tables, left_out))


def _is_unmoved(baseline: Ending, refused: Sequence[Ending | None]) -> bool:
    """Return whether the application's state is the same where no buyer pays."""
    judged = [ending for ending in refused if ending and ending.failure is None]
    return (
        baseline.state.is_known
        and bool(judged)
        and all(is_same(ending.state, baseline.state) for ending in judged)
    )


def _missed(tried: Sequence[Case], played: Sequence[Played]) -> list[str]:
    """Return the kinds of fault of which no case was run."""
    seen = {run.case.kind.name for run in played}
    return [*dict.fromkeys(case.kind.name for case in tried if case.kind.name not in seen)]


def _cut_short(
    findings: Sequence[AppFinding], played: Sequence[Played], baseline: Ending
) -> list[str]:
    """Return the broken rules about pauses: after faults that ask to wait, most endings differed.

    Now and then a busy machine delays a client that never waits, so a quarter of the cases is
    enough to have waited.
    """
    reached = [run for run in played if run.case.kind.name in PAUSES and run.ending.reached]
    paused = Counter(PAUSES[run.case.kind.name] for run in reached)
    followed = Counter(
        PAUSES[run.case.kind.name] for run in reached if not compare(baseline, run.ending)
    )
    broken = {difference.rule for finding in findings for difference in finding.differences} & {
        *PAUSES.values()
    }
    return sorted(
        rule for rule in broken if not followed[rule] or 4 * followed[rule] < paused[rule]
    )


def _ignoring(findings: Sequence[AppFinding], rules: Collection[str]) -> list[AppFinding]:
    """Return the findings without the differences that these rules of the audit name."""
    kept = (
        (
            finding,
            tuple(difference for difference in finding.differences if difference.rule not in rules),
        )
        for finding in findings
    )
    return [
        finding._replace(differences=differences) for finding, differences in kept if differences
    ]


# -- findings, and the advice on each


def _finding(played: Played, baseline: Ending, expected: Expected) -> AppFinding | None:
    case, ending, _ = played
    differences = _differences(played, baseline, expected)
    stretch = wrong_stretch(case, ending.looks, expected) if expected.concerns(case) else None
    if stretch:
        grows = all(change.grows for change in stretch.changes)
        steps = EndingDifference(Weight.ACCESS, str(stretch), grows=grows)
        differences = worst_first([*differences, steps])
    if not differences:
        return None
    if not ending.reached:
        return AppFinding(case, differences, "unsteady")
    advice = _advice(case, differences, baseline, ending)
    return AppFinding(case, differences, advice, _outcome(case, advice, baseline, ending))


def _advice(
    case: Case, differences: Sequence[EndingDifference], baseline: Ending, ending: Ending
) -> str:
    """Return the name of the advice on a case that ended with these differences."""
    rules = {difference.rule for difference in differences}
    if case.kind.name == "hung" and ADVICE["unlimited"].rule in rules:
        return "unlimited"
    own = [difference for difference in differences if not difference.rule]
    if case.kind.advice == "disorder" and own and all(difference.grows for difference in own):
        return "rebooked"
    advice = _advice_on_next_request(case, baseline, ending) or case.kind.advice
    # What was done twice was sent again, in other words.
    if advice == "not-again" and any(difference.double for difference in own):
        return _advice_on_other_words(case, baseline, ending)
    return advice


def _advice_on_other_words(case: Case, baseline: Ending, other: Ending) -> str:
    """Return the advice about a request that was sent again, but not with the same content."""
    again = _sent_later(case, baseline, other)
    if again is None:
        return "again"
    return "keyless" if again.key is None else "other-key"


def _sent_later(case: Case, baseline: Ending, other: Ending) -> SentRequest | None:
    """Return the next request of the struck one's operation, if the baseline has no such one."""
    operation, number = case.place.match["operation"], case.place.match["nth"] - 1
    planned, sent = baseline.sent[operation], other.sent.get(operation, ())
    later = sent[number + (not case.kind.is_cut) :]
    return later[0] if len(later) > len(planned[number + 1 :]) else None


def _outcome(case: Case, advice: str, baseline: Ending, other: Ending) -> str:
    """Return that the repetition of a request was rejected, for the sentence on a case."""
    again = _sent_later(case, baseline, other) if advice in ("keyless", "other-key") else None
    if again is None or not 400 <= again.status < 500:
        return ""
    return f"; when it was sent again, it was rejected with {again.status}"


def _differences(
    played: Played, baseline: Ending, expected: Expected
) -> tuple[EndingDifference, ...]:
    """Return how a run's ending differs from the wanted one; nothing where that is unknown.

    A scenario may want the operator to answer a payment at once: where it fails for that, nothing
    is known of the application. An order that waits does not differ from one that was refused,
    unless the application also treats it as paid.
    """
    case, ending, wanted = played
    if wanted is None or not wanted.reached or not is_shown(played, baseline, expected):
        return ()
    if case.kind.is_dated:
        return compare(_undated(baseline, case), _undated(ending, case))
    if case.place.about == REFUND:
        return _refund_differences(baseline, wanted, ending)
    if case.place.about == PAYMENT and (ending.failure or wanted.failure):
        differences = () if played.wants_payment_at_once else check_differences(wanted, ending)
    else:
        differences = compare(wanted, ending)
    if case.kind.refuses and not taken_for_paid(baseline.state, wanted.state, ending.state):
        differences = tuple(
            difference for difference in differences if difference.weight is not Weight.ACCESS
        )
    return differences


def _undated(ending: Ending, case: Case) -> Ending:
    same_days = not case.kind.start
    rows = None if ending.rows is None else undated_rows(ending.rows, same_days=same_days)
    return ending._replace(value=undated(ending.value, same_days=same_days), rows=rows)


RECURRING = ("invoice", "subscription")
"""The kinds of objects that the service makes or changes by the calendar."""


def _is_by_calendar(group: Group) -> bool:
    """Return whether the calendar says how many there are: payments that fail are tried again."""
    return group.kind in RECURRING or (group.kind in MONEY_KINDS and group.status not in MOVED)


def is_shown(played: Played, baseline: Ending, expected: Expected) -> bool:
    """Return whether the run shows anything.

    A scenario that cannot be played at another ordinary time depends on its own, and one in which
    the service itself renews another number of times has another end. One that wants its refund to
    succeed says nothing about a refund that is declined; nor does one that cannot do without it,
    unless its state shows a refund as soon as it is asked for.
    """
    case, ending, wanted = played
    if wanted is None:
        return True
    if case.kind.start:
        sums = [
            {group: part for group, part in run.digest.sums.items() if _is_by_calendar(group)}
            for run in (baseline, ending)
        ]
        is_played = not compare(*(_undated(run, case) for run in (baseline, wanted)))
        return is_played and (ending.failure is not None or sums[0] == sums[1])
    if case.place.about == REFUND:
        can_do_without = wanted.failure is None or _shows_refund(played, baseline, expected)
        return wanted.reached and can_do_without and ending.failure is None
    return True


def _shows_refund(played: Played, baseline: Ending, expected: Expected) -> bool:
    """Return whether a scenario that fails without its refund shows what the refund changes.

    The state with which it fails is compared with the baseline's before the next step, unless the
    application sends more there that changes something.
    """
    place, unmade = played.case.place, played.wanted
    look = next((look for look in expected.looks if look.at >= place.at and not look.is_rest), None)
    if unmade is None or look is None or look.state is None:
        return False
    writes = [
        other
        for other in baseline.places
        if other.about == REQUEST and not other.title.startswith("GET ") and other.at <= look.at
    ]
    is_last = not writes or writes[-1].match == {"operation": "createRefund", "nth": place.made_by}
    return is_last and keeps(look.state, unmade.state, look.state)


def _refund_differences(
    baseline: Ending, unmade: Ending, ending: Ending
) -> tuple[EndingDifference, ...]:
    """Return what the application still counts as paid back, and what the audit says of it.

    Where the scenario fails without the refund, that is known only if all is as if it was made.
    """
    counted: Sequence[EndingDifference] = ()
    if unmade.failure and is_same(ending.state, baseline.state):
        sentence = "your own state is the same as after a refund that the operator makes"
        counted = [EndingDifference(Weight.ACCESS, sentence)]
    elif not unmade.failure and keeps(baseline.state, unmade.state, ending.state):
        counted = check_differences(unmade, ending)
    return (*counted, *rule_differences(baseline, ending))


def _advice_on_next_request(case: Case, baseline: Ending, other: Ending) -> str | None:
    """Return the advice about the request after the one that a case strikes; None if unknown."""
    match = case.place.match
    if "operation" not in match or case.kind.advice != "again":
        return None
    number, planned, sent = (
        match["nth"] - 1,
        baseline.sent[match["operation"]],
        other.sent.get(match["operation"], ()),
    )
    # A request whose connection was cut is not in the journal; in the baseline it is.
    is_cut = case.kind.is_cut
    if not is_cut and number >= len(sent):
        return None
    struck = planned[number] if is_cut else sent[number]
    if case.kind.name == "sent-together":
        return "keyless" if struck.method == "POST" and struck.key is None else None
    again = _sent_again(struck, sent[number + (not is_cut) :], planned[number + 1 :])
    if again is None:
        return "not-again"
    is_done_twice = struck.method == "POST" and case.kind.is_executed
    if not is_done_twice or again.key is None:
        return "keyless" if is_done_twice else None
    has_other = again.changed > 0 if is_cut else again.key != struck.key
    return "other-key" if has_other else None


def _sent_again(
    struck: SentRequest, later: Sequence[SentRequest], planned: Sequence[SentRequest]
) -> SentRequest | None:
    """Return a request's repetition in ``later``, which has more such requests than ``planned``."""
    # Where the request itself is not in the journal, ids, ports and times in it may be others than
    # in the baseline.
    for other in ("\\g<0>", ""):
        wanted = VARIABLE.sub(other, struck.content)
        like = [request for request in later if VARIABLE.sub(other, request.content) == wanted]
        if len(like) > sum(VARIABLE.sub(other, request.content) == wanted for request in planned):
            return like[0]
    return None
