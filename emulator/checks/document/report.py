"""The report of ``compare document``: results by operation and by link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from emulator.checks.report import Finding, Report, printable

CHECKED = "everything could be checked"


@dataclass(frozen=True)
class FailedCheck:
    """One failed check of an operation: the request as a curl command, and the response."""

    check: str
    message: str
    status: int | None
    response: str
    curl: str


@dataclass
class OperationCount:
    """Counts of an operation's requests: all; valid; of these, successful or rejected by state."""

    operation: str
    requests: int = 0
    valid: int = 0
    succeeded: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], FailedCheck] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """The share of valid requests that succeeded, 0 to 1."""
        return self.succeeded / self.valid if self.valid else 0.0


@dataclass
class DocumentResults:
    """All results.

    ``links`` has the status of each link, 0 if it could not be followed. ``errors`` are those
    of the examination itself, ``notes`` name objects that the server did not create, so that
    requests for them could not succeed.
    """

    operations: dict[str, OperationCount] = field(default_factory=dict)
    checks: Counter[str] = field(default_factory=Counter)
    links: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def count_of(self, operation: str) -> OperationCount:
        """Return the counts of an operation, given by its method and path."""
        return self.operations.setdefault(operation, OperationCount(operation))

    @property
    def requests(self) -> int:
        return sum(count.requests for count in self.operations.values())

    @property
    def followed(self) -> int:
        """The number of links that succeeded."""
        return sum(0 < status < 300 for status in self.links.values())

    def report(self) -> Report:
        """Return the report: a finding for each response that does not match the document."""
        failed = [
            (failure, count.operation)
            for count in self.operations.values()
            for failure in count.failures.values()
        ]
        findings = []
        for failure, operation in failed:
            response = f"{failure.status or 'no response'} {failure.response}".strip()
            details = [printable(line) for line in (*failure.message.splitlines(), response)]
            findings.append(
                Finding(
                    operation,
                    f"{operation}: {failure.check}",
                    details,
                    again=printable(failure.curl),
                )
            )
        findings += [Finding(CHECKED, printable(error)) for error in self.errors]
        verdict = f"{'Some responses do not' if findings else 'All responses'} match the document."
        right = [count.operation for count in self.operations.values() if not count.failures]
        right += [] if self.errors else [CHECKED]
        notes = [
            *self._table(),
            *(f"not created: {printable(note)}" for note in dict.fromkeys(self.notes)),
        ]
        kinds = (
            f"{len(self.checks)} kinds of check; {self.followed} of {len(self.links)} links"
            " succeeded"
        )
        notes.append(f"{self.requests} requests in {self.seconds:.0f} s; {kinds}.")
        return Report(
            "compare document", verdict, findings, right=right, notes=notes, facts=self._facts()
        )

    def _table(self) -> Iterator[str]:
        """Yield a line for each operation: its requests, valid, successful and failed ones."""
        counts = sorted(
            self.operations.values(), key=lambda count: count.operation.split(" ")[::-1]
        )
        width = max((len(count.operation) for count in counts), default=0)
        yield f"{'operation'.ljust(width)}  requests  valid  succeeded  failures"
        for count in counts:
            numbers = (
                f"{count.requests:>8}  {count.valid:>5}  {count.rate:>9.0%} "
                f" {len(count.failures):>8}"
            )
            yield f"{count.operation.ljust(width)}  {numbers}"

    def _facts(self) -> dict[str, object]:
        # Not asdict, whose copies of a Counter count its items.
        rows = [
            vars(count)
            | {
                "rate": round(count.rate, 3),
                "failures": [*map(vars, count.failures.values())],
            }
            for count in self.operations.values()
        ]
        return {
            "requests": self.requests,
            "seconds": round(self.seconds, 1),
            "operations": rows,
            "checks": dict(self.checks),
            "links": self.links,
            "problems": self.errors,
            "not_created": self.notes,
        }
