"""The Arazzo workflows of ``docs/workflows``, run by Redocly's Respect against a server."""

from __future__ import annotations

import json
import re
from pathlib import Path

from contract_tests import ROOT
from contract_tests.surfaces.clients.workshop import Documents, GateError, Workshop

WORKFLOWS = sorted((ROOT / "docs" / "workflows").glob("*.arazzo.yaml"))

CHECKS = re.compile(r"Checks: (?P<passed>\d+) passed, (?P<total>\d+) total")


def respect(work: Workshop, url: str, documents: Documents, *chosen: Path, server: str = "") -> None:
    """Run the workflows, all unless some are chosen, with the documents beside them. Every check must pass.

    ``server`` is the input ``url`` of those that have one.
    """
    work.write("service.json", json.dumps(documents.service))
    work.write("control.json", json.dumps(documents.control))
    files = [work.write(file.name, file.read_text("utf-8")).name for file in chosen or WORKFLOWS]
    inputs = ["--input", f"inbox={url}/_emulator/inbox/shop", *(["--input", f"url={server}"] if server else [])]
    said = work.run(work.tools.node / "redocly", "respect", *files, *inputs)
    counts = [(found["passed"], found["total"]) for found in CHECKS.finditer(said)]
    if len(counts) != len(files) or any(passed != total for passed, total in counts):
        raise GateError(said[-4000:])
