"""Mutants: services that are each wrong in one way, by the mutation points at which they strike.

``fixtures/mutants.yaml`` has the texts about each, and the changes of the simple ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import msgspec

from emulator.checks.receiver.service_world import unsigned
from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.lists import PAGING
from emulator.core.records import Record, hidden_fields
from emulator.core.unit_of_work import Event
from emulator.core.world import Reaction, World
from emulator.document.paths import fixture
from emulator.document.references import filled
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments import operator, refunds, transactions
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import REGISTRY
from emulator.resources.simulation import emails
from emulator.resources.webhooks.deliveries import SignedRequest, enqueue_deliveries
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- mutation points of the service, and mutants


class MutationPoint(Enum):
    """A place where a value passes. A change gets the value and what is named after it here."""

    REQUESTED = "a ClientRequest, before it is handled"
    RESPONDED = "a ServiceResponse to a request of /v1"
    SHOWN = "a JSON object in a response, or in an event on its way to an endpoint"
    DELIVERED = "the JSON of an event on its way to an endpoint, before it is signed; the world"
    SIGNED = "the SignedRequest to an endpoint; the endpoint"
    STORED = "a record that is added or changed; the record before, or None"
    EMITTED = "the type of an event, or None for one that is never emitted; its record"
    SCHEDULED = "when a job is due; its name, and the record that it is about"
    RUN = "a job that is due, or None for one that does nothing; the world"
    HELD = "whether a response of /v1 waits for its webhooks; its ClientRequest, the world"
    REACTED = "the reaction to an event, or None for one that is left out; the world, the event"


R = TypeVar("R", bound=Record)

Fields = Mapping[str, Any]
"""An object in JSON, or some of its fields."""

Wrong = tuple[MutationPoint, Callable[..., Any]]
"""The place and the wrong value there; the right value itself where the mutant has no concern."""


class Mutant(NamedTuple):
    """A service that is wrong in one way.

    ``wrong`` completes the sentence "no test fails when …". ``look`` says what a test has to assert
    to catch it. ``at`` is the point at which the service is wrong, and the change there.
    ``is_optional``: the guide advises clients not to depend on it, so it is tried only where it is
    asked for. ``tests`` are the digests of the tests that reached the point, or None where all are
    to run.
    """

    name: str
    wrong: str
    look: str
    at: Wrong
    is_optional: bool = False
    tests: frozenset[str] | None = None


class ClientRequest(NamedTuple):
    """What a request asks for; names of headers are in lower case."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]


class ServiceResponse(NamedTuple):
    """A response with a JSON body, and the method of its request."""

    method: str
    status: int
    body: Any


# -- changes of one kind


def wrong_object(kind: type[Record], fields: Callable[[Fields], Fields]) -> Wrong:
    """Show objects of a kind with wrong ``fields``; empty where an object is shown as it is."""
    whole = set(kind.__struct_fields__) - set(hidden_fields(kind))

    def change(right: Fields) -> Fields:
        # Some responses have only a few fields of an object.
        concerned = right["object"] == kind.kind and right.keys() >= whole
        return {**right, **fields(right)} if concerned else right

    return MutationPoint.SHOWN, change


def created(kind: type[R], fields: Callable[[R], Fields]) -> Wrong:
    """Store new records of a kind with wrong ``fields``."""
    return _stored(kind, lambda old, new: {} if old else fields(new))


def changed(kind: type[R], fields: Callable[[R, R], Fields]) -> Wrong:
    """Store changes of records of a kind, from ``old`` to ``new``, with wrong ``fields``."""
    return _stored(kind, lambda old, new: fields(old, new) if old else {})


def _stored(kind: type[R], fields: Callable[[R | None, R], Fields]) -> Wrong:
    def change(new: Record, old: Record | None) -> Record:
        if not isinstance(new, kind):
            return new
        before = old if isinstance(old, kind) else None
        return msgspec.structs.replace(new, **fields(before, new))

    return MutationPoint.STORED, change


def delivered(fields: Callable[[Fields, World], Fields]) -> Wrong:
    """Deliver events with an object that has wrong ``fields``; the signature is right."""

    def change(event: Fields, world: World) -> Fields:
        subject = event["data"]["object"]
        return {**event, "data": {**event["data"], "object": {**subject, **fields(subject, world)}}}

    return MutationPoint.DELIVERED, change


# -- changes that take code: of payments and their effects, of webhooks, of requests and responses


def collected_twice(concerns: Callable[[PaymentIntent], bool]) -> Wrong:
    """Let the buyer pay twice if ``concerns`` accepts the intent: two transactions result."""

    def change(reaction: Reaction, world: World, event: Event) -> Reaction:
        if reaction is not refunds.issue_receipt:
            return reaction
        id = event.data.object.payment_intent
        intent = world.get(PaymentIntent, id)
        is_first = (
            sum(transaction.payment_intent == id for transaction in world.table(Transaction)) == 1
        )
        return (
            _issue_and_collect_again
            if intent is not None and concerns(intent) and is_first
            else reaction
        )

    return MutationPoint.REACTED, change


def _issue_and_collect_again(world: World, first: Transaction) -> None:
    refunds.issue_receipt(world, first)
    copied = ("currency", "description", "payment_intent", "customer", "metadata")
    fields = {name: getattr(first, name) for name in copied}
    transactions.complete(
        world, transactions.open_deposit(world, first.amount, first.instrument, **fields)
    )


CAPTURED = ("requires_capture", "succeeded")
"""The statuses of a payment before and after its capture."""


def _failed_with_2xx(response: ServiceResponse) -> ServiceResponse:
    """Change POST responses alone: create and confirm ask to pay, a read has other sources."""
    intent = response.body
    asks_to_pay = response.method == "POST" and intent.get("object") == PaymentIntent.kind
    if not asks_to_pay or intent.get("status") != "succeeded":
        return response
    error = {"code": operator.DOWN, "message": "The payment operator is down."}
    return response._replace(
        body={**intent, "status": "canceled", "last_error": error, "amount_received": 0}
    )


def _boundary(*, of_trial: bool) -> Wrong:
    """Skip the end of a trial, or of any other period."""

    def change(job: Job, world: World) -> Job | None:
        subscription = world.get(Subscription, job.about)
        is_trial = subscription is not None and subscription.status == "trialing"
        return None if job.name == "subscription.renew" and is_trial == of_trial else job

    return MutationPoint.RUN, change


def _a_day_before_the_trial_ends(due: str, name: str, about: Record | None) -> str:
    is_trial = isinstance(about, Subscription) and about.status == "trialing"
    return calendar.plus(due, days=-1) if name == "subscription.renew" and is_trial else due


def _first_charge_declined(reaction: Reaction, world: World, event: Event) -> Reaction:
    concerned = reaction is enqueue_deliveries and event.type == "subscription.created"
    return _decline_and_deliver if concerned else reaction


def _decline_and_deliver(world: World, event: Event) -> None:
    match = {"customer": event.data.object.customer}
    operator.arrange(
        world, {"operation": "payment", "result": "failed", "times": 1, "match": match}
    )
    enqueue_deliveries(world, event)


IDENTITY = ("email", "firstname", "lastname", "phone")
"""The fields by which a customer is known."""

AMOUNTS = ("amount", "amount_total", "total")


def _of_another_customer(subject: Fields, world: World) -> Fields:
    own = subject.get("customer")
    others = (customer.id for customer in world.table(Customer) if customer.id != own)
    return {"customer": next(others, "cust_000000000000000000000000")} if own else {}


def _without_metadata(event: Fields, world: World) -> Fields:
    subject = event["data"]["object"]
    return {
        **event,
        "data": {"object": {**subject, "metadata": {}} if "metadata" in subject else subject},
    }


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


def _listed(fields: Callable[[Fields], Fields]) -> Wrong:
    """Respond with lists that have wrong ``fields``."""

    def change(response: ServiceResponse) -> ServiceResponse:
        is_list = isinstance(response.body, dict) and response.body.get("object") == "list"
        return (
            response._replace(body={**response.body, **fields(response.body)})
            if is_list
            else response
        )

    return MutationPoint.RESPONDED, change


def _other_code(response: ServiceResponse) -> ServiceResponse:
    if response.status < 400:
        return response
    if "error" in response.body:
        return response._replace(
            body={"error": {**response.body["error"], "code": "unknown_error"}}
        )
    return response._replace(body={**response.body, "code": "UNKNOWN_ERROR"})


def _held(is_held: bool, request: ClientRequest, world: World | None) -> bool:
    """Have the response to a POST wait for its webhooks, where there is an endpoint."""
    is_heard = (
        world is not None and any(world.table(WebhookEndpoint)) and "/webhooks/" not in request.path
    )
    return is_held or (is_heard and request.method == "POST")


# -- all


WRONG: Mapping[str, Wrong] = {
    "payment-failed-with-2xx": (MutationPoint.RESPONDED, _failed_with_2xx),
    "payment-short": created(PaymentIntent, lambda intent: {"amount": intent.amount - 1}),
    "payment-twice": collected_twice(lambda intent: intent.invoice is None),
    "payment-other-reason": wrong_object(
        PaymentIntent,
        lambda intent: (
            {"last_error": {**intent["last_error"], "code": "UPSTREAM_ERROR"}}
            if intent["last_error"]
            else {}
        ),
    ),
    "transaction-other-currency": wrong_object(
        Transaction,
        lambda transaction: {"currency": "XAF" if transaction["currency"] == "EUR" else "EUR"},
    ),
    "capture-whole": changed(
        PaymentIntent,
        lambda old, new: (
            {"amount_received": new.amount} if (old.status, new.status) == CAPTURED else {}
        ),
    ),
    "transaction-without-fee": created(
        Transaction,
        lambda transaction: (
            {"fee": 0, "net_amount": transaction.amount - transaction.commission}
            if transaction.type == "deposit"
            else {}
        ),
    ),
    "refund-short": created(Refund, lambda refund: {"amount": refund.amount - 1}),
    "invoice-paid-twice": collected_twice(lambda intent: intent.invoice is not None),
    "invoice-due-early": wrong_object(
        Invoice,
        lambda invoice: (
            {"due_date": calendar.day_plus(invoice["due_date"], -1)} if invoice["due_date"] else {}
        ),
    ),
    "first-charge-fails": (MutationPoint.REACTED, _first_charge_declined),
    "renewal-never": _boundary(of_trial=False),
    "trial-never-ends": _boundary(of_trial=True),
    "trial-ends-early": (MutationPoint.SCHEDULED, _a_day_before_the_trial_ends),
    "cancellation-forgotten": changed(
        Subscription, lambda old, new: {"cancel_at_period_end": old.cancel_at_period_end}
    ),
    "subscription-too-dear": created(
        Subscription, lambda subscription: {"unit_amount": subscription.unit_amount + 1}
    ),
    "period-ends-late": wrong_object(
        Subscription,
        lambda subscription: {
            "current_period_end": calendar.plus(subscription["current_period_end"], days=1)
        },
    ),
    "metadata-lost": (
        MutationPoint.SHOWN,
        lambda subject: {**subject, "metadata": {}} if subject.get("metadata") else subject,
    ),
    "customer-change-lost": changed(
        Customer, lambda old, new: {name: getattr(old, name) for name in IDENTITY}
    ),
    "event-before-response": (MutationPoint.HELD, _held),
    "webhook-about-another-customer": delivered(_of_another_customer),
    "webhook-without-metadata": (MutationPoint.DELIVERED, _without_metadata),
    "webhook-amount-too-high": delivered(
        lambda subject, world: {
            name: subject[name] + 1 for name in AMOUNTS if isinstance(subject.get(name), int)
        }
    ),
    "webhook-signed-over-other-bytes": (MutationPoint.SIGNED, _other_bytes),
    "webhook-unsigned": (MutationPoint.SIGNED, lambda request, endpoint: unsigned(request)),
    "idempotency-ignored": (MutationPoint.REQUESTED, _keyless),
    "filters-ignored": (MutationPoint.REQUESTED, _unfiltered),
    "list-skips-one": _listed(
        lambda page: {"data": page["data"][:-1]} if len(page["data"]) > 1 else {}
    ),
    "list-ends-early": _listed(lambda page: {"pagination": {**page["pagination"], "next": None}}),
    "list-reversed": _listed(lambda page: {"data": page["data"][::-1]}),
    "error-code-unknown": (MutationPoint.RESPONDED, _other_code),
}
"""The mutants that take code."""

KINDS = {kind.kind: kind for kind in REGISTRY.kinds}


def _wrong(name: str, row: Fields) -> Wrong:
    if event := row.get("never_sent"):
        return MutationPoint.EMITTED, lambda emitted, record: None if emitted == event else emitted
    if email := row.get("never_emailed"):
        return (
            MutationPoint.REACTED,
            lambda send, world, event: None if send is getattr(emails, email) else send,
        )
    if due := row.get("never_run"):
        return MutationPoint.RUN, lambda job, world: None if job.name == due else job
    if seen := row.get("shown"):

        def fields(right: Fields) -> Fields:
            has = [right[name] == value for name, value in seen.get("where", {}).items()]
            lacks = [right[name] != value for name, value in seen.get("unless", {}).items()]
            higher = {name: right[name] + more for name, more in seen.get("plus", {}).items()}
            return (
                filled(seen.get("as", {}), right.__getitem__) | higher if all(has + lacks) else {}
            )

        return wrong_object(KINDS[seen["kind"]], fields)
    return WRONG[name]


AREAS: Mapping[str, tuple[Mutant, ...]] = {
    area: tuple(
        Mutant(name, row["wrong"], row["look"], _wrong(name, row), row.get("is_optional", False))
        for name, row in rows.items()
    )
    for area, rows in fixture("mutants").items()
}

MUTANTS: Mapping[str, Mutant] = {mutant.name: mutant for area in AREAS.values() for mutant in area}
"""Every mutant by its name."""
