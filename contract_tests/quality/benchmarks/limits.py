"""What limits each figure: a phrase for each row of the page, and the instructions of a request."""

from __future__ import annotations

from contract_tests.quality.benchmarks import profile
from contract_tests.quality.benchmarks.clock import NEW, REPLACED

LIMITS = {
    "start to first": "imports, two thirds of them [Connexion's](connexion-start.md)",
    "--help": "the start of Python and click",
    "exec": "one start of a server",
    "plugin": "nothing is imported before a fixture is used",
    "room": "fonts and Connexion's libraries",
    "memory at start": "Connexion and its libraries",
    "memory per customer": "the customer, its event and the places of both",
    "GET one: rate": "many short calls: operation, world, id, journal, coverage",
    "list 20: rate": "JSON; else as a GET",
    "two servers beside one: list": "two cores for nginx, database, load and servers",
    "create, tinydb": "JSON of what has changed",
    "create, sqlite": "one transaction",
    "create, postgresql": "one round trip to the database, and the driver",
    "create: rate": "three records with their indexes, undo, the search for secrets",
    "renewals": f"{NEW} new records, {REPLACED} replaced",
    "longest wait": "time slices of 4 ms, and memory",
    "each renewal": "versions of records, instants, ids, places in tables",
    "worlds of tests: each, one": "the records and parts of a world",
}
"""By what is in the name of a measure, what limits it; the first that fits."""

HEAD = """
## Instructions

Bytecode instructions of one request and of one renewal, by the part of the program they are in; they are the same on
every machine. Calls to C count as one.
"""


def limit(measure: str) -> str:
    """What limits a figure, as far as it is known."""
    return next((phrase for part, phrase in LIMITS.items() if part in measure), "")


def instructions() -> str:
    """Return the section on the instructions of a request."""
    return f"{HEAD}\n{profile.markdown(profile.profiles())}"
