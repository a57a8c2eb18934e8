"""The yardstick: customers over HTTP, plain Starlette and a JSON Schema, with nothing around.

The key is compared, the body validated, the customer stored, the list enveloped. It runs as the
emulator does, on uvicorn with uvloop and httptools. ``python -m
contract_tests.quality.benchmarks.bare --port PORT``
"""

from __future__ import annotations

import secrets
import socket
import sys
from typing import Any

import msgspec
import uvicorn
from jsonschema_rs import Draft7Validator
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract_tests.quality.benchmarks.load import KEY

SCHEMA = {
    "type": "object",
    "required": ["email", "name"],
    "additionalProperties": False,
    "properties": {
        "email": {"type": "string", "format": "email"},
        "name": {"type": "string", "maxLength": 255},
        "phone": {"type": "string", "pattern": r"^\+[1-9][0-9]{6,14}$"},
        "metadata": {"type": "object"},
    },
}
VALID = Draft7Validator(SCHEMA, validate_formats=True)
AUTHORIZATION = f"Bearer {KEY}"
NEW = {
    "object": "customer",
    "app": "app_bare",
    "address": None,
    "status": "active",
    "is_blacklisted": False,
    "transactions_count": 0,
    "total_spent": 0,
    "currency": "XAF",
    **dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00.000Z"),
}

ROWS: dict[str, dict[str, Any]] = {}
ORDER: list[str] = []


def response(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def customers(request: Request) -> Response:
    if request.headers.get("authorization", "") != AUTHORIZATION:
        return response({"code": "INVALID_API_KEY"}, 401)
    if request.method == "GET":
        size = int(request.query_params.get("page_size", 20))
        pages = {
            "count": len(ORDER),
            "total_pages": -(-len(ORDER) // size),
            "page": 1,
            "page_size": size,
        }
        data = [ROWS[id] for id in ORDER[: -size - 1 : -1]]
        return response(
            {
                "object": "list",
                "data": data,
                "pagination": {**pages, "previous": None, "next": None},
            }
        )
    body = msgspec.json.decode(await request.body())
    if not VALID.is_valid(body):
        return response({"code": "VALIDATION_ERROR"}, 422)
    first, _, last = body["name"].partition(" ")
    id = f"cust_{secrets.token_hex(12)}"
    own = {"phone": body.get("phone"), "metadata": body.get("metadata", {})}
    ROWS[id] = {
        "id": id,
        "email": body["email"],
        "firstname": first,
        "lastname": last,
        **own,
        **NEW,
    }
    ORDER.append(id)
    return response(ROWS[id], 201)


async def customer(request: Request) -> Response:
    if request.headers.get("authorization", "") != AUTHORIZATION:
        return response({"code": "INVALID_API_KEY"}, 401)
    row = ROWS.get(request.path_params["id"])
    return response(row) if row else response({"code": "CUSTOMER_NOT_FOUND"}, 404)


app = Starlette(
    routes=[
        Route("/v1/customers/", customers, methods=["GET", "POST"]),
        Route("/v1/customers/{id}/", customer),
    ]
)

if __name__ == "__main__":
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
    )
    uvicorn.Server(config).run(
        sockets=[socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=2048)]
    )
