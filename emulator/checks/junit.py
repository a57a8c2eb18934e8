"""JUnit XML, the report that CI systems read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree


class TestFailure(NamedTuple):
    """Why a test case failed: a sentence, the details, and the kind of failure where there are several."""

    message: str
    text: str = ""
    type: str | None = None


class TestCase(NamedTuple):
    """One test case, which passed if it has no failures."""

    name: str
    failures: Sequence[TestFailure] = ()


def report(suite: str, classname: str, cases: Sequence[TestCase], **attributes: str) -> str:
    """Return the XML of a test suite; ``attributes`` of the suite are added, or replace those that are counted."""
    counted = {"tests": str(len(cases)), "failures": str(sum(bool(case.failures) for case in cases))}
    root = ElementTree.Element("testsuite", {"name": suite, **counted, **attributes})
    for case in cases:
        element = ElementTree.SubElement(root, "testcase", classname=classname, name=case.name)
        for failure in case.failures:
            type = {} if failure.type is None else {"type": failure.type}
            ElementTree.SubElement(element, "failure", {**type, "message": printable(failure.message)}).text = (
                printable(failure.text) or None
            )
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def printable(text: str) -> str:
    """Return the text without characters that are invalid in XML or control a terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)
