"""The control API's operations of the model: clock, settings, faults, snapshots, buyers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract_tests.simulator.durability.model import Facts, later
from contract_tests.simulator.durability.operations import (
    OPERATIONS,
    Operation,
    ResponseBody,
    Step,
    changes,
    moves,
    newest,
    register,
    used,
)
from contract_tests.simulator.durability.service import CARD, LINES, SHOP

CONTROL = "/_emulator"
MINUTES = 5
"""How far an advance goes: what the model has waiting takes longer, or is not looked at."""


def _world(
    name: str,
    method: str,
    path: str,
    effect: Callable[[Facts, str, ResponseBody], None],
    *before: str,
    body: Callable[[Facts, str], Any] = lambda facts, number: {},
    prefer: str = "",
) -> None:
    """Register an operation on the world as a whole."""

    def draw(facts: Facts, number: str) -> Step:
        def change(facts: Facts, response: ResponseBody) -> None:
            effect(facts, number, response)

        return Step(method, CONTROL + path, body(facts, number), change, prefer)

    OPERATIONS[name] = Operation(before, draw)


# -- the clock


def _advanced(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.now = later(facts.now, minutes=MINUTES)
    facts.latest = None if facts.latest is None else later(facts.latest, minutes=MINUTES)
    if response:
        facts.now = max(facts.now, response["now"])


def _begun(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.latest = None if facts.latest is None else later(facts.latest, minutes=MINUTES)
    if response:
        facts.advance = response["id"]


ADVANCE = "/clock/advance"
_world("advanceClock", "POST", ADVANCE, _advanced, body=lambda *_: {"by": f"{MINUTES}m"})
_world(
    "advanceClock@to",
    "POST",
    ADVANCE,
    _advanced,
    "freezeClock",
    body=lambda facts, number: {"to": later(facts.now, minutes=MINUTES)},
)
_world(
    "advanceClock@async",
    "POST",
    ADVANCE,
    _begun,
    body=lambda *_: {"by": f"{MINUTES}m"},
    prefer="respond-async",
)


@register("stopClockAdvance", "advanceClock@async")
def _stop(facts: Facts, number: str) -> Step | None:
    if facts.advance is None:
        return None

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.now = max(facts.now, response["now"]) if response else facts.now
        if response and facts.mode == "frozen":
            facts.latest = facts.now

    return Step("DELETE", f"{CONTROL}{ADVANCE}s/{facts.advance}", None, effect)


def _frozen(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.mode = "frozen"
    if response:
        facts.told_clock(response)


def _running(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.mode, facts.rate, facts.latest = "running", 2.0 + int(number[1:]) % 50, None
    if response:
        facts.told_clock(response)


_world("freezeClock", "POST", "/clock/freeze", _frozen, "runClock")
_world(
    "runClock",
    "POST",
    "/clock/run",
    _running,
    body=lambda facts, number: {"rate": 2 + int(number[1:]) % 50},
)

# -- settings and assumptions


def _set(name: str, settings: Callable[[str], dict[str, Any]]) -> None:
    def effect(facts: Facts, number: str, response: ResponseBody) -> None:
        new = settings(number)
        facts.settings["assumptions"].update(new.pop("assumptions", {}))
        facts.settings.update(new)

    _world(name, "PATCH", "/app", effect, body=lambda facts, number: {"settings": settings(number)})


_set("updateApp", lambda number: {"minimum_amount": 1 + int(number[1:]) % 90})
_set("updateApp@assumptions", lambda number: {"assumptions": {"payment_received": "transaction"}})
_set("updateApp@delay", lambda number: {"operator_delay": 100_000})
_set(
    "updateApp@handset", lambda number: {"mobile_money": "handset", "confirmation_timeout": 86_400}
)

# -- faults and outcomes: of customers and amounts that do not exist, so that they are not used up


def _arranged(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.faults.add(number)


_world(
    "arrangeFault",
    "POST",
    "/faults",
    _arranged,
    body=lambda facts, number: {"match": {"customer": number}, "then": {"code": "NOT_FOUND"}},
)
_world(
    "clearFaults",
    "DELETE",
    "/faults",
    lambda facts, number, response: facts.faults.clear(),
    "arrangeFault",
    body=lambda *_: None,
)


def _decided(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.outcomes.add(number[1:])


_world(
    "arrangeOutcome",
    "POST",
    "/outcomes",
    _decided,
    body=lambda facts, number: {
        "operation": "payment",
        "result": "failed",
        "match": {"amount": int(number[1:])},
    },
)
_world(
    "clearOutcomes",
    "DELETE",
    "/outcomes",
    lambda facts, number, response: facts.outcomes.clear(),
    "arrangeOutcome",
    body=lambda *_: None,
)

# -- inboxes and recordings, which belong to the server


def _answering(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.inboxes["shop"] = 500


def _answering_again(facts: Facts, number: str, response: ResponseBody) -> None:
    facts.inboxes.pop("shop", None)


INBOX = "/inbox/shop/response"
_world("setInboxResponse", "PUT", INBOX, _answering, body=lambda *_: {"status": 500})
_world(
    "clearInboxResponse",
    "DELETE",
    INBOX,
    _answering_again,
    "setInboxResponse",
    body=lambda *_: None,
)
for _name, _action, *_before in (
    ("startRecording", "start"),
    ("stopRecording", "stop", "startRecording"),
):
    _world(_name, "POST", f"/recording/{_action}", lambda *_: None, *_before)

# -- snapshots, rewinding, resets

SNAPSHOTS = ("createCustomer", "createSnapshot")


def _saved(facts: Facts, number: str, response: ResponseBody) -> None:
    new = facts.copy()
    new.snapshots, new.inboxes, new.advance = {}, {}, None
    if response:
        new.now = max(new.now, response["now"])
        new.latest = new.now
        facts.now = new.now
    facts.snapshots[f"s{int(number[1:]) % 3}"] = new


_world(
    "createSnapshot",
    "POST",
    "/snapshots",
    _saved,
    "createCustomer",
    body=lambda facts, number: {"name": f"s{int(number[1:]) % 3}"},
)


def _of_snapshot(
    name: str, method: str, path: str, effect: Callable[[Facts, str], None], *before: str
) -> None:
    """Register an operation on a snapshot that there is."""

    @register(name, *SNAPSHOTS, *before)
    def draw(facts: Facts, number: str) -> Step | None:
        if not facts.snapshots:
            return None
        names = sorted(facts.snapshots)
        chosen = names[int(number[1:]) % len(names)]
        place = f"{CONTROL}/snapshots/{chosen}{path}"
        return Step(method, place, None, lambda facts, response: effect(facts, chosen))


def _restored(facts: Facts, name: str) -> None:
    facts.become(facts.snapshots[name])
    if facts.mode == "running":
        facts.latest = None


_of_snapshot("restoreSnapshot", "POST", "/restore", _restored, "createProduct", "advanceClock")


def _deleted(facts: Facts, name: str) -> None:
    del facts.snapshots[name]


_of_snapshot("deleteSnapshot", "DELETE", "", _deleted)


@register("importSnapshot", *SNAPSHOTS, "createProduct")
def _import(facts: Facts, number: str) -> Step | None:
    """Import a snapshot of the world under a name of its own; the body is its export."""
    if not facts.snapshots:
        return None
    name = sorted(facts.snapshots)[0]

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.snapshots["imported"] = facts.snapshots[name]

    return Step("PUT", f"{CONTROL}/snapshots/imported", {EXPORT: name}, effect)


EXPORT = "export of"
"""In place of a body: the export of the snapshot so named, as it was read before."""


def _reset(facts: Facts, number: str, response: ResponseBody) -> None:
    assert facts.origin is not None
    facts.become(facts.origin)
    facts.inboxes = {}


_world("resetWorld", "POST", "/reset", _reset, "createCustomer", "updateApp", "arrangeFault")


@register("resetSandbox", "createCustomer", "createProduct", "updateApp")
def _wipe(facts: Facts, number: str) -> Step:
    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.objects, facts.faults, facts.outcomes = {}, set(), set()

    return Step("POST", "/v1/reset", {}, effect)


@register("rewind", "createCustomer", "createProduct")
def _rewind(facts: Facts, number: str) -> Step | None:
    if facts.undone is None:
        return None
    request, before = facts.undone

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.become(before)

    return Step("POST", f"{CONTROL}/rewind", {"to": request}, effect)


# -- objects set directly, events brought about


changes(
    "updateObject",
    "customer",
    "/objects/{id}",
    "createCustomer",
    method="PATCH",
    api=CONTROL,
    body=lambda number: {"lastname": "Ondo", "firstname": number},
    then=lambda number: {"lastname": "Ondo", "firstname": number},
)


@register("trigger")
def _trigger(facts: Facts, number: str) -> Step:
    overrides = {"customer": {"metadata": {"n": number}}}

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.objects["customer", number] = {"metadata": {"n": number}}

    return Step(
        "POST", f"{CONTROL}/trigger", {"event": "customer.created", "overrides": overrides}, effect
    )


# -- buyers

CHECKED = {"type": "bank_card", **CARD, "number": "4000000000003220"}
"""A card whose owner has to pass a check."""

BUYER = {"name": "Awa", "email": "awa@example.com"}


def _pays(name: str, kind: str, path: str, state: str, to: str, *before: str) -> None:
    """Register what a buyer pays on a page, with a card that is charged at once."""
    paid = {"_state": to} if kind == "payment_link" else {"_state": to, "status": to}
    changes(
        name,
        kind,
        f"/{path}/{{id}}/pay",
        *before,
        where={"_state": state},
        api=CONTROL,
        body=lambda number: {
            "method": {"type": "bank_card", **CARD},
            **({} if kind == "invoice" else {"customer": BUYER}),
        },
        then=lambda number: {**paid, "_paid": True},
    )


_pays(
    "payCheckoutSession",
    "checkout_session",
    "checkout-sessions",
    "open",
    "complete",
    "createCheckoutSession",
)
_pays("payPaymentLink", "payment_link", "payment-links", "active", "active", "createPaymentLink")
_pays(
    "payInvoicePage",
    "invoice",
    "invoices",
    "open",
    "paid",
    "createCustomer",
    "createInvoice",
    "finalizeInvoice",
)


@register("createCheckoutSession@saving")
def _saving(facts: Facts, number: str) -> Step:
    def effect(facts: Facts, response: ResponseBody) -> None:
        own = {"id": response["id"] if response else "any", "metadata": {"n": number}}
        facts.objects["checkout_session", number] = {**own, "_state": "saving"}

    body = {"success_url": SHOP, "currency": "XAF", "line_items": LINES, "mode": "setup"}
    return Step("POST", "/v1/checkout-sessions/", {**body, "metadata": {"n": number}}, effect)


changes(
    "payCheckoutSession@saving",
    "checkout_session",
    "/checkout-sessions/{id}/pay",
    "updateApp@delay",
    "createCheckoutSession@saving",
    where={"_state": "saving"},
    api=CONTROL,
    body=lambda number: {"method": CHECKED, "customer": BUYER},
    then=lambda number: {"_state": "saved soon"},
)
moves(
    "answerCheckoutSession",
    "checkout_session",
    "/checkout-sessions/{id}/",
    "saved soon",
    "complete",
    "updateApp@delay",
    "createCheckoutSession@saving",
    "payCheckoutSession@saving",
    action="answer",
    api=CONTROL,
    body=lambda number: {"result": "succeeded"},
)

PHONE = "+24177000000"


@register("createPaymentMethod@phone", "createCustomer")
def _phone(facts: Facts, number: str) -> Step | None:
    customer = newest(facts, "customer")
    if customer is None:
        return None
    body = {"customer": customer[1]["id"], "type": "mobile_money", "phone": PHONE}

    def effect(facts: Facts, response: ResponseBody) -> None:
        own = {"id": response["id"] if response else "any", "customer": body["customer"]}
        facts.objects["payment_method", number] = own
        used(facts, own["customer"])

    return Step("POST", "/v1/payment-methods/", {**body, "metadata": {"n": number}}, effect)


@register(
    "answerPrompt",
    "updateApp@handset",
    "createCustomer",
    "createPaymentMethod@phone",
    "createPaymentIntent",
    "confirmPaymentIntent",
)
def _prompt(facts: Facts, number: str) -> Step | None:
    waiting = newest(facts, "payment_intent", _state="requires_action")
    if waiting is None:
        return None
    key, fields = waiting

    def effect(facts: Facts, response: ResponseBody) -> None:
        facts.objects[key].update(_state="canceled", status="canceled")

    body = {"answer": "reject", "payment_intent": fields["id"]}
    return Step("POST", f"{CONTROL}/phones/{PHONE}/answer", body, effect)
