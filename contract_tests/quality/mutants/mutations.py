"""The small changes of a module's source that a test should notice, each as a replaced piece of text.

Only the text of one node is replaced, so that a mutant differs from its module in the lines that are shown.
Annotations, docstrings and f-strings are left alone: a changed annotation changes nothing that runs, or the import.
"""

from __future__ import annotations

import ast
import difflib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

COMPARISONS = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
"""How each comparison is written, as a pattern, and what it becomes."""

ARITHMETIC = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.BitOr: (r"\|", "&"),
    ast.BitAnd: ("&", "|"),
}

NOT_RUN = {"cast", "NewType", "TypeVar", "ParamSpec"}
"""Calls whose strings are for type checkers."""


@dataclass(frozen=True, order=True)
class Mutant:
    """A module with one piece of its text replaced: bytes ``start`` to ``end``.

    The piece stands on lines ``line`` to ``last_line`` of a statement that begins on ``statement``.
    """

    path: str
    line: int
    last_line: int
    statement: int
    start: int
    end: int
    replacement: str
    kind: str

    def applied(self, source: str) -> str:
        """The module with the piece replaced."""
        raw = source.encode()
        return (raw[: self.start] + self.replacement.encode() + raw[self.end :]).decode()

    def compiles(self, source: str) -> bool:
        """Whether the mutant is a program at all; this takes a while, so only chosen mutants are asked."""
        try:
            compile(self.applied(source), self.path, "exec")
        except SyntaxError:
            return False
        return True

    def change(self, source: str) -> tuple[str, str]:
        """The lines that differ, before and after, without the indentation they share."""
        before, after = source.splitlines(), self.applied(source).splitlines()
        for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                return "\n".join(map(str.strip, before[a:b])), "\n".join(map(str.strip, after[c:d]))
        raise ValueError(f"{self} changes nothing")


def mutants(path: str, source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its text; ``path`` is relative to the repository."""
    return sorted(set(_Mutator(path, source).all()))


Change = tuple[int, int, str]
"""From a byte to a byte, and what stands there instead."""


class _Mutator:
    """Walks the tree of one module."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._raw = source.encode()
        self._tree = ast.parse(source)
        self._starts = [0, *accumulate(len(line) for line in self._raw.splitlines(keepends=True))]

    def all(self) -> Iterator[Mutant]:
        for node, statement in self._live(self._tree, 1, False):
            for start, end, text in OPERATORS.get(type(node), _none)(self, node):
                if self._raw[start:end].decode() != text:
                    lines = self._line(start), self._line(end - 1), statement
                    yield Mutant(self._path, *lines, start, end, text, type(node).__name__.lower())

    def _live(self, node: ast.AST, statement: int, in_function: bool) -> Iterator[tuple[ast.AST, int]]:
        """The nodes that are executed, each with the first line of its statement."""
        statement = node.lineno if isinstance(node, ast.stmt) else statement
        yield node, statement
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not self._is_idle(child, inside):
                    yield from self._live(child, statement, inside)

    def _is_idle(self, node: ast.AST, in_function: bool) -> bool:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.JoinedStr():
                return True
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name in NOT_RUN
            case ast.keyword(arg="frozen" | "gc"):
                return True  # nothing assigns a field of a frozen class, and what is collected is not seen
            case ast.BinOp(op=ast.BitOr()):
                return not in_function  # an alias of types
        return False

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def _span(self, node: Any) -> tuple[int, int]:
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._raw[start:end].decode()

    def _whole(self, node: ast.AST, text: str) -> Change:
        return *self._span(node), text

    def _between(self, left: ast.AST, right: ast.AST, pattern: str, text: str) -> Iterator[Change]:
        """The operator that stands between two nodes."""
        first, last = self._span(left)[1], self._span(right)[0]
        found = re.search(pattern.encode(), self._raw[first:last])
        if found:
            yield first + found.start(), first + found.end(), text

    def compare(self, node: ast.Compare) -> Iterator[Change]:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            yield from self._between(left, right, *COMPARISONS[type(operator)])

    def boolean(self, node: ast.BoolOp) -> Iterator[Change]:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._between(left, right, rf"\b{word}\b", other)

    def negation(self, node: ast.UnaryOp) -> Iterator[Change]:
        if isinstance(node.op, ast.Not):
            yield self._whole(node, f"({self._text(node.operand)})")
        elif isinstance(node.op, ast.USub):
            yield self._whole(node, self._text(node.operand))

    def condition(self, node: ast.If | ast.While | ast.IfExp) -> Iterator[Change]:
        yield self._whole(node.test, f"(not ({self._text(node.test)}))")

    def filters(self, node: ast.comprehension) -> Iterator[Change]:
        for test in node.ifs:
            yield self._whole(test, f"(not ({self._text(test)}))")

    def constant(self, node: ast.Constant) -> Iterator[Change]:
        value = node.value
        if isinstance(value, bool):
            yield self._whole(node, str(not value))
        elif isinstance(value, int | float):
            yield self._whole(node, str(value + 1))
        elif isinstance(value, str | bytes):
            yield self._whole(node, repr(value + "XX" if isinstance(value, str) else value + b"XX"))

    def arithmetic(self, node: ast.BinOp) -> Iterator[Change]:
        if type(node.op) in ARITHMETIC:
            yield from self._between(node.left, node.right, *ARITHMETIC[type(node.op)])

    def increment(self, node: ast.AugAssign) -> Iterator[Change]:
        if type(node.op) in ARITHMETIC:
            yield from self._between(node.target, node.value, *ARITHMETIC[type(node.op)])

    def result(self, node: ast.Return) -> Iterator[Change]:
        if node.value is not None:
            yield self._whole(node.value, "None")

    def assignment(self, node: ast.Assign) -> Iterator[Change]:
        yield self._whole(node.value, "None")

    def call(self, node: ast.Expr) -> Iterator[Change]:
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            yield self._whole(node, "pass")

    def error(self, node: ast.Raise) -> Iterator[Change]:
        yield self._whole(node, "pass")

    def loop_exit(self, node: ast.Break | ast.Continue) -> Iterator[Change]:
        yield self._whole(node, "continue" if isinstance(node, ast.Break) else "break")

    def handler(self, node: ast.ExceptHandler) -> Iterator[Change]:
        yield self._span(node.body[0])[0], self._span(node.body[-1])[1], "raise"


def _none(mutator: _Mutator, node: Any) -> Iterator[Change]:
    return iter(())


OPERATORS: dict[type[ast.AST], Callable[[_Mutator, Any], Iterator[Change]]] = {
    ast.Compare: _Mutator.compare,
    ast.BoolOp: _Mutator.boolean,
    ast.UnaryOp: _Mutator.negation,
    ast.If: _Mutator.condition,
    ast.While: _Mutator.condition,
    ast.IfExp: _Mutator.condition,
    ast.comprehension: _Mutator.filters,
    ast.Constant: _Mutator.constant,
    ast.BinOp: _Mutator.arithmetic,
    ast.AugAssign: _Mutator.increment,
    ast.Return: _Mutator.result,
    ast.Assign: _Mutator.assignment,
    ast.Expr: _Mutator.call,
    ast.Raise: _Mutator.error,
    ast.Break: _Mutator.loop_exit,
    ast.Continue: _Mutator.loop_exit,
    ast.ExceptHandler: _Mutator.handler,
}
"""What is changed in each kind of node."""
