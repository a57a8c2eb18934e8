"""The report of a check: results by operation and by link."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from emulator.checks import junit
from emulator.checks.service.verdicts import CalibrationReport


@dataclass(frozen=True)
class Failing:
    """One failed check of an operation: the request as a curl command, and the response."""

    check: str
    message: str
    status: int | None
    answer: str
    curl: str


@dataclass
class OperationCount:
    """The requests of one operation: all, those that are valid, and of these those that succeeded.

    ``rejected`` has how many valid ones a rule of state rejected, by code.
    """

    operation: str
    requests: int = 0
    valid: int = 0
    succeeded: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], Failing] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """The share of valid requests that succeeded, 0 to 1."""
        return self.succeeded / self.valid if self.valid else 0.0


@dataclass
class Report:
    """All results.

    ``links`` has the status of each link, 0 if it could not be followed. ``problems`` are errors of the check itself,
    ``notes`` name objects that the server did not create, so that requests for them could not succeed. ``rules`` are
    the verdicts about the assumptions, if they were asked; ``drift`` is what of them is not as a profile says.
    """

    operations: dict[str, OperationCount] = field(default_factory=dict)
    checks: Counter[str] = field(default_factory=Counter)
    links: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    rules: CalibrationReport | None = None
    drift: list[str] = field(default_factory=list)

    def count_of(self, operation: str) -> OperationCount:
        """Return the counts of an operation, given by its method and path."""
        return self.operations.setdefault(operation, OperationCount(operation))

    def note(self, operation: str, failing: Failing) -> None:
        """Add a failure, unless one with the same check and message is there."""
        self.count_of(operation).failures.setdefault((failing.check, failing.message), failing)

    @property
    def passed(self) -> bool:
        """Whether every response passed every check, and the service is as the profile says, if there is one."""
        failed = self.problems or self.drift or any(count.failures for count in self.operations.values())
        return not failed

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(count.requests for count in self.operations.values())

    @property
    def followed(self) -> int:
        """The number of links that succeeded."""
        return sum(0 < status < 300 for status in self.links.values())

    def as_json(self) -> dict[str, Any]:
        rows = [
            {
                # Not asdict, whose copies of a Counter count its items.
                **vars(count),
                "rate": round(count.rate, 3),
                "failures": [vars(one) for one in count.failures.values()],
            }
            for count in self.operations.values()
        ]
        return {
            "passed": self.passed,
            "requests": self.requests,
            "seconds": round(self.seconds, 1),
            "operations": rows,
            "checks": dict(self.checks),
            "links": self.links,
            "problems": self.problems,
            "notes": self.notes,
            "rules": self.rules and self.rules.as_json(),
            "drift": self.drift,
        }

    def as_junit(self) -> str:
        """Return the report as JUnit XML.

        A test case for each operation, one for errors of the check itself, and one for the rules if they were asked.
        """
        cases = [
            junit.TestCase(count.operation, [*map(_failure, count.failures.values())])
            for count in self.operations.values()
        ]
        problems = [junit.TestFailure(problem, type="problem") for problem in self.problems]
        cases.append(junit.TestCase("everything could be checked", problems))
        if self.rules is not None:
            drift = [junit.TestFailure(line, type="drift") for line in self.drift]
            cases.append(junit.TestCase(f"the rules: {self.rules.counted()}", drift))
        return junit.report("payments-emulator compare document", "check", cases, time=f"{self.seconds:.1f}")


def _failure(failing: Failing) -> junit.TestFailure:
    details = f"{failing.message}\n\n{failing.curl}\n\n{failing.status} {failing.answer}"
    return junit.TestFailure(failing.message, details, failing.check)
