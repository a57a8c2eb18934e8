"""Validation by rules: what is wrong with a request beyond its form is collected before anything is done (B-12).

A *check* is a function ``(found, world, body, **path parameters)`` that states each rule in a block of its own::

    def check(found: Violations, world: World, body: Body) -> None:
        currency: str | None = None
        with found:
            currency = amounts.enabled(world, body["currency"])
        with found:
            amounts.chargeable(world, body["amount"], currency, "amount")

A block that raises an :class:`ApiError` about a field has found a violation; a block that reads a field whose form is
invalid is skipped. So a check states the rules only, for valid and for partly invalid bodies alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import update_wrapper
from types import TracebackType
from typing import Any

from emulator.core.errors import ApiError, combine
from emulator.core.world import World

Body = Mapping[str, Any]
Check = Callable[..., None]

REPORTED = (400, 403, 422)
"""Statuses of violations: 422, 403 of a currency and 400 of a refund's amount.

404 and 409 are about other objects, which come later (B-05).
"""


class Violations:
    """The violations of one request; as a context manager, one rule."""

    def __init__(self) -> None:
        self.errors: list[ApiError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if isinstance(error, ApiError) and error.errors and error.status in REPORTED:
            self.errors.append(error)
        # Any other error is raised again by the operation itself.
        return isinstance(error, ApiError | InvalidFieldRead)


class InvalidFieldRead(Exception):
    """A rule reads a field whose form is invalid: it cannot be judged."""


class ValidPart(dict[str, Any]):
    """The valid fields of an object. To ask for one that is invalid, or for all where one is, raises
    :class:`InvalidFieldRead`.
    """

    def __init__(self, fields: Body, invalid: Collection[str]) -> None:
        super().__init__(fields)
        self._invalid = invalid

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._readable(name))

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(self._readable(name))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or the default where it was not given."""
        return super().get(self._readable(name), default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> Any:
        """The names of the fields; ``{**part}`` asks for them too, since this class has an ``__iter__`` of its own."""
        if self._invalid:
            raise InvalidFieldRead(*self._invalid)
        return super().keys()

    def _readable(self, name: Any) -> Any:
        if name in self._invalid:
            raise InvalidFieldRead(name)
        return name


def valid_part(value: Any, invalid: Collection[str], path: str = "") -> Any:
    """A value without the fields at the dotted paths in ``invalid``; a list with an invalid entry is invalid."""
    if isinstance(value, list):
        return [valid_part(entry, invalid, f"{path}.{number}") for number, entry in enumerate(value)]
    if not isinstance(value, dict):
        return value
    prefix = f"{path}." if path else ""
    own = {each.removeprefix(prefix) for each in invalid if each.startswith(prefix)}
    own |= {name for name, part in value.items() if isinstance(part, list) and _entries(part, name) & own}
    valid = {name: valid_part(part, invalid, prefix + name) for name, part in value.items() if name not in own}
    return ValidPart(valid, own)


def _entries(part: list[Any], name: str) -> set[str]:
    """The paths of the entries of a list."""
    return {f"{name}.{number}" for number in range(len(part))}


class Checked:
    """The function of an operation, with the checks that come before it."""

    def __init__(self, function: Callable[..., Any], *checks: Check) -> None:
        self._function = function
        self._checks = checks
        update_wrapper(self, function)

    def __call__(self, world: World, **arguments: Any) -> Any:
        """Execute the operation, or raise one error for all violations (B-12)."""
        if found := self.violations(world, arguments):
            raise combine(found)
        return self._function(world, **arguments)

    def violations(self, world: World, arguments: Mapping[str, Any]) -> list[ApiError]:
        """What the rules find wrong; the ``body`` among the arguments may be a valid part."""
        found = Violations()
        for check in self._checks:
            check(found, world, **arguments)
        return found.errors
