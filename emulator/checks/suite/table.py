"""The table of mutants, by area; and its rows about customers, checkout, webhooks, lists, errors and idempotency."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.checks.suite.search import (
    ClientRequest,
    Mutant,
    Seam,
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
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.webhooks.deliveries import SignedRequest
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- checkout sessions and customers


def _not_stored(old: Customer, new: Customer) -> dict[str, Any]:
    return {field: getattr(old, field) for field in ("email", "firstname", "lastname", "phone")}


def _customer_without_metadata(thing: Any) -> Any:
    return {**thing, "metadata": {}} if thing.get("metadata") else thing


CHECKOUT = (
    Mutant(
        "session-completed-never-sent",
        "the service never sends `checkout.session.completed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("checkout.session.completed"),
    ),
    Mutant(
        "session-total-too-high",
        "the total of a checkout session is one minor unit too high",
        "Assert `amount_total`, or what the buyer pays.",
        shown(CheckoutSession, lambda session: {"amount_total": session["amount_total"] + 1}),
    ),
    Mutant(
        "session-stays-open",
        "a checkout session that was paid stays open",
        "Assert the status of the session after its payment.",
        shown_as(CheckoutSession, "complete", "open"),
    ),
    Mutant(
        "session-never-expires",
        "a checkout session never expires",
        "Move the clock beyond the session's end, and assert that it cannot be paid any more.",
        never_run("checkout_session.expire"),
    ),
)

CUSTOMERS = (
    Mutant(
        "metadata-lost",
        "metadata is lost",
        "Assert the metadata by which your application finds its own objects.",
        (Seam.SHOWN, _customer_without_metadata),
    ),
    Mutant(
        "customer-change-lost",
        "a change of a customer is not stored",
        "Assert the customer after the change.",
        changed(Customer, _not_stored),
    ),
    Mutant(
        "customer-spent-too-much",
        "`total_spent` of a customer is one minor unit too high",
        "Assert what the customer has spent.",
        shown(Customer, lambda it: {"total_spent": it["total_spent"] + 1} if it["total_spent"] else {}),
    ),
    Mutant(
        "customer-deleted-never-sent",
        "the service never sends `customer.deleted`",
        "Assert the event, or what your application does because of it.",
        never_emitted("customer.deleted"),
    ),
)


# -- webhooks, lists, errors and idempotency


STRANGER = "cust_000000000000000000000000"
"""The customer of a wrong webhook, where there is no other one."""

AMOUNTS = ("amount", "amount_total", "total")

SIGNATURES = ("Service-Signature", "Authorization")


def _of_another_customer(subject: Mapping[str, Any], world: World) -> dict[str, Any]:
    own = subject.get("customer")
    others = (each.id for each in world.table(Customer) if each.id != own)
    return {"customer": next(others, STRANGER)} if own else {}


def _without_metadata(event: Mapping[str, Any], world: World) -> Mapping[str, Any]:
    subject = event["data"]["object"]
    return {**event, "data": {"object": {**subject, "metadata": {}} if "metadata" in subject else subject}}


def _one_more(subject: Mapping[str, Any], world: World) -> dict[str, Any]:
    return {name: subject[name] + 1 for name in AMOUNTS if isinstance(subject.get(name), int)}


def _other_bytes(request: SignedRequest, endpoint: WebhookEndpoint) -> SignedRequest:
    if endpoint.security_profile == "BASIC":  # it signs no bytes
        return request
    return msgspec.structs.replace(request, body=request.body + b"\n")


def _unsigned(request: SignedRequest, endpoint: WebhookEndpoint) -> SignedRequest:
    headers = {name: value for name, value in request.headers.items() if name not in SIGNATURES}
    return msgspec.structs.replace(request, headers=headers)


def _keyless(request: ClientRequest) -> ClientRequest:
    headers = {name: value for name, value in request.headers.items() if name != b"idempotency-key"}
    return request._replace(headers=headers) if request.method == "POST" else request


def _unfiltered(request: ClientRequest) -> ClientRequest:
    pairs = request.query.decode("latin-1").split("&")
    paging = [pair for pair in pairs if re.split("=", pair)[0] in PAGING]
    return request._replace(query="&".join(paging).encode("latin-1")) if request.query else request


def _is_list(answer: ServiceAnswer) -> bool:
    return isinstance(answer.body, dict) and answer.body.get("object") == "list"


def _without_last(answer: ServiceAnswer) -> ServiceAnswer:
    if not _is_list(answer) or len(answer.body["data"]) < 2:
        return answer
    return answer._replace(body={**answer.body, "data": answer.body["data"][:-1]})


def _without_next(answer: ServiceAnswer) -> ServiceAnswer:
    if not _is_list(answer):
        return answer
    return answer._replace(body={**answer.body, "pagination": {**answer.body["pagination"], "next": None}})


def _reversed(answer: ServiceAnswer) -> ServiceAnswer:
    return answer._replace(body={**answer.body, "data": answer.body["data"][::-1]}) if _is_list(answer) else answer


def _other_code(answer: ServiceAnswer) -> ServiceAnswer:
    if answer.status < 400:
        return answer
    if "error" in answer.body:
        return answer._replace(body={"error": {**answer.body["error"], "code": "unknown_error"}})
    return answer._replace(body={**answer.body, "code": "UNKNOWN_ERROR"})


def _held(seconds: float, request: ClientRequest, world: World | None) -> float:
    """Return a request that makes or changes something is answered after its webhooks, where there is an endpoint."""
    is_heard = world is not None and any(world.table(WebhookEndpoint)) and "/webhooks/" not in request.path
    return EVENT_FIRST if is_heard and request.method == "POST" else seconds


EVENT_FIRST = 0.5
"""Seconds (real time) that a response waits for its webhooks to arrive first."""

WEBHOOKS = (
    Mutant(
        "event-before-response",
        "an event comes before the response to the request that caused it",
        "Let your receiver meet an object that your application has not stored yet, and assert that nothing is lost.",
        (Seam.HELD, _held),
    ),
    Mutant(
        "webhook-about-another-customer",
        "a webhook is about another customer",
        "Let your receiver compare the customer with its own records, and assert which customer is served.",
        delivered(_of_another_customer),
    ),
    Mutant(
        "webhook-without-metadata",
        "the events that are delivered have no metadata",
        "Assert what your receiver does with the metadata of the object.",
        (Seam.DELIVERED, _without_metadata),
    ),
    Mutant(
        "webhook-amount-too-high",
        "a webhook shows one minor unit more than the object has",
        "Let your receiver compare the amount with what it expects, or assert what it stores.",
        delivered(_one_more),
    ),
    Mutant(
        "webhook-signed-over-other-bytes",
        "the signature of a webhook is over other bytes",
        "Verify signatures over the raw body: a receiver that does rejects all of these, and its tests fail.",
        (Seam.SIGNED, _other_bytes),
    ),
    Mutant(
        "webhook-unsigned",
        "webhooks are not signed",
        "Reject deliveries without a signature: the tests of a receiver that does fail.",
        (Seam.SIGNED, _unsigned),
    ),
    Mutant(
        "webhook-never-retried",
        "a webhook that failed is never sent again",
        "Let a delivery fail, move the clock, and assert that it has arrived.",
        never_run("webhook.attempt"),
    ),
)

REQUESTS = (
    Mutant(
        "idempotency-ignored",
        "an `Idempotency-Key` is ignored",
        "Send a request again with its key, and assert that there is one object.",
        (Seam.REQUESTED, _keyless),
    ),
    Mutant(
        "filters-ignored",
        "the filters of lists are ignored",
        "List with a filter where there are others as well, and assert what comes back.",
        (Seam.REQUESTED, _unfiltered),
    ),
    Mutant(
        "list-skips-one",
        "each page of a list leaves one object out",
        "Assert every object of a list with several.",
        (Seam.ANSWERED, _without_last),
    ),
    Mutant(
        "list-ends-early",
        "a list has only its first page",
        "Read a list of several pages to its end, and assert its objects.",
        (Seam.ANSWERED, _without_next),
    ),
    Mutant(
        "list-reversed",
        "lists are in the opposite order",
        "Assert the order of a list, or that your application takes the right one of several.",
        (Seam.ANSWERED, _reversed),
    ),
    Mutant(
        "error-code-unknown",
        "errors have another code",
        "Provoke an error, and assert what your application makes of its code.",
        (Seam.ANSWERED, _other_code),
    ),
)


# -- all


AREAS: Mapping[str, tuple[Mutant, ...]] = {
    "Payments": PAYMENTS,
    "Refunds": REFUNDS,
    "Checkout": CHECKOUT,
    "Invoices": INVOICES,
    "Subscriptions": SUBSCRIPTIONS,
    "Customers": CUSTOMERS,
    "Webhooks": WEBHOOKS,
    "Requests": REQUESTS,
}

MUTANTS: Mapping[str, Mutant] = {mutant.name: mutant for area in AREAS.values() for mutant in area}
"""Every mutant by its name."""
