"""Records: what a world is made of, frozen values that are replaced and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from emulator.errors import invalid_field

MAX_METADATA_KEYS = 50
"""Keys that metadata may have on any resource (B-22)."""


class _Hidden:
    """Marks a field that does not go on the wire, where it is declared: ``secret: Annotated[str, HIDDEN]``."""


HIDDEN: Final = _Hidden()

Metadata = Mapping[str, str | int | float | bool]


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A frozen value with an id. Field names are wire names, and field order is wire order (subclasses say
    ``frozen=True, kw_only=True`` again).

    ``kind`` is the ``object`` tag, ``prefix`` the beginning of its ids, ``missing`` the code that says there is none
    with that id (B-15). ``indexes`` names the fields a list may be filtered by at no cost (equality); ``unique`` the
    fields that find one record (null finds none), ``caseless`` those of them in which letter case does not count.
    ``paged`` says that there are lists of all of them; a kind that comes and goes by the thousand does without.

    One with many fields is made in two steps where it is made often: CPython makes a dict of more than fifteen
    keywords, and that takes longer than the record.

    Records hold plain values and other frozen records, so they are never part of a cycle and the garbage collector
    (``gc=False``) need not know of them: a world of any size costs it nothing.
    """

    kind: ClassVar[str]
    prefix: ClassVar[str]
    not_found_code: ClassVar[str] = "NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ()
    unique: ClassVar[tuple[str, ...]] = ()
    caseless: ClassVar[tuple[str, ...]] = ()
    paged: ClassVar[bool] = True

    id: str

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def public_view(self) -> Self:
        """The record as it goes on the wire: without its hidden fields."""
        hidden = hidden_fields(type(self))
        return self.replace(**hidden) if hidden else self


R = TypeVar("R", bound=Record)


@cache
def hidden_fields(kind: type[Record]) -> dict[str, Any]:
    """The fields of a record type that stay off the wire, each with the value that keeps it off."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: msgspec.UNSET
        for name, hint in hints.items()
        if get_origin(hint) is Annotated and HIDDEN in get_args(hint)[1:]
    }


def to_wire(value: Any) -> Any:
    """The value as it goes on the wire: a record as it is shown, anything else is itself."""
    return value.public_view() if isinstance(value, Record) else value


def pick(record: Record, *fields: str) -> dict[str, Any]:
    """Just these fields of a record, for answers that list what they return (B-21)."""
    return {name: getattr(record, name) for name in fields}


def merge_metadata(old: Metadata, patch: Mapping[str, Any]) -> Metadata:
    """Metadata after a PATCH: keys are added or replaced, a key sent with null is removed (B-22).

    The document limits what is sent; that not too much is left can only be told here.
    """
    merged = {key: value for key, value in {**old, **patch}.items() if value is not None}
    if len(merged) > MAX_METADATA_KEYS:
        raise invalid_field("metadata", f"must have at most {MAX_METADATA_KEYS} keys; {len(merged)} would be left")
    return merged
