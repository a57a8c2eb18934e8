"""Actions of the console's forms: one request each to the API, then the browser is redirected.

The red button starts and stops a recording; a request of the journal is sent again, changed or not.
"""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from emulator.client.messages import ApiResponse
from emulator.engine.reference_data import named_assumptions
from emulator.presentation import typed_text
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import status_name
from emulator.ui.base.plots import newest
from emulator.ui.console import forms, labels
from emulator.ui.console.forms import json_value
from emulator.ui.console.mount import CONSOLE, HOME, PHONES
from emulator.ui.console.render import figure
from emulator.ui.console.request import (
    CONTROL,
    ApiRequestError,
    ConsoleRequest,
    Reader,
    TemplateAndValues,
)

ACTIONS: Mapping[str, str] = {
    "advance": "POST /_emulator/clock/advance",
    "freeze": "POST /_emulator/clock/freeze",
    "run": "POST /_emulator/clock/run",
    "rewind": "POST /_emulator/rewind",
    "test_webhook": "POST /v1/webhooks/{_id}/test/",
    "change": "PATCH /_emulator/objects/{_id}",
    "outcome": "POST /_emulator/outcomes",
    "clear_outcomes": "DELETE /_emulator/outcomes",
    "fault": "POST /_emulator/faults",
    "remove_outcome": "DELETE /_emulator/outcomes?id={_id}",
    "remove_fault": "DELETE /_emulator/faults?id={_id}",
    "clear_faults": "DELETE /_emulator/faults",
    "settings": "PATCH /_emulator/app",
    "save": "POST /_emulator/snapshots",
    "restore": "POST /_emulator/snapshots/{_id}/restore",
    "import": "PUT /_emulator/snapshots/{_id}",
    "delete": "DELETE /_emulator/snapshots/{_id}",
    "reset": "POST /_emulator/reset",
    "record": "POST /_emulator/recording/start",
    "trigger": "POST /_emulator/trigger",
    "response": "PUT /_emulator/inbox/{_id}/response",
    "clear_response": "DELETE /_emulator/inbox/{_id}/response",
}
"""Requests by the last segment of a form's path; their path takes the form's field ``_id``.

Each has a message in ``labels.DONE``.
"""


BEFORE_RESTORE = "before-restore"
"""The snapshot of the world that a restored one replaces, so that a restore can be undone."""


class Notice(NamedTuple):
    """An action's outcome in the reader's language; for a failed one also the wrong fields.

    ``page`` is where the browser is sent next, if not back to where the form was.
    """

    succeeded: bool
    text: str
    fields: tuple[str, ...] = ()
    page: str | None = None


class Notices:
    """The outcomes of the latest actions. Each is shown once, on the page whose URL has its id."""

    LIMIT = 200

    def __init__(self) -> None:
        self._notices: OrderedDict[str, Notice] = OrderedDict()

    def add(self, notice: Notice) -> str:
        """Store a notice; its id cannot be guessed."""
        id = secrets.token_urlsafe(9)
        self._notices[id] = notice
        while len(self._notices) > self.LIMIT:
            self._notices.popitem(last=False)
        return id

    def take(self, id: str | None) -> Notice | None:
        return self._notices.pop(id or "", None)


async def step(request: ConsoleRequest, form: Mapping[str, str]) -> Notice:
    """Take the step ``_name`` from the state of ``_id``; it may have been taken elsewhere since."""
    id = quote(form.get("_id", ""), safe="") or "-"
    object = await request.get(f"explain/{id}", language=request.language.code)
    taken = next(
        (option for option in object["next_steps"] if option["name"] == form.get("_name")), None
    )
    if taken is None:
        return Notice(
            False,
            request.language.gettext("This can no longer be done: the object has changed since."),
        )
    body = taken["body"]
    if (most := taken["amount"]) and form.get("amount"):
        amount = _amount_in(request.language, form, "amount", most["currency"], most["most"])
        if isinstance(amount, Notice):
            return amount
        body = {**(body or {}), "amount": amount}
    response = await request.call(taken["method"], taken["path"], body=body)
    text = await _step_text(request, object, taken["name"], response)
    is_gone = taken["name"] in REMOVING
    return Notice(
        True, text, page=request.link("objects", kind=object["kind"]) if is_gone else None
    )


REMOVING = ("delete", "remove")
"""The steps after which their object has no page."""

EXAMPLE = 5000
"""The amount, in minor units, that is the example where none is the most."""


def _amount_in(
    language: Language, form: Mapping[str, str], field: str, currency: str, most: int = EXAMPLE
) -> int | Notice:
    """Return the minor units of an amount as people write it, or what is wrong with it."""
    amount = language.parse_amount(typed_text.plain(form.get(field, "")), currency)
    if amount is not None:
        return amount
    example = figure(most, currency, language=language)
    wrong = language.gettext("Write an amount, such as {example}.", example=example)
    return Notice(False, wrong, (field,))


STEPS_DONE = {
    "advance": "advance",
    "outcome": "outcome",
    "retry": "retry",
    "add": "add_card",
    "clear": "clear_response",
    "refuse": "response",
    "undo": "remove_outcome",
}
"""The messages of steps of any kind of object, by the first word of their names."""


async def _step_text(request: ConsoleRequest, object: Any, name: str, response: Any) -> str:
    """Return what came of a step: that of its kind and name, else the state that it led to."""
    values = await _values(request, response)
    values["name"] = str(object["name"] or object["id"]).partition(" · ")[0]
    if (shared := STEPS_DONE.get(name.partition("_")[0])) is not None:
        return request.language.gettext(labels.DONE[shared], **values)
    key = f"{object['kind']} {name}"
    status = (response or {}).get("status")
    if f"{key} {status}" in labels.STEPS_DONE:
        key = f"{key} {status}"
    elif key not in labels.STEPS_DONE:
        key = "failed" if values.get("code") else "paid" if "amount" in values else "status_is"
    if key == "status_is":
        # Not every response has the status of its object.
        values |= await _values(request, await request.get(f"objects/{object['id']}"))
        values["kind"] = request.language.gettext(labels.KIND_NAMES[object["kind"]])
    if key == "invoice send":
        emails = await request.get("emails", kind="invoice", page_size=1)
        values["to"] = emails["data"][0]["to"]
    return request.language.gettext(labels.STEPS_DONE[key], **values)


async def perform(request: ConsoleRequest, name: str, form: Mapping[str, str]) -> Notice:
    method, _, path = ACTIONS[name].partition(" ")
    if name == "fault" and "then" not in forms.body_of(form):
        return Notice(False, request.language.gettext("Choose what is to go wrong."), ("then",))
    if name == "restore" and form.get("_id") != BEFORE_RESTORE:
        await request.call("POST", "/_emulator/snapshots", body={"name": BEFORE_RESTORE})
    before = await request.get("app") if name == "settings" else {}
    path = path.format(_id=quote(form.get("_id", ""), safe="") or "-")
    body: Any = None if method == "DELETE" else forms.body_of(form)
    if name == "outcome" and form.get("_amount"):
        amount = _amount_in(request.language, form, "_amount", form.get("_currency", ""))
        if isinstance(amount, Notice):
            return amount
        body = {**body, "match": {**body.get("match", {}), "amount": amount}}
    response = await request.call(method, path, body=body)
    differs = _differs(request.language, before, response) if name == "settings" else []
    done = request.language.gettext(labels.DONE[name], **await _values(request, response))
    return Notice(True, " ".join([done, *differs]))


def _differs(language: Language, before: Any, after: Any) -> list[str]:
    """Return the consequence of each assumption that was changed."""
    old, new = (app["settings"]["assumptions"] for app in (before, after))
    return [
        language.gettext(named_assumptions()[name].values[value])
        for name, value in new.items()
        if old[name] != value
    ]


async def replay_all(request: ConsoleRequest, form: Mapping[str, str]) -> Notice:
    """Replay every failed delivery to the endpoint ``_id``, the oldest first."""
    endpoint = quote(form.get("_id", ""), safe="") or "-"
    filters: dict[str, Any] = {"kind": "webhook_delivery", "related": endpoint, "status": "failed"}
    responses = [
        await request.call("POST", f"/v1/webhooks/{endpoint}/deliveries/{delivery['id']}/retry/")
        for delivery in (await newest(request.get, "objects", **filters)).rows
    ]
    arrived = sum(response["status"] == "succeeded" for response in responses)
    text = request.language.ngettext(
        "{count} delivery replayed, {arrived} accepted.",
        "{count} deliveries replayed, {arrived} accepted.",
        len(responses),
        arrived=arrived,
    )
    return Notice(arrived == len(responses), text)


async def _values(request: ConsoleRequest, response: Any) -> dict[str, Any]:
    """Return a notice's values for placeholders: the response's fields, some in words."""
    fields, language = dict(response or {}), request.language
    if isinstance(fields.get("status"), str):
        fields["status"] = status_name(language, str(fields.get("object")), fields["status"])
    if (currency := fields.get("currency")) and "status" in fields:
        total = fields.get("amount", fields.get("total"))
        fields |= {"amount": language.money(total, currency)} if isinstance(total, int) else {}
    if isinstance(error := fields.get("last_error"), dict):
        fields["code"] = error["code"]
    if fields.get("current_period_end"):
        fields["day"] = language.short_day(fields["current_period_end"])
    if attempts := fields.get("attempts"):
        fields["answered"] = attempts[-1]["status_code"] or attempts[-1]["error"]
    if isinstance(fields.get("events"), dict):
        fields["jobs"] = language.ngettext("{count} job done", "{count} jobs done", fields["jobs"])
        fields["events"] = language.ngettext(
            "{count} event", "{count} events", sum(fields["events"].values())
        )
    if "now" in fields:
        fields["now"] = language.instant(fields["now"], "d MMM y, HH:mm")
    if fields.get("object") in ("outcome", "fault"):
        parts = labels.conditions(language, fields)
        names = await request.names([part for part in parts if "_" in part])
        fields["sentence"] = " · ".join(
            [labels.sentence(language, fields), *(names.get(part, part) for part in parts)]
        )
    return fields


_CONSOLE_URL = re.compile(
    rf"({re.escape(HOME)}|({re.escape(CONSOLE)}|{re.escape(PHONES)})[A-Za-z0-9/_.~%+-]*)(\?[^\s#\\]*)?"
)


def back(path: str | None) -> str:
    """Return the console's page a form sends the browser to next, or the overview."""
    return path if path and _CONSOLE_URL.fullmatch(path) and "//" not in path else HOME


# -- the red button, and the page of a recording's test, which is also a file


FILES: Mapping[str, str] = {
    "pytest": "test_recorded.py",
    "node": "recorded.test.mjs",
    "curl": "recorded.sh",
}
"""The name of the file by its form, the first form for those who have not chosen."""


async def stop(request: ConsoleRequest, form: Mapping[str, str]) -> Notice:
    """Stop the recording; the test is shown next, if something was recorded."""
    state = await request.call("POST", f"{CONTROL}/recording/stop")
    if state["until_request"] is None:
        return Notice(
            False,
            request.language.gettext("Nothing was recorded: no request came since the start."),
        )
    marks = {"since": state["since_request"], "until": state["until_request"]}
    count = request.language.ngettext(
        "{count} request was recorded.", "{count} requests were recorded.", state["request_count"]
    )
    page = request.link("recording", **{"as": form.get("_as") or next(iter(FILES)), **marks})
    return Notice(True, count, page=page)


async def recording(request: ConsoleRequest) -> TemplateAndValues:
    code = await _test(request)
    values = {
        "as_code": code.text,
        "form": _form(request),
        "files": FILES,
        "marks": _marks(request),
    }
    return "recording.html", values


async def file(request: ConsoleRequest) -> Response:
    response = await _test(request)
    saved = {"Content-Disposition": f'attachment; filename="{FILES[_form(request)]}"'}
    return Response(response.content, headers=saved, media_type="text/plain; charset=utf-8")


def _form(request: ConsoleRequest) -> str:
    form = request.query.get("as", "")
    return form if form in FILES else next(iter(FILES))


async def _test(request: ConsoleRequest) -> ApiResponse:
    return await request.response("GET", f"{CONTROL}/recording", _marks(request))


def _marks(request: ConsoleRequest) -> dict[str, str]:
    return {"as": _form(request)} | {
        name: value for name, value in request.query.items() if name in ("since", "until")
    }


PAGES: Mapping[str, Reader] = {"recording": recording}
"""By path below ``/_emulator/console/``."""

HANDLERS = {"recording/file": file}
"""The same for what is no page."""


# -- sending again, through the service or the control API


METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")

_TARGET = re.compile(r"/(v1|_emulator)/(?!console)[\x21-\x7e]*")
"""The paths that can be sent to, with their query."""


async def send(request: ConsoleRequest, form: Mapping[str, str]) -> Notice:
    """Send what the form says; the new request is shown next, if it is in the journal."""
    method, target, text = (form.get(name, "") for name in ("_method", "_path", "_body"))
    if method not in METHODS or not _TARGET.fullmatch(target) or "#" in target:
        return Notice(False, request.language.gettext("A path starts with /v1/ or /_emulator/."))
    try:
        body = json_value(text) if text else None
    except (ValueError, RecursionError):
        return Notice(False, request.language.gettext("The body is not JSON."))
    try:
        response = await request.response(method, target, body=body)
    except ApiRequestError as error:
        notice = Notice(False, labels.translated(request.language, error.message))
        return notice._replace(page=await _logged(request, error.request_id))
    text = request.language.gettext("Sent: {status}.", status=response.status_code)
    return Notice(True, text, page=await _logged(request, response.headers.get("request-id")))


async def _logged(request: ConsoleRequest, id: str | None) -> str | None:
    """Return the page of a request; None if it is not in the journal."""
    try:
        # As code it is short, however much the request changed.
        is_logged = id and await request.response("GET", f"{CONTROL}/requests/{id}", {"as": "curl"})
        return request.link(f"requests/{id}") if is_logged else None
    except ApiRequestError:
        return None


# -- all


OTHERS: Mapping[str, Callable[[ConsoleRequest, Mapping[str, str]], Awaitable[Notice]]] = {
    "step": step,
    "replay_all": replay_all,
    "send": send,
    "stop_recording": stop,
}
"""The actions that are more than one request, by the same segment as :data:`ACTIONS`."""


async def act(request: ConsoleRequest, name: str, form: Mapping[str, str]) -> Notice:
    """Do a form's action; API errors become notices.

    Raises :class:`ApiRequestError` if there is no such action.
    """
    if name not in {**OTHERS, **ACTIONS}:
        raise request.not_found()
    try:
        return await (
            OTHERS[name](request, form) if name in OTHERS else perform(request, name, form)
        )
    except ApiRequestError as error:
        return Notice(
            False, labels.translated(request.language, error.message, error.fields), error.fields
        )
