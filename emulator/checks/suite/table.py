"""The table of mutants, by area, and what is wrong about customers, checkout, webhooks, lists, errors and idempotency.

What is said of each stands in ``fixtures/mutants.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from emulator.checks.receiver.service_world import unsigned
from emulator.checks.suite.search import (
    Alteration,
    ClientRequest,
    Mutant,
    MutationPoint,
    ServiceAnswer,
    changed,
    delivered,
    never_emitted,
    never_run,
    shown,
    shown_as,
)
from emulator.checks.suite.wrong_payments import INVOICES, PAYMENTS, REFUNDS, SUBSCRIPTIONS
from emulator.core.handlers import PAGING
from emulator.core.world import World
from emulator.document.paths import fixture
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.webhooks.deliveries import SignedRequest
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- checkout sessions and customers


IDENTITY = ("email", "firstname", "lastname", "phone")

CHECKOUT: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "session-completed-never-sent": never_emitted("checkout.session.completed"),
    "session-total-too-high": shown(CheckoutSession, lambda session: {"amount_total": session["amount_total"] + 1}),
    "session-stays-open": shown_as(CheckoutSession, "complete", "open"),
    "session-never-expires": never_run("checkout_session.expire"),
}

CUSTOMERS: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "metadata-lost": (MutationPoint.SHOWN, lambda it: {**it, "metadata": {}} if it.get("metadata") else it),
    "customer-change-lost": changed(Customer, lambda old, new: {name: getattr(old, name) for name in IDENTITY}),
    "customer-spent-too-much": shown(
        Customer, lambda it: {"total_spent": it["total_spent"] + 1} if it["total_spent"] else {}
    ),
    "customer-deleted-never-sent": never_emitted("customer.deleted"),
}


# -- webhooks, lists, errors and idempotency


STRANGER = "cust_000000000000000000000000"
"""The customer of a wrong webhook, where there is no other one."""

AMOUNTS = ("amount", "amount_total", "total")


def _of_another_customer(subject: Mapping[str, Any], world: World) -> dict[str, Any]:
    own = subject.get("customer")
    others = (each.id for each in world.table(Customer) if each.id != own)
    return {"customer": next(others, STRANGER)} if own else {}


def _without_metadata(event: Mapping[str, Any], world: World) -> Mapping[str, Any]:
    subject = event["data"]["object"]
    return {**event, "data": {"object": {**subject, "metadata": {}} if "metadata" in subject else subject}}


def _other_bytes(request: SignedRequest, endpoint: WebhookEndpoint) -> SignedRequest:
    if endpoint.security_profile == "BASIC":  # it signs no bytes
        return request
    return msgspec.structs.replace(request, body=request.body + b"\n")


def _keyless(request: ClientRequest) -> ClientRequest:
    headers = {name: value for name, value in request.headers.items() if name != b"idempotency-key"}
    return request._replace(headers=headers) if request.method == "POST" else request


def _unfiltered(request: ClientRequest) -> ClientRequest:
    pairs = request.query.decode("latin-1").split("&")
    paging = [pair for pair in pairs if pair.partition("=")[0] in PAGING]
    return request._replace(query="&".join(paging).encode("latin-1")) if request.query else request


def _listed(fields: Callable[[Any], Mapping[str, Any]]) -> tuple[MutationPoint, Alteration]:
    """Answer lists with wrong ``fields``."""

    def change(answer: ServiceAnswer) -> ServiceAnswer:
        is_list = isinstance(answer.body, dict) and answer.body.get("object") == "list"
        return answer._replace(body={**answer.body, **fields(answer.body)}) if is_list else answer

    return MutationPoint.ANSWERED, change


def _other_code(answer: ServiceAnswer) -> ServiceAnswer:
    if answer.status < 400:
        return answer
    if "error" in answer.body:
        return answer._replace(body={"error": {**answer.body["error"], "code": "unknown_error"}})
    return answer._replace(body={**answer.body, "code": "UNKNOWN_ERROR"})


def _held(seconds: float, request: ClientRequest, world: World | None) -> float:
    """Return the seconds that a response is held back, so that its webhooks arrive first; 0 without an endpoint."""
    is_heard = world is not None and any(world.table(WebhookEndpoint)) and "/webhooks/" not in request.path
    return EVENT_FIRST if is_heard and request.method == "POST" else seconds


EVENT_FIRST = 0.5
"""Seconds (real time) that a response waits for its webhooks to arrive first."""

WEBHOOKS: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "event-before-response": (MutationPoint.HELD, _held),
    "webhook-about-another-customer": delivered(_of_another_customer),
    "webhook-without-metadata": (MutationPoint.DELIVERED, _without_metadata),
    "webhook-amount-too-high": delivered(
        lambda it, world: {name: it[name] + 1 for name in AMOUNTS if isinstance(it.get(name), int)}
    ),
    "webhook-signed-over-other-bytes": (MutationPoint.SIGNED, _other_bytes),
    "webhook-unsigned": (MutationPoint.SIGNED, lambda request, endpoint: unsigned(request)),
    "webhook-never-retried": never_run("webhook.attempt"),
}

REQUESTS: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "idempotency-ignored": (MutationPoint.REQUESTED, _keyless),
    "filters-ignored": (MutationPoint.REQUESTED, _unfiltered),
    "list-skips-one": _listed(lambda it: {"data": it["data"][:-1]} if len(it["data"]) > 1 else {}),
    "list-ends-early": _listed(lambda it: {"pagination": {**it["pagination"], "next": None}}),
    "list-reversed": _listed(lambda it: {"data": it["data"][::-1]}),
    "error-code-unknown": (MutationPoint.ANSWERED, _other_code),
}


# -- all


CHANGES: Mapping[str, tuple[MutationPoint, Alteration]] = {
    **PAYMENTS,
    **REFUNDS,
    **CHECKOUT,
    **INVOICES,
    **SUBSCRIPTIONS,
    **CUSTOMERS,
    **WEBHOOKS,
    **REQUESTS,
}
"""The mutation point at which each mutant is wrong, and the change there, by its name."""

AREAS: Mapping[str, tuple[Mutant, ...]] = {
    area: tuple(Mutant(name, at=CHANGES[name], **texts) for name, texts in rows.items())
    for area, rows in fixture("mutants").items()
}

MUTANTS: Mapping[str, Mutant] = {mutant.name: mutant for area in AREAS.values() for mutant in area}
"""Every mutant by its name."""
