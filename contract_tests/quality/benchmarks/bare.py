"""The yardstick: customers over HTTP as one would write them with Starlette alone, with nothing around them.

Same requests, same answers: the key is compared, the body validated, the email unique, the list enveloped, and a
customer with a phone gets a payment method and an event. There are no units of work, clocks or schedules. It runs as
the emulator does, on uvicorn with uvloop and httptools.
"""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated

import msgspec
import uvicorn
from msgspec import Meta, Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract_tests.quality.benchmarks.servers import KEY

Metadata = dict[Annotated[str, Meta(min_length=1, max_length=40)], str | int | float | bool]


class NewCustomer(Struct, forbid_unknown_fields=True):
    """The body of a create."""

    email: Annotated[str, Meta(max_length=254, pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    phone: Annotated[str, Meta(pattern=r"^\+[1-9][0-9]{6,14}$")] | None = None
    metadata: Metadata = {}


class Customer(Struct, kw_only=True):
    """The object on the wire, field by field the emulator's."""

    id: str
    object: str = "customer"
    app: str = "app_bare"
    email: str
    firstname: str
    lastname: str
    phone: str | None
    address: None = None
    status: str = "active"
    is_blacklisted: bool = False
    transactions_count: int = 0
    total_spent: int = 0
    currency: str = "XAF"
    metadata: Metadata
    created_at: str
    updated_at: str


class PaymentMethod(Struct, kw_only=True):
    """What a customer with a phone pays with."""

    id: str
    object: str = "payment_method"
    app: str = "app_bare"
    customer: str
    type: str = "mobile_money"
    status: str = "active"
    is_default: bool = True
    details: dict[str, str]
    metadata: Metadata = {}
    livemode: bool = False
    created_at: str
    updated_at: str


class Event(Struct, kw_only=True):
    """The record of a change, as webhooks would send it."""

    id: str
    object: str = "event"
    type: str
    app: str = "app_bare"
    livemode: bool = False
    created_at: str
    request: str
    data: Customer


CUSTOMERS: dict[str, Customer] = {}
EMAILS: dict[str, str] = {}
METHODS: dict[str, list[PaymentMethod]] = {}
EVENTS: dict[str, Event] = {}

Answer = tuple[int, bytes]
"""Status and JSON of an answer."""

_decoder = msgspec.json.Decoder(NewCustomer)
_encode = msgspec.json.Encoder().encode


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


def _error(status: int, code: str) -> Answer:
    return status, _encode({"code": code, "status": status})


STRANGER = _error(401, "INVALID_API_KEY")
AUTHORIZATION = f"Bearer {KEY}"


def created(raw: bytes) -> Answer:
    """What a create answers to a body."""
    try:
        body = _decoder.decode(raw)
    except msgspec.ValidationError:
        return _error(422, "INVALID_FIELD")
    except msgspec.DecodeError:
        return _error(400, "VALIDATION_ERROR")
    if body.email.casefold() in EMAILS:
        return _error(409, "DUPLICATE_EMAIL")
    return 201, _encode(_file(body))


def _file(body: NewCustomer) -> Customer:
    first, _, last = body.name.partition(" ")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    customer = Customer(
        id=_new_id("cust"),
        email=body.email,
        firstname=first,
        lastname=last,
        phone=body.phone,
        metadata=body.metadata,
        created_at=now,
        updated_at=now,
    )
    CUSTOMERS[customer.id] = customer
    EMAILS[body.email.casefold()] = customer.id
    event = Event(id=_new_id("evt"), type="customer.created", created_at=now, request=_new_id("req"), data=customer)
    EVENTS[event.id] = event
    if body.phone is not None:
        method = PaymentMethod(
            id=_new_id("meth"),
            customer=customer.id,
            details={"operator": "Airtel", "phone": body.phone, "country": "GA"},
            created_at=now,
            updated_at=now,
        )
        METHODS.setdefault(customer.id, []).append(method)
    return customer


def retrieved(id: str) -> Answer:
    """What a GET of one customer answers."""
    customer = CUSTOMERS.get(id)
    return _error(404, "CUSTOMER_NOT_FOUND") if customer is None else (200, _encode(customer))


def listed(query: Mapping[str, str], url: Callable[[int], str]) -> Answer:
    """What a list answers: newest first, in the service's envelope. ``url`` gives the URL of another page."""
    try:
        page, size = int(query.get("page", 1)), int(query.get("page_size", 20))
    except ValueError:
        return _error(422, "INVALID_FILTER_PARAM")
    if page < 1 or not 1 <= size <= 100:
        return _error(422, "INVALID_FILTER_PARAM")
    count, first = len(CUSTOMERS), (page - 1) * size
    pages = -(-count // size)
    pagination = {
        "count": count,
        "total_pages": pages,
        "page": page,
        "page_size": size,
        "previous": url(page - 1) if page > 1 else None,
        "next": url(page + 1) if page < pages else None,
    }
    data = list(islice(reversed(CUSTOMERS.values()), first, first + size))
    return 200, _encode({"object": "list", "data": data, "pagination": pagination})


def _response(request: Request, answer: Callable[[], Answer]) -> Response:
    is_known = request.headers.get("authorization") == AUTHORIZATION
    status, content = answer() if is_known else STRANGER
    return Response(content, status, media_type="application/json")


async def create(request: Request) -> Response:
    """POST /v1/customers/."""
    body = await request.body()
    return _response(request, lambda: created(body))


async def retrieve(request: Request) -> Response:
    """GET /v1/customers/{id}/."""
    return _response(request, lambda: retrieved(request.path_params["id"]))


async def index(request: Request) -> Response:
    """GET /v1/customers/."""
    return _response(
        request,
        lambda: listed(request.query_params, lambda page: str(request.url.include_query_params(page=page))),
    )


app = Starlette(
    routes=[
        Route("/v1/customers/", create, methods=["POST"]),
        Route("/v1/customers/", index),
        Route("/v1/customers/{id}/", retrieve),
    ]
)


def config() -> uvicorn.Config:
    """Return how uvicorn serves it."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        # It is served in processes of others, too, whose logging stays as it was.
        log_config=None,
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    uvicorn.Server(config()).run(sockets=[socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=2048)])
