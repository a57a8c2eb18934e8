"""Which tests execute a line, and how long each takes: recorded once for each folder of tests, in ``build/mutants``."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path, PurePath

from coverage import CoverageData

from contract_tests.mutants.mutations import Mutant

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "mutants"

PACKAGES = ("core", "resources", "web", "engine")
"""The packages of the emulator that are mutated."""

TESTS = ("core", "resources", "rules", "scenarios", "http", "engine", "state", "control", "web", "console", "pages")
"""The folders of tests that run in one process with what they test."""


def build(folders: Iterable[str]) -> None:
    """Run folders of tests under coverage, one after the other, and store what each test executes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sources = os.pathsep.join(str(ROOT / "emulator" / package) for package in PACKAGES)
    for folder in folders:
        names = {"FOLDER": folder, "COVERAGE": str(FOLDER), "SOURCES": sources}
        environment = {f"CONTRACT_TESTS_{name}": value for name, value in names.items()}
        plugins = ["-p", "contract_tests.mutants.coverage_plugin", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", "-q", *plugins, f"contract_tests/{folder}"]
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False)


class CoverageMap:
    """What is recorded. Tests of files that have changed since are left out: they may have other names by now."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.seconds: dict[str, float] = {}
        self.changed: set[str] = set()
        self._data = []
        for file in sorted(folder.glob("*.json")):
            recorded = json.loads(file.read_text("utf-8"))
            self.changed |= {name for name, before in recorded["files"].items() if digest(ROOT / name) != before}
            self.seconds |= recorded["seconds"]
            data = CoverageData(str(file.with_suffix(".coverage")))
            data.read()
            self._data.append(data)
        self._lines: dict[str, dict[int, set[str]]] = {}

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that execute a mutant, those of its own test module first, then the fastest of each module.

        A line that is executed on import concerns every test of its module.
        """
        lines = self._of(mutant.path)
        for first in (mutant.line, mutant.statement):
            found: set[str] = set().union(*(lines.get(line, ()) for line in range(first, mutant.last_line + 1)))
            if found == {""}:
                found = set().union(*lines.values())
            if found:
                break
        return self._ordered(mutant, (test for test in found if self._is_usable(test)))

    def _is_usable(self, test: str) -> bool:
        return test in self.seconds and test.split("::", maxsplit=1)[0] not in self.changed

    def _ordered(self, mutant: Mutant, tests: Iterable[str]) -> list[str]:
        modules: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            modules[test.split("::")[0]].append(test)
        stem = PurePath(mutant.path).stem.removesuffix("_operations")
        named = list(chain.from_iterable(modules.pop(module) for module in sorted(modules) if stem in module))
        rounds = enumerate(modules.values())
        others = sorted((turn, number, test) for number, module in rounds for turn, test in enumerate(module))
        return named + [test for _, _, test in others]

    def _of(self, path: str) -> dict[int, set[str]]:
        """The tests by line of a module; of what was executed on import, an empty name."""
        if path not in self._lines:
            lines: dict[int, set[str]] = defaultdict(set)
            for data in self._data:
                for line, contexts in data.contexts_by_lineno(str(ROOT / path)).items():
                    lines[line].update(contexts)
            self._lines[path] = lines
        return self._lines[path]


def digest(file: Path) -> str:
    """What tells two versions of a file apart; of a file that is gone, nothing."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""
