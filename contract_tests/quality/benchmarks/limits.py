"""What limits each figure: the part of the page that explains the tables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from contract_tests.quality.benchmarks import profile
from contract_tests.quality.benchmarks.clock import NEW, REPLACED

HEAD = """
## What limits each figure

Bytecode instructions of one request, on each server, and of one renewal, by the part of the program they are in; they
are the same on every machine. Of the calls to C, the network and the kernel are the same for all servers.
"""

LIMITS = {
    "start to first answer": "Imports: of the processor time, Connexion and what it imports take more than two thirds,"
    " the emulator's own modules a fifth. Reading the document, which is a prepared bundle, and compiling it takes a"
    " twentieth, so a cache of it would gain nothing. What few servers use (control API, console, pages) is imported"
    " with its first request. Less would take a Connexion that imports less.",
    "--help": "The start of Python and click: commands are imported when they are called.",
    "exec -- true": "One start of a server.",
    "memory": "Starlette and Connexion at start. Then a customer, the event and the slots that order both.",
    "GET one": "The request path. Beside the HTTP server it finds the operation, the world and its App's rules, draws"
    " an id, stores the request in the journal and counts it for the coverage: many short calls: none of our"
    " functions has more than a thirtieth of the instructions, so the aim would take leaving a sixth of the work out.",
    "list 20": "JSON. The page of records is prepared in one call, and all else is that of a GET.",
    "create": "Three records with their indexes, a unit of work that can be undone, the request's body searched for"
    " secrets before the journal has it, and the coverage of its changes.",
    "PostgreSQL and nginx": "The cores: nginx, the database, the load and two servers share two of them, where servers"
    " that are asked directly had 1.8 to 2 times as much. Of a machine with more cores each server has its own."
    " Measured once, while other programs kept the cores busy. A kept connection between nginx and the servers doubles"
    " the rate.",
    "create, sqlite": "The statements of one transaction, and the JSON of its records.",
    "create, postgresql": "One statement for each unit of work, and the driver. Answers of one moment share the wait"
    " for the disk, in which the server goes on with other requests.",
    "1,000 subscriptions": f"Records: a renewal makes {NEW} and replaces {REPLACED}. Of its memory, a fifth is"
    " records in the versions they have after a change, a seventh the instants, an eighth the ids, a tenth the places"
    " of records in their tables, a fourteenth the URLs of pages; the rest is new records. None of these is half.",
    "10,000 subscriptions": "As above, and memory.",
    "50,000 subscriptions": "As above, and memory.",
    "1,000 worlds": "The records and parts of a new world; with a webhook, the HTTP exchange with its receiver.",
}
"""What limits the measures whose names begin so: in sentences, where no profile says it."""


def limits(measures: Iterable[str]) -> str:
    """The section: the profile, and a sentence for each group of these measures."""
    names = list(measures)
    said = [
        f"- **{name}**: {sentence}" for name, sentence in LIMITS.items() if any(each.startswith(name) for each in names)
    ]
    return "\n".join([HEAD, _profile(), "", *said])


@cache
def _profile() -> str:
    return profile.markdown(profile.profiles())
