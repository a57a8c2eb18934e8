"""A failed assertion as a sentence: what happened, and what the test wanted."""

from __future__ import annotations

import re

from emulator.core.event_types import EVENTS
from emulator.presentation.languages.wording import MONEY_FIELDS


def sentence_of(why: str) -> str:
    """Return what a failure means: its statement, if it is known, and then its message.

    Empty for a failure of no kind that is known here.
    """
    return (
        _of_count(why) or _of_membership(why) or _of_field(why) or _of_message(why.partition("\n"))
    )


_COUNTED = re.compile(
    r"assert (?P<left>\d+) == (?P<right>\d+)\s+\+\s+where (?P<count>\d+) ="
    r" (?:<built-in method count of .+? object at \w+>"
    r"|len\(.*\)\s+\+\s+where .+ = (?:of|<bound method Events\.of of .+>))\('(?P<event>[\w.]+)'\)"
)
"""A count of events as pytest explains it: of ``events.types.count(TYPE)``, or of
``len(events.of(TYPE))``.
"""


def _of_count(why: str) -> str:
    counted = _COUNTED.search(why)
    if counted is None or counted["event"] not in EVENTS:
        return ""
    number, wanted = counted["left"], counted["right"]
    if counted["count"] != number:
        number, wanted = wanted, number
    times = "1 time" if number == "1" else f"{number} times"
    return f"{counted['event']} happened {times}, not {wanted}."


_MEMBER = re.compile(r"assert '(?P<event>[\w.]+)' (?P<absent>not )?in \[")


def _of_membership(why: str) -> str:
    member = _MEMBER.search(why)
    if member is None or member["event"] not in EVENTS:
        return ""
    outcome = "happened, which the test rules out" if member["absent"] else "did not happen"
    return f"{member['event']} {outcome}."


_STATEMENT = re.compile(r"^assert (?P<left>\S.*) == (?P<right>[^,\n]+)$", re.MULTILINE)
_COMPARED = re.compile(
    r"^(?:AssertionError: )?assert (?P<left>'[^'\n]*'|\d+) == (?P<right>'[^'\n]*'|\d+)$",
    re.MULTILINE,
)
_FIELD = re.compile(r"(?:\[[\"'](?P<key>\w+)[\"']\]|\.(?P<attribute>[a-z_]+))$")


def _of_field(why: str) -> str:
    """Return that a field has another value: a status, an amount in minor units."""
    statement, compared = _STATEMENT.search(why), _COMPARED.search(why)
    if statement is None or compared is None:
        return ""
    for side, other in (("left", "right"), ("right", "left")):
        if field := _FIELD.search(statement[side]):
            name = field["key"] or field["attribute"]
            actual, wanted = (compared[place].strip("'") for place in (side, other))
            if name in MONEY_FIELDS and actual.isdecimal() and wanted.isdecimal():
                actual, wanted = f"{int(actual):,} minor units", f"{int(wanted):,}"
            return f"The {name.replace('_', ' ')} is {actual or 'empty'}, not {wanted or 'empty'}."
    return ""


def _of_message(lines: tuple[str, str, str]) -> str:
    """Return the first line of a message that says what is wrong in words."""
    first, _, others = lines
    message = others.partition("\n")[0] if first.startswith("assert ") else first
    name, _, text = message.partition(": ")
    if name != "AssertionError" or not text or text.startswith("assert "):
        return ""
    return f"{text[0].upper()}{text[1:].rstrip('.:')}."
