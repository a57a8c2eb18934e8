"""``serve --workers``: one address, every world in one of several processes, and nothing else is different."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests.cli.test_serve import Served, rejected
from emulator.engine.share import Share
from emulator.resources.app.keys import Key

SHARE = Share(0, 2)
START = "frozen@2026-01-01T00:00:00Z"
AWA = {"email": "awa@example.com", "name": "Awa Diop"}
NUMBERS = count(1)


def app_of(worker: int, number: int = 0) -> str:
    """The name of an App whose world a worker runs."""
    names = [name for name in map("shop{}".format, range(40)) if SHARE.worker_of(Key(name, livemode=False)) == worker]
    return names[number]


FIRST, SECOND = app_of(0), app_of(1)


def headers(app: str) -> dict[str, str]:
    return {"Authorization": f"Bearer sk_test_{app}"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    served = Served("--port", "0", "--workers", "2", "--clock", START, "--seed", "7")
    yield served.url
    status, _, complaints = served.end()
    assert (status, complaints) == (0, "")


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    """One connection for all that a test asks, whichever world it is about."""
    limits = httpx.Limits(max_connections=1)
    with httpx.Client(base_url=url, limits=limits, trust_env=False, timeout=60) as client:
        client.get("/_emulator/health")
        yield client


def customer(client: httpx.Client, app: str) -> Any:
    body = {"email": f"buyer{next(NUMBERS)}@example.com", "name": "Awa Diop"}
    answer = client.post("/v1/customers/", json=body, headers=headers(app))
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_connection_reaches_every_world(client: httpx.Client) -> None:
    ids = [customer(client, app)["id"] for app in (FIRST, SECOND, FIRST, SECOND)]
    for app, own in ((FIRST, ids[::2]), (SECOND, ids[1::2])):
        listed = client.get("/v1/customers/", headers=headers(app)).json()["data"]
        assert [each["id"] for each in listed][: len(own)] == own[::-1]


def test_a_world_is_the_same_in_whichever_process(url: str) -> None:
    """The same seed and clock give the same objects as a server that is one process."""
    apps = [app_of(worker, 1) for worker in (0, 1)]
    alone = Served("--port", "0", "--clock", START, "--seed", "7")
    try:
        for app in apps:
            pair = [httpx.post(f"{each}/v1/customers/", json=AWA, headers=headers(app)) for each in (url, alone.url)]
            assert pair[0].json() == pair[1].json() | {"app": pair[0].json()["app"]}
            assert pair[0].json()["app"] == pair[1].json()["app"]
    finally:
        alone.end()


def test_all_worlds_are_listed_and_counted(client: httpx.Client) -> None:
    customer(client, FIRST)
    customer(client, SECOND)
    listed = client.get("/_emulator/apps?page_size=100").json()
    names = [app["name"] for app in listed["data"]]
    assert names == sorted(names)
    assert {FIRST, SECOND} <= set(names)
    assert client.get("/_emulator/health").json()["apps"] == len(names) == listed["pagination"]["count"]


@pytest.mark.parametrize("app", [FIRST, SECOND])
def test_a_page_without_a_key_is_found(client: httpx.Client, app: str) -> None:
    lines = [{"description": "Basket", "unit_amount": 2000}]
    body = {"currency": "XAF", "line_items": lines}
    session = client.post("/v1/checkout-sessions/", json=body, headers=headers(app)).json()
    page = client.get(session["url"])
    assert (page.status_code, "Basket" in page.text) == (200, True)
    assert client.get(session["url"][:-3] + "xyz").status_code == 404


@pytest.mark.parametrize("app", [FIRST, SECOND])
def test_the_console_shows_every_world(client: httpx.Client, app: str) -> None:
    created = customer(client, app)
    page = client.get(f"/_emulator/console/objects/{created['id']}?app={app}", headers={"Accept": "text/html"})
    assert (page.status_code, created["email"] in page.text) == (200, True)


@pytest.mark.parametrize("app", [FIRST, SECOND])
@pytest.mark.parametrize("names_its_app", [True, False])
def test_a_webhook_reaches_the_inbox_of_its_world(
    client: httpx.Client, url: str, app: str, *, names_its_app: bool
) -> None:
    inbox = f"{url}/_emulator/inbox/orders" + (f"?app={app}" if names_its_app else "")
    body = {"name": "Shop", "url": inbox, "events": ["customer.created"]}
    assert client.post("/v1/webhooks/", json=body, headers=headers(app)).status_code == 201
    created = customer(client, app)
    client.post("/_emulator/clock/advance", json={"by": "0s"}, headers=headers(app))
    received = client.get("/_emulator/inbox/orders?page_size=100", headers=headers(app)).json()["data"]
    assert created["id"] in "".join(str(each["body"]) for each in received)


@pytest.mark.parametrize("app", [FIRST, SECOND])
def test_a_signature_in_place_of_a_key_leaves_the_named_app(client: httpx.Client, app: str) -> None:
    signed = {"Authorization": "Bearer of-a-signature"}
    assert client.post(f"/_emulator/inbox/signed?app={app}", content=b"{}", headers=signed).status_code == 200
    assert client.get("/_emulator/inbox/signed", headers=headers(app)).json()["pagination"]["count"] == 1


@pytest.mark.parametrize("app", [FIRST, SECOND])
def test_a_stream_ends_when_its_reader_leaves(client: httpx.Client, url: str, app: str) -> None:
    with client.stream("GET", "/_emulator/stream", headers=headers(app)) as stream:
        lines = stream.iter_lines()
        created = httpx.post(f"{url}/v1/customers/", json=AWA, headers=headers(app)).json()
        assert any(created["id"] in line for line in lines)
    assert client.get("/_emulator/health").status_code == 200


@pytest.mark.parametrize("app", [FIRST, SECOND])
def test_a_browser_of_an_allowed_page_may_ask(client: httpx.Client, app: str) -> None:
    """A preflight has no key."""
    origin = f"{app}.example.com"
    profile = {"name": "Shop", "allowed_domains": [origin]}
    client.post("/v1/security-profiles/", json=profile, headers=headers(app)).raise_for_status()
    asked = {"Origin": f"https://{origin}", "Access-Control-Request-Method": "GET"}
    answer = client.options("/v1/customers/", headers=asked)
    assert (answer.status_code, answer.headers.get("access-control-allow-origin")) == (204, f"https://{origin}")


@pytest.mark.parametrize("app", [app_of(0, 3), app_of(1, 3)])
def test_a_forwarded_request_has_the_address_of_its_client(client: httpx.Client, app: str) -> None:
    """B-70. No client can pretend another address by the headers of forwarded requests."""
    pretended = headers(app) | {"worker-client": "203.0.113.9 1", "worker-inner": "1"}
    profile = {"name": "Shop", "allowed_ips": ["127.0.0.1"]}
    client.post("/v1/security-profiles/", json=profile, headers=headers(app)).raise_for_status()
    assert client.get("/v1/customers/", headers=pretended).status_code == 200
    profile = {"name": "Office", "allowed_ips": ["203.0.113.9"]}
    client.post("/v1/security-profiles/", json=profile, headers=headers(app)).raise_for_status()
    assert client.get("/v1/customers/", headers=pretended).status_code == 403


def test_a_worker_that_dies_is_replaced() -> None:
    served = Served("--port", "0", "--workers", "2", "--clock", START, "--verbose")
    with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        kept, lost = customer(client, FIRST), customer(client, SECOND)
        victim = worker(served, 1)
        os.kill(victim, signal.SIGKILL)
        complaint = read_until(served, "was replaced")
        assert complaint.endswith(f"Its worlds in memory are lost: sk_test_{SECOND}.\n")
        assert client.get(f"/v1/customers/{kept['id']}/", headers=headers(FIRST)).json() == kept
        assert again(lambda: client.get(f"/v1/customers/{lost['id']}/", headers=headers(SECOND))).status_code == 404
        customer(client, SECOND)
    assert served.end()[0] == 0


def test_a_sqlite_file_is_shared(tmp_path: Path) -> None:
    """Nothing is lost with a worker, and another number of workers finds all of it."""
    state = f"sqlite:///{tmp_path}/state.db"
    created = {}
    served = Served("--port", "0", "--workers", "2", "--clock", START, "--state", state)
    assert "another process works on it" in rejected("--port", "0", "--state", state)
    with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        for app in (FIRST, SECOND, app_of(0, 2), app_of(1, 2)):
            created[app] = customer(client, app)
        os.kill(worker(served, 1), signal.SIGKILL)
        assert "worlds in memory" not in read_until(served, "was replaced")
        found(client, created)
    assert served.end()[0] == 0
    for workers in ("1", "3"):
        served = Served("--port", "0", "--workers", workers, "--clock", START, "--state", state)
        with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
            found(client, created)
        assert served.end()[0] == 0


def test_workers_end_with_the_front() -> None:
    served = Served("--port", "0", "--workers", "2")
    workers = [worker(served, number) for number in (0, 1)]
    served.process.kill()
    served.process.communicate()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{each}").exists() for each in workers):
        assert time.monotonic() < deadline


def test_ctrl_c_ends_it() -> None:
    served = Served("--port", "0", "--workers", "2")
    status, _, complaints = served.end(signal.SIGINT)
    assert (status, complaints) == (0, "")


def test_what_is_wrong_is_said_once(tmp_path: Path) -> None:
    fixture = tmp_path / "bad.yaml"
    fixture.write_text("apps: 1\n")
    assert "bad.yaml" in rejected("--port", "0", "--workers", "3", "--fixtures", fixture)
    assert "use sqlite:///FILE" in rejected("--workers", "2", "--state", f"tinydb:{tmp_path}/x.json")


def worker(served: Served, number: int) -> int:
    """The process of a worker: they are the children of the server, in the order of their numbers."""
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    return int(children[number])


def read_until(served: Served, text: str) -> str:
    assert served.process.stderr
    return next(line for line in served.process.stderr if re.search(text, line))


def again(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """An answer that is not the one of a worker that is being replaced."""
    deadline = time.monotonic() + 60
    while (answer := ask()).status_code == 503:
        assert time.monotonic() < deadline
    return answer


def found(client: httpx.Client, created: dict[str, Any]) -> None:
    for app, each in created.items():
        assert again(lambda: client.get(f"/v1/customers/{each['id']}/", headers=headers(app))).json() == each  # noqa: B023  # called at once
