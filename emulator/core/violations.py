"""Validation by rules: all that is wrong with a request beyond its form, at once.

A client learns of everything that is wrong with a request at once (B-12): its form by the schema
and, beyond that, by the rules of its operation. So the function of an operation checks each rule in
a block ``with violations:``, where it also derives what it needs later, and changes nothing before
``violations.done()``; ``products.create`` is the shortest example. Where the form is invalid, the
function is given the valid part of the body and comes as far as ``violations.done()``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from inspect import isgenerator
from types import TracebackType
from typing import Any, TypeVar

from emulator.core.errors import ApiError, combine
from emulator.core.world import World

Body = Mapping[str, Any]
NO_BODY: Body = {}
F = TypeVar("F", bound=Callable[..., Any])

REPORTED = (400, 403, 422)
"""Statuses of violations: 422, 403 of a currency and 400 of a refund's amount.

404 and 409 are about other objects, which come later (B-05).
"""


class Violations:
    """The violations of one request.

    Each ``with`` block is one rule, and what it raises is collected here.
    """

    def __init__(self, body: Body) -> None:
        self._errors: list[ApiError] = []
        self._later: ApiError | None = None
        self._is_part = isinstance(body, ValidPart)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if isinstance(error, ApiError):
            if error.errors and error.status in REPORTED:
                self._errors.append(error)
            else:
                self._later = self._later or error
        return isinstance(error, (ApiError, InvalidFieldRead))

    def done(self) -> None:
        """Raise one error for all violations; if there are none, the first error about another
        object (B-05).
        """
        if self._is_part:
            raise RulesChecked(self._errors)
        if self._errors:
            raise combine(self._errors)
        if self._later is not None:
            raise self._later


class RulesChecked(Exception):
    """The rules were checked by the valid part of a body, with these ``errors``."""

    def __init__(self, errors: list[ApiError]) -> None:
        super().__init__()
        self.errors = errors


def with_rules(function: F) -> F:
    function.__dict__["rules"] = function
    return function


def ruled_by(rules: Callable[..., Any]) -> Callable[[F], F]:
    """Return the decorator of an operation whose rules are checked by a function of the world."""

    def decorate(function: F) -> F:
        function.__dict__["rules"] = rules
        return function

    return decorate


def has_rules(function: Callable[..., Any]) -> bool:
    return hasattr(function, "rules")


def broken_rules(
    function: Callable[..., Any], world: World, body: Body, **path: str
) -> list[ApiError]:
    """Return the violations of an operation's rules by the valid part of an invalid body."""
    if has_rules(function):
        try:
            started = function.__dict__["rules"](world, body=body, **path)
            if isgenerator(started):  # one that asks for the outcome of an effect later
                next(started)
        except RulesChecked as checked:
            return checked.errors
        except (ApiError, InvalidFieldRead):  # there is no object to check them against
            pass
    return []


class InvalidFieldRead(Exception):
    """A rule reads a field whose form is invalid: it cannot be judged."""


class ValidPart(dict[str, Any]):
    """The valid fields; to read an invalid one, or all if one is, raises InvalidFieldRead."""

    def __init__(self, fields: Body, invalid: Collection[str]) -> None:
        super().__init__(fields)
        self._invalid = invalid

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._readable(name))

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(self._readable(name))

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(self._readable(name), default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> Any:
        """Return the names of the fields; ``{**part}`` asks for them too, since this class has an
        ``__iter__`` of its own.
        """
        if self._invalid:
            raise InvalidFieldRead(*self._invalid)
        return super().keys()

    def _readable(self, name: Any) -> Any:
        if name in self._invalid:
            raise InvalidFieldRead(name)
        return name


def valid_part(value: Any, invalid: Collection[str], path: str = "") -> Any:
    """Return a value without the fields at the dotted paths in ``invalid``; a list with an invalid
    entry is invalid.
    """
    if isinstance(value, list):
        return [
            valid_part(entry, invalid, f"{path}.{number}") for number, entry in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    prefix = f"{path}." if path else ""
    own = {
        invalid_path.removeprefix(prefix)
        for invalid_path in invalid
        if invalid_path.startswith(prefix)
    }
    lists = {name: part for name, part in value.items() if isinstance(part, list)}
    own |= {
        name
        for name, part in lists.items()
        if any(f"{name}.{number}" in own for number in range(len(part)))
    }
    valid = {
        name: valid_part(part, invalid, prefix + name)
        for name, part in value.items()
        if name not in own
    }
    return ValidPart(valid, own)
