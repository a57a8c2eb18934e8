"""Traces: a ``traceparent`` reaches the webhooks that its request caused, and spans are linked across virtual time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from contract_tests.support.sandbox import Sandbox
from emulator.checks.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
TRACESTATE = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"

APPLICATION = '''
"""An application: subscribes a customer, waits a month, and records a span for each webhook that it handles."""
import json, os, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import Request, urlopen
from opentelemetry import propagate
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(os.environ["COLLECTOR"] + "/v1/traces")))
tracer = provider.get_tracer("shop")

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        context = propagate.extract(dict(self.headers.items()))
        with tracer.start_as_current_span("shop " + event["type"], context):
            self.send_response(200)
            self.end_headers()

    def log_message(self, *args):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()

def post(path, body, **headers):
    key = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"], "Content-Type": "application/json"}
    url = os.environ["PAYMENTS_EMULATOR_URL"] + path
    return json.load(urlopen(Request(url, json.dumps(body).encode(), {**key, **headers})))

url = f"http://127.0.0.1:{server.server_port}/"
post("/v1/webhooks/", {"name": "Shop", "url": url, "events": ["invoice.paid"]})
customer = post("/v1/customers/", {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"})["id"]
terms = {"customer": customer, "unit_amount": 5000, "interval": "month"}
post("/v1/subscriptions/", terms, traceparent=os.environ["TRACEPARENT"], tracestate=os.environ["TRACESTATE"])
post("/_emulator/clock/advance", {"by": "31d"})
'''


class Collector:
    """Receives spans by OTLP over HTTP, as a collector does."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.http = HttpReceiver(self._answer)

    def _answer(self, request: ReceivedRequest) -> ReceiverReply:
        assert request.path == "/v1/traces"
        export = ExportTraceServiceRequest.FromString(request.body)
        self.spans += [span for of in export.resource_spans for scope in of.scope_spans for span in scope.spans]
        return ReceiverReply(200)

    def named(self, name: str) -> list[Span]:
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)

    def parent(self, span: Span) -> Span:
        return next(each for each in self.spans if each.span_id == span.parent_span_id)

    def linked(self, span: Span) -> Span:
        (link,) = span.links
        return next(each for each in self.spans if each.span_id == link.span_id and each.trace_id == link.trace_id)


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    with collector.http:
        yield collector


def test_a_renewal_its_delivery_and_the_handler_are_joined_to_the_request(collector: Collector, tmp_path: Path) -> None:
    """Started and read as a user would: a collector, 'exec --otlp', an application with the official SDK."""
    (tmp_path / "application.py").write_text(APPLICATION, "utf-8")
    options = ["--clock", "frozen@2026-01-01T00:00:00Z", "--otlp", collector.http.url]
    done = subprocess.run(
        [sys.executable, "-m", "emulator.cli.main", "exec", *options, "--", sys.executable, "application.py"],
        cwd=tmp_path,
        env={**os.environ, "COLLECTOR": collector.http.url, "TRACEPARENT": TRACEPARENT, "TRACESTATE": TRACESTATE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (subscribe,) = collector.named("POST /v1/subscriptions/")
    assert (subscribe.trace_id.hex(), subscribe.parent_span_id.hex()) == (TRACE, PARENT)
    first, renewed = collector.named("shop invoice.paid")
    assert (first.trace_id, first.trace_state) == (subscribe.trace_id, TRACESTATE)

    delivery = collector.parent(renewed)
    event = collector.parent(delivery)
    renewal = collector.parent(event)
    assert (delivery.name, event.name, renewal.name) == (
        "deliver webhook",
        "event invoice.paid",
        "job subscription.renew",
    )
    assert {"emulator.at": "2026-02-01T00:00:00.000Z"}.items() <= attributes(renewal).items()
    assert renewal.trace_id != subscribe.trace_id
    charge = collector.linked(renewal)
    assert (charge.name, charge.trace_id) == ("job subscription.charge", subscribe.trace_id)
    assert collector.parent(charge).span_id == subscribe.span_id


def attributes(span: Span) -> dict[str, str]:
    return {each.key: each.value.string_value for each in span.attributes}


def test_without_a_collector_the_context_reaches_the_webhooks_of_its_request(sandbox: Sandbox) -> None:
    endpoint = sandbox.endpoint(
        f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}", "customer.created", "invoice.paid"
    )
    given = {"traceparent": TRACEPARENT, "tracestate": TRACESTATE}
    body = {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"}
    customer = sandbox.api.post("/customers/", body, **given)
    terms = {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    sandbox.api.post("/subscriptions/", terms, traceparent=TRACEPARENT, tracestate="x" * 513)
    wrong = {"traceparent": "00-nonsense-01", "tracestate": TRACESTATE}
    sandbox.api.post("/customers/", {"email": "ben@example.com", "name": "Ben"}, **wrong)
    sandbox.advance("31d")
    assert [(each["event_type"], trace_context(each)) for each in sandbox.deliveries(endpoint)] == [
        ("customer.created", given),
        ("invoice.paid", {"traceparent": TRACEPARENT}),
        ("customer.created", {}),
        ("invoice.paid", {}),
    ]
    stored = sandbox.control.get("/requests", operation="createSubscription")["data"][0]
    assert sandbox.control.get(f"/requests/{stored['id']}")["request_headers"]["traceparent"] == TRACEPARENT


def trace_context(delivery: Any) -> dict[str, str]:
    """Return the headers of a trace context that the first attempt of a delivery carried."""
    sent = delivery["attempts"][0]["request_headers"]
    return {name: sent[name] for name in ("traceparent", "tracestate") if name in sent}
