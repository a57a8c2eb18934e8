"""A sweep: which runs are made, in which order, and the cases after which the story did not end as without a fault."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from emulator.checks import junit
from emulator.checks.app.cases import REQUEST, Case, Digest, Place, cases, differences, named, pairs, parts, totals
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs

# -- findings


GUIDE = "how to fix it: guide, Test app, {}"

CUT = ("drop-before", "drop-after", "timeout")
"""The faults that cut the connection."""

MAX_VALUE = 100
"""Characters of a value that a report shows."""


class SentWrite(NamedTuple):
    """A request of the story that changes something. ``key`` is its Idempotency-Key."""

    title: str
    key: str | None


class AuditNote(NamedTuple):
    """A rule of the audit that the application broke: its name, ``error``, ``warning`` or ``info``, and its title."""

    rule: str
    severity: str
    title: str


class Ending(NamedTuple):
    """How a story ended. ``failure`` is its error in one line, ``value`` what its own check returned.

    ``reached`` says whether the fault struck (each of a pair); ``writes`` are the requests that the service received.
    ``was_reset`` says that the story reset its world, which no fault survives.
    """

    failure: str | None
    value: Any
    digest: Digest
    balanced: bool
    places: Sequence[Place]
    writes: Sequence[SentWrite]
    reached: bool
    audit: Sequence[AuditNote] = ()
    was_reset: bool = False


class Advice(NamedTuple):
    """How to fix what a fault shows: a section of the guide, and the cause where the requests show it."""

    cause: str | None
    section: str

    def __str__(self) -> str:
        fix = GUIDE.format(self.section)
        return f"{self.cause} ({fix})" if self.cause else fix


class AppFinding(NamedTuple):
    """A case with another end than the clean run, in which way it differs, and how to fix it; two ways for a pair."""

    case: Case
    differences: tuple[str, ...]
    advice: Sequence[Advice]

    @property
    def fix(self) -> str:
        """How to fix it, on one line."""
        return "; ".join(map(str, self.advice))

    def as_json(self) -> dict[str, Any]:
        """The finding for programs."""
        place, kind = self.case.place, self.case.kind
        return {
            "case": self.case.name,
            "about": place.about,
            "number": place.number,
            "title": place.title,
            "fault": kind.name,
            "sentence": self.case.sentence,
            "differences": list(self.differences),
            "advice": self.fix,
        }


class FindingGroup:
    """Findings with one cause: at the same places, with the same sections of the guide, and a difference in common."""

    def __init__(self, first: AppFinding) -> None:
        self._findings = [first]
        self._common = first.differences

    def includes(self, finding: AppFinding) -> bool:
        """Whether a finding has the same cause; then it is added."""
        common = tuple(each for each in self._common if each in finding.differences)
        if not common or _origin(finding) != _origin(self._findings[0]):
            return False
        self._findings.append(finding)
        self._common = common
        return True

    def lines(self, repeat: str) -> Iterator[str]:
        """The group for people: what went wrong, what followed, why, and how to repeat and fix it."""
        yield from (finding.case.sentence for finding in self._findings)
        yield from (f"    {each}" for each in self._common)
        for finding in self._findings:
            others = (each for each in finding.differences if each not in self._common)
            yield from (f"    after {finding.case.kind.name} also: {each}" for each in others)
        advice = [each for finding in self._findings for each in finding.advice]
        yield from (f"    {cause}" for cause in dict.fromkeys(each.cause for each in advice) if cause)
        yield from (f"    {GUIDE.format(section)}" for section in dict.fromkeys(each.section for each in advice))
        yield f"    again: {repeat.replace('{case}', self._findings[0].case.name)}"


def _origin(finding: AppFinding) -> tuple[Any, ...]:
    second = finding.case.second
    return finding.case.place, second and second.place, {each.section for each in finding.advice}


def grouped(findings: Sequence[AppFinding]) -> list[FindingGroup]:
    """The findings by cause, in their order: several faults at one place often have the same."""
    groups: list[FindingGroup] = []
    for finding in findings:
        if not any(group.includes(finding) for group in groups):
            groups.append(FindingGroup(finding))
    return groups


class AppReport(NamedTuple):
    """What a sweep found. ``failure`` is that of the story without any fault, ``unstable`` how two clean runs differ.

    If there is one of them, nothing else was tried. ``remaining`` counts the cases that were not run, ``unreached``
    are those whose fault never struck, ``audit`` what the clean run shows. ``repeat`` repeats a case alone; ``{case}``
    stands for its name.
    """

    places: Sequence[Place]
    runs: int
    findings: Sequence[AppFinding]
    unstable: Sequence[str] = ()
    failure: str | None = None
    remaining: int = 0
    unreached: Sequence[Case] = ()
    interrupted: bool = False
    audit: Sequence[AuditNote] = ()
    repeat: str = "--only {case}"

    @property
    def passed(self) -> bool:
        """Whether the story ended the same after every fault that was tried."""
        return not (self.findings or self.unstable or self.failure)

    def lines(self) -> Iterator[str]:
        """The report for people."""
        if self.failure:
            yield f"The story fails without any fault, so nothing else was tried: {self.failure}"
        elif self.unstable:
            yield "Without any fault the story does not end the same twice, so nothing else was tried:"
            yield from (f"    {each}" for each in self.unstable)
        elif not self.runs:
            yield "Interrupted before the story had run twice without a fault, so nothing else was tried."
        else:
            yield from self._found()

    def _found(self) -> Iterator[str]:
        for group in grouped(self.findings):
            yield from (*group.lines(self.repeat), "")
        places = Counter(place.about for place in self.places)
        counted = [_count(places["request"], "request"), _count(places["delivery"], "delivery"), f"{self.runs} runs"]
        yield f"{', '.join(counted)}: {self._result()}"
        for note in self.audit:
            yield f"Without any fault, {note.severity} of the audit: {note.title} ({note.rule})."
        if self.unreached:
            yield f"Not reached by the story: {', '.join(case.name for case in self.unreached)}."
        if self.remaining:
            ended = "Interrupted" if self.interrupted else "The budget ended"
            yield f"{ended} before {_count(self.remaining, 'run')}."

    def _result(self) -> str:
        if not self.findings:
            tried = " that was tried" if self.remaining else ""
            return f"the story ends the same after every fault{tried}."
        return f"the story ends differently after {_count(len(self.findings), 'fault')}."

    def text(self) -> str:
        """The report as one text."""
        return "\n".join(self.lines())

    def as_json(self) -> str:
        """The report as one line of JSON."""
        return json.dumps(
            {
                "passed": self.passed,
                "runs": self.runs,
                "requests": sum(place.about == "request" for place in self.places),
                "deliveries": sum(place.about == "delivery" for place in self.places),
                "findings": [finding.as_json() for finding in self.findings],
                "unstable": list(self.unstable),
                "failure": self.failure,
                "remaining": self.remaining,
                "unreached": [case.name for case in self.unreached],
                "interrupted": self.interrupted,
                "audit": [note._asdict() for note in self.audit],
            }
        )

    def as_junit(self) -> str:
        """The report as JUnit XML: a failed test case for each finding, and one for the runs without any."""
        cases = [
            junit.TestCase(each.case.sentence, [junit.TestFailure(each.differences[0], self._alone(each))])
            for each in self.findings
        ]
        whole = [junit.TestFailure(next(self.lines()))] if self.failure or self.unstable else []
        return junit.report(
            "test app", "test app", [*cases, junit.TestCase("every other run", whole)], tests=str(self.runs)
        )

    def _alone(self, finding: AppFinding) -> str:
        return "\n".join(FindingGroup(finding).lines(self.repeat))


def compare(clean: Ending, other: Ending) -> tuple[str, ...]:
    """How another ending differs from that of the clean run, as sentences."""
    found = list(differences(clean.digest, other.digest))
    if other.failure is not None:
        found.insert(0, f"the story fails: {other.failure}")
    elif other.value != clean.value:
        found.append(f"the story's check returns {_short(other.value)} instead of {_short(clean.value)}")
    if not other.balanced:
        found.append("the ledger is not balanced")
    known = {note.rule for note in clean.audit}
    new = [note for note in other.audit if note.rule not in known and note.severity != "info"]
    found += [f"{note.severity} of the audit: {note.title} ({note.rule})" for note in new]
    return tuple(found)


def advice(case: Case, clean: Ending, other: Ending) -> Advice:
    """How to fix what the fault of a case shows."""
    cause = _repetition(case, clean, other) if case.place.about == REQUEST else None
    return Advice(cause, case.kind.section)


def _repetition(case: Case, clean: Ending, other: Ending) -> str | None:
    """How the request of the case was sent again as a new one; None if it was not."""
    title = case.place.title
    sent = [write for write in other.writes if write.title == title]
    # A request whose connection was cut is not in the journal.
    expected = sum(write.title == title for write in clean.writes) + (case.kind.name not in CUT)
    if len(sent) < expected:
        return None
    if any(write.key is None for write in sent):
        return f"{title} was sent again without an Idempotency-Key"
    is_more = any(number > totals(clean.digest)[kind] for kind, number in totals(other.digest).items())
    return f"{title} was sent again with another Idempotency-Key" if is_more else None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number} {noun}s"


# -- runs


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
