"""The emulator's needs of uvicorn's server and protocol classes, and its service without them."""

from __future__ import annotations

import subprocess
import sys
import time

import httpx
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emulator.server import server, uvicorn_parts
from emulator.server.uvicorn_parts import PROTOCOL, SERVER, Part
from emulator.testing import LocalServer
from emulator.web.connection import Connection


def overridden(ours: type, theirs: type) -> set[str]:
    """Names of the base class that a class defines again."""
    return {name for name in vars(ours) if hasattr(theirs, name) and not name.startswith("__")}


@pytest.mark.parametrize("part", [PROTOCOL, SERVER], ids=["protocol", "server"])
def test_the_parts_name_nothing_private(part: Part) -> None:
    assert not [name for name in part.methods if name.startswith("_")]


@pytest.mark.parametrize(
    ("part", "ours", "theirs"),
    [(PROTOCOL, Connection, HttpToolsProtocol), (SERVER, server.Uvicorn, uvicorn.Server)],
    ids=["protocol", "server"],
)
def test_the_parts_are_complete(part: Part, ours: type, theirs: type) -> None:
    assert overridden(ours, theirs) == part.methods.keys()
    assert [*part._replace(attributes=()).missing(ours)] == [], "ours takes what theirs takes"
    assert uvicorn_parts.missing_here() == [], "the installed release has all parts"


def test_uvicorns_own_classes_serve_where_a_part_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(uvicorn_parts, "missing_here", lambda: ["Server.main_loop"])
    local = LocalServer()
    try:
        with httpx.Client(
            base_url=local.url, headers={"Authorization": "Bearer sk_test_plain"}
        ) as client:
            made = client.post(
                "/v1/customers/", json={"email": "awa@example.com", "name": "Awa Diop"}
            )
            assert made.status_code == 201
            assert client.get(f"/v1/customers/{made.json()['id']}/").json() == made.json()
            assert not {"server", "date"} & made.headers.keys()
            began = time.perf_counter()
            # A stream, which has no end of its own, does not hold up the end.
            with client.stream("GET", "/_emulator/stream") as stream:
                assert stream.status_code == 200
                local.stop()
        assert time.perf_counter() - began < 5
        [message] = [
            record.getMessage() for record in caplog.records if record.name == "emulator.server"
        ]
        assert f"uvicorn {uvicorn.__version__} has no Server.main_loop" in message
    finally:
        local.stop()


SERVED = """
import sys
sys.modules["uvloop"] = None
from datetime import timedelta
from freezegun import freeze_time
with freeze_time("2030-01-01") as frozen:
    from emulator import Emulator
    payments = Emulator()
    print(payments.clock.now)
    frozen.tick(timedelta(days=31))
    made = payments.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa"})
    print(made["created_at"])
payments.close()
"""


@pytest.mark.long
def test_a_server_works_under_frozen_time_without_uvloop() -> None:
    """As on Windows; also where the package is first imported while time is frozen."""
    ended = subprocess.run(
        [sys.executable, "-c", SERVED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert [line[:10] for line in ended.stdout.splitlines()] == ["2030-01-01", "2030-02-01"]
