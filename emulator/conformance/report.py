"""The report: what an examination found, per operation and per link."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.etree import ElementTree


@dataclass(frozen=True)
class Failing:
    """One way in which an operation fails a check: what was sent, as a curl command, and what came back."""

    check: str
    message: str
    status: int | None
    answer: str
    curl: str


@dataclass
class OperationCount:
    """What was asked of one operation: requests in all, those that should succeed, and those that did."""

    operation: str
    requests: int = 0
    valid: int = 0
    succeeded: int = 0
    failures: dict[tuple[str, str], Failing] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """How many of the valid requests succeeded, 0 to 1."""
        return self.succeeded / self.valid if self.valid else 0.0


@dataclass
class Report:
    """Everything found.

    ``links`` has the status that each link led to, 0 where it could not be followed. ``problems`` are what could not be
    examined, ``notes`` the objects the server does not make, so that requests for them led nowhere.
    """

    operations: dict[str, OperationCount] = field(default_factory=dict)
    checks: Counter[str] = field(default_factory=Counter)
    links: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def tally(self, operation: str) -> OperationCount:
        """The tally of an operation, by its method and path."""
        return self.operations.setdefault(operation, OperationCount(operation))

    def note(self, operation: str, failing: Failing) -> None:
        """Keep a failure, the first of its sort."""
        self.tally(operation).failures.setdefault((failing.check, failing.message), failing)

    @property
    def passed(self) -> bool:
        """Whether every answer passed every check."""
        return not self.problems and not any(tally.failures for tally in self.operations.values())

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return sum(tally.requests for tally in self.operations.values())

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        rows = [
            {
                **asdict(tally),
                "rate": round(tally.rate, 3),
                "failures": [asdict(one) for one in tally.failures.values()],
            }
            for tally in self.operations.values()
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
        }

    def as_junit(self) -> str:
        """The report as JUnit XML: a test case for each operation, and one for what could not be examined."""
        suite = ElementTree.Element("testsuite", name="payments-emulator check", tests=str(len(self.operations) + 1))
        suite.set("failures", str(sum(1 for each in self.operations.values() if each.failures) + bool(self.problems)))
        suite.set("time", f"{self.seconds:.1f}")
        for tally in self.operations.values():
            case = ElementTree.SubElement(suite, "testcase", classname="check", name=tally.operation)
            for failing in tally.failures.values():
                told = ElementTree.SubElement(case, "failure", type=failing.check, message=printable(failing.message))
                told.text = printable(f"{failing.message}\n\n{failing.curl}\n\n{failing.status} {failing.answer}")
        case = ElementTree.SubElement(suite, "testcase", classname="check", name="everything could be examined")
        for problem in self.problems:
            ElementTree.SubElement(case, "failure", type="problem", message=printable(problem))
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def printable(text: str) -> str:
    """The text without the characters that neither XML nor a terminal takes."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)
