"""The peers: other people's emulators that pip or npm can install, each with the requests that do the same in it.

They are installed into a folder of the run's own and started there on loopback.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.servers import HEADERS, Ask, ask
from emulator.document import bundles

PATIENCE = 60
"""Seconds a peer has to answer for the first time."""

PLAIN = {"Content-Type": "application/json"}
FORM = {**HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
AWS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request",
}


class Peer(NamedTuple):
    """How a peer is installed, started and asked.

    ``start`` gives its command for a folder and a port. ``create`` is asked with a number not used before, ``get`` with
    what ``id`` finds in the answer to a create; ``before`` is asked once, before anything else.
    """

    name: str
    installer: str
    packages: tuple[str, ...]
    start: Callable[[Path, int], Sequence[str | Path]]
    create: Callable[[int], Ask]
    get: Callable[[str], Ask]
    index: Ask
    id: Callable[[Any, int], str] = lambda answer, number: str(answer["id"])
    before: Ask | None = None


def customer(number: int) -> dict[str, Any]:
    """What each peer makes a customer of."""
    return {"email": f"peer-{number}@example.com", "name": "Awa Diop"}


def _json(path: str, headers: Mapping[str, str] = PLAIN) -> Callable[[int], Ask]:
    return lambda number: ("POST", path, json.dumps(customer(number)).encode(), headers)


def _get(path: str, headers: Mapping[str, str] = PLAIN) -> Callable[[str], Ask]:
    return lambda known: ("GET", path.format(id=known), b"", headers)


def _dynamo(operation: str, **body: Any) -> Ask:
    target = {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    return "POST", "/", json.dumps({"TableName": "customers", **body}).encode(), {**AWS, **target}


def _moto_item(number: int) -> Ask:
    return _dynamo("PutItem", Item={name: {"S": value} for name, value in customer(number).items()})


def _moto_get(email: str) -> Ask:
    return _dynamo("GetItem", Key={"email": {"S": email}})


def _moto_table() -> Ask:
    key = {"AttributeName": "email"}
    schema, attributes = [{**key, "KeyType": "HASH"}], [{**key, "AttributeType": "S"}]
    return _dynamo("CreateTable", KeySchema=schema, AttributeDefinitions=attributes, BillingMode="PAY_PER_REQUEST")


def _bin(folder: Path, name: str) -> Path:
    return folder / "node_modules" / ".bin" / name


def _json_server(folder: Path, port: int) -> Sequence[str | Path]:
    (folder / "db.json").write_text('{"customers": []}')
    return _bin(folder, "json-server"), "--quiet", "--host", "127.0.0.1", "--port", str(port), folder / "db.json"


MOCKOON = {
    "uuid": "customers",
    "lastMigration": 33,
    "data": [{"uuid": "kept", "id": "kept", "name": "customers", "value": "[]"}],
    "routes": [
        {
            "uuid": "crud",
            "type": "crud",
            "endpoint": "customers",
            "responses": [
                {"uuid": "all", "statusCode": 200, "bodyType": "DATABUCKET", "databucketID": "kept", "default": True}
            ],
        }
    ],
    "rootChildren": [{"type": "route", "uuid": "crud"}],
}
"""Customers that can be made, read and listed; Mockoon fills in the rest."""


def _mockoon(folder: Path, port: int) -> Sequence[str | Path]:
    environment = folder / "mockoon.json"
    environment.write_text(json.dumps({**MOCKOON, "port": port, "hostname": "127.0.0.1"}))
    return _bin(folder, "mockoon-cli"), "start", "--data", environment, "--disable-log-to-file", "--repair"


def _prism(folder: Path, port: int) -> Sequence[str | Path]:
    document = folder / "service.json"
    document.write_text(json.dumps(bundles.load("service")))
    return (
        _bin(folder, "prism"),
        "mock",
        "--verboseLevel",
        "silent",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        document,
    )


PEERS = (
    Peer(
        "localstripe",
        "pip",
        ("localstripe", "setuptools<81"),
        lambda folder, port: (folder / "bin" / "localstripe", "--from-scratch", "--port", str(port)),
        lambda number: ("POST", "/v1/customers", urlencode(customer(number)).encode(), FORM),
        _get("/v1/customers/{id}", FORM),
        ("GET", "/v1/customers?limit=20", b"", FORM),
    ),
    Peer(
        "moto (DynamoDB)",
        "pip",
        ("moto[server,dynamodb]",),
        lambda folder, port: (folder / "bin" / "moto_server", "-H", "127.0.0.1", "-p", str(port)),
        _moto_item,
        _moto_get,
        _dynamo("Scan", Limit=20),
        lambda answer, number: str(customer(number)["email"]),
        _moto_table(),
    ),
    Peer(
        "json-server",
        "npm",
        ("json-server@0.17",),
        _json_server,
        _json("/customers"),
        _get("/customers/{id}"),
        ("GET", "/customers?_page=1&_limit=20", b"", PLAIN),
    ),
    Peer(
        "Mockoon CLI",
        "npm",
        ("@mockoon/cli",),
        _mockoon,
        _json("/customers"),
        _get("/customers/{id}"),
        ("GET", "/customers?page=1&limit=20", b"", PLAIN),
    ),
    Peer(
        "Prism (stores nothing)",
        "npm",
        ("@stoplight/prism-cli",),
        _prism,
        _json("/customers/", HEADERS),
        _get("/customers/{id}/", HEADERS),
        ("GET", "/customers/?page_size=20", b"", HEADERS),
    ),
)


def install(peer: Peer, folder: Path) -> None:
    """Install a peer. Raises ``CalledProcessError`` with what the installer said."""
    if peer.installer == "pip":
        venv.create(folder, with_pip=True)
        command: list[Any] = [folder / "bin" / "pip", "install", "--quiet", *peer.packages]
    else:
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, *peer.packages]
    subprocess.run(command, check=True, capture_output=True, text=True)


class Running:
    """A peer that answers."""

    def __init__(self, peer: Peer, port: int) -> None:
        self.peer = peer
        self.name = peer.name
        self.port = port

    def ask(self, wanted: Ask) -> Any:
        """Return the JSON of one request outside the measurements."""
        return ask(self.name, self.port, wanted, PATIENCE)

    def make(self, number: int) -> str:
        """Return the id of a customer made now."""
        return self.peer.id(self.ask(self.peer.create(number)), number)


@contextmanager
def started(peer: Peer, folder: Path) -> Iterator[Running]:
    """A peer at work, ended at the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as cleanup:
        said = cleanup.enter_context((folder / "said").open("wb"))
        process = subprocess.Popen(list(map(str, peer.start(folder, port))), stdout=said, stderr=said, cwd=folder)
        cleanup.callback(process.wait)
        cleanup.callback(process.terminate)
        running = Running(peer, port)
        _wait(running, process)
        yield running


def _wait(running: Running, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError, HTTPException):
            running.ask(running.peer.before or running.peer.index)
            return
        time.sleep(0.1)
    raise RuntimeError(f"{running.name} did not start")


def bytes_of(ask: Ask) -> bytes:
    """Return a request as it is sent."""
    method, path, body, headers = ask
    return request(method, path, content=body, headers=headers)
