"""Metrics of a world in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from emulator.core import calendar
from emulator.core.validation import Body
from emulator.engine.engine import Engine
from emulator.engine.runtime import MOMENT, Runtime
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.version import VERSION
from emulator.web.context import Response

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PREFIX = "payments_emulator_"

COUNTER, GAUGE = "counter", "gauge"

BY_STATUS: Mapping[str, tuple[type[Any], str]] = {
    "subscriptions": (Subscription, "Subscriptions by status."),
    "invoices": (Invoice, "Invoices by status."),
    "payment_intents": (PaymentIntent, "Payment intents by status."),
    "webhook_deliveries": (WebhookDelivery, "Webhook deliveries by status."),
}
"""Records that are counted by their status."""


class Sample(NamedTuple):
    """One value with its labels."""

    labels: Mapping[str, str]
    value: float


class Metric(NamedTuple):
    """A metric with its samples. ``name`` has no prefix; that of a counter ends in ``_total``."""

    name: str
    type: str
    help: str
    samples: Iterable[Sample]

    def lines(self) -> Iterable[str]:
        """The metric in the text format."""
        name = PREFIX + self.name
        yield f"# HELP {name} {self.help}"
        yield f"# TYPE {name} {self.type}"
        for sample in self.samples:
            labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
            yield f"{name}{{{labels}}} {sample.value:.17g}" if labels else f"{name} {sample.value:.17g}"


async def show(engine: Engine, runtime: Runtime, query: Body) -> Response:
    """GET /metrics."""
    await runtime.catch_up(MOMENT)
    lines = [line for metric in metrics(len(engine.runtimes), runtime) for line in metric.lines()]
    return Response(200, "\n".join([*lines, ""]).encode(), media_type=MEDIA_TYPE)


def metrics(apps: int, runtime: Runtime) -> Iterable[Metric]:
    """What is reported of the emulator and of one world, whose samples have the label ``app``."""
    world, state = runtime.world, runtime.clock_state()
    app = {"app": world.name, "mode": "live" if world.livemode else "test"}

    def one(name: str, type: str, help: str, value: float) -> Metric:
        return Metric(name, type, help, [Sample(app, value)])

    yield Metric("info", GAUGE, "The version of the emulator.", [Sample({"version": VERSION}, 1)])
    yield Metric("apps", GAUGE, "Worlds that are open.", [Sample({}, apps)])
    answers = Counter[int]()
    for (operation, status), number in runtime.journal.flush_coverage().answers.items():
        # Requests to the control API have no operation of the service.
        if operation is not None:
            answers[status] += number
    samples = [Sample({**app, "status": str(status)}, number) for status, number in sorted(answers.items())]
    yield Metric("requests_total", COUNTER, "Requests to the service by status.", samples)
    yield one("changes_total", COUNTER, "Requests and jobs that changed something.", runtime.journal.count)
    yield one("clock_seconds", GAUGE, "The instant of the clock, as Unix time.", calendar.parse(state.now).timestamp())
    yield one("clock_lag_seconds", GAUGE, "How far the world is behind its own clock.", state.lag)
    yield one("jobs", GAUGE, "Jobs that are planned.", state.pending)
    objects = [Sample({**app, "kind": table.kind.kind}, len(table)) for table in world.tables() if len(table)]
    yield Metric("objects", GAUGE, "Objects by kind.", objects)
    for name, (kind, help) in BY_STATUS.items():
        by_status = world.table(kind).indexes["status"]
        counts = {status: len(by_status.run(status)) for status in by_status.all_keys()}
        samples = [Sample({**app, "status": status}, count) for status, count in sorted(counts.items()) if count]
        yield Metric(name, GAUGE, help, samples)
    yield one("snapshots", GAUGE, "Named snapshots.", len(runtime.history.snapshots))
    yield one("ledger_balanced", GAUGE, "1 if the ledger adds up, 0 otherwise.", int(not runtime.journal.failures))


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


OPERATIONS = {"getMetrics": show}
