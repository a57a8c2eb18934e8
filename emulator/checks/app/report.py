"""The report of ``test app``: the verdict, then a paragraph for each cause and its places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from emulator.checks.app.cases import ABOUTS, ADVICE, DELIVERY, REQUEST, Case, Place
from emulator.checks.app.endings import EndingDifference, Weight
from emulator.checks.report import Finding, Report
from emulator.checks.runs import counted
from emulator.document.paths import guide_link

NOT_ACKNOWLEDGED = "webhook-not-acknowledged"
"""The rule of the audit about deliveries that are rejected."""

UNSEEN = (
    "Only the state of the service was compared, not your own: add --check or --check-sqlite, or"
    " return a function."
)

SHOWN_PLACES = 6
"""How many places of a cause are listed; the others are counted."""


class AppFinding(NamedTuple):
    """A case that ended otherwise than the baseline, and what is wrong: the name of an advice.

    ``outcome`` is what became of its request, for the end of the sentence on the case.
    """

    case: Case
    differences: tuple[EndingDifference, ...]
    advice: str
    outcome: str = ""

    @property
    def weight(self) -> tuple[Weight, bool]:
        """How bad the worst of it is: the lowest is the worst."""
        return self.differences[0].weight, not self.differences[0].double

    @property
    def rule(self) -> str:
        """Return the rule of the audit if that is all; empty if the journal names the cause."""
        return "" if ADVICE[self.advice].rule in self.rules else self.differences[0].rule

    @property
    def rules(self) -> list[str]:
        return [difference.rule for difference in self.differences if difference.rule]


Cause = Sequence[AppFinding]
"""Findings with one cause, the worst first."""


def causes(findings: Sequence[AppFinding]) -> list[Cause]:
    """Return findings by cause, worst first: the audit's own by its rule, the others by problem.

    The same mistake has two causes where something happens twice and where something fails.
    A problem that follows from another one at the same place has no other cause: who handles an
    event twice that simply comes twice does so at the same moment, too.
    """
    problems = {(finding.case.place.number, finding.advice) for finding in findings}
    groups: dict[tuple[str, bool], list[AppFinding]] = {}
    for finding in findings:
        first = ADVICE[finding.advice].follows
        cause = first if (finding.case.place.number, first) in problems else finding.advice
        is_double = bool(finding.differences[0].double)
        groups.setdefault((finding.rule or cause, is_double), []).append(finding)
    # What names the cause is first, and then the worst. That a lost response changes something may
    # have any cause.
    ordered = [
        sorted(group, key=lambda finding: (bool(ADVICE[finding.advice].follows), finding.weight))
        for group in groups.values()
    ]
    return sorted(
        ordered,
        key=lambda cause: (min(finding.weight for finding in cause), cause[0].advice == "again"),
    )


def problem_of(cause: Cause) -> str:
    worst = cause[0]
    return worst.differences[0].sentence if worst.rule else ADVICE[worst.advice].problem


def paragraph(cause: Cause, repeat: str) -> Finding:
    """Return a cause with what followed where, and how to repeat and fix it."""
    worst, advice = cause[0], ADVICE[cause[0].advice]
    effect = f" ({worst.rule})" if worst.rule else f": {worst.differences[0].short}"
    title = f"{problem_of(cause)}{effect}"
    again, fix = repeat.replace("{case}", worst.case.name), guide_link("going-live", advice.section)
    return Finding(title, title, [*_places(cause)], fix, again)


def _places(cause: Cause) -> Iterator[str]:
    """Yield the first places, grouped by equal differences, then the names of the others."""
    groups: dict[tuple[str, ...], list[AppFinding]] = {}
    for finding in cause:
        groups.setdefault(tuple(map(_sentence, finding.differences)), []).append(finding)
    left = SHOWN_PLACES
    rest: list[AppFinding] = []
    for differences, findings in groups.items():
        listed = findings[:left]
        yield from (f"{finding.case.sentence}{finding.outcome}" for finding in listed)
        if listed and not cause[0].rule:
            yield from (f"    {sentence}" for sentence in differences)
        left -= len(listed)
        rest += findings[len(listed) :]
    if rest:
        yield f"and {len(rest)} more: {', '.join(finding.case.name for finding in rest)}"


def _sentence(difference: EndingDifference) -> str:
    return (
        f"audit: {difference.sentence} ({difference.rule})"
        if difference.rule
        else difference.sentence
    )


class AppReport(NamedTuple):
    """The findings. ``failure``: the faultless scenario's; ``unstable``: how two baselines differ.

    If there is one of them, nothing else was tried. ``tried`` are the cases that were run,
    ``remaining`` counts the others, ``unreached`` are those whose fault never struck, ``unjudged``
    those in which the scenario wants a payment at once, ``unshown`` those in which it depends on
    the date or on a refund, ``audit`` what the baseline shows.
    ``unpaused`` are rules about pauses that were left out because the test waits nowhere,
    ``left_out`` are tables and columns, ``alike`` counts the cases that were left out at places
    that are like others. ``repeat`` repeats a case; ``{case}`` stands for its name.

    ``missed`` are the kinds of which the budget allowed no case, ``rejected`` the cases of
    deliveries that the application rejects without any fault. ``is_unseen``: the application's own
    state was not compared; ``is_unmoved``: it is the same though nobody pays. ``steps`` counts the
    steps around which it was compared, ``unsteady`` its values that differ without any fault.
    """

    places: Sequence[Place]
    runs: int
    findings: Sequence[AppFinding]
    unstable: Sequence[EndingDifference] = ()
    failure: str | None = None
    tried: Sequence[Case] = ()
    remaining: int = 0
    unreached: Sequence[Case] = ()
    unjudged: Sequence[Case] = ()
    unshown: Sequence[Case] = ()
    interrupted: bool = False
    audit: Sequence[Mapping[str, str]] = ()
    unpaused: Sequence[str] = ()
    missed: Sequence[str] = ()
    rejected: Sequence[Case] = ()
    is_unseen: bool = False
    is_unmoved: bool = False
    steps: int = 0
    unsteady: int = 0
    left_out: Sequence[str] = ()
    alike: int = 0
    repeat: str = "--only {case}"

    @property
    def passed(self) -> bool:
        """Whether the scenario ended the same after every fault, at least one of each kind."""
        return not (self.has_problems or self.missed or self.is_silent)

    @property
    def conclusive(self) -> int:
        """The number of cases that showed something: the others are not counted."""
        known = {finding.case.name for finding in self.findings}
        silent = {case.name for case in (*self.unreached, *self.unjudged)} - known
        return sum(case.name not in silent for case in self.tried)

    @property
    def is_silent(self) -> bool:
        """Whether cases were run, and none of them showed anything."""
        return bool(self.tried) and not self.conclusive

    @property
    def has_problems(self) -> bool:
        return bool(self.findings or self.unstable or self.failure or self.blind)

    @property
    def blind(self) -> list[Finding]:
        """Why cases show nothing, whatever the application does."""
        findings = []
        deliveries = [place for place in self.places if place.about == DELIVERY]
        if self.rejected and all(place.is_rejected for place in deliveries):
            number = len(deliveries)
            of = f"All {number} deliveries are" if number > 1 else "The only delivery is"
            title = f"{of} rejected without any fault: no webhook case can be tried"
            fix = next(
                (note["advice"] for note in self.audit if note["rule"] == NOT_ACKNOWLEDGED), ""
            )
            findings.append(Finding("rejected deliveries", title, fix=fix))
        if self.is_unmoved:
            title = "Your own state is the same whether the buyer pays or not"
            details = ["it does not show what is bought, or that is given away"]
            fix = (
                "Compare the orders, with their payment, by --check, --check-sqlite or a function."
            )
            findings.append(Finding("own state", title, details, fix))
        return findings

    @property
    def headline(self) -> str:
        if self.failure:
            return (
                f"The scenario fails without any fault, so nothing else was tried: {self.failure}"
            )
        if self.unstable:
            return (
                "Without any fault the scenario does not end the same twice, so nothing else was"
                " tried:"
            )
        if not self.runs:
            return (
                "Interrupted before the scenario had run twice without a fault, so nothing else was"
                " tried."
            )
        return "; ".join([*(finding.title for finding in self.blind), *self._verdict()])

    def _verdict(self) -> Iterator[str]:
        """Yield the verdict on the cases; nothing if there is a reason that they show nothing."""
        ordered = causes(self.findings)
        if not ordered and self.missed:
            yield (
                f"The budget ended before one case of each kind was tried, after {self._progress};"
                f" not tried: {', '.join(self.missed)}"
            )
            return
        if not ordered and self.is_silent:
            yield f"Nothing was shown in {counted(len(self.tried), 'case')}"
            return
        if not ordered:
            if not self.blind:
                yield f"No problem in {self._progress}."
            return
        # The cause comes first: many a program shows only the beginning of a line.
        count = "1 problem" if len(ordered) == 1 else f"the worst of {len(ordered)} problems"
        yield f"{problem_of(ordered[0])} ({count} in {self._progress})"

    @property
    def _progress(self) -> str:
        every = counted(self.conclusive + self.remaining, "case")
        return f"{self.conclusive} of {every}" if self.remaining else every

    def report(self) -> Report:
        is_tried = not (self.failure or self.unstable) and self.runs > 0
        return Report(
            "test app",
            self.headline,
            [
                *self.blind,
                *(paragraph(cause, self.repeat) for cause in causes(self.findings)),
            ],
            self.failure or (None if self.passed or self.findings else self.headline),
            right=["every other run"] if is_tried else [],
            notes=(
                [*self._notes()]
                if is_tried
                else [f"    {_sentence(difference)}" for difference in self.unstable]
            ),
            facts=self._facts(),
            unseen=UNSEEN if self.is_unseen and self.tried else "",
        )

    def text(self) -> str:
        return self.report().text()

    def _notes(self) -> Iterator[str]:
        for note in self.audit:
            yield (
                f"Without any fault, {note['severity']} of the audit: {note['title']}"
                f" ({note['rule']})."
            )
        if self.left_out:
            yield (
                "Left out, as logs of events or different without any fault:"
                f" {', '.join(self.left_out)}."
            )
        places = Counter(place.about for place in self.places)
        parts = [
            counted(places[REQUEST], "request"),
            counted(places[DELIVERY], "delivery"),
            *([counted(self.steps, "step")] if self.steps else []),
            f"{self.runs} runs",
        ]
        yield f"{', '.join(parts)}."
        if self.unsteady:
            yield (
                "Not compared, as different without any fault: your state at"
                f" {counted(self.unsteady, 'look')} around the steps."
            )
        if self.alike:
            yield (
                f"Left out: {counted(self.alike, 'case')} at places like others (the same"
                " operation, the same outcome); --all or every=True tries them."
            )
        numbers = [*dict.fromkeys(str(case.place.number) for case in self.rejected)]
        if numbers and not self.blind:
            yield f"Rejected without any fault, so not tried: deliveries {', '.join(numbers)}."
        if self.unpaused:
            about = (
                f"pauses cut short in a test say nothing about {' and '.join(self.unpaused)}, which"
                " were left out."
            )
            yield f"No attempt waited long enough: {about} Where the pauses are real, look at them."
        at_once = "Nothing was shown, since the scenario wants the payment at once"
        for title, cases in (
            ("Not reached by the scenario", self.unreached),
            (at_once, self.unjudged),
            (
                "Nothing was shown, since the scenario itself depends on the date or wants the"
                " refund",
                self.unshown,
            ),
        ):
            if cases:
                yield f"{title}: {', '.join(case.name for case in cases)}."
        if self.remaining:
            yield self.unfinished

    @property
    def unfinished(self) -> str:
        """Why not all cases were tried; only where some remain."""
        return (
            f"{'Interrupted' if self.interrupted else 'The budget ended'} after {self._progress}."
        )

    def _facts(self) -> dict[str, object]:
        return {
            "runs": self.runs,
            "requests": sum(place.about == REQUEST for place in self.places),
            "deliveries": sum(place.about == DELIVERY for place in self.places),
            "cases": [
                {
                    "case": finding.case.name,
                    "sentence": finding.case.sentence,
                    "differences": [difference.sentence for difference in finding.differences],
                    "rules": finding.rules,
                    "problem": ADVICE[finding.advice].problem,
                }
                for finding in self.findings
            ],
            "unstable": [_sentence(difference) for difference in self.unstable],
            "remaining": self.remaining,
            "alike": self.alike,
            "unreached": [case.name for case in self.unreached],
            "interrupted": self.interrupted,
            "audit": [*self.audit],
            "grid": self._grid(),
        }

    def _grid(self) -> dict[str, object]:
        """Return the cases' results as a table: a row for each place, a column for each kind."""
        ended = {case.name: "same" for case in self.tried}
        for finding in self.findings:
            ended[finding.case.name] = "money" if finding.weight[0] is Weight.MONEY else "differs"
        kinds = [*{case.kind.name: case.kind for case in self.tried}.values()]
        places = sorted(self.places, key=lambda place: ABOUTS.index(place.about))
        rows = {
            str(place): [
                ended.get(Case(place, kind).name, "") if kind.about == place.about else ""
                for kind in kinds
            ]
            for place in places
        }
        return {
            "kinds": [kind.name for kind in kinds],
            "rows": {name: row for name, row in rows.items() if any(row)},
        }
