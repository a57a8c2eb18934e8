"""Handlers that resources share: get one record, list records, create one and apply a PATCH."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec

from emulator.core.errors import ERRORS, ApiError
from emulator.core.lists import NO_FILTERS, Filters, Query, Selection, select
from emulator.core.records import R, Record, merge_metadata, no_metadata
from emulator.core.violations import NO_BODY, Body, Violations, with_rules
from emulator.core.world import World


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

    Id, App, live mode and times are filled in, metadata is empty by default, and a field that may
    be null is null.
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
    violations = Violations(changes)
    check_metadata(violations, record, changes)
    violations.done()
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


def check_metadata(violations: Violations, record: Any, body: Body) -> None:
    """Check that the metadata sent and stored have at most 50 keys together (B-22)."""
    with violations:
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
