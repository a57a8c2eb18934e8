"""The verifiers of the guide's page "Verify signatures", each with the deliveries of all three signing methods."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from contract_tests.quality.docs.pages import ROOT, samples
from contract_tests.surfaces.clients.generators import TSCONFIG
from contract_tests.surfaces.clients.workshop import GateError, Workshop
from emulator.checks.receiver.certifier import exported
from emulator.checks.receiver.checks import METHODS
from emulator.checks.receiver.service_world import PROOF_HEADERS, ServiceWorld

PAGE = ROOT / "docs" / "guide" / "signatures.md"
SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"

Delivery = dict[str, Any]
Verifier = Callable[[Workshop], Sequence[object]]
"""Compiles the sample of one language where that is needed; the command that runs it."""


def signatures(work: Workshop, url: str) -> None:
    """Each sample accepts what it should and rejects the rest."""
    every = list(_deliveries())
    lines = "".join(map(_line, every))
    for verifier in VERIFIERS:
        verdicts = work.run(*verifier(work), SECRET, input=lines).split()
        wrong = [
            f"{verifier.__name__}: {each['method']} {each['check']} should be {each['expected']}"
            for each, verdict in zip(every, verdicts, strict=True)
            if (verdict == "1") != (each["expected"] == "accepted")
        ]
        if wrong:
            raise GateError("\n".join(wrong))


def _deliveries() -> Iterator[Delivery]:
    for method in METHODS:
        service = ServiceWorld("https://receiver.example.com/webhooks", SECRET, method)
        yield from (delivery for _, delivery in exported(service))


def _line(delivery: Delivery) -> str:
    name, _ = PROOF_HEADERS[delivery["method"]]
    texts = (delivery["headers"].get(name, ""), delivery["body"])
    encoded = [base64.b64encode(text.encode()).decode() for text in texts]
    return "\t".join([delivery["method"], delivery["webhook"], *encoded, str(delivery["at"])]) + "\n"


def _sample(work: Workshop, language: str, file: str, main: str) -> None:
    """Write the first sample of a language, and the program that feeds it."""
    [sample, *_] = [each for each in samples(PAGE) if each.language == language]
    work.write(file, sample.text)
    work.story(f"signatures/{main}", main)


def python(work: Workshop) -> Sequence[object]:
    """Checked by mypy."""
    _sample(work, "python", "signatures.py", "main.py")
    work.run(work.tools.bin / "mypy", "--strict", "main.py")
    return work.tools.bin / "python", "main.py"


def typescript(work: Workshop) -> Sequence[object]:
    """Checked by tsc."""
    _sample(work, "ts", "signatures.ts", "main.ts")
    work.write("tsconfig.json", json.dumps({"compilerOptions": TSCONFIG, "include": ["*.ts"]}))
    work.write("package.json", json.dumps({"type": "module"}))
    work.run(work.tools.node / "tsc", "--project", ".")
    return "node", "main.js"


def go(work: Workshop) -> Sequence[object]:
    """Checked by go vet."""
    _sample(work, "go", "signatures.go", "main.go")
    work.write("go.mod", "module example.com/shop\n\ngo 1.18\n")
    work.run("go", "vet", ".")
    work.run("go", "build", "-o", "verify", ".")
    return (work.folder / "verify",)


def php(work: Workshop) -> Sequence[object]:
    """Return a notice fails it, as it would be a line of its own."""
    _sample(work, "php", "signatures.php", "main.php")
    return "php", "-d", "error_reporting=-1", "-d", "display_errors=1", "main.php"


VERIFIERS: tuple[Verifier, ...] = (python, typescript, go, php)
