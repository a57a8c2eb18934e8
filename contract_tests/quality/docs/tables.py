"""Pages' tables from the code, in markers: ``python -m contract_tests.quality.docs.tables``."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import yaml

from contract_tests.quality.docs.pages import PAGES, ROOT
from contract_tests.quality.drift import commands as cli
from emulator.document import bundles
from emulator.document.probes import collected
from emulator.engine.reference_data import numbered_assumptions
from emulator.insight.audit import audit
from emulator.resources.app.settings import Settings, values_of_assumptions
from emulator.resources.reckoned_fields import BROUGHT, RECKONED

Cells = Iterable[object]


def _table(*head: str, rows: Iterable[Cells]) -> str:
    lines = [
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
        for row in rows
    ]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines])


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def probes() -> str:
    """Return how many assumptions have a probe, and how many requests the probes make."""
    known = collected()
    numbers = {probe.number for probe in known.probes.values()}
    alone = [name for name, probe in known.probes.items() if not probe.needs]
    return (
        f"{len(known.probes)} probes ask about {len(numbers)} of {len(numbered_assumptions())}"
        f" assumptions, with at most {known.budget(known.probes)} requests; {len(alone)} of them"
        f" need nothing but a key and make at most {known.budget(alone)}."
    )


def settings() -> str:
    described = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    usual = msgspec.to_builtins(Settings())
    usual["assumptions"] = values_of_assumptions(Settings())
    rows = [
        (f"`{name}`", f"`{msgspec.json.encode(usual[name]).decode()}`", _sentence(described[name]))
        for name in Settings.__struct_fields__
        if name in described
    ]
    return _table("setting", "default", "what it does", rows=rows)


def _sentence(schema: dict[str, str]) -> str:
    return " ".join(schema.get("description", "").split())


def rules() -> str:
    return _table(
        "name",
        "severity",
        "rule",
        "section",
        rows=[(f"`{r.name}`", r.severity, r.advice, r.section) for r in audit.rules()],
    )


def commands() -> str:
    rows = [
        (_code(" ".join([*path, *cli.arguments(command)])), command.get_short_help_str(100))
        for path, command in cli.commands()
    ]
    return _table("command", "does", rows=rows)


def workflows() -> str:
    read = (
        (file, yaml.safe_load(file.read_text("utf-8")))
        for file in sorted((ROOT / "docs/workflows").iterdir())
    )
    rows = [
        (_code(file.name), workflow["info"]["summary"], len(workflow["workflows"][0]["steps"]))
        for file, workflow in read
    ]
    return _table("file", "what happens", "steps", rows=rows)


def subscription_shop() -> str:
    source = (ROOT / "docs/examples/subscription-shop/shop.py").read_text("utf-8")
    methods = {
        node.name: ast.get_source_segment(source, node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }
    code = "\n\n\n".join(
        f"    {methods[name]}"
        for name in ("has_access", "pay_now", "reconcile", "_look_up", "_handle")
    )
    return f"<!-- not run: it is a part of the shop -->\n```python\n{textwrap.dedent(code)}\n```"


def set_elsewhere() -> str:
    """Return by kind the fields and statuses that cannot be set directly; the 422 says what can."""
    rows: list[Cells] = []
    for kind in dict.fromkeys((*RECKONED, *BROUGHT)):
        fields, statuses = (sorted(table.get(kind, ())) for table in (RECKONED, BROUGHT))
        listed = (
            "".join(f", `{name}`" for name in names)[2:] or "–" for names in (fields, statuses)
        )
        rows.append((kind.kind.replace("_", " "), *listed))
    return _table("object", "fields", "statuses", rows=rows)


TABLES: dict[str, Callable[[], str]] = {
    "probes": probes,
    "settings": settings,
    "rules": rules,
    "set elsewhere": set_elsewhere,
    "commands": commands,
    "subscription shop": subscription_shop,
    "workflows": workflows,
}
"""What each pair of markers ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` holds."""

_MARKED = re.compile(r"(<!-- begin: (?P<name>[^>]+) -->\n).*?(<!-- end: (?P=name) -->)", re.S)


def filled(text: str) -> str:
    """Return a page with its tables as of now. Raises ``KeyError`` for an unknown table."""
    return _MARKED.sub(lambda match: f"{match[1]}\n{TABLES[match['name']]()}\n\n{match[3]}", text)


def main(pages: Iterable[Path] = PAGES) -> None:
    for page in pages:
        page.write_text(filled(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
