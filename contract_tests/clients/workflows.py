"""The Arazzo workflows of ``docs/workflows``, run by Redocly's Respect against a server."""

from __future__ import annotations

import json
import re
from pathlib import Path

from contract_tests.clients.workshop import Documents, GateError, Workshop

WORKFLOWS = sorted((Path(__file__).parents[2] / "docs" / "workflows").glob("*.arazzo.yaml"))

CHECKS = re.compile(r"Checks: (?P<passed>\d+) passed, (?P<total>\d+) total")


def respect(work: Workshop, url: str, documents: Documents, *chosen: Path, **inputs: str) -> None:
    """Run the workflows, all unless some are chosen, with the documents beside them. Every check must pass."""
    work.write("service.json", json.dumps(documents.service))
    work.write("control.json", json.dumps(documents.control))
    files = [work.write(file.name, file.read_text("utf-8")).name for file in chosen or WORKFLOWS]
    given = {"inbox": f"{url}/_emulator/inbox/shop", **inputs}
    options = [part for name, value in given.items() for part in ("--input", f"{name}={value}")]
    said = work.run(work.tools.node / "redocly", "respect", *files, *options)
    counts = [(found["passed"], found["total"]) for found in CHECKS.finditer(said)]
    if len(counts) != len(files) or any(passed != total for passed, total in counts):
        raise GateError(said[-4000:])
