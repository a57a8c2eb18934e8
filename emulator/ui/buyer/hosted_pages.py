"""A buyer's pages: ``/checkout/{id}``, ``/pay/{id}``, ``/invoice/{id}``, ``/receipt/{id}`` (B-58).

A request for a page has no API key: the object's id, which is too long to guess, finds its world.
Everything works without JavaScript: the response to a form is a redirect, and a page that waits
refreshes itself. With ``Accept: application/json`` the response is JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from emulator.control.payments import buyer_returns_early
from emulator.core.errors import ApiError
from emulator.core.limits import FORM
from emulator.core.world import World, encode
from emulator.engine.engine import Engine
from emulator.engine.storage.store import StorageError
from emulator.resources.app import security_profiles
from emulator.resources.app.idempotency import lookup, store
from emulator.resources.checkout import hosted_payments
from emulator.resources.payments import operator, payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Receipt
from emulator.ui.base import pages as posted
from emulator.ui.base.pages import api_error
from emulator.ui.buyer import forms, render, views
from emulator.ui.buyer.forms import Form, FormTokens, Posted
from emulator.ui.buyer.payables import Payable
from emulator.ui.buyer.render import buyer_headers, buyer_page
from emulator.ui.buyer.request import COOKIE, KINDS, PageRequest, Pay, idempotency_key
from emulator.ui.buyer.views import as_json, receipt_values
from emulator.web.context import RequestContext, context_of

NO_FORM: Form = {}


def pay_once(world: World, key: str, id: str, pay: Pay, payment: Mapping[str, Any]) -> str:
    """Pay, unless the form was sent before; return the payment's id, empty without a charge."""
    known = lookup(world, key, id)
    if known is not None:
        return known.body.decode()
    result = pay(world, id, payment)
    made = result.id if isinstance(result, PaymentIntent) else ""
    store(world, key, id, 303, made.encode())
    return made


class Pages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tokens = FormTokens()

    def routes(self) -> list[Route]:
        paying = [
            Route(f"/{kind}/{{id}}", self._page(kind, _paying), methods=["GET", "POST"])
            for kind in KINDS
        ]
        return [*paying, Route("/receipt/{id}", self._page("receipt", _receipt))]

    def _page(
        self, kind: str, respond: Callable[[PageRequest], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a page's handler: in the world of its object, after the jobs that are due."""

        async def show(http: Request) -> Response:
            request = PageRequest(http, kind, self._tokens)
            try:
                runtime = await self._engine.owner(request.id, request.query.get("app"))
                if runtime is None:
                    return _unknown(request)
                runtime.require_store()
                with runtime.in_use():
                    await runtime.catch_up()
                    request.belong_to(runtime)
                    response = await respond(request)
                    await runtime.durable()
                    return response
            except StorageError as error:
                return _away(request, error)

        return show


async def _receipt(request: PageRequest) -> Response:
    receipt = request.world.get(Receipt, request.id)
    if receipt is None:
        return _unknown(request)
    if request.json:
        return _json(receipt.public_view(), 200)
    return _html(
        request,
        "buyer-receipt.html",
        200,
        **receipt_values(request.world, receipt, request.language),
    )


async def _paying(request: PageRequest) -> Response:
    if request.payable() is None:
        return _unknown(request)
    return await _post(request) if request.http.method == "POST" else _get(request)


def _get(request: PageRequest) -> Response:
    """Return the page as it is. Send a browser with a successful payment on to the merchant."""
    token, last = request.token()
    payable = _present(request, last)
    if (
        payable.state == "paid"
        and "payment" in request.query
        and not request.json
        and payable.success_url
    ):
        return RedirectResponse(payable.success_url, 303, buyer_headers("", payable.origins))
    return _show(request, payable, token)


def _present(request: PageRequest, intent: PaymentIntent | None = None) -> Payable:
    payable = request.payable(intent)
    assert payable is not None, (
        "the page was there when this request began, and nothing ran in between"
    )
    return payable


async def _post(request: PageRequest) -> Response:
    """Return a form of the buyer, or of a tester who answers for phone and bank."""
    form, untyped = await _form(request.http)
    payable = _present(request)
    if request.foreign or not request.is_valid(form.get("token", "")):
        return _again(request, payable, 403, form, problem=render.STALE)
    if unclear := untyped & {"do", "payment"}:
        errors = dict.fromkeys(sorted(unclear), render.NOT_POSSIBLE)
        return _again(request, payable, 422, form, errors=errors)
    if form.get("do") in ("approve", "refuse"):
        return await _answer(request, form)
    return await _pay(request, payable, form, untyped)


async def _answer(request: PageRequest, form: Form) -> Response:
    """Confirm or reject a payment under way, or a method's saving; one that is over stays."""
    intent = request.intent_in(form)
    saving = _present(request).saving
    type = intent.payment_method_type if intent is not None else saving and saving.type
    code = operator.REJECTION_CODES[type or "bank_card"] if form["do"] == "refuse" else None
    id = intent.id if intent is not None else request.id
    _logged(request, {"answered": id, "result": "failed" if code else "succeeded", "code": code})
    if intent is not None:
        await request.runtime.serve(
            payment_intents.answer_now, {"id": intent.id, "code": code}, request.request_id
        )
    elif saving is not None:
        await request.runtime.serve(
            hosted_payments.answer_now, {"id": request.id, "code": code}, request.request_id
        )
    return _go_on(request, form.get("payment", ""))


def _logged(request: PageRequest, body: Mapping[str, Any]) -> RequestContext:
    """Have the request filed in the journal of its world; ``body`` is the meaning of its form."""
    context = context_of(request.http.scope)
    context.runtime, context.checkpoint = request.runtime, request.runtime.history.checkpoint()
    context.raw = encode(body)
    return context


async def _pay(
    request: PageRequest, payable: Payable, form: Form, untyped: frozenset[str]
) -> Response:
    key = idempotency_key(form["token"])
    known = lookup(request.world, key, request.id)
    if known is not None:
        return _go_on(request, known.body.decode())
    if payable.state != "payable":
        return _go_on(request, "")
    payment, errors = forms.read(payable, form, request.language, untyped)
    if errors:
        return _again(request, payable, 422, form, errors=errors)
    arguments = {"key": key, "id": request.id, "pay": KINDS[request.kind][1], "payment": payment}
    context = _logged(request, payment)
    try:
        security_profiles.check_country(request.world, context.client_address(request.world))
        await buyer_returns_early(request.runtime, request.id)
        made = await request.runtime.serve(pay_once, arguments, request.request_id)
    except ApiError as error:
        return _failed(request, form, error)
    return _go_on(request, made)


def _failed(request: PageRequest, form: Form, error: ApiError) -> Response:
    """Return the page after an API error, with messages by field or one sentence, or go on."""
    payable = _present(request)
    if payable.state != "payable":
        return _go_on(request, "")
    if errors := forms.field_errors(error):
        return _again(request, payable, error.status, form, errors=errors)
    problem = render.ERRORS.get(error.code, render.NOT_POSSIBLE)
    return _again(request, payable, error.status, form, problem=problem)


def _go_on(request: PageRequest, payment: str) -> Response:
    """Redirect after a form: to the merchant if it is paid, else to the page of its payment."""
    request.query["payment"] = payment
    payable = _present(request)
    if request.json:
        return _show(request, payable, request.token()[0])
    paid = payable.state == "paid" and payable.success_url
    return RedirectResponse(paid or request.link(), 303, buyer_headers("", payable.origins))


def _again(
    request: PageRequest, payable: Payable, status: int, form: Form, **wrong: Any
) -> Response:
    """Return the form again with its input and errors. A token that has not paid stays valid."""
    token = form.get("token", "")
    token = token if request.is_valid(token) else request.token()[0]
    return _show(request, payable, token, status=status, form=form, **wrong)


def _show(
    request: PageRequest,
    payable: Payable,
    token: str,
    *,
    status: int | None = None,
    form: Form = NO_FORM,
    errors: Mapping[str, str] = NO_FORM,
    problem: str | None = None,
) -> Response:
    view = views.View(payable, request.world, request.language, errors, problem)
    status = status or view.status
    if request.json:
        return _json(as_json(view, token), status, payable)
    values = view.values(request.query, form) | {"token": token, "action": request.link()}
    response = _html(request, view.template, status, **values)
    response.set_cookie(
        COOKIE, token, path=f"/{payable.kind}/{payable.id}", httponly=True, samesite="lax"
    )
    return response


async def _form(request: Request) -> Posted:
    """Return the posted form (fields or JSON); empty if unreadable or too many."""
    try:
        raw = await posted.body(request, FORM.most)
        if request.headers.get("content-type", "").startswith("application/json"):
            return forms.posted(msgspec.json.decode(raw, type=dict[str, Any]))
        return Posted(posted.fields(raw, 100))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return Posted(NO_FORM)


def _unknown(request: PageRequest) -> Response:
    if request.json:
        return api_error(request.http, ApiError("NOT_FOUND", message="There is no such page."))
    return _html(request, "buyer-closed.html", 404, **views.unknown(request.language))


def _away(request: PageRequest, error: StorageError) -> Response:
    if request.json:
        return api_error(request.http, error)
    response = _html(request, "buyer-closed.html", error.status, **views.away(request.language))
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _json(content: Any, status: int, payable: Payable | None = None) -> Response:
    headers = buyer_headers("", payable.origins if payable else ())
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


def _html(request: PageRequest, template: str, status: int, **values: Any) -> Response:
    payable = values.get("payable")
    origins = payable.origins if payable else ()
    images = payable.image_origins if payable else ()
    return buyer_page(
        template, status, request.language, origins, images, link=request.link, **values
    )
