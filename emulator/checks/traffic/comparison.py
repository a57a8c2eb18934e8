"""Compares an answer of the service with the emulator's: status, error, shape and meaning."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from emulator.checks.service.observations import error_of
from emulator.checks.traffic.id_map import IdMap
from emulator.checks.traffic.passed import PassedAnswer
from emulator.control.recording.id_search import ID

ABSENT = "(absent)"
"""Stands for a field that an answer does not have."""

FREE = frozenset(["message", "request_id", "doc_url", "secret", "operator", "app", "request"])
"""Fields whose values any service makes in its own way; only their types are compared."""

CHOSEN = frozenset(["payment_method_type", "payment_method"])
"""Fields that a buyer decided on a page, which the proxy does not see."""

NUMBERED = frozenset(["invoice_number"])
"""Fields that count on from what the service has already; only their form is compared."""

SAME_TIME = timedelta(seconds=60)
"""How far apart two instants may be that mean the same: the world learns the time from answers."""

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MASKED = "****"


class Difference(NamedTuple):
    """A field of an answer (``status`` for its status) with the value of the service and that of the emulator."""

    field: str
    service: Any
    emulator: Any

    @property
    def place(self) -> str:
        """The field without the numbers of items: ``data[].amount``."""
        return re.sub(r"\[\d+\]", "[]", self.field)


class Comparison:
    """Compares answers by what is known of ids.

    ``own_url`` is where the world seems to be reached, ``paid`` are its payment intents and transactions that a buyer
    paid on a page. Objects that the service made before ``begun`` are not compared. Once a change was made on one side
    only, objects that are not known are not looked for in lists.
    """

    def __init__(self, ids: IdMap, own_url: str, paid: Collection[str]) -> None:
        self.ids = ids
        self.begun = ""
        self._own_url = own_url
        self._paid = paid
        self._has_diverged = False

    def differences(self, theirs: PassedAnswer, ours: PassedAnswer, *, is_change: bool) -> Iterator[Difference]:
        """What differs between two answers to the same request, which ``is_change`` or only reads."""
        if theirs.status != ours.status:
            self._has_diverged |= is_change and (theirs.status < 300) != (ours.status < 300)
            yield Difference("status", _shown(theirs), _shown(ours))
            return
        one, other = error_of(*theirs), error_of(*ours)
        if one is not None and other is not None:
            yield from self._errors(one, other)
        else:
            yield from self.values("", theirs.body, ours.body)

    def _errors(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
        for name in ("shape", "code", "type", "param"):
            if one[name] != other[name]:
                yield Difference(f"error {name}", one[name], other[name])
        if (one["shape"], one["code"]) == (other["shape"], other["code"]) and one["has"] != other["has"]:
            yield Difference("error fields", ", ".join(one["has"]), ", ".join(other["has"]))

    def values(self, field: str, theirs: Any, ours: Any) -> Iterator[Difference]:
        """What differs between two JSON values at a field."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            yield from self._objects(field, theirs, ours)
        elif isinstance(theirs, list) and isinstance(ours, list):
            yield from self._lists(field, theirs, ours)
        elif not self._same(field, theirs, ours):
            yield Difference(field or "body", theirs, ours)

    def _objects(self, field: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[Difference]:
        data = theirs.get("data")
        others = isinstance(data, list) and (self._has_diverged or any(map(self._is_older, data)))
        for name in sorted({**theirs, **ours}, key="id".__ne__):
            if (name == "pagination" and others) or (name in CHOSEN and self._is_chosen(ours)):
                continue
            at = f"{field}.{name}".lstrip(".")
            if name in theirs and name in ours:
                yield from self.values(at, theirs[name], ours[name])
            else:
                yield Difference(at, theirs.get(name, ABSENT), ours.get(name, ABSENT))

    def _is_chosen(self, ours: Mapping[str, Any]) -> bool:
        """Whether a buyer chose the payment method: of a payment intent, its transaction or a refund of that."""
        return any(ours.get(name) in self._paid for name in ("id", "payment_intent", "transaction"))

    def _lists(self, field: str, theirs: list[Any], ours: list[Any]) -> Iterator[Difference]:
        others = self._has_others(theirs)
        theirs = [each for each in theirs if not self._is_older(each)]
        if len(theirs) != len(ours) and not others:
            yield Difference(f"{field} (length)", len(theirs), len(ours))
            return
        for number, (one, other) in enumerate(self._pairs(theirs, ours)):
            yield from self.values(f"{field}[{number}]", one, other)

    def _pairs(self, theirs: list[Any], ours: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Items that belong together: known objects by their ids, the others in their order."""
        known = {id: each for each in ours if (id := _id(each)) is not None}
        partners = [known.get(self.ids.ours(_id(each)) or "") for each in theirs]
        taken = {_id(each) for each in partners if each is not None}
        left = iter([each for each in ours if _id(each) is None or _id(each) not in taken])
        for one, partner in zip(theirs, partners, strict=True):
            other = partner if partner is not None else None if self._is_unsure(one) else next(left, None)
            if other is not None:
                yield one, other

    def _is_unsure(self, item: Any) -> bool:
        """Whether an object that is not known may be one that only the service has."""
        return self._has_diverged and _id(item) is not None

    def _has_others(self, theirs: list[Any]) -> bool:
        """Whether a list may have objects that only one side has."""
        return any(map(self._is_older, theirs)) or (self._has_diverged and any(_id(each) for each in theirs))

    def _is_older(self, item: Any) -> bool:
        """Whether the service made an object before the proxy began."""
        if not isinstance(item, dict) or not isinstance(item.get("id"), str) or self.ids.ours(item["id"]):
            return False
        return bool(str(item.get("created_at", self.begun)) < self.begun)

    def _same(self, field: str, theirs: Any, ours: Any) -> bool:
        if not isinstance(theirs, str) or not isinstance(ours, str):
            free = field.rpartition(".")[2] in FREE and type(theirs) is type(ours)
            return free or (bool(theirs == ours) and isinstance(theirs, bool) == isinstance(ours, bool))
        return theirs == ours or self._same_text(field, theirs, ours)

    def _same_text(self, field: str, theirs: str, ours: str) -> bool:
        if ID.fullmatch(ours):
            return self.ids.belong_together(theirs, ours)
        if _INSTANT.fullmatch(ours):
            return _same_instant(theirs, ours)
        if ours.startswith(f"{self._own_url}/"):
            return theirs.startswith(("http://", "https://"))
        name = field.rpartition(".")[2]
        if name in NUMBERED:
            return _form(theirs) == _form(ours)
        return name in FREE or field.startswith("errors.") or _MASKED in theirs or self.ids.translated(theirs) == ours


def _id(item: Any) -> str | None:
    id = item.get("id") if isinstance(item, dict) else None
    return id if isinstance(id, str) else None


def _form(text: str) -> str:
    """A text with one digit in place of all."""
    return re.sub(r"\d", "9", text)


def _same_instant(theirs: str, ours: str) -> bool:
    if _form(theirs) != _form(ours):
        return False
    try:
        return abs(datetime.fromisoformat(theirs) - datetime.fromisoformat(ours)) <= SAME_TIME
    except (ValueError, TypeError):
        return False


def _shown(answer: PassedAnswer) -> str:
    """A status, with the code of an error."""
    error = error_of(*answer)
    return f"{answer.status} {error['code']}".strip() if error else str(answer.status)
