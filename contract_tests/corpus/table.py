"""The table of the corpus, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contract_tests.corpus.rows import Result, Sound
from emulator.version import VERSION


def verdict(result: Result) -> tuple[str, str]:
    """Return whether a bug was found, and whether it was named."""
    if result.failure:
        return "not tried", ""
    return "yes" if result.is_found else "no", (
        "yes" if result.is_named else "no"
    ) * result.is_found


def line(result: Result) -> str:
    """Return a result in one line, with what differs from corpus.yaml."""
    found, named = verdict(result)
    note = " REGRESSION" * result.is_regression + " better than corpus.yaml" * result.is_news
    what = f"found: {found}" + (f", named: {named}" if named else "")
    return f"{result.row.name:44} {what}, {result.seconds:.0f} s{note}"


def sound_line(sound: Sound) -> str:
    alarms = f"{len(sound.alarms)} false alarms" if not sound.failure else sound.failure
    return (
        f"{sound.business.name + ', sound':44} test {sound.examination}: {alarms} in"
        f" {sound.cases} cases, {sound.seconds:.0f} s"
    )


def summary(results: Sequence[Result], sounds: Sequence[Sound]) -> str:
    """Return the sums: bugs found and named, false alarms, the median time to the finding."""
    hits = [result for result in results if result.is_found and not result.failure]
    named = sum(result.is_named for result in hits)
    seconds = sorted(result.seconds for result in hits)
    median = f"{seconds[len(seconds) // 2]:.0f} s" if seconds else "none"
    alarms = sum(len(sound.alarms) for sound in sounds)
    cases = sum(sound.cases for sound in sounds)
    untried = sum(bool(result.failure) for result in results)
    return (
        f"Found {len(hits)} of {len(results)} bugs, named {named} of these in the first three"
        f" lines; median time to the finding {median}; {alarms} false alarms in {cases} cases"
        + (f"; {untried} not tried" if untried else "")
        + "."
    )


def page(results: Sequence[Result], sounds: Sequence[Sound]) -> Iterator[str]:
    """Yield the lines of the table that a release publishes."""
    yield f"# The corpus of planted bugs, {VERSION}"
    yield ""
    yield summary(results, sounds)
    yield ""
    yield "| business | language | bug | examination | found | named | seconds |"
    yield "|---|---|---|---|---|---|---|"
    for result in results:
        row, (found, named) = result.row, verdict(result)
        examination = " ".join(["test", row.examination, row.only]).rstrip()
        yield (
            f"| {row.business.name} | {row.business.language} | {row.bug} | {examination}"
            f" | {found} | {named} | {result.seconds:.0f} |"
        )
    missed = [result for result in results if result.row.reason and not result.is_found]
    if missed:
        yield ""
        yield "Why a bug is not found:"
        yield ""
    for reason in dict.fromkeys(result.row.reason for result in missed):
        names = ", ".join(result.row.name for result in missed if result.row.reason == reason)
        yield f"- {reason} ({names})"
    if sounds:
        yield ""
        yield "| business without bugs | examination | cases | false alarms | seconds |"
        yield "|---|---|---|---|---|"
    for sound in sounds:
        alarms = sound.failure or len(sound.alarms)
        yield (
            f"| {sound.business.name} | test {sound.examination} | {sound.cases} | {alarms}"
            f" | {sound.seconds:.0f} |"
        )
