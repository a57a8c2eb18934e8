"""Countries of addresses by a MaxMind database in place of the table of networks (B-70)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from contract_tests.support.client import Client
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer

PLACES = {
    "1.2.3.0/24": {"country": {"iso_code": "FR"}},
    "1.2.4.0/24": {"registered_country": {"iso_code": "FR"}},
    "2001:db8::/32": {"country": {"iso_code": "FR"}},
}


def database(file: Path, version: int, places: dict[str, Any]) -> Path:
    """Return a database file in MaxMind's format."""
    writer = MMDBWriter(ip_version=version, ipv4_compatible=version == 6, database_type="Test-Country")
    for network, record in places.items():
        writer.insert_network(IPSet([network]), record)
    writer.to_db_file(str(file))
    return file


@pytest.fixture(params=[4, 6])
def api(request: pytest.FixtureRequest, tmp_path: Path, service_contract: Contract) -> Iterator[Any]:
    places = {network: record for network, record in PLACES.items() if request.param == 6 or ":" not in network}
    with calling(database(tmp_path / "geo.mmdb", request.param, places), service_contract) as call:
        yield call


@contextmanager
def calling(file: Path, contract: Contract) -> Iterator[Callable[[str], httpx.Response]]:
    """A request from an address, to a server with this file and an App that blocks France and North Korea."""
    with RunningServer(geoip=file) as server, closing(Client(server.url, contract, "sk_test_geoip")) as client:
        client.post("/security-profiles/", {"name": "Shop", "blocked_countries": ["FR", "KP"]})
        yield lambda address: client.request("POST", "/subscriptions/", json={}, headers={"X-Forwarded-For": address})


def test_the_country_comes_from_the_database(api: Any) -> None:
    """Rule 5. The table of networks counts no more: 192.0.2.0/24 is in no country now."""
    assert api("1.2.3.4").json()["code"] == "PERMISSION_DENIED"
    for address in ("1.2.4.4", "8.8.8.8", "192.0.2.1", "127.0.0.1"):
        assert api(address).status_code == 422


def test_an_address_of_ipv6_is_looked_up_where_the_database_has_any(api: Any, request: pytest.FixtureRequest) -> None:
    expected = 403 if "6" in request.node.callspec.id else 422
    assert api("2001:db8::1").status_code == expected


@pytest.mark.parametrize("content", [None, b"no database"])
def test_a_missing_file_is_reported_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    """Exit codes: 2 for a wrong configuration."""
    file = tmp_path / "geo.mmdb"
    if content is not None:
        file.write_bytes(content)
    command = [sys.executable, "-m", "emulator.cli.main", "serve", "--port", "0", "--geoip", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert str(file) in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_address_in_a_damaged_part_of_the_file_is_in_no_country(
    tmp_path: Path, service_contract: Contract, caplog: pytest.LogCaptureFixture
) -> None:
    file = database(tmp_path / "geo.mmdb", 4, {"1.2.3.0/24": PLACES["1.2.3.0/24"]})
    content = file.read_bytes()
    file.write_bytes(content.replace(b"iso_code", b"\xff" * 8))
    with calling(file, service_contract) as call:
        assert call("1.2.3.4").status_code == 422, "no country is blocked that is not known"
    assert f"{file}: the country of 1.2.3.4 is unknown, the file is damaged" in caplog.text
