"""Handlers that resources share: get one record, list records, apply a PATCH, validate by rules.

A client learns of everything that is wrong with a request at once (B-12): its form by the schema
and, beyond that, by the rules of its operation. So the function of an operation checks each rule in
a block ``with found:``, where it also derives what it needs later, and changes nothing before
``found.done()``; ``products.create`` is the shortest example. Where the form is invalid, the
function is given the valid part of the body and comes as far as ``found.done()``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from inspect import isgenerator
from types import NoneType, TracebackType
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from emulator.core.errors import ERRORS, ApiError, combine
from emulator.core.lists import NO_FILTERS, Filters, Query, Selection, select
from emulator.core.records import R, Record, merge_metadata, no_metadata
from emulator.core.world import World

# -- validation


Body = Mapping[str, Any]
NO_BODY: Body = {}
F = TypeVar("F", bound=Callable[..., Any])

REPORTED = (400, 403, 422)
"""Statuses of violations: 422, 403 of a currency and 400 of a refund's amount.

404 and 409 are about other objects, which come later (B-05).
"""


class Violations:
    """The violations of one request. Each ``with`` block is one rule; its errors are collected."""

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
        """Raise one error for all violations, else the first about another object (B-05)."""
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
    function.__dict__["has_rules"] = True
    return function


def has_rules(function: Callable[..., Any]) -> bool:
    return getattr(function, "has_rules", False)


def broken_rules(
    function: Callable[..., Any], world: World, body: Body, **path: str
) -> list[ApiError]:
    """Return the violations of an operation's rules by the valid part of an invalid body."""
    if has_rules(function):
        try:
            started = function(world, body=body, **path)
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
        """Return the names of the fields. ``{**part}`` calls it because of the own ``__iter__``."""
        if self._invalid:
            raise InvalidFieldRead(*self._invalid)
        return super().keys()

    def _readable(self, name: Any) -> Any:
        if name in self._invalid:
            raise InvalidFieldRead(name)
        return name


def valid_part(value: Any, invalid: Collection[str], path: str = "") -> Any:
    """Return a value without the ``invalid`` paths; an invalid entry makes a list invalid."""
    if isinstance(value, list):
        return [
            valid_part(entry, invalid, f"{path}.{number}") for number, entry in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    prefix = f"{path}." if path else ""
    own = {each.removeprefix(prefix) for each in invalid if each.startswith(prefix)}
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


# -- handlers


def get_or_404(world: World, kind: type[R], id: str, param: str | None = None) -> R:
    """Return the record, or raise its kind's 404 (B-15), about the body field ``param``, if any."""
    record = world.get(kind, id)
    if record is None:
        raise not_found(kind, id, param)
    return record


def not_found(kind: type[Record], id: str, param: str | None = None) -> ApiError:
    """Return the 404 of a kind (B-15): ``CUSTOMER_NOT_FOUND``, but ``WEBHOOK_NOT_FOUND``."""
    errors = {param: [f"there is no {id}"]} if param else None
    code = f"{kind.kind.removesuffix('_endpoint').upper()}_NOT_FOUND"
    if code in ERRORS:
        return ApiError(code, id=id, param=param, errors=errors)
    # Kinds without a code of their own share one, which cannot name them.
    message = f"There is no {kind.kind.replace('_', ' ')} {id}."
    return ApiError("NOT_FOUND", param=param, errors=errors, message=message)


def get_handler(kind: type[R]) -> Callable[..., R]:
    def retrieve(world: World, id: str) -> R:
        return get_or_404(world, kind, id)

    return retrieve


def new_record(world: World, kind: type[R], body: Body = NO_BODY, /, **computed: Any) -> R:
    """Return the record of a POST: the body's fields that the kind has, and the computed ones.

    Id, App, live mode and times are filled in, metadata is empty by default, and what may be null
    is null.
    """
    fields, blank = _creation_fields(kind)
    own: dict[str, Any] = {
        "app": world.app,
        "livemode": world.livemode,
        "created_at": world.now,
        "updated_at": world.now,
        **blank,
        **body,
    }
    if not fields.issuperset(own):
        for name in own.keys() - fields:
            del own[name]
    if body and list in map(type, own.values()):
        own = {
            name: tuple(value) if isinstance(value, list) else value for name, value in own.items()
        }
    own |= computed
    if own.get("id") is None:
        own["id"] = world.new_id(kind)
    return kind(**own)


@cache
def _creation_fields(kind: type[Record]) -> tuple[frozenset[str], dict[str, Any]]:
    """Return a kind's fields, and null for each required nullable one; empty metadata, if any."""
    hints = get_type_hints(kind)
    required = [field.name for field in msgspec.structs.fields(kind) if field.required]
    blank: dict[str, Any] = {name: None for name in required if NoneType in get_args(hints[name])}
    fields = frozenset(kind.__struct_fields__) - {"id"}
    return fields, blank | ({"metadata": no_metadata()} if "metadata" in fields else {})


def apply_patch(world: World, record: R, changes: Mapping[str, Any]) -> R:
    """Replace the fields sent and merge metadata (B-21, B-22), whose limit is checked here."""
    found = Violations(changes)
    check_metadata(found, record, changes)
    found.done()
    if "metadata" in changes:
        # only records with metadata are sent any
        merged = merge_metadata(record.metadata, changes["metadata"])  # type: ignore[attr-defined]
        changes = {**changes, "metadata": merged}
    return world.replace(record, **changes) if changes else record


def patch_handler(kind: type[R]) -> Callable[..., R]:
    """Return the handler of ``PATCH /kind/{id}/``. Its one rule is the limit of metadata."""

    def update(world: World, id: str, body: Body) -> R:
        return apply_patch(world, get_or_404(world, kind, id), body)

    return with_rules(update) if "metadata" in kind.__struct_fields__ else update


def check_metadata(found: Violations, record: Any, body: Body) -> None:
    """Check that what is sent and what is stored have at most 50 keys together (B-22)."""
    with found:
        if "metadata" in body:
            merge_metadata(record.metadata, body["metadata"])


def sublist_handler(
    owner: type[Record], kind: type[R], ordering: str = "-created_at"
) -> Callable[..., Selection[R]]:
    """Return the handler of ``GET /owner/{id}/kind/``, the records that name this owner."""

    def index(world: World, id: str, query: Query) -> Selection[R]:
        get_or_404(world, owner, id)
        return select(world.table(kind), {**query, owner.kind: id, "ordering": ordering})

    return index


def list_handler(kind: type[R], filters: Filters = NO_FILTERS) -> Callable[..., Selection[R]]:
    """Return the handler of ``GET /kind/``: filters, ordering, paging (B-19, B-20)."""

    def index(world: World, query: Query) -> Selection[R]:
        return select(world.table(kind), query, filters)

    return index
