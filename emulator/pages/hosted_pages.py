"""The pages a buyer meets: ``/checkout/{id}``, ``/pay/{id}``, ``/invoice/{id}`` and ``/receipt/{id}`` (B-58).

A page has no key: the object's id, which nobody can guess, finds its world. Everything works without JavaScript: forms
are posted and answered with a redirect, and a page that waits refreshes itself. ``Accept: application/json`` gets the
same as JSON.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from emulator.core.idempotency import lookup, store
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.pages import forms, languages, views
from emulator.pages.form_tokens import FormTokens
from emulator.pages.forms import Form
from emulator.pages.payables import Payable
from emulator.pages.render import buyer_headers, page
from emulator.pages.request import COOKIE, KINDS, PageRequest, Pay, once
from emulator.resources.app import security_profiles
from emulator.resources.payments import payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.receipts import Receipt
from emulator.web import form as posted
from emulator.web.context import context_of

MOST_BYTES = 65_536
"""A form is a few hundred bytes; more is not read."""

REFUSE = {
    "mobile_money": "MOBILE_MONEY_REJECTED",
    "bank_card": "PAYMENT_METHOD_NOT_SUPPORTED",
    "bank_transfer": "INSUFFICIENT_FUNDS",
    "paypal": "PAYMENT_METHOD_NOT_SUPPORTED",
}
"""The code a payment under way fails with when the buyer, or a tester in the buyer's place, refuses it."""


def pay_once(world: World, key: str, id: str, pay: Pay, payment: Mapping[str, Any]) -> str:
    """Pay, unless the same form was sent before: the id of the payment it made, empty where nothing was charged."""
    known = lookup(world, key, id)
    if known is not None:
        return known.body.decode()
    result = pay(world, id, payment)
    made = result.id if isinstance(result, PaymentIntent) else ""
    store(world, key, id, 303, made.encode())
    return made


class Pages:
    """The buyer's pages of every world of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tokens = FormTokens()

    def routes(self) -> list[Route]:
        """One route for each kind of page, and the receipts."""
        paying = [Route(f"/{kind}/{{id}}", self._page(kind), methods=["GET", "POST"]) for kind in KINDS]
        return [*paying, Route("/receipt/{id}", self._receipt)]

    def _page(self, kind: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visit = PageRequest(request, kind, self._tokens)
            runtime = self._runtime(KINDS[kind][0], visit.id)
            if runtime is None or visit.offer(runtime.world) is None:
                return _unknown(visit)
            if request.method == "POST":
                return await _post(visit, runtime)
            return _get(visit, runtime)

        return answer

    def _runtime(self, kind: type[Record], id: str) -> Runtime | None:
        """The world that has this object, brought to its present."""
        having = (runtime for runtime in self._engine.runtimes.values() if runtime.world.get(kind, id))
        found = next(having, None)
        if found is not None:
            found.run_due()
        return found

    async def _receipt(self, request: Request) -> Response:
        visit = PageRequest(request, "receipt", self._tokens)
        runtime = self._runtime(Receipt, visit.id)
        if runtime is None:
            return _unknown(visit)
        receipt = runtime.world.require(Receipt, visit.id)
        if visit.json:
            return _json(receipt.public_view(), 200)
        return _html(visit, "buyer-receipt.html", 200, **views.of_receipt(runtime.world, receipt, visit.language))


def _get(visit: PageRequest, runtime: Runtime) -> Response:
    """The page as it is now; a payment that has succeeded meanwhile goes on to the merchant."""
    token, last = visit.token(runtime.world)
    offer = _present(visit, runtime, last)
    if offer.state == "paid" and "payment" in visit.query and not visit.json and offer.success_url:
        return RedirectResponse(offer.success_url, 303, _headers(offer))
    return _show(visit, runtime, offer, token)


def _present(visit: PageRequest, runtime: Runtime, intent: PaymentIntent | None = None) -> Payable:
    offer = visit.offer(runtime.world, intent)
    assert offer is not None, "the page was there when this request began, and nothing ran in between"
    return offer


async def _post(visit: PageRequest, runtime: Runtime) -> Response:
    """What the buyer, or a tester in place of phone and bank, decided."""
    form = await _form(visit.request)
    offer = _present(visit, runtime)
    if visit.foreign or not visit.good(form.get("token", "")):
        return _again(visit, runtime, offer, 403, form, problem=("stale",))
    if form.get("do") in ("approve", "refuse"):
        return await _answer(visit, runtime, form)
    return await _pay(visit, runtime, offer, form)


async def _answer(visit: PageRequest, runtime: Runtime, form: Form) -> Response:
    """A payment under way is confirmed or refused; one that is over is left as it is."""
    intent = visit.intent_in(runtime.world, form)
    if intent is not None:
        code = REFUSE[intent.payment_method_type or "bank_card"] if form["do"] == "refuse" else None
        answer = {"id": intent.id, "code": code}
        await runtime.serve(payment_intents.answer_now, answer, visit.request_id)
    return _go_on(visit, runtime, form.get("payment", ""))


async def _pay(visit: PageRequest, runtime: Runtime, offer: Payable, form: Form) -> Response:
    key = once(form["token"])
    known = lookup(runtime.world, key, visit.id)
    if known is not None:
        return _go_on(visit, runtime, known.body.decode())
    if offer.state != "payable":
        return _go_on(visit, runtime, "")
    reading = forms.read(offer, form, visit.language)
    if reading.errors:
        return _again(visit, runtime, offer, 422, form, faults=reading.errors)
    arguments = {"key": key, "id": visit.id, "pay": KINDS[visit.kind][2], "payment": reading.payment}
    context = context_of(visit.request.scope)
    context.runtime = runtime
    try:
        security_profiles.refuse_country(runtime.world, context.client_address(runtime.world))
        made = await runtime.serve(pay_once, arguments, visit.request_id)
    except ApiError as refusal:
        return _refused(visit, runtime, form, refusal)
    return _go_on(visit, runtime, made)


def _refused(visit: PageRequest, runtime: Runtime, form: Form, refusal: ApiError) -> Response:
    """Nothing was made: the fields say why, or a sentence does, or the page has come to its end meanwhile."""
    offer = _present(visit, runtime)
    if offer.state != "payable":
        return _go_on(visit, runtime, "")
    faults = forms.messages(refusal)
    if faults:
        return _again(visit, runtime, offer, refusal.status, form, faults=faults)
    problem = (refusal.code if refusal.code in views.SAID else "refused",)
    return _again(visit, runtime, offer, refusal.status, form, problem=problem)


def _go_on(visit: PageRequest, runtime: Runtime, payment: str) -> Response:
    """After a form: to the merchant if it is paid, else to the page of what came of it."""
    visit.query["payment"] = payment
    offer = _present(visit, runtime)
    if visit.json:
        return _show(visit, runtime, offer, visit.token(runtime.world)[0])
    paid = offer.state == "paid" and offer.success_url
    return RedirectResponse(paid or visit.link(), 303, _headers(offer))


def _again(
    visit: PageRequest,
    runtime: Runtime,
    offer: Payable,
    status: int,
    form: Form,
    *,
    faults: Mapping[str, str] | None = None,
    problem: tuple[str, ...] = (),
) -> Response:
    """The form once more with what was typed, saying what is wrong. A token that has not paid stays good."""
    token = form.get("token", "")
    token = token if visit.good(token) else visit.token(runtime.world)[0]
    return _show(visit, runtime, offer, token, status=status, form=form, faults=faults or {}, problem=problem)


def _show(
    visit: PageRequest,
    runtime: Runtime,
    offer: Payable,
    token: str,
    *,
    status: int | None = None,
    form: Form | None = None,
    faults: Mapping[str, str] | None = None,
    problem: tuple[str, ...] = (),
) -> Response:
    view = views.View(offer, runtime.world, visit.language, faults or {}, problem)
    found = status or view.status
    if visit.json:
        return _json(view.twin(token), found, offer)
    values = view.values(visit.query, form or {})
    values |= {"token": token, "action": visit.link(), "here": visit.link()}
    response = _html(visit, view.template, found, **values)
    response.set_cookie(COOKIE, token, path=offer.path, httponly=True, samesite="lax")
    return response


async def _form(request: Request) -> dict[str, str]:
    """The posted fields, from a form or from JSON; empty where they cannot be read or are too many."""
    try:
        raw = await posted.body(request, MOST_BYTES)
        if request.headers.get("content-type", "").startswith("application/json"):
            return {name: str(value) for name, value in msgspec.json.decode(raw, type=dict[str, str | int]).items()}
        return posted.fields(raw, 100)
    except (ValueError, msgspec.MsgspecError):
        return {}


def _unknown(visit: PageRequest) -> Response:
    if visit.json:
        reply = context_of(visit.request.scope).error_response(ApiError("NOT_FOUND", message="There is no such page."))
        return Response(reply.body, reply.status, reply.headers, media_type=reply.media_type)
    return _html(visit, "buyer-closed.html", 404, **views.unknown(visit.language))


def _headers(offer: Payable | None, nonce: str = "") -> dict[str, str]:
    return buyer_headers(nonce, offer.origins if offer else [])


def _json(content: Any, status: int, offer: Payable | None = None) -> Response:
    body = msgspec.json.encode(content)
    return Response(body, status, _headers(offer), media_type="application/json")


def _html(visit: PageRequest, template: str, status: int, **values: Any) -> Response:
    nonce = secrets.token_urlsafe(16)
    every = {"nonce": nonce, "link": visit.link, **languages.facts(visit.language)}
    return page(template, status, _headers(values.get("offer"), nonce), **every, **values)
