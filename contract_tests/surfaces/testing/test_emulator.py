"""The Emulator class: one world in few words: paid, advanced, failed, seen, discarded, awaited."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import emulator
from contract_tests.quality.benchmarks.measures import one
from contract_tests.support.sandbox import CHARGED, FAILING_PHONE, START
from emulator.engine.runtime import Runtime
from emulator.testing import AsyncEmulator, Emulator, LocalServer, RemoteServer, RequestRefused
from emulator.testing.collector import WebhookCollector


def test_the_package_has_the_helpers() -> None:
    assert emulator.Emulator is Emulator
    assert callable(emulator.verify_webhook)
    assert Path(emulator.__path__[0], "py.typed").is_file(), "type checkers read the annotations"


def test_a_name_that_the_package_has_not_is_named() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Emulater'"):
        _ = emulator.Emulater  # type: ignore[attr-defined]


def test_to_import_the_helpers_loads_no_server() -> None:
    """Neither the server nor anything it needs is loaded before one is asked for; all is silent."""
    heavy = (
        "[name for name in ('connexion', 'uvicorn', 'httptools', 'babel') if name in sys.modules]"
    )
    code = f"import sys, emulator; emulator.Emulator; assert {heavy} == [], {heavy}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def settings(world: Emulator, *names: str) -> list[int]:
    values = world.api.get("/_emulator/app")["settings"]
    return [values[name] for name in names]


def begun(local_server: LocalServer, seed: int, fixtures: Path) -> Emulator:
    """Return a world whose settings come from a file of fixtures and from its arguments."""
    fixtures.write_text("settings: {tax_rate: 18, minimum_amount: 5}")
    start: Any = {"settings": {"tax_rate": 20}, "fixtures": fixtures}
    return Emulator(key="sk_test_settings-and-fixtures", seed=seed, server=local_server, **start)


def test_a_world_starts_with_its_fixtures_below_its_settings(
    local_server: LocalServer, tmp_path: Path
) -> None:
    with begun(local_server, 7, tmp_path / "shop.yaml") as world:
        assert settings(world, "tax_rate", "minimum_amount") == [20, 5]
        assert world.configure(tax_rate=0)["tax_rate"] == 0


def test_a_seed_decides_the_ids_of_a_world(local_server: LocalServer, tmp_path: Path) -> None:
    def ids(seed: int) -> list[str]:
        with begun(local_server, seed, tmp_path / "shop.yaml") as world:
            subscription = world.subscription()
            return [subscription["id"], subscription["customer"]]

    assert ids(7) == ids(7) != ids(8)


@pytest.mark.parametrize(
    ("clock", "now"),
    [
        ("2026-02-01T01:00:00+01:00", "2026-02-01T00:00:00.000Z"),
        ("frozen@2026-02-01T00:00:00Z", "2026-02-01T00:00:00.000Z"),
        # a naive one is what is tried
        (dt.datetime(2026, 2, 1), "2026-02-01T00:00:00.000Z"),  # noqa: DTZ001
        (dt.datetime(2026, 2, 1, tzinfo=dt.UTC), "2026-02-01T00:00:00.000Z"),
        ("running", None),
    ],
)
def test_an_instant_is_one_to_stand_still_at(
    local_server: LocalServer, clock: Any, now: str | None
) -> None:
    with Emulator(key="sk_test_clock", clock=clock, server=local_server) as world:
        assert world.clock.show()["mode"] == ("frozen" if now else "running")
        assert now in (None, world.clock.now)


def test_without_a_server_one_is_started_which_is_gone_with_the_block() -> None:
    """A start that fails leaves nothing running."""
    before = threading.enumerate()
    with pytest.raises(ValueError, match="tax is not a setting"):
        Emulator(settings={"tax": 1})
    with Emulator() as world, world.expect("customer.created", "subscription.created", *CHARGED):
        assert world.client.get("/v1/customers/").is_success
        world.subscription()
    with pytest.raises(RuntimeError):
        world.client.get("/v1/customers/")
    # Other servers of the process may start threads for look-ups of names and the like at any time.
    assert [
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith("asyncio_")
    ] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tax": 1}, "tax is not a setting"),
        ({"main_currency": "GBP"}, "main_currency: GBP is not among currencies"),
        ({"currencies": ["XAF", "ABC"]}, "ABC is not a code of ISO 4217"),
        ({"countries": ["ZZ"]}, "ZZ is not a code of ISO 3166-1"),
        ({"renewal_retry_days": [1, 1]}, "each day must be later than the one before"),
    ],
)
def test_a_world_with_wrong_settings_does_not_start(settings: Any, message: str) -> None:
    """B-90."""
    with pytest.raises(ValueError, match=message):
        Emulator(settings=settings)


@pytest.mark.parametrize(
    ("duration", "now"),
    [
        ("31d", "2026-02-01T00:00:00.000Z"),
        (dt.timedelta(hours=1, seconds=0.5), "2026-01-01T01:00:00.500Z"),
    ],
    ids=str,
)
def test_the_clock_moves_by_a_duration(world: Emulator, duration: Any, now: str) -> None:
    world.clock.advance(duration)
    assert world.clock.now == now


@pytest.mark.parametrize(
    "instant", ["2026-03-04T00:00:00Z", dt.datetime(2026, 3, 4, tzinfo=dt.UTC), dt.date(2026, 3, 4)]
)
def test_the_clock_moves_to_an_instant(world: Emulator, instant: Any) -> None:
    world.clock.advance(to=instant)
    assert world.clock.datetime == dt.datetime(2026, 3, 4, tzinfo=dt.UTC)


@pytest.mark.parametrize("instant", ["2026-03-02T00:00:00Z", dt.date(2026, 3, 2)])
def test_the_clock_freezes_at_an_instant(world: Emulator, instant: Any) -> None:
    assert world.clock.freeze(at=instant)["now"] == "2026-03-02T00:00:00.000Z"


def test_the_clock_runs(world: Emulator) -> None:
    assert world.clock.run(rate=60)["mode"] == "running"


def test_the_next_job_is_that_of_the_schedule(world: Emulator) -> None:
    assert world.clock.next_job() is None
    subscription = world.subscription()
    job = world.clock.next_job()
    assert job is not None
    assert job["object"] == subscription["id"]


def test_the_schedule_shows_the_jobs_to_come(world: Emulator) -> None:
    world.subscription()
    renewals = [
        job["due_at"] for job in world.clock.schedule("65d") if job["kind"] == "subscription.renew"
    ]
    assert renewals == ["2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]


def test_the_clock_goes_to_the_next_job(world: Emulator) -> None:
    world.subscription()
    world.clock.advance("1s")
    world.clock.advance(until="next")
    assert world.clock.now == "2026-02-01T00:00:00.000Z"


def test_the_clock_goes_to_the_next_event_of_a_type(world: Emulator) -> None:
    world.subscription()
    assert world.clock.advance(until_event="invoice.paid")["now"] == "2026-02-01T00:00:00.000Z"


def test_an_error_of_the_service_is_raised_with_all_it_says(world: Emulator) -> None:
    """Also in the nested shape, or not in JSON."""
    with pytest.raises(RequestRefused) as raised:
        world.api.post("/v1/customers/", {"email": "nonsense", "surname": "x"})
    assert (raised.value.status, raised.value.code) == (422, "VALIDATION_ERROR")
    for words in (
        "POST /v1/customers/ -> 422 VALIDATION_ERROR",
        "\n  email: ",
        "\n  surname: ",
        "\n  name: ",
    ):
        assert words in str(raised.value)
    world.subscription()
    with pytest.raises(RequestRefused) as raised:
        world.api.post("/v1/customers/", {"email": "customer-1@example.com", "name": "Awa"})
    assert (raised.value.status, raised.value.code) == (409, "customer_email_exists")
    world.fault(
        {"status": 502, "body": "Bad gateway, says the proxy"}, method="GET", path="/customers/"
    )
    world.api.get("/v1/products/")
    with pytest.raises(RequestRefused, match="-> 502 : Bad gateway, says the proxy"):
        world.api.get("/v1/customers/")


def test_each_snapshot_is_of_its_own_moment(world: Emulator) -> None:
    first = world.snapshot()
    world.customer()
    second = world.snapshot()
    world.customer()
    for snapshot, number in ((first, 0), (second, 1)):
        snapshot.restore()
        assert world.api.get("/v1/customers/")["pagination"]["count"] == number


@pytest.mark.parametrize(
    "extent",
    [
        {"times": 2},
        {"probability": 0.5},
        {"starts_at": "2026-02-01T00:00:00.000Z", "ends_at": "2026-02-02T00:00:00.000Z"},
    ],
)
def test_a_fault_lasts_as_long_as_is_said(world: Emulator, extent: dict[str, Any]) -> None:
    made = world.fault({"outage": "declined"} if "ends_at" in extent else {"status": 503}, **extent)
    assert {name: made[name] for name in extent} == extent


def test_customers_that_are_not_described_differ(world: Emulator) -> None:
    first, second = world.customer(), world.customer(name="Ben Obi")
    assert [customer["email"] for customer in (first, second)] == [
        "customer-1@example.com",
        "customer-2@example.com",
    ]
    assert second["firstname"] == "Ben"


def test_a_subscription_that_is_not_described_is_paid(world: Emulator) -> None:
    assert world.subscription()["status"] == "active"


def test_a_factory_takes_objects_for_ids(world: Emulator) -> None:
    customer, plan = world.customer(), world.plan()
    subscription = world.subscription(customer=customer, plan=plan)
    assert (subscription["customer"], subscription["plan"]) == (customer["id"], plan["id"])
    assert world.session(mode="setup", customer=customer)["customer"] == customer["id"]


def test_a_subscription_with_a_price_of_its_own_has_no_plan(world: Emulator) -> None:
    assert world.subscription(unit_amount=700, interval="week")["plan"] is None


@pytest.mark.parametrize("mode", ["payment", "subscription"])
def test_a_session_that_is_not_described_can_be_paid(world: Emulator, mode: str) -> None:
    assert world.pay(world.session(mode=mode))["status"] == "succeeded"


def test_a_session_for_an_email_has_no_customer(world: Emulator) -> None:
    assert world.session(customer_email="new@example.com")["customer"] is None


def test_an_invoice_stays_a_draft_if_it_is_not_to_be_finalized(world: Emulator) -> None:
    assert world.invoice(finalize=False)["status"] == "draft"


@pytest.mark.parametrize(
    ("options", "type", "status"),
    [
        ({}, "mobile_money", "succeeded"),
        ({"phone": FAILING_PHONE}, "mobile_money", "canceled"),
        ({"card": "4242 4242 4242 4242"}, "bank_card", "succeeded"),
        ({"card": {"number": "4242424242424242", "exp_year": 2030}}, "bank_card", "succeeded"),
        ({"email": "buyer@example.com"}, "paypal", "succeeded"),
        ({"iban": "DE89 3704 0044 0532 0130 00"}, "bank_transfer", "processing"),
    ],
)
def test_a_buyer_pays_by_what_is_said(
    world: Emulator, options: Any, type: str, status: str
) -> None:
    intent = world.pay(world.session(), **options)
    assert (intent["status"], intent["payment_method_type"], intent["amount"]) == (
        status,
        type,
        3000,
    )


@pytest.mark.parametrize("field", ["id", "payment_url"])
def test_a_buyer_pays_an_object_by_its_id_or_page(world: Emulator, field: str) -> None:
    assert world.pay(world.invoice()[field])["amount"] == 3000


def test_a_buyer_pays_by_a_method_that_is_allowed(world: Emulator) -> None:
    session = world.session(payment_method_types=["bank_card"])
    assert world.pay(f"{session['url']}?language=fr")["payment_method_type"] == "bank_card"


def test_a_payment_fails_as_arranged(world: Emulator) -> None:
    session = world.session()
    world.fail_next(code="INSUFFICIENT_FUNDS")
    assert world.pay(session["id"])["last_error"]["code"] == "INSUFFICIENT_FUNDS"


def test_the_story_says_why_a_payment_was_declined(world: Emulator) -> None:
    session = world.session()
    world.fail_next(code="INSUFFICIENT_FUNDS")
    world.pay(session["id"])
    world.pay(session["id"])
    declined, paid = [line for line in world.story().splitlines() if "/pay ->" in line][-2:]
    assert declined.endswith(
        "-> 200 declined, INSUFFICIENT_FUNDS: The buyer's funds are insufficient."
    )
    assert paid.endswith("-> 200")


def test_an_object_that_nobody_pays_is_rejected(world: Emulator) -> None:
    with pytest.raises(
        ValueError,
        match=r"'cust_1' is not payable. Give the id, or the URL of the page, of a checkou",
    ):
        world.pay("cust_1")


def test_a_buyer_pays_by_one_method(world: Emulator) -> None:
    with pytest.raises(ValueError, match="pay by one of card, phone"):
        world.pay("sess_1", phone="+24177000000", card="4242424242424242")


def test_a_server_elsewhere_is_used_as_it_is(
    local_server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Emulator(local_server.url, "sk_test_as-it-is") as first:
        assert isinstance(first.server, RemoteServer)
        first.subscription()
    monkeypatch.setenv("PAYMENTS_EMULATOR_URL", local_server.url + "/")
    monkeypatch.setenv("PAYMENTS_EMULATOR_KEY", first.key)
    with Emulator() as second:
        assert (second.url, second.key) == (local_server.url, first.key)
        assert second.events.types[0] == "customer.created"
        second.webhooks.listen()
        second.clock.advance("31d")
        second.webhooks.assert_delivered("invoice.paid")


def test_a_world_on_another_server_is_reset_if_the_test_sets_its_start(
    local_server: LocalServer, tmp_path: Path
) -> None:
    app = (local_server.url, "sk_test_elsewhere")
    fixtures = tmp_path / "shop.yaml"
    fixtures.write_text(
        "settings: {minimum_amount: 5}\napps: {elsewhere: {settings: {maximum_amount: 7000}}}"
    )
    names = ("tax_rate", "minimum_amount", "maximum_amount")
    with Emulator(*app, clock=START, seed=7, settings={"tax_rate": 18}, fixtures=fixtures) as first:
        assert (first.clock.now, settings(first, *names)) == (START, [18, 5, 7000])
        ids = first.subscription()["id"]
    with Emulator(*app, seed=7) as second:
        assert settings(second, *names) == [0, 100, 99999999]
        assert (second.clock.show()["mode"], second.subscription()["id"]) == ("frozen", ids)


def test_a_server_that_demands_a_token_is_given_it(monkeypatch: pytest.MonkeyPatch) -> None:
    server = LocalServer(control_token="let me in")
    try:
        with (
            pytest.raises(RequestRefused, match="PERMISSION_DENIED"),
            Emulator(server.url) as world,
        ):
            _ = world.clock.now
        monkeypatch.setenv("PAYMENTS_EMULATOR_CONTROL_TOKEN", "let me in")
        with Emulator(server.url, clock=START) as world:
            assert world.clock.now == START
    finally:
        server.stop()


# -- awaited, so that an application on the same event loop can answer during a call


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test on an event loop of its own."""

    @wraps(test)
    def on_a_loop(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return on_a_loop


@run
async def test_a_block_is_a_server_whose_calls_leave_the_loop_free() -> None:
    paid: list[bytes] = []

    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        paid.append(await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0])))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    shop = await asyncio.start_server(response, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{shop.sockets[0].getsockname()[1]}/"
    async with shop, Emulator(clock=START) as emulator:
        await emulator.webhooks.forward_to(url)
        await emulator.subscription()
        async with emulator.expect(*CHARGED):
            await emulator.clock.advance("31d")
        assert await emulator.clock.now() == "2026-02-01T00:00:00.000Z"
        assert len(await emulator.webhooks.assert_delivered("invoice.paid")) == 2
        assert len(paid) == len(await emulator.events.of()) == len(await emulator.webhooks.events())
        assert (await emulator.client.get("/v1/customers/")).json()["pagination"]["count"] == 1


async def failing(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b"no such order"})


@run
async def test_it_pays_expects_and_goes_back(world: Emulator) -> None:
    async with AsyncEmulator(world) as emulator:
        session = await asyncio.to_thread(world.session)
        before = await emulator.snapshot()
        await emulator.fail_next(code="INSUFFICIENT_FUNDS")
        failed = await emulator.pay(session, phone="+24177000000")
        assert failed["last_error"]["code"] == "INSUFFICIENT_FUNDS"
        assert (await emulator.pay(session))["status"] == "succeeded"
        assert (await emulator.emails.wait_for("receipt"))["to"] == "customer-1@example.com"
        done = await emulator.events.wait_for("checkout.session.completed")
        assert done["type"] == "checkout.session.completed"
        assert await emulator.ledger.balanced()
        assert (await emulator.ledger.totals())["XAF"]["buyers"] == -3000
        before.restore()
        assert await emulator.emails.of() == []
        await emulator.webhooks.forward_to(failing)
        await emulator.trigger("invoice.paid")
        assert {
            (delivery.status, delivery.error) for delivery in await emulator.webhooks.deliveries()
        } == {(500, "no such order")}
        with pytest.raises(AssertionError, match=r"did not happen: invoice.paid"):
            async with emulator.expect("invoice.paid"):
                pass


@run
async def test_an_expectation_ends_with_its_block(
    world: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the block raises reaches the plain one, which it leaves first."""
    left: list[object] = []

    class Expectation(nullcontext[None]):
        def __exit__(self, *raised: object) -> None:
            left.append(raised[0])

    monkeypatch.setattr(world, "expect", lambda *types: Expectation())
    async with AsyncEmulator(world) as emulator:
        for error in (ZeroDivisionError, asyncio.CancelledError):
            with pytest.raises(error):
                async with emulator.expect("invoice.paid"):
                    raise error
    assert left == [ZeroDivisionError, asyncio.CancelledError]


def test_another_loop_than_that_of_asyncio_is_refused_with_the_way_out(world: Emulator) -> None:
    entering = AsyncEmulator(world).__aenter__()
    with pytest.raises(RuntimeError, match=r"trio\.to_thread"):
        entering.send(None)


# -- worlds are thrown away wholly: a long run holds no thread, socket or world of an ended test


A_CONNECTION = 2
"""As many worlds as a connection holds by its last requests."""

MANY = 20

Held = tuple[int, int, int, int]


def held() -> Held:
    """Threads, files, worlds and collectors of webhooks of this process."""
    gc.collect()
    kinds = [type(object) for object in gc.get_objects()]
    # Without uvloop the loop keeps up to six threads that look up host names, as long as it lives.
    threads = [thread for thread in threading.enumerate() if not thread.name.startswith("asyncio_")]
    return (
        len(threads),
        len(os.listdir("/proc/self/fd")),
        kinds.count(Runtime),
        kinds.count(WebhookCollector),
    )


def held_beyond(most: Held) -> list[int]:
    """Return the things held beyond this; a busy machine has a minute to give them back."""
    deadline = time.monotonic() + 60
    while any(beyond := [max(0, now - then) for now, then in zip(held(), most, strict=True)]):
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return beyond


def left_behind() -> list[list[int]]:
    """Return the remains of many worlds, without and with webhooks, and those of their server."""
    with Emulator():  # the loop's signals have two pipes that later servers use as well
        pass
    left, at_first = [], held()
    server = LocalServer()
    for webhooks in (False, True):
        one(server, "first", webhooks)
        threads, files, _, collectors = held()
        for number in range(MANY):
            one(server, str(number), webhooks)
        left.append(held_beyond((threads, files, A_CONNECTION, collectors)))
    server.stop()
    return [*left, held_beyond(at_first)]


@pytest.mark.long
def test_nothing_stays_of_many_worlds() -> None:
    """In a process of its own: connections of the servers of other tests come and go."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(left_behind).result() == [[0, 0, 0, 0]] * 3
