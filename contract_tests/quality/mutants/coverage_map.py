"""Which tests execute a line, and how long each takes: recorded once for each folder of tests, in ``build/mutants``."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from coverage import CoverageData

from contract_tests import ROOT
from contract_tests.quality.mutants.mutations import Mutant
from contract_tests.quality.mutants.relevance import Relevance, words

FOLDER = ROOT / "build" / "mutants"

PACKAGES = ("core", "resources", "web", "engine")
"""The packages of the emulator that are mutated."""

TESTS = (
    *(f"contract/{name}" for name in ("core", "resources", "rules", "scenarios", "http", "engine", "web")),
    *("robustness/state", "surfaces/control", "surfaces/console", "surfaces/pages"),
)
"""The folders of tests that run in one process with what they test."""


def build(folders: Iterable[str]) -> None:
    """Run folders of tests under coverage, one after the other, and store what each test executes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sources = os.pathsep.join(str(ROOT / "emulator" / package) for package in PACKAGES)
    for folder in folders:
        names = {"FOLDER": folder.replace("/", "."), "COVERAGE": str(FOLDER), "SOURCES": sources}
        environment = {f"CONTRACT_TESTS_{name}": value for name, value in names.items()}
        plugins = ["-p", "contract_tests.quality.mutants.coverage_plugin", "-p", "no:cacheprovider"]
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
        self._relevance = Relevance(ROOT, filter(self._is_usable, self.seconds))
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._paths = [str(file.relative_to(ROOT)) for file in sources()]

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that execute a mutant, the most promising first.

        What is executed on import, or when a server starts that many tests share, concerns the tests of the lines that
        use it, or else every test.
        """
        lines = self._of(mutant.path)
        for first in (mutant.line, mutant.statement):
            found: set[str] = set().union(*(lines.get(line, ()) for line in range(first, mutant.last_line + 1)))
            if "" in found:
                found |= self._of_users(mutant) or set(self.seconds)
            if found:
                break
        return self._ordered(mutant, filter(self._is_usable, found))

    def _of_users(self, mutant: Mutant) -> set[str]:
        """The tests of the lines that name what a statement at the top of a module or class defines."""
        source = (ROOT / mutant.path).read_text("utf-8")
        named = re.compile(rf"\b(?:{'|'.join(defined(source, mutant.statement)) or '(?!)'})\b")
        found: set[str] = set()
        for path in self._paths:
            for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
                if named.search(line):
                    found |= self._of(path).get(number, set())
        return found - {""}

    def _is_usable(self, test: str) -> bool:
        return test in self.seconds and test.split("::", maxsplit=1)[0] not in self.changed

    def _ordered(self, mutant: Mutant, tests: Iterable[str]) -> list[str]:
        """Alternately the test that is nearest to the mutant by its words, and the fastest of the next module."""
        fastest = sorted(tests, key=lambda test: (self.seconds[test], test))
        lines = (ROOT / mutant.path).read_text("utf-8").splitlines()
        near = words(f"{mutant.path} {lines[mutant.statement - 1]} {lines[mutant.line - 1]}")
        closest = sorted(fastest, key=lambda test: -self._relevance.of(test, near))
        modules: Counter[str] = Counter()
        rounds = []
        for test in fastest:
            module = test.partition("::")[0]
            modules[module] += 1
            rounds.append((modules[module], test))
        varied = [test for _, test in sorted(rounds, key=lambda each: each[0])]
        return list(dict.fromkeys(chain.from_iterable(zip(closest, varied, strict=True))))

    def _of(self, path: str) -> dict[int, set[str]]:
        """The tests by line of a module; of what was executed on import, an empty name."""
        if path not in self._lines:
            lines: dict[int, set[str]] = defaultdict(set)
            for data in self._data:
                for line, contexts in data.contexts_by_lineno(str(ROOT / path)).items():
                    lines[line].update(contexts)
            self._lines[path] = lines
        return self._lines[path]


def sources() -> list[Path]:
    """The modules that are mutated."""
    return [file for package in PACKAGES for file in sorted((ROOT / "emulator" / package).rglob("*.py"))]


def defined(source: str, line: int) -> list[str]:
    """The names that the statement on a line assigns."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno == line:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return []


def digest(file: Path) -> str:
    """A hash of a file's content; empty for a file that is gone."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""
