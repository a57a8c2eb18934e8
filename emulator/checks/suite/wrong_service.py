"""A service wrong in one way or none: a sandbox's parts where a mutant strikes, and the record."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.checks.suite.mutants import ClientRequest, Mutant, MutationPoint, ServiceResponse
from emulator.core.errors import ApiError
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.unit_of_work import DeliverWebhook, Event, EventData, UnitOfWork
from emulator.core.world import World, encode
from emulator.engine.engine import Engine
from emulator.engine.http_client import WebhookSender
from emulator.engine.reading import View
from emulator.engine.runtime import Runtime
from emulator.insight.audit.audit import audit_of
from emulator.insight.coverage import UsedPoints
from emulator.resources.app.clients import read_key
from emulator.resources.webhooks.deliveries import SignedRequest, signed
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.server.sandbox import Parts
from emulator.web.context import RequestContext, context_of

SERVICE = "/v1/"

HELD_SECONDS = 2.0
"""The longest time (real time) that a response waits for its webhooks: a receiver that handles one
thing at a time may be waiting for that response.
"""

V = TypeVar("V")
R = TypeVar("R", bound=Record)


class WrongService:
    """The mutants at their mutation points. Only ``active`` ones strike; without them all is right.

    ``reached`` has the names of all mutants that would have changed something, each with the Apps
    in which it would: so a run of the right service finds out which ones concern a command.
    """

    def __init__(self, mutants: Iterable[Mutant], *active: Mutant) -> None:
        self.become(mutants, *active)

    def become(self, mutants: Iterable[Mutant], *active: Mutant) -> None:
        """Be wrong in another way from now on, and forget what was reached."""
        self.active: Collection[Mutant] = active
        self.reached: defaultdict[str, set[str | None]] = defaultdict(set)
        self._at: defaultdict[MutationPoint, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            self._at[mutant.at[0]].append(mutant)

    def passed(self, point: MutationPoint, value: V, *about: object, app: str | None) -> V:
        """Return a value of an App, if that is known, after it has passed a mutation point."""
        right = value
        for mutant in self._at[point]:
            wrong = mutant.at[1](right, *about)
            if wrong != right:
                self.reached[mutant.name].add(app)
                if mutant in self.active:
                    value = wrong if value is right else mutant.at[1](value, *about)
        return value

    def parts(self) -> Parts:
        return Parts(
            world=lambda **fields: WrongWorld(self, **fields),
            sender=lambda response_time: WrongSender(self, response_time),
            app=self.responses,
        )

    def passed_objects(self, value: object, app: str | None) -> object:
        """Return a JSON value whose objects have passed their mutation points, inner ones first."""
        if isinstance(value, list):
            return [self.passed_objects(part, app) for part in value]
        if not isinstance(value, dict):
            return value
        inner = {name: self.passed_objects(part, app) for name, part in value.items()}
        return self.passed(MutationPoint.SHOWN, inner, app=app) if "object" in inner else inner

    def responses(self, app: ASGIApp) -> ASGIApp:
        """Return the service's or the control API: objects in responses pass their mutation point.

        Requests to the service and its responses pass theirs as well. The control API stays right:
        tests need it.
        """

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            context = context_of(scope)
            name, is_service = _app(context), context.path.startswith(SERVICE)
            request = ClientRequest(
                context.method, context.path, context.query_string, context.headers
            )
            if is_service:
                request = self.passed(MutationPoint.REQUESTED, request, app=name)
                context.query_string, context.headers = request.query, dict(request.headers)
                context.raw_headers = [
                    header for header in context.raw_headers if header[0] in request.headers
                ]
            start: Message = {}
            parts: list[bytes] = []

            async def send_changed(message: Message) -> None:
                nonlocal start
                if message["type"] == "http.response.start":
                    start = message
                    return
                if start:
                    body = message.get("body", b"")
                    if (b"content-type", b"application/json") in start["headers"]:
                        parts.append(body)
                        if message.get("more_body"):  # a snapshot
                            return
                        body = b"".join(parts)
                        start, body = (
                            self._response(context, name, start, body) if body else (start, body)
                        )
                    runtime = context.runtime
                    world = runtime.world if runtime else None
                    if (
                        is_service
                        and self.passed(MutationPoint.HELD, False, request, world, app=name)
                        and runtime
                    ):
                        await _delivered(runtime)
                    await send(start)
                    message, start = {**message, "body": body}, {}
                await send(message)

            await app(scope, receive, send_changed)

        return handle

    def _response(
        self, context: RequestContext, app: str | None, start: Message, body: bytes
    ) -> tuple[Message, bytes]:
        right = ServiceResponse(context.method, start["status"], json.loads(body))
        wrong = right._replace(body=self.passed_objects(right.body, app))
        if context.path.startswith(SERVICE):
            wrong = self.passed(MutationPoint.RESPONDED, wrong, app=app)
        if wrong == right:
            return start, body
        body = encode(wrong.body)
        headers = [header for header in start["headers"] if header[0] != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        return {**start, "status": wrong.status, "headers": [length, *headers]}, body


async def _delivered(runtime: Runtime) -> None:
    """Wait until each webhook so far has its outcome, for ``HELD_SECONDS`` at most."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(runtime.outbox.settled(), HELD_SECONDS)


class WrongWorld(World):
    """A world whose records, events and jobs pass their mutation points."""

    def __init__(self, service: WrongService, **fields: Any) -> None:
        super().__init__(**fields)
        self._service = service

    def _passed(self, point: MutationPoint, value: V, *about: object) -> V:
        return self._service.passed(point, value, *about, app=self.name)

    def add(self, record: R, number: int | None = None) -> R:
        return super().add(self._passed(MutationPoint.STORED, record, None), number)

    def change(self, record: R, changes: dict[str, object]) -> R:
        right = msgspec.structs.replace(record, **changes)
        wrong = self._passed(MutationPoint.STORED, right, record)
        names = record.__struct_fields__ if wrong is not right else ()
        others = {
            name: getattr(wrong, name)
            for name in names
            if getattr(wrong, name) != getattr(right, name)
        }
        return super().change(record, {**changes, **others})

    def emit(
        self, type: str, record: Record, metadata: Mapping[str, object] | None = None
    ) -> Event:
        data = EventData(record, metadata or msgspec.UNSET)
        emitted = self._passed(MutationPoint.EMITTED, type, record)
        event = self.record_event(type, data) if emitted else self.event(type, data)
        for name, about in ((emitted and "*", event), (type, record)):
            for reaction in self.registry.reactions.get(name, ()):
                if (
                    passed := self._passed(MutationPoint.REACTED, reaction, self, event)
                ) is not None:
                    passed(self, about)
        return event

    def schedule(self, due: str, name: str, about: Record | None = None, /, **data: str) -> Job:
        return super().schedule(
            self._passed(MutationPoint.SCHEDULED, due, name, about), name, about, **data
        )

    def run(self, job: Job) -> UnitOfWork:
        if self._passed(MutationPoint.RUN, job, self):
            return super().run(job)
        self.now = max(self.now, job.due)
        with self.unit_of_work() as unit:
            self.remove(job)
        return unit


class WrongSender(WebhookSender):
    """A webhook sender: events pass mutation points before the signature, requests after it."""

    def __init__(self, service: WrongService, response_time: float) -> None:
        super().__init__(response_time)
        self._service = service

    def request(self, world: World, post: DeliverWebhook, epoch: int) -> SignedRequest | None:
        request = super().request(world, post, epoch)
        if request is None:
            return None
        endpoint = world.require(WebhookEndpoint, post.webhook)
        event = json.loads(request.body)
        delivered = self._service.passed(MutationPoint.DELIVERED, event, world, app=world.name)
        wrong = self._service.passed_objects(delivered, world.name)
        if wrong != event:
            again = signed(
                endpoint, encode(wrong), delivery=post.delivery, event=event["id"], epoch=epoch
            )
            request = msgspec.structs.replace(again, headers={**request.headers, **again.headers})
        return self._service.passed(MutationPoint.SIGNED, request, endpoint, app=world.name)


def _app(context: RequestContext) -> str | None:
    """Return the name of the App whose key a request has; None without a valid one."""
    try:
        return read_key(context.headers.get(b"authorization", b"").decode("latin-1")).name
    except ApiError:
        return None


# -- what a test suite did


class WorldRecorder:
    """Looks at each world before it ends: a test suite may have one for each test."""

    def __init__(self) -> None:
        self.audits: list[dict[str, Any]] = []
        self.used: UsedPoints = UsedPoints()

    def attach(self, engine: Engine) -> None:
        """Look at each world of this engine that is reset or deleted."""
        engine.before_end.append(self._look)
        self._engine = engine

    def collect(self) -> None:
        """Look at the worlds that are left when the engine has stopped."""
        for runtime in self._engine.runtimes.values():
            self._look(runtime)

    def _look(self, runtime: Runtime) -> None:
        if (audit := audit_of(View(runtime.world, runtime.journal)))["request_count"]:
            self.audits.append(audit)
        self.used.add(runtime.journal.coverage)
