"""The yardstick: customers over HTTP as one would write them with Starlette alone, with nothing around them.

Same requests, same answers: the key is compared, the body validated, the email unique, the list enveloped. There are no
units of work, events, clocks or schedules. It runs as the emulator does, on uvicorn with uvloop and httptools.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import time
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

from contract_tests.benchmarks.servers import KEY, bind, say_ready
from emulator.engine.time_slice import LOOPS_PER_PAUSE, SLICE_SECONDS

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


CUSTOMERS: dict[str, Customer] = {}
EMAILS: dict[str, str] = {}

_decoder = msgspec.json.Decoder(NewCustomer)
_encode = msgspec.json.Encoder().encode


def _answer(value: object, status: int = 200) -> Response:
    return Response(_encode(value), status, media_type="application/json")


def _error(status: int, code: str) -> Response:
    return _answer({"code": code, "status": status}, status)


def _stranger(request: Request) -> bool:
    return request.headers.get("authorization") != f"Bearer {KEY}"


async def create(request: Request) -> Response:
    """POST /v1/customers/."""
    if _stranger(request):
        return _error(401, "INVALID_API_KEY")
    try:
        body = _decoder.decode(await request.body())
    except msgspec.ValidationError:
        return _error(422, "INVALID_FIELD")
    except msgspec.DecodeError:
        return _error(400, "VALIDATION_ERROR")
    if body.email.casefold() in EMAILS:
        return _error(409, "DUPLICATE_EMAIL")
    return _answer(_file(body), 201)


def _file(body: NewCustomer) -> Customer:
    first, _, last = body.name.partition(" ")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    customer = Customer(
        id=f"cust_{secrets.token_hex(12)}",
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
    return customer


async def retrieve(request: Request) -> Response:
    """GET /v1/customers/{id}/."""
    if _stranger(request):
        return _error(401, "INVALID_API_KEY")
    customer = CUSTOMERS.get(request.path_params["id"])
    return _error(404, "CUSTOMER_NOT_FOUND") if customer is None else _answer(customer)


async def index(request: Request) -> Response:
    """GET /v1/customers/: newest first, in the service's envelope."""
    if _stranger(request):
        return _error(401, "INVALID_API_KEY")
    try:
        page, size = int(request.query_params.get("page", 1)), int(request.query_params.get("page_size", 20))
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
        "previous": str(request.url.include_query_params(page=page - 1)) if page > 1 else None,
        "next": str(request.url.include_query_params(page=page + 1)) if page < pages else None,
    }
    data = list(islice(reversed(CUSTOMERS.values()), first, first + size))
    return _answer({"object": "list", "data": data, "pagination": pagination})


app = Starlette(
    routes=[
        Route("/v1/customers/", create, methods=["POST"]),
        Route("/v1/customers/", index),
        Route("/v1/customers/{id}/", retrieve),
    ]
)


async def be_busy() -> None:
    """Work without end, in slices and with pauses as long as those of the emulator's scheduler."""
    while True:
        until = time.perf_counter() + SLICE_SECONDS
        while time.perf_counter() < until:
            pass
        for _ in range(LOOPS_PER_PAUSE):
            await asyncio.sleep(0)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if "--busy" in sys.argv:
            self.work = asyncio.create_task(be_busy())
        say_ready()


def main() -> None:
    """Serve on a free port until SIGTERM."""
    config = uvicorn.Config(
        app, loop="uvloop", http="httptools", ws="none", lifespan="off", log_level="warning", access_log=False
    )
    _Server(config).run(sockets=[bind()])


if __name__ == "__main__":
    main()
