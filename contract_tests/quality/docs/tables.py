"""Tables in the pages that the code knows: written between markers by ``python -m contract_tests.quality.docs.tables``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import yaml

from contract_tests.contract.document.reader import operations
from contract_tests.quality.docs.pages import PAGES, ROOT
from contract_tests.quality.drift import commands as cli
from contract_tests.quality.drift.constraints import constraints, constraints_by_source
from emulator.checks.document import exceptions
from emulator.checks.document.exceptions import RULES as BEYOND_SCHEMAS
from emulator.checks.suite.table import AREAS
from emulator.document import bundles
from emulator.document.probes import collected
from emulator.engine.reference_data import numbered_assumptions
from emulator.insight.audit import audit
from emulator.resources.app.settings import Settings

Cells = Iterable[object]


def _table(*head: str, rows: Iterable[Cells]) -> str:
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines])


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def probes() -> str:
    """Return how many assumptions have a probe, and how many requests the probes make."""
    known = collected()
    numbers = {probe.number for probe in known.probes.values()}
    alone = [name for name, probe in known.probes.items() if not probe.needs]
    return (
        f"{len(known.probes)} probes ask about {len(numbers)} of {len(numbered_assumptions())} assumptions, with at most "
        f"{known.budget(known.probes)} requests; {len(alone)} of them need nothing but a key and make at most "
        f"{known.budget(alone)}."
    )


def sources() -> str:
    """Return how many constraints of the document come from where."""
    counted = constraints_by_source()
    total = f"{len(constraints())} constraints, {counted.get('', 0)} without a source."
    rows = list(counted.items())
    return f"{total}\n\n{_table('source', 'constraints', rows=rows)}"


def settings() -> str:
    """Return every setting of an App with its default."""
    described = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    usual = msgspec.to_builtins(Settings())
    rows = [
        (f"`{name}`", f"`{msgspec.json.encode(usual[name]).decode()}`", _sentence(described[name]))
        for name in Settings.__struct_fields__
        if name in described
    ]
    return _table("setting", "default", "what it does", rows=rows)


def _sentence(schema: dict[str, str]) -> str:
    return " ".join(schema.get("description", "").split())


def control() -> str:
    """Return every operation of the control API."""
    rows = [
        (f"`{each.method} /_emulator{each.path}`", each.node["summary"]) for each in operations(bundles.load("control"))
    ]
    return _table("call", "what it does", rows=rows)


def rules() -> str:
    """Return every rule of the audit."""
    return _table(
        "rule",
        "severity",
        "what is asked",
        "section",
        rows=[(f"`{r.name}`", r.severity, r.advice, r.section) for r in audit.rules()],
    )


def commands() -> str:
    """Return each command with its arguments and what it does."""
    rows = [
        (_code(" ".join([*path, *cli.arguments(command)])), command.get_short_help_str(100))
        for path, command in cli.commands()
    ]
    return _table("command", "does", rows=rows)


def mutants() -> str:
    """Return what ``test suite`` runs a test suite against, by area; what to look at is said by ``--list``."""
    return "\n\n".join(
        f"### {area}\n\n{_table('name', 'no test fails when …', rows=[(_code(row.name), row.wrong) for row in own])}"
        for area, own in AREAS.items()
    )


def rules_beyond_schemas() -> str:
    """By operation and field, what is rejected though the schemas of the document allow it."""
    rows = [
        (_code(operation), "any" if field == "*" else _code(field), why)
        for operation, fields in BEYOND_SCHEMAS.items()
        for field, why in fields.items()
    ]
    return _table("operation", "field", "rule", rows=rows)


def rules_of_state() -> str:
    """By operation, the codes with which the state of a world rejects what the schemas allow."""
    known = [each for name in ("service", "control") for each in operations(bundles.load(name))]
    rows = [(id, exceptions.codes(id, each.path)) for each in known for id in [each.node["operationId"]]]
    listed = [(_code(id), ", ".join(map(_code, codes))) for id, codes in rows if codes]
    return _table("operation", "codes", rows=[*listed, ("any", ", ".join(map(_code, exceptions.ANY_OPERATION)))])


def workflows() -> str:
    """Return each Arazzo workflow that comes with the emulator."""
    read = ((file, yaml.safe_load(file.read_text("utf-8"))) for file in sorted((ROOT / "docs/workflows").iterdir()))
    rows = [(_code(file.name), each["info"]["summary"], len(each["workflows"][0]["steps"])) for file, each in read]
    return _table("file", "what happens", "steps", rows=rows)


def subscription_shop() -> str:
    """Return the example shop in Python, whole."""
    return f"```python\n{(ROOT / 'docs/examples/subscription-shop/shop.py').read_text('utf-8')}```"


TABLES: dict[str, Callable[[], str]] = {
    "probes": probes,
    "sources": sources,
    "settings": settings,
    "control API": control,
    "rules": rules,
    "commands": commands,
    "mutants": mutants,
    "subscription shop": subscription_shop,
    "workflows": workflows,
    "rules beyond schemas": rules_beyond_schemas,
    "rules of state": rules_of_state,
}
"""What each pair of markers ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` holds."""

_MARKED = re.compile(r"(<!-- begin: (?P<name>[^>]+) -->\n).*?(<!-- end: (?P=name) -->)", re.S)


def filled(text: str) -> str:
    """Return a page with its tables as the code knows them now. Raises ``KeyError`` for an unknown table."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n\n{found[3]}", text)


def main(pages: Iterable[Path] = PAGES) -> None:
    """Write all tables again."""
    for page in pages:
        page.write_text(filled(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
