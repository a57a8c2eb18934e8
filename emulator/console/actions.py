"""Actions: what the console's forms do, each one request to the API, and where the browser goes afterwards."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from emulator.console import forms
from emulator.console.api_client import ApiRefusal
from emulator.console.mount import HOME, PHONES, PLACE
from emulator.console.request import ConsoleRequest


class Action(NamedTuple):
    """A request: its path takes the fields ``_id`` and ``_of`` of the form."""

    method: str
    path: str


ACTIONS: Mapping[str, Action] = {
    "advance": Action("POST", "/_emulator/clock/advance"),
    "freeze": Action("POST", "/_emulator/clock/freeze"),
    "run": Action("POST", "/_emulator/clock/run"),
    "rewind": Action("POST", "/_emulator/rewind"),
    "retry": Action("POST", "/v1/webhooks/{_of}/deliveries/{_id}/retry/"),
    "test_webhook": Action("POST", "/v1/webhooks/{_id}/test/"),
    "answer_payment": Action("POST", "/_emulator/payment-intents/{_id}/answer"),
    "answer_refund": Action("POST", "/_emulator/refunds/{_id}/answer"),
    "change": Action("PATCH", "/_emulator/objects/{_id}"),
    "outcome": Action("POST", "/_emulator/outcomes"),
    "clear_outcomes": Action("DELETE", "/_emulator/outcomes"),
    "fault": Action("POST", "/_emulator/faults"),
    "clear_faults": Action("DELETE", "/_emulator/faults"),
    "settings": Action("PATCH", "/_emulator/app"),
    "save": Action("POST", "/_emulator/snapshots"),
    "restore": Action("POST", "/_emulator/snapshots/{_id}/restore"),
    "import": Action("PUT", "/_emulator/snapshots/{_id}"),
    "delete": Action("DELETE", "/_emulator/snapshots/{_id}"),
    "reset": Action("POST", "/_emulator/reset"),
    "trigger": Action("POST", "/_emulator/trigger"),
}
"""By the last segment of the address a form is posted to. Each has its words ``done.…``."""


class Notice(NamedTuple):
    """What came of an action."""

    good: bool
    text: str


class Notices:
    """What came of the last actions, each told once: the address a browser is sent to carries only its number."""

    AT_MOST = 200

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Notice] = OrderedDict()

    def keep(self, notice: Notice) -> str:
        """Keep a notice under a number nobody can guess."""
        number = secrets.token_urlsafe(9)
        self._kept[number] = notice
        while len(self._kept) > self.AT_MOST:
            self._kept.popitem(last=False)
        return number

    def take(self, number: str | None) -> Notice | None:
        """Tell a notice, for the first and last time."""
        return self._kept.pop(number or "", None)


async def perform(visit: ConsoleRequest, name: str, form: Mapping[str, str]) -> Notice:
    """Do what a form asks for; a refusal is a notice too."""
    action = ACTIONS[name]
    try:
        answer = await visit.ask(action.method, _path(action, form), body=_body(action, form))
    except ApiRefusal as refusal:
        return Notice(False, refusal.sentence)
    return Notice(True, visit.t(f"done.{name}", **figures(answer)))


def _path(action: Action, form: Mapping[str, str]) -> str:
    named = {name: quote(form.get(name, ""), safe="") or "-" for name in ("_id", "_of")}
    return action.path.format(**named)


def _body(action: Action, form: Mapping[str, str]) -> Any:
    return None if action.method == "DELETE" else forms.body(form)


def figures(answer: Any) -> dict[str, Any]:
    """What the words of a notice may mention: the answer's fields, of numbers by kind their sum."""
    fields = dict(answer or {})
    if isinstance(fields.get("events"), dict):
        fields["events"] = sum(fields["events"].values())
    return fields


_OURS = re.compile(rf"({re.escape(HOME)}|({re.escape(PLACE)}|{re.escape(PHONES)})[A-Za-z0-9/_.~%+-]*)(\?[^\s#\\]*)?")


def back(path: str | None) -> str:
    """Where a form wants the browser to go next, if that is a page of the console; else the overview."""
    return path if path and _OURS.fullmatch(path) and "//" not in path else HOME
