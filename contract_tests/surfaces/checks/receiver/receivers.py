"""Webhook receivers to certify: good ones, one for each way of signing, and the defects that can be put into them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import jwt

from emulator.core.event_types import EVENTS

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"
WEBHOOK = "wh_5Tn8cV2bX6mK1jH4gF7dS9aP"

CATALOGUE = {*EVENTS, "webhook.ping", "webhook.test"}

SMALL = 10_000
"""Bytes of a body that arrive together, unless the sender pauses."""


@dataclass(frozen=True)
class Request:
    """One request: headers by lower-case name, the raw body, and how many others were being answered at that time."""

    headers: dict[str, str]
    body: bytes
    beside: int = 0

    @property
    def event(self) -> Any:
        """The event in the body."""
        return json.loads(self.body)

    @property
    def signature(self) -> str:
        """The signature, or the token or the credentials; empty where there are none."""
        return self.headers.get("service-signature", self.headers.get("authorization", "").partition(" ")[2])

    def proof(self, method: str) -> str | None:
        """What stands where this method has its proof, or None where the header is missing."""
        if method == "HMAC_SHA256":
            return self.headers.get("service-signature")
        header = self.headers.get("authorization")
        return None if header is None else header.partition(" ")[2].strip()


Defect = Callable[["Receiver", Request], int | None]
"""What answers in the place of a good receiver: with a status, or with None where it does not show; -1 hangs up."""


@dataclass
class Receiver:
    """A good receiver: it checks the proof of ``method`` over the raw body and accepts whatever is genuine.

    ``in_one_go`` is the defect of one that takes what arrived first for the whole body, unless that is large.
    """

    method: str = "HMAC_SHA256"
    defect: Defect = lambda receiver, request: None
    in_one_go: bool = False
    received: list[Request] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    signatures: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    busy: int = 0

    def answer(self, request: Request) -> int:
        """Return the status a request is answered with; what was accepted is remembered."""
        status = self.defect(self, request) or (200 if genuine(self.method, request) else 401)
        if status == 200:
            self.ids.add(request.event["id"])
            self.signatures.add(request.signature)
            self.objects.add(request.event["data"]["object"]["id"])
        return status

    def knows(self, request: Request) -> bool:
        """Return whether an event of this id was accepted before."""
        return request.event["id"] in self.ids

    def is_new(self, request: Request) -> bool:
        """Return whether neither the event nor the signature was met before."""
        return not self.knows(request) and request.signature not in self.signatures

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The URL it listens at, while it does."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks"
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.busy += 1
        _, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        length = int(headers["content-length"])
        read = reader.read if self.in_one_go and length < SMALL else reader.readexactly
        request = Request(headers, await read(length), self.busy - 1)
        self.received.append(request)
        status = self.answer(request)
        self.busy -= 1
        if status > 0:
            more = "Location: /elsewhere\r\n" if 300 <= status < 400 else ""
            writer.write(f"HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n{more}Connection: close\r\n\r\n".encode())
        writer.close()
        with suppress(OSError):  # the sender hung up, with some of the body still to come
            await writer.wait_closed()


# -- what proves who sent a request


def genuine(method: str, request: Request, **leniency: Any) -> bool:
    """Return whether the request proves by this method who sent it. ``leniency`` is for the library of tokens."""
    scheme, _, proof = request.headers.get("authorization", "").partition(" ")
    if method == "HMAC_SHA256":
        return same(request.headers.get("service-signature", ""), signature(request.body))
    if method == "BASIC":
        return scheme == "Basic" and same(proof, base64.b64encode(f"{WEBHOOK}:{SECRET}".encode()).decode())
    claims = claimed(proof, **leniency) if scheme == "Bearer" else None
    return claims is not None and claims["body_sha256"] == hashlib.sha256(request.body).hexdigest()


def signature(body: bytes) -> str:
    return hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def claimed(token: str, **options: Any) -> Any:
    """What a token claims, or None if it is not to be trusted."""
    try:
        return jwt.decode(token, SECRET, algorithms=["HS256"], options={"require": ["exp"], **options})
    except jwt.InvalidTokenError:
        return None


def algorithm(token: str) -> str | None:
    """Return the algorithm that a token names."""
    try:
        return str(jwt.get_unverified_header(token)["alg"])
    except jwt.InvalidTokenError:
        return None


def same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("latin-1"), expected.encode())


def well_formed(method: str, given: str) -> bool:
    """Return whether something looks like a proof."""
    form = {"HMAC_SHA256": r"[0-9a-f]{64}", "JWT": r"[^.]+\.[^.]+\.[^.]*", "BASIC": r"[A-Za-z0-9+/]+=*"}[method]
    return re.fullmatch(form, given) is not None


# -- ways to make a defect


def where(condition: Callable[[Receiver, Request], bool], status: int) -> Defect:
    """Return a receiver that has its own answer to some requests."""
    return lambda receiver, request: status if condition(receiver, request) else None


def of_type(*types: str, status: int) -> Defect:
    """Return a receiver that has its own answer to some types of event."""
    return where(lambda receiver, request: request.event["type"] in types, status)


def over(change: Callable[[bytes], bytes]) -> Defect:
    """Return a receiver that computes signatures over something it made of the body."""
    return lambda receiver, request: 200 if same(request.signature, signature(change(request.body))) else 401


def normal(body: bytes) -> bytes:
    """Return the text of a body in a normal form, as some frameworks hand it on."""
    return unicodedata.normalize("NFC", body.decode()).encode()


def rewritten(body: bytes, **options: Any) -> bytes:
    """Return the JSON of a body, serialized again."""
    return json.dumps(json.loads(body), separators=(",", ":"), **options).encode()
