"""How near a test is to a line of code: the more words both have, and the rarer these are, the nearer."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path


class Relevance:
    """The words of each test: those of its name, and of its function in the file that the name begins with."""

    def __init__(self, root: Path, tests: Iterable[str]) -> None:
        self._functions = cache(lambda path: functions((root / path).read_text("utf-8")))
        self._words = {test: self._words_of(test) for test in tests}
        self._frequency = Counter(word for each in self._words.values() for word in each)

    def of(self, test: str, near: set[str]) -> float:
        """How near a test is to something with these words."""
        number = len(self._words)
        return sum(math.log(1 + number / self._frequency[word]) for word in near & self._words[test])

    def _words_of(self, test: str) -> set[str]:
        path, _, name = test.partition("::")
        return words(test) | self._functions(path).get(name.rpartition("::")[2].partition("[")[0], set())


def functions(source: str) -> dict[str, set[str]]:
    """The words of each function of a module by its name, decorators included."""
    lines = source.splitlines()
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(each.lineno for each in (node, *node.decorator_list))
            found[node.name] = words("\n".join(lines[first - 1 : node.end_lineno]))
    return found


def words(text: str) -> set[str]:
    """The words of identifiers, in lower case and without the plural."""
    return {word.lower().rstrip("s") for word in re.findall("[A-Z]?[a-z]{3,}|[A-Z]{4,}", text)}
