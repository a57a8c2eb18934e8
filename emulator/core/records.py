"""Records: the frozen values of a world. A change replaces the old record by a new one.

Their names are messages, which are shown in several languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from unicodedata import normalize

import msgspec

from emulator.core.errors import invalid_field
from emulator.core.limits import METADATA

# -- messages, marked where they stand; ``emulator.presentation.languages`` translates them


def N_(message: str) -> str:  # noqa: N802  # the name that gettext's tools look for
    """Mark a message of a table for extraction; it is translated where it is shown."""
    return message


# -- text as it is searched


def folded(text: str) -> str:
    """Return text for comparison: without case, and é as one character (a Mac may send two)."""
    return normalize("NFC", normalize("NFC", text).casefold())


# -- records


HIDDEN: Final = "hidden"
"""Marks a field that is never sent to clients: ``secret: Annotated[str, HIDDEN]``."""

Metadata = Mapping[str, str | int | float | bool]


def no_metadata() -> Metadata:
    """Return one empty mapping, shared by all records without metadata; nothing writes into it."""
    return _NO_METADATA


_NO_METADATA: Metadata = {}


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A frozen value with an id. Its fields have the names and order of the JSON sent.

    Subclasses repeat ``frozen=True, kw_only=True`` and say in class variables how their table is
    organised:

    * ``kind``: the kind of object, as in its field ``object``: by default the name of the class,
      ``payment_intent``;
    * ``prefix``: the beginning of its ids;
    * ``names``: the words for one and for several in the console, marked for translation; None for
      a kind that it does not list;
    * ``indexes``: fields by whose value lists are filtered without a search;
    * ``unique``: fields whose value (unless null) belongs to one record only; ``caseless``: those
      of them that are compared without regard to letter case;
    * ``checked``: fields whose change has the unit of work checked
      (:data:`~emulator.core.world.CommitCheck`); where ``id`` is one of them, adding or removing a
      record does, too;
    * ``paged``: whether there are lists of all records of the kind. Kinds whose records come and go
      by the thousand are not paged, because removing a record from the middle of an ordered list is
      slow;

    Records hold plain values and other frozen records, so they are never part of a reference cycle.
    They are hidden from the garbage collector (``gc=False``), whose runs therefore take no longer
    in a world with more records.
    """

    kind: ClassVar[str]
    prefix: ClassVar[str]
    names: ClassVar[tuple[str, str] | None] = None
    indexes: ClassVar[tuple[str, ...]] = ()
    unique: ClassVar[tuple[str, ...]] = ()
    caseless: ClassVar[tuple[str, ...]] = ()
    checked: ClassVar[frozenset[str]] = frozenset()
    paged: ClassVar[bool] = True

    id: str

    def __init_subclass__(cls) -> None:
        if "kind" not in cls.__dict__:
            cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def replace(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, **changes)

    def public_view(self) -> Self:
        """Return the record as it is sent to clients: without its hidden fields."""
        hidden = hidden_fields(type(self))
        return msgspec.structs.replace(self, **hidden) if hidden else self


R = TypeVar("R", bound=Record)


@cache
def hidden_fields(kind: type[Record]) -> dict[str, Any]:
    """Return a record kind's hidden fields, each with the value that makes the encoder omit it."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: msgspec.UNSET
        for name, hint in hints.items()
        if get_origin(hint) is Annotated and HIDDEN in get_args(hint)[1:]
    }


def to_wire(value: Any) -> Any:
    """Return a value as clients get it: a record's public view, anything else unchanged."""
    return value.public_view() if isinstance(value, Record) else value


def list_to_wire(values: list[Any]) -> list[Any]:
    """Return each value as :func:`to_wire` does, faster for a list of records of one kind."""
    kinds = set(map(type, values))
    kind = kinds.pop() if len(kinds) == 1 else object
    if not issubclass(kind, Record) or kind.public_view is not Record.public_view:
        return [to_wire(value) for value in values]
    hidden = hidden_fields(kind)
    return [*map(partial(msgspec.structs.replace, **hidden), values)] if hidden else values


def pick(record: Record, *fields: str) -> dict[str, Any]:
    """Return only these fields of a record, for responses that hold only a few (B-21)."""
    return {name: getattr(record, name) for name in fields}


def merge_metadata(old: Metadata, patch: Mapping[str, Any]) -> Metadata:
    """Return the metadata after a PATCH: keys are added or replaced; null removes a key (B-22).

    Raises 422 if more than 50 keys would result; the document can only limit how many are sent at
    once.
    """
    merged = {key: value for key, value in {**old, **patch}.items() if value is not None}
    if len(merged) > METADATA.most:
        raise invalid_field(
            "metadata", f"must have at most {METADATA.most} keys; {len(merged)} would be left"
        )
    return merged
