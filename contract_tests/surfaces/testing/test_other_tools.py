"""freezegun and time-machine move the world; unittest's mixin; types find testers' mistakes."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import time_machine
from freezegun import freeze_time

from contract_tests import ROOT
from contract_tests.quality.docs.pages import GUIDE
from contract_tests.support import postgres
from contract_tests.support.sandbox import CHARGED
from contract_tests.surfaces.cli.terminal import clean
from emulator.engine.clock import Clock
from emulator.testing import AsyncEmulator, Emulator, LocalServer, RemoteServer

Freeze = Callable[[str], AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[RemoteServer]:
    """A server whose clocks know nothing of the time that a test of this process sets."""
    server = LocalServer(strict=True, clock=Clock)
    remote = RemoteServer(server.url)
    yield remote
    remote.stop()
    server.stop()


@pytest.fixture(params=["local_server", "elsewhere"])
def world(request: pytest.FixtureRequest, world_name: str) -> Iterator[Emulator]:
    with Emulator(
        key=f"sk_test_{world_name}", server=request.getfixturevalue(request.param)
    ) as emulator:
        yield emulator


@pytest.fixture(params=["freezegun", "time-machine"])
def freeze(request: pytest.FixtureRequest) -> Freeze:
    """Sets the time of this process."""
    if request.param == "freezegun":
        return freeze_time
    return lambda instant: time_machine.travel(
        dt.datetime.fromisoformat(f"{instant}T00:00:00+00:00"), tick=False
    )


def test_a_move_settles(world: Emulator, freeze: Freeze) -> None:
    """What the test looks at next is the application, which asks the emulator nothing."""
    deliveries = []

    def shop(environ: Any, start_response: Any) -> list[bytes]:
        deliveries.append(environ["PATH_INFO"])
        start_response("200 OK", [])
        return [b""]

    with freeze("2024-01-31") as frozen:
        world.webhooks.listen("invoice.paid").forward_to(shop)
        world.subscription()
        world.settle()
        assert len(deliveries) == 1
        frozen.move_to(dt.datetime(2024, 4, 30, tzinfo=dt.UTC))
        assert len(deliveries) == 4
        assert world.clock.now == "2024-04-30T00:00:00.000Z"


STORIES = ROOT / "contract_tests/surfaces/testing/stories"

TABLE = re.compile(r"^\| (?P<tool>[^|]*`[^|]+`) \|(?P<python>[^|]*)\|(?P<node>[^|]*)\|$", re.M)

TIME = {"freezegun", "time-machine"}
"""The tools of the fixture ``freeze``, beside which all tests of this module run."""


def test_each_cell_of_the_table_has_a_test_of_its_tool() -> None:
    """A test is named ``beside TOOL``; the tools run in the rehearsal of a release."""
    page = (GUIDE / "other-test-tools.md").read_text("utf-8")
    cells: dict[str, set[str]] = {language: set() for language in ("python", "node")}
    for row in TABLE.finditer(page.partition("## Frozen time")[0]):
        for language, tools in cells.items():
            if row[language].strip():
                tools.add(row["tool"].replace("`", ""))
    written = "".join(suite.read_text("utf-8") for suite in STORIES.rglob("beside_*.py"))
    tested = {name.replace("_", "-") for name in re.findall(r"def test_beside_(\w+)", written)}
    assert {tool.lower() for tool in cells["python"]} == tested | TIME
    suites = (ROOT / "contract_tests/surfaces/node/beside").rglob("*.test.*")
    titles = (
        re.findall(r'test\(["`]beside ([^"`,]+)', suite.read_text("utf-8")) for suite in suites
    )
    assert cells["node"] == set(itertools.chain.from_iterable(titles))


@pytest.mark.parametrize("instant", ["2028-02-29", "2020-02-29"])
def test_a_world_starts_at_the_time_that_is_set_before_its_first_use(
    world: Emulator, freeze: Freeze, instant: str
) -> None:
    """B-91: also at one that is past. A later freeze moves it on, and its lead is added."""
    with freeze(instant):
        assert world.subscription()["created_at"] == f"{instant}T00:00:00.000Z"
        world.clock.advance("1d")
    with freeze(f"{instant[:4]}-04-01") as frozen:
        assert world.clock.now == f"{instant[:4]}-04-01T00:00:00.000Z"
        world.clock.advance("1d")
        frozen.move_to(dt.datetime(int(instant[:4]), 4, 2, tzinfo=dt.UTC))
        assert world.clock.now == f"{instant[:4]}-04-03T00:00:00.000Z"


def test_it_never_goes_back(world: Emulator, freeze: Freeze) -> None:
    """The story says so: the next call may be the application's, which no helper can stop."""
    with freeze("2024-02-01") as frozen:
        world.subscription()
        frozen.move_to(dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
        assert "is 31 days, 0:00:00 behind this world" in world.story()
        with pytest.raises(AssertionError) as raised:
            _ = world.clock.now
        assert str(raised.value).endswith(
            " is 31 days, 0:00:00 behind this world, which is already at 2024-02-01T00:00:00.000Z;"
            " its clock never goes back. Freeze time before the first use of the world, or set its"
            " start: @pytest.mark.payments(clock=...)."
        )
    with freeze("2023-02-01"), pytest.raises(AssertionError, match="never goes back"):
        _ = world.clock.now
    assert world.clock.now == "2024-02-01T00:00:00.000Z"
    with Emulator(
        key=f"{world.key}-other", server=world.server, clock="2026-01-01T00:00:00Z"
    ) as other:
        with freeze("2024-01-01"), pytest.raises(AssertionError, match="731 days, 0:00:00 behind"):
            _ = [other.clock.now for _ in range(2)]
        assert other.clock.now == "2026-01-01T00:00:00.000Z"


def test_steps_of_each_library(world: Emulator) -> None:
    """Time that ticks, that goes on by itself, and freezes within freezes."""
    with time_machine.travel(dt.datetime(2024, 1, 31, tzinfo=dt.UTC), tick=False) as traveler:
        world.subscription()
        with world.expect(*CHARGED):
            traveler.shift(dt.timedelta(days=29))
        assert world.clock.now == "2024-02-29T00:00:00.000Z"
    with time_machine.travel(dt.datetime(2024, 3, 1, tzinfo=dt.UTC)):
        assert world.clock.now.startswith("2024-03-01T00:0")
    assert world.clock.now.startswith("2024-03-01T00:0")
    assert world.clock.show()["mode"] == "frozen"
    with freeze_time("2024-04-01") as outer:
        outer.tick(60)
        assert world.clock.now == "2024-04-01T00:01:00.000Z"
        with freeze_time("2024-05-01"):
            assert world.clock.now == "2024-05-01T00:00:00.000Z"
        outer.move_to("2024-06-01")
        assert world.clock.now == "2024-06-01T00:00:00.000Z"
    for year, options in (("2025", {"tick": True}), ("2026", {"auto_tick_seconds": 1})):
        # each takes its own
        with freeze_time(f"{year}-01-01", **options) as frozen:  # type: ignore[arg-type]
            assert world.clock.now.startswith(f"{year}-01-01T00:0")
            frozen.move_to(f"{year}-06-01")
            assert world.clock.now.startswith(f"{year}-06-01T00:0")
            assert world.clock.show()["mode"] == "frozen"


def test_webhooks_and_waits_work_while_time_stands_still(world: Emulator) -> None:
    """Waits go by real time, so they end; a JWT's times are the frozen ones, as its reader's."""
    with freeze_time("2024-01-01"):
        world.webhooks.listen(security_profile="JWT")
        world.subscription()
        assert world.webhooks.wait_for("invoice.paid")["created_at"] == "2024-01-01T00:00:00.000Z"
        with pytest.raises(AssertionError, match=r"no webhook refund.succeeded arrived"):
            world.webhooks.wait_for("refund.succeeded", timeout=0.01)
        with pytest.raises(AssertionError, match=r"refund.succeeded did not happen"):
            world.events.wait_for("refund.succeeded", timeout=0)


@pytest.mark.parametrize("world", ["local_server"], indirect=True)
def test_a_move_on_an_event_loop_leaves_it_free_to_respond(world: Emulator, freeze: Freeze) -> None:
    async def story() -> None:
        async with AsyncEmulator(world) as emulator:
            with freeze("2024-01-31") as frozen:
                await emulator.webhooks.listen("invoice.paid")
                await asyncio.to_thread(world.subscription)
                frozen.move_to(dt.datetime(2024, 4, 30, tzinfo=dt.UTC))
                await emulator.settle()
                assert len(await emulator.webhooks.deliveries()) == 4

    asyncio.run(story())


@pytest.mark.long
@pytest.mark.needs("django")
@pytest.mark.parametrize(
    "database",
    ["memory", "file", pytest.param("postgresql", marks=pytest.mark.needs("postgresql"))],
)
def test_a_webhook_sees_the_transaction_of_a_django_test(database: str, tmp_path: Path) -> None:
    """The tests with the fixture of pytest-django run in the rehearsal of a release."""
    shutil.copytree(STORIES / "django_project", tmp_path, dirs_exist_ok=True)
    command = (sys.executable, "-m", "django", "test", "--pattern=beside_*.py")
    with postgres.running() if database == "postgresql" else nullcontext("") as url:
        place = str(tmp_path / "orders.sqlite") if database == "file" else url
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env=clean(PYTHONPATH=str(ROOT), DJANGO_SETTINGS_MODULE="settings", DATABASE=place),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    assert "Ran 12 tests" in ended.stderr


SUITE = """
import unittest
from emulator.testing import PaymentsMixin

class WelcomeTest(PaymentsMixin, unittest.TestCase):
    payments_options = {"clock": "2026-01-01T00:00:00Z", "settings": {"tax_rate": 18}}

    def setUp(self):
        super().setUp()
        self.customer = self.payments.customer()

    def test_a_world_of_its_own(self):
        self.assertEqual(self.customer["created_at"], "2026-01-01T00:00:00.000Z")
        self.assertEqual(self.payments.events.types, ["customer.created"])
        self.assertEqual(self.payments.configure()["tax_rate"], 18)

    def test_that_fails(self):
        self.assertEqual(len(self.payments.events), 2)

class AsyncTest(PaymentsMixin, unittest.IsolatedAsyncioTestCase):
    async def test_that_passes(self):
        self.assertEqual(self.payments.events.types, [])

    async def test_that_fails(self):
        self.payments.customer()
        self.fail("on purpose as well")
"""


@pytest.mark.parametrize("where", ["in process", "elsewhere"])
def test_each_test_has_a_world_and_a_failure_its_report(
    where: str, local_server: LocalServer, tmp_path: Path
) -> None:
    (tmp_path / "test_welcome.py").write_text(SUITE, "utf-8")
    named = {"PAYMENTS_EMULATOR_URL": local_server.url} if where == "elsewhere" else {}
    command = (sys.executable, "-W", "error", "-m", "unittest", "-v", "test_welcome")
    environment = clean(PYTHONPATH=str(ROOT), **named)
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Ran 4 tests" in ended.stderr
    assert "FAILED (failures=2)" in ended.stderr, ended.stderr
    assert ended.stderr.count("POST /v1/customers/") == 2
    assert "clock: 2026-01-01T00:00:00.000Z" in ended.stderr


STORY = """
from emulator import Emulator, verify_webhook
from emulator.testing.objects import CheckoutSession, Refund


def buy(payments: Emulator, session: CheckoutSession) -> int:
    paid = payments.pay(session["url"], phone="+24177000000")
    event = payments.events.last("invoice.paid", session)
    payments.clock.advance(until_event="invoice.paid")
    refund: Refund = payments.api.post("/v1/refunds/", {"transaction": paid["transaction"]})
    print(payments.clock.datetime.year, event["data"]["object"]["total"], refund["amount"])
    verify_webhook(b"{}", {"Service-Signature": "0"}, payments.webhooks.endpoint)
    return payments.invoice(customer=payments.customer())["total"]


async def awaited(payments: Emulator, session: CheckoutSession) -> None:
    async with payments as emulator, emulator.expect("invoice.paid"):
        paid = await emulator.pay(session["url"], phone="+24177000000")
        await emulator.webhooks.forward_to("http://127.0.0.1:8000")
        print((await emulator.clock.datetime()).year, paid["transaction"])
        print((await emulator.invoice())["total"])
        await emulator.events.last("invoice.payed")  # type: ignore[arg-type]
        await emulator.clock.advnce("31d")  # type: ignore[attr-defined]
        emulator.ledger.assert_balanced()  # type: ignore[unused-coroutine]
        customer = await emulator.customer(emial="awa@example.com")  # type: ignore[call-arg]
        print(customer["nme"])  # type: ignore[typeddict-item]


def mistakes(payments: Emulator, session: CheckoutSession) -> None:
    print(session["amout_total"])  # type: ignore[typeddict-item]
    print(payments.subscription()["status"] == "activ")  # type: ignore[comparison-overlap]
    payments.customer(emial="awa@example.com")  # type: ignore[call-arg]
    payments.events.last("invoice.payed")  # type: ignore[arg-type]
    payments.expect("invoice.payed")  # type: ignore[arg-type]
    payments.webhooks.wait_for("invoice.payed")  # type: ignore[arg-type]
    print(payments.clock.advance("31d")["evens"])  # type: ignore[typeddict-item]
"""


@pytest.mark.long
@pytest.mark.needs("mypy")
def test_a_misspelt_field_or_event_is_an_error_of_mypy(tmp_path: Path) -> None:
    """A comment that ignores no error is an error as well."""
    file = tmp_path / "story.py"
    file.write_text(STORY, encoding="utf-8")
    options = ("--strict", "--follow-imports=silent", "--cache-dir", ROOT / ".mypy_cache")
    command = (sys.executable, "-m", "mypy", *options, file)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
