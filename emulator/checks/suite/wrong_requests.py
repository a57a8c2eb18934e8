"""Wrong services: webhooks, lists, errors and idempotency."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.checks.suite.seams import ClientRequest, Doubt, Seam, ServiceAnswer, delivered, never_run
from emulator.core.handlers import PAGING
from emulator.core.world import World
from emulator.resources.customers.customer_records import Customer
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.resources.webhooks.signing import SignedRequest

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


WEBHOOKS = (
    Doubt(
        "webhook-about-another-customer",
        "a webhook is about another customer",
        "Let your receiver compare the customer with its own records, and assert which customer is served.",
        delivered(_of_another_customer),
    ),
    Doubt(
        "webhook-without-metadata",
        "the events that are delivered have no metadata",
        "Assert what your receiver does with the metadata of the object.",
        (Seam.DELIVERED, _without_metadata),
    ),
    Doubt(
        "webhook-amount-too-high",
        "a webhook shows one minor unit more than the object has",
        "Let your receiver compare the amount with what it expects, or assert what it stores.",
        delivered(_one_more),
    ),
    Doubt(
        "webhook-signed-over-other-bytes",
        "the signature of a webhook is over other bytes",
        "Verify signatures over the raw body: a receiver that does rejects all of these, and its tests fail.",
        (Seam.SIGNED, _other_bytes),
    ),
    Doubt(
        "webhook-unsigned",
        "webhooks are not signed",
        "Reject deliveries without a signature: the tests of a receiver that does fail.",
        (Seam.SIGNED, _unsigned),
    ),
    Doubt(
        "webhook-never-retried",
        "a webhook that failed is never sent again",
        "Let a delivery fail, move the clock, and assert that it has arrived.",
        never_run("webhook.attempt"),
    ),
)

REQUESTS = (
    Doubt(
        "idempotency-ignored",
        "an `Idempotency-Key` is ignored",
        "Send a request again with its key, and assert that there is one object.",
        (Seam.REQUESTED, _keyless),
    ),
    Doubt(
        "filters-ignored",
        "the filters of lists are ignored",
        "List with a filter where there are others as well, and assert what comes back.",
        (Seam.REQUESTED, _unfiltered),
    ),
    Doubt(
        "list-skips-one",
        "each page of a list leaves one object out",
        "Assert every object of a list with several.",
        (Seam.ANSWERED, _without_last),
    ),
    Doubt(
        "list-ends-early",
        "a list has only its first page",
        "Read a list of several pages to its end, and assert its objects.",
        (Seam.ANSWERED, _without_next),
    ),
    Doubt(
        "list-reversed",
        "lists are in the opposite order",
        "Assert the order of a list, or that your application takes the right one of several.",
        (Seam.ANSWERED, _reversed),
    ),
    Doubt(
        "error-code-unknown",
        "errors have another code",
        "Provoke an error, and assert what your application makes of its code.",
        (Seam.ANSWERED, _other_code),
    ),
)
