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
    """One test case, which passed if it has no failures. ``skipped`` says why it was not run."""

    name: str
    failures: Sequence[TestFailure] = ()
    skipped: str | None = None


def report(suite: str, classname: str, cases: Sequence[TestCase], **attributes: str) -> str:
    """Return the XML of a test suite, as :func:`test_suite` takes it."""
    return _xml(test_suite(suite, classname, cases, **attributes))


def report_of_suites(name: str, suites: Sequence[ElementTree.Element]) -> str:
    """Return the XML of several test suites."""
    root = ElementTree.Element("testsuites", name=name)
    root.extend(suites)
    return _xml(root)


def _xml(root: ElementTree.Element) -> str:
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def test_suite(name: str, classname: str, cases: Sequence[TestCase], **attributes: str) -> ElementTree.Element:
    """Return the element of a test suite; ``attributes`` are added, or replace those that are counted."""
    counted = {"tests": str(len(cases)), "failures": str(sum(bool(case.failures) for case in cases))}
    root = ElementTree.Element("testsuite", {"name": name, **counted, **attributes})
    for case in cases:
        element = ElementTree.SubElement(root, "testcase", classname=classname, name=case.name)
        for failure in case.failures:
            type = {} if failure.type is None else {"type": failure.type}
            ElementTree.SubElement(element, "failure", {**type, "message": printable(failure.message)}).text = (
                printable(failure.text) or None
            )
        if case.skipped is not None:
            ElementTree.SubElement(element, "skipped", message=printable(case.skipped))
    return root


def printable(text: str) -> str:
    """Return the text without characters that are invalid in XML or control a terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)
