"""A limited history: with only the latest records in memory, the service and the control API answer the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from contract_tests.receiver import Receiver
from contract_tests.sandbox import FAILING_PHONE, RunningServer
from contract_tests.state.story import KEY, Teller
from emulator.core.archive import HistoryLimit
from emulator.resources.app.keys import Key
from emulator.sandbox import Options
from emulator.sandbox import Sandbox as Parts
from emulator.state.sql_archive import SqlArchive
from emulator.state.store import CorruptStore, StorageError

FEW = HistoryLimit(records=3)
"""So few that each request finds most of what it needs in the state."""

KINDS = ("invoice", "payment_intent", "transaction", "receipt", "refund", "event", "webhook_delivery", "customer")


@contextmanager
def served(state: str, history: HistoryLimit | None = None) -> Iterator[tuple[RunningServer, Teller]]:
    """A server that answers with the same URLs as any other, and what asks it."""
    server, teller = RunningServer("http://127.0.0.1:4747", state=state, history=history), Teller()
    teller.url = server.url
    try:
        yield server, teller
    finally:
        teller.close()
        server.stop()


def play(teller: Teller, hook: str) -> list[bytes]:
    """Half a year of an App: renewals that are paid and fail, deliveries, and changes of what is months old."""
    ask = teller.ask
    ask("POST", "/_emulator/outcomes", {"operation": "delivery", "result": "succeeded", "times": 100})
    ask("POST", "/v1/webhooks/", {"name": "Shop", "url": hook, "events": ["invoice.paid", "refund.succeeded"]})
    ids = [_subscribed(teller, phone) for phone in ("+24177000000", "+24177000002", FAILING_PHONE)]
    ask("POST", "/_emulator/clock/advance", {"by": "170d"})
    oldest = ask("GET", "/v1/transactions/?ordering=created_at&status=completed")["data"][0]
    ask("POST", "/v1/refunds/", {"transaction": oldest["id"], "amount": 700})
    invoice = ask("GET", "/v1/invoices/?ordering=created_at")["data"][0]
    ask("PATCH", f"/_emulator/objects/{invoice['id']}", {"created_at": "2026-03-05T00:00:00Z", "footer": "late"})
    event = ask("GET", "/_emulator/events?page_size=1&page=20")["data"][0]
    ask("PATCH", f"/_emulator/objects/{event['id']}", {"request": "req_other"})
    ask("POST", "/_emulator/clock/advance", {"by": "20d"})
    ask("DELETE", f"/v1/customers/{ids[1]}/")
    return teller.answers


def _subscribed(teller: Teller, phone: str) -> str:
    """The id of a new customer with a monthly subscription."""
    contact = {"email": f"{phone[1:]}@example.com", "name": "Awa Diop", "phone": phone}
    customer: str = teller.ask("POST", "/v1/customers/", contact)["id"]
    terms = {"customer": customer, "unit_amount": 5000, "currency": "XAF", "interval": "month"}
    teller.ask("POST", "/v1/subscriptions/", terms)
    return customer


def looks(teller: Teller) -> Iterator[str]:
    """The paths by which a tester may look at all that there is."""
    for path in ("customers", "subscriptions", "invoices", "payment-intents", "transactions", "receipts", "refunds"):
        yield from (f"/v1/{path}/?page_size=7&page={page}" for page in (1, 2, 3))
        yield f"/v1/{path}/?ordering=created_at&page_size=100"
        if path != "customers":
            yield f"/v1/{path}/?created_after=2026-02-10T00:00:00Z&created_before=2026-04-20T00:00:00Z"
    yield "/v1/invoices/?status=paid,open&page_size=5&page=2"
    yield "/v1/transactions/?ordering=-amount&page_size=5"
    webhook = teller.ask("GET", "/v1/webhooks/")["data"][0]["id"]
    yield f"/v1/webhooks/{webhook}/deliveries/?page_size=100"
    for kind in KINDS:
        yield f"/_emulator/objects?kind={kind}&query=5000"
        found = teller.ask("GET", f"/_emulator/objects?kind={kind}&page_size=100")["data"]
        for each in (*found[:1], *found[-1:]):
            yield from (f"/_emulator/objects/{each['id']}", f"/_emulator/explain/{each['id']}")
            yield from (f"/_emulator/events?object={each['id']}", f"/_emulator/search?query={each['id']}")
    yield from ("/_emulator/events?page_size=100", "/_emulator/events?type=invoice.paid&page_size=3&page=2")
    yield from ("/_emulator/emails?page_size=100", "/_emulator/counts", "/_emulator/ledger", "/_emulator/audit")
    yield from ("/_emulator/search?query=awa", "/_emulator/search?query=inv", "/_emulator/schedule?until=P3M")
    yield from ("/_emulator/snapshots", "/_emulator/recording")


def seen(teller: Teller) -> dict[str, bytes]:
    """What each look shows, and a snapshot of everything."""
    shown = {path: _content(teller, path) for path in looks(teller)}
    teller.ask("POST", "/_emulator/snapshots", {"name": "all"})
    return {**shown, "snapshot": _content(teller, "/_emulator/snapshots/all")}


def _content(teller: Teller, path: str) -> bytes:
    teller.ask("GET", path)
    return teller.answers[-1]


def stored(teller: Teller) -> dict[str, bytes]:
    """What is shown of all that outlasts a server: not its journal, nor what is explained by that.

    Requests have other ids then.
    """
    of_journal = ("/_emulator/explain", "/_emulator/ledger", "/_emulator/audit", "/_emulator/recording")
    paths = (path for path in looks(teller) if not path.startswith((*of_journal, "/_emulator/snapshots")))
    return {path: _content(teller, path).partition(b"{")[2] for path in paths}


def in_memory(server: RunningServer) -> dict[str, int]:
    """How many records of each kind that is archived are in memory."""
    tables = server.server.sandbox.engine.runtimes[Key("story", livemode=False)].world.archived_tables()
    return {table.kind.kind: table.slots.size() for table in tables}


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A database file."""
    return f"sqlite:///{tmp_path}/worlds.db"


def test_every_answer_is_the_same(receiver: Receiver, tmp_path: Path) -> None:
    """Lists, objects, explanations, sums and exports, before and after a rewind beyond what is in memory."""
    with served("memory") as (_, teller):
        answers, shown = [*play(teller, receiver.url)], seen(teller)
        teller.ask("POST", "/_emulator/rewind", {"to": refund_request(answers)})
        rewound = seen(teller)
    with served(f"sqlite:///{tmp_path}/worlds.db", FEW) as (server, teller):
        assert [*play(teller, receiver.url)] == answers
        assert set(in_memory(server).values()) <= {1, 2, 3}
        assert_same(seen(teller), shown)
        undone = teller.ask("GET", "/_emulator/events?page_size=1&page=6")["data"][0]["id"]
        teller.ask("POST", "/_emulator/rewind", {"to": refund_request(answers)})
        assert_same(seen(teller), rewound)
        headers = {"Authorization": f"Bearer {KEY}"}
        gone = httpx.get(f"{teller.url}/_emulator/objects/{undone}", headers=headers, trust_env=False, timeout=60)
        assert gone.status_code == 404


def refund_request(answers: list[bytes]) -> str:
    """The id of the request that made the refund; what came after it is more than what is in memory."""
    answer = next(answer for answer in answers if b'"object":"refund"' in answer)
    return answer.partition(b"{")[0].decode()


def assert_same(limited: dict[str, bytes], whole: dict[str, bytes]) -> None:
    """The same answer by each path."""
    assert {path: text.decode() for path, text in limited.items() if text != whole[path]} == {}
    assert limited.keys() == whole.keys()


def test_a_restart_loads_what_belongs_in_memory(place: str, receiver: Receiver) -> None:
    """The same database is read with and without a limit, and one that was written without."""
    with served(place) as (_, teller):
        play(teller, receiver.url)
        whole = stored(teller)
    for limit in (FEW, HistoryLimit(months=1), None):
        with served(place, limit) as (server, teller):
            counts = in_memory(server)
            assert_same(stored(teller), whole)
            if limit == FEW:
                assert max(counts.values()) == 3
            elif limit:
                assert 0 < counts["invoice"] <= 4


def test_what_is_old_is_refunded_shown_and_deleted(receiver: Receiver, tmp_path: Path) -> None:
    """A buyer's page finds what is in the state alone; a reset takes it away there, too."""
    with served(f"sqlite:///{tmp_path}/worlds.db", FEW) as (server, teller):
        play(teller, receiver.url)
        receipt = teller.ask("GET", "/v1/receipts/?ordering=created_at")["data"][0]
        count = teller.ask("GET", "/_emulator/counts")["receipt"]
        page = f"{server.url}/receipt/{receipt['id']}"
        assert httpx.get(page, trust_env=False).status_code == 200
        assert httpx.get(f"{page}x", trust_env=False).status_code == 404
        teller.ask("POST", "/_emulator/snapshots", {"name": "before"})
        teller.ask("POST", "/_emulator/reset")
        assert httpx.get(page, trust_env=False).status_code == 404
        assert _rows(tmp_path, "receipt") == 0
        teller.ask("POST", "/_emulator/snapshots/before/restore")
        assert httpx.get(page, trust_env=False).status_code == 200
        assert _rows(tmp_path, "receipt") == count


def test_a_job_whose_record_cannot_be_read_stays_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done once the state can be read again, and is no failed job until then."""
    with served(f"sqlite:///{tmp_path}/worlds.db", FEW) as (_, teller):
        customer = teller.ask("POST", "/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})["id"]
        bill = {"customer": customer, "line_items": [{"description": "Tea", "quantity": 1, "unit_amount": 5000}]}
        drafts = [teller.ask("POST", "/v1/invoices/", bill)["id"] for _ in range(5)]
        teller.ask("POST", f"/v1/invoices/{drafts[0]}/finalize/", {})
        for draft in drafts[1:]:
            teller.ask("PATCH", f"/v1/invoices/{draft}/", {"footer": "not sent yet"})
        monkeypatch.setattr(SqlArchive, "find", _unreadable)
        headers = {"Authorization": f"Bearer {KEY}"}
        advance = httpx.post(
            f"{teller.url}/_emulator/clock/advance", json={"by": "31d"}, headers=headers, trust_env=False, timeout=60
        )
        assert advance.json()["code"] == "DATABASE_ERROR"
        monkeypatch.undo()
        advanced = teller.ask("POST", "/_emulator/clock/advance", {"by": "31d"})
        assert (advanced["failures"], advanced["events"]) == ([], {"invoice.payment_overdue": 1})


def _unreadable(*_: object) -> None:
    raise StorageError("out of reach")


def _rows(folder: Path, kind: str) -> int:
    with closing(sqlite3.connect(folder / "worlds.db")) as database:
        number: int = database.execute("SELECT count(*) FROM emulator_records WHERE kind = ?", [kind]).fetchone()[0]
        return number


@pytest.mark.parametrize("state", ["memory", "tinydb:{}/worlds.json"])
def test_it_takes_a_database(state: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptStore, match="--history needs a database"):
        Parts(Options(state=state.format(tmp_path), history=FEW))
