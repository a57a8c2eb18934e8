"""What reading and making one object costs among a hundred and among a hundred thousand, through the whole stack.

``python -m contract_tests.quality.benchmarks.lists`` calls the application without sockets, so that only its own work is timed,
and alternates between the two worlds, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

import click

from emulator.core.world import World
from emulator.engine.runtime import Runtime
from emulator.resources.app.clients import Key
from emulator.resources.customers import customers
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.payments import transactions
from emulator.server.sandbox import Options, Sandbox

BATCH = 200
"""Requests that are timed together."""


class Bench:
    """A world with so many customers and as many completed transactions, one in five of them the same buyer's."""

    def __init__(self, sandbox: Sandbox, application: Any, name: str, objects: int) -> None:
        self.application = application
        self.headers = [(b"authorization", f"Bearer sk_test_{name}".encode()), (b"content-type", b"application/json")]
        runtime = sandbox.engine.open(Key(name, livemode=False))
        self.buyer = fill(runtime, objects)
        self.made = objects

    def requests(self, kind: str) -> Iterator[tuple[str, str, str, bytes]]:
        """The requests of one batch: method, path, query, body."""
        paths = {
            "list, first page": ("/v1/transactions/", ""),
            "list, by status": ("/v1/transactions/", "status=completed"),
            "list, by customer": ("/v1/transactions/", f"customer={self.buyer}"),
            "get": (f"/v1/customers/{self.buyer}/", ""),
        }
        for _ in range(BATCH):
            if kind == "create":
                self.made += 1
                body = json.dumps({"email": f"{self.made}@example.com", "name": "Awa Diop"}).encode()
                yield "POST", "/v1/customers/", "", body
            else:
                yield "GET", *paths[kind], b""

    async def time(self, kind: str) -> float:
        """Microseconds a request of this kind takes."""
        batch = list(self.requests(kind))
        started = time.perf_counter()
        for method, path, query, body in batch:
            await self.call(method, path, query, body)
        return (time.perf_counter() - started) / BATCH * 1e6

    async def call(self, method: str, path: str, query: str, body: bytes) -> None:
        """One request to the application."""
        status = 0

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)

        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "scheme": "http"}
        await self.application({**scope, "headers": self.headers, "server": ("localhost", 1)}, receive, send)
        assert status in (200, 201), (method, path, query, status)


def fill(runtime: Runtime, objects: int) -> str:
    """Put the objects into a world; the id of the buyer of every fifth transaction."""
    world = runtime.world
    buyer = ""
    for number in range(objects):
        with world.unit_of_work():
            customer = customers.create(world, {"email": f"{number}@example.com", "name": "Awa Diop"})
            buyer = buyer or customer.id
            deposit(world, buyer if number % 5 == 0 else customer.id)
    return world.require(Customer, buyer).id


PHONE = PaymentDetails(type="mobile_money", details={"operator": None, "phone": "+24177000000", "country": "GA"})


def deposit(world: World, customer: str) -> None:
    """A completed transaction of a customer."""
    opened = transactions.open_deposit(
        world, 5000, PHONE, currency="XAF", description=None, payment_intent=None, customer=customer
    )
    transactions.complete(world, opened)


KINDS = ("create", "get", "list, first page", "list, by status", "list, by customer")


@click.command()
@click.option("--few", default=100, type=click.IntRange(100), help="Objects in the small world.")
@click.option("--many", default=100_000, type=click.IntRange(100), help="Objects in the large world.")
@click.option("--rounds", default=15, type=click.IntRange(1), help="Batches of each kind; the table gives medians.")
def main(few: int, many: int, rounds: int) -> None:
    """Print what each kind of request takes in a small and in a large world."""
    asyncio.run(measure(few, many, rounds))


async def measure(few: int, many: int, rounds: int) -> None:
    """Alternate between the worlds and print the medians and their ratio."""
    sandbox = Sandbox(Options(clock_mode="frozen", seed=7))
    application = sandbox.application()
    benches = [Bench(sandbox, application, f"world-of-{count}", count) for count in (few, many)]
    gc.collect()
    gc.freeze()
    click.echo(f"{'microseconds a request':24}{few:>12,}{many:>12,}{'ratio':>8}")
    for kind in KINDS:
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for bench, taken in zip(benches, times, strict=True):
                taken.append(await bench.time(kind))
        small, large = map(statistics.median, times)
        click.echo(f"{kind:24}{small:>12.1f}{large:>12.1f}{large / small:>8.2f}")


if __name__ == "__main__":
    main()
