"""Labels: messages that the console looks up by a name from the API or an address; form errors.

Errors of the API are in English; the console translates those that it knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from emulator.core.errors import ERRORS
from emulator.core.records import N_, Record
from emulator.core.unit_of_work import Event
from emulator.document.paths import fixture
from emulator.insight.names import job_texts
from emulator.presentation.languages.language import Language
from emulator.resources.registry import REGISTRY

# -- labels


_RECORDS: tuple[type[Record], ...] = (*REGISTRY.kinds, Event)
_NAMES = {record.kind: record.names for record in _RECORDS if record.names is not None}

KINDS: Mapping[str, str] = {kind: several for kind, (_, several) in _NAMES.items()} | {
    "email": N_("Emails")
}
"""The kinds of object, as headings of lists."""

KIND_NAMES: Mapping[str, str] = {kind: one for kind, (one, _) in _NAMES.items()} | {
    "email": N_("Email")
}
"""The same for one object."""

_TABLES: Mapping[str, Any] = fixture("console")

LABELS: Mapping[str, Any] = {
    **_TABLES,
    "settings": {row["group"]: row["fields"] for row in _TABLES["settings"]},
    "words": dict(_TABLES["words"]),
    "jobs": {name: row["label"] for name, row in job_texts().items() if "label" in row},
    "kinds": KINDS,
    "kind_names": KIND_NAMES,
}
"""All tables of ``fixtures/console.yaml``, which explains them; jobs' effects; kinds of object."""

DONE: Mapping[str, str] = LABELS["done"]
STEPS_DONE: Mapping[str, str] = LABELS["steps_done"]
THEMES: Mapping[str, str] = LABELS["themes"]


def sentence(language: Language, arranged: Mapping[str, Any]) -> str:
    if arranged["object"] == "outcome":
        return language.gettext(LABELS["outcomes"][f"{arranged['operation']} {arranged['result']}"])
    return effect(language, arranged["then"])


def effect(language: Language, then: Mapping[str, Any]) -> str:
    name, value = next(
        (name, value) for name, value in then.items() if name not in ("executed", "body") and value
    )
    effects = LABELS["effects"]
    text = language.gettext(effects.get(f"{name} {value}") or effects[name], value=value)
    return (
        language.gettext("{effect} (after it is done)", effect=text)
        if then.get("executed")
        else text
    )


def conditions(language: Language, arranged: Mapping[str, Any]) -> list[str]:
    """Return an outcome's or fault's scope and frequency: the API's ids and names, and texts."""
    scope = [
        str(value)
        for name, value in arranged["match"].items()
        if value is not None and name != "nth"
    ]
    if nth := arranged["match"].get("nth"):
        scope.append(language.gettext("from number {count} on", count=nth))
    times = arranged["times"]
    if times is None and arranged.get("probability") is None:
        return [
            *scope,
            f"{arranged['starts_at'] or arranged['created_at']} – {arranged['ends_at'] or '…'}",
        ]
    often = (
        language.ngettext("once", "{count} times", times)
        if times
        else f"{arranged['probability']:.0%}"
    )
    return [*filter(None, [arranged.get("code")]), *scope, often]


# -- errors of forms


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the messages' patterns, the errors' too; placeholders stand for varying parts."""
    table = [text for row in ERRORS.values() for text in (row.message, row.plain) if text]
    messages = (*LABELS["messages"], *table)
    return {
        message: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(message)), re.DOTALL)
        for message in messages
    }


def translated(language: Language, message: str, fields: Sequence[str] = ()) -> str:
    """Return an API error's message with ``field: text`` for wrong fields; unknown texts stay."""
    names = "|".join(map(re.escape, fields))
    parts = re.split(rf"(?:^|\s)({names}): ", message) if names else [message]
    texts = [_text(language, parts[0])] if parts[0] else []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        texts.append(language.gettext("{field}: {text}", field=name, text=_text(language, text)))
    return " ".join(texts)


def _text(language: Language, text: str) -> str:
    """Return one text, of which several for one field are separated by commas."""
    for message, pattern in _patterns().items():
        if match := pattern.fullmatch(text):
            return language.gettext(message, **match.groupdict())
    return text
