"""``serve`` for its user: its output, its address, its end and its rejections."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests.support.sandbox import RunningServer
from contract_tests.support.servers import CLIENT
from contract_tests.surfaces.cli.terminal import COMMAND, Begin, Ended, clean, ended, run
from emulator.document.paths import GUIDE
from emulator.server.address import url_of

START = "frozen@2026-01-01T00:00:00Z"

KEY = {"Authorization": "Bearer sk_test_demo"}

CUSTOMER = {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"}


class Reached:
    """A server at this address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, key: str = "sk_test_demo", **headers: str) -> httpx.Response:
        headers |= {"Authorization": f"Bearer {key}"}
        return CLIENT.get(self.url + path, headers=headers)

    def post(self, path: str, body: Any) -> Any:
        return CLIENT.post(self.url + path, json=body, headers=KEY).json()

    def setting(self, name: str, app: str = "demo") -> Any:
        return self.get("/_emulator/app", f"sk_test_{app}").json()["settings"][name]


class Served(Reached):
    """A server in a process of its own, from its start to its ``Ready.``"""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout
        self.lines = []
        for row in process.stdout:
            self.lines.append(row.rstrip("\n"))
            if row == "Ready.\n":
                break
        service = re.search(r"http://\S+(?=/v1/)", "\n".join(self.lines))
        assert service, process.communicate()
        super().__init__(service[0])

    def end(self, by: signal.Signals = signal.SIGTERM) -> Ended:
        """Exit status, and what was said on both outputs since ``Ready.``"""
        return ended(self.process, by)


Serve = Callable[..., Served]


@pytest.fixture
def serve(begin: Begin) -> Serve:
    return lambda *options, **variables: Served(
        begin("serve", "--port", "0", *map(str, options), **variables)
    )


def rejected(*options: str | Path, **environment: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - clean().keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        ended = run("serve", *map(str, options))
    assert (ended.status, ended.errors.count("\n"), "Ready." in ended.output) == (2, 1, False), (
        ended
    )
    assert ended.errors.startswith("payments-emulator: ")
    return ended.errors


def test_a_server_says_where_to_reach_it(serve: Serve, tmp_path: Path) -> None:
    """The addresses, and ``Ready.`` last; the port file holds the port and nothing else."""
    file = tmp_path / "port"
    file.write_text("4747\n")
    served = serve("--port-file", file, "--clock", START, "--seed", "7")
    assert served.lines[-1] == "Ready."
    port = int(file.read_text())
    assert served.url == f"http://127.0.0.1:{port}"
    assert file.read_text() == f"{port}\n"
    assert list(tmp_path.iterdir()) == [file]
    named = [
        url.removeprefix(served.url)
        for url in re.findall(r"http://[^\s)]+", "\n".join(served.lines))
    ]
    guide = ["/docs/guide/"] if GUIDE.is_dir() else []
    assert named == ["/v1/", "/_emulator/", "/docs/", "/openapi.json", *guide]
    assert {served.get(path).status_code for path in named[1:]} == {200}
    assert served.get("/_emulator/clock").json()["now"] == "2026-01-01T00:00:00.000Z"
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    own = {line[1] for line in listening if line[3] == "0A" and line[1].endswith(f":{port:04X}")}
    assert own == {f"0100007F:{port:04X}"}, "only this machine reaches it, and by no other name"
    assert served.get("/v1/customers/", Host="evil.example").status_code == 403
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use" in rejected(
        "--port", str(port)
    )
    assert [len(line) > 0 for line in served.end().lines] == [True], (
        "the request that was rejected, and no more"
    )


def test_behind_a_port_mapping_its_public_url_is_in_links(serve: Serve, tmp_path: Path) -> None:
    options = (
        "--host",
        "0.0.0.0",
        "--control-token",
        "secret",
        "--public-url",
        "http://sandbox.local/",
    )
    served = serve("--port-file", tmp_path / "port", *options)
    assert served.url == "http://sandbox.local"
    served.url = f"http://127.0.0.1:{int((tmp_path / 'port').read_text())}"
    line = {"currency": "XAF", "line_items": [{"description": "Basket", "unit_amount": 2000}]}
    assert served.post("/v1/checkout-sessions/", line)["url"].startswith("http://sandbox.local/")


@pytest.mark.parametrize(
    ("host", "url"), [("::1", "http://[::1]:80"), ("::", "http://127.0.0.1:80")]
)
def test_an_address_of_ipv6_is_printed_as_one_that_can_be_called(host: str, url: str) -> None:
    assert url_of(host, 80, trust_network=False) == url


BAD = {
    "--port 65536": "65536",
    "--host no.such.host.invalid": "Cannot listen on no.such.host.invalid:4747",
    "--host=": "Cannot listen on",
    "--clock stopped": "running, frozen, or frozen@",
    "--clock running@2026-01-01T00:00:00Z": "running",
    "--clock frozen@2026-W20": "running, frozen, or frozen@",
    "--clock frozen@9999-12-31T23:59:59.999Z": "9999-12-31T23:59:59.998Z",
    "--seed 1.5": "--seed",
    "--keys closed": "'open', 'listed'",
    "--state floppy:x": "floppy:x",
    "--public-url http://sandbox.local/path": "--public-url",
    "--strict=maybe": "--strict",
    "--prot 0": "did you mean `--port`?",
    "--port-file /nowhere/port --port 0": "/nowhere/port: cannot be written: No such file",
    "--host 0.0.0.0": "--control-token",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_option_is_reported_in_one_line(line: str) -> None:
    """A mistyped option or value says which one and what is allowed."""
    assert BAD[line] in rejected(*line.split())


BROKEN = {
    "not YAML": (b"settings: [", "is not YAML"),
    "a Python object": (b"settings: !!python/object/apply:os.getcwd []", "is not YAML"),
    "binary": (bytes(range(256)), "cannot be read"),
    "too deep": (b"[" * 100_000, ""),
    "a list": (b"- settings", "object"),
    "an unknown setting": (b"settings: {tax: 1}", "tax is not a setting"),
    "a wrong value": (b"settings: {tax_rate: high}", "settings.tax_rate: must be from 0 to 100"),
    "a value beyond a bound": (
        b"settings: {renewal_retry_days: [0]}",
        "settings.renewal_retry_days.0: must be at least 1",
    ),
    "a value that is not allowed": (
        b"settings: {pricing_plan: gold}",
        "settings.pricing_plan: must be one of starter, growth, business, enterprise",
    ),
    "a code in small letters": (
        b"settings: {currencies: [XAF, eur]}",
        "settings.currencies.1: must be a code of ISO 4217",
    ),
    "a rate of nothing": (
        b"settings: {rate_limit: {per_second: 0, burst: 1}}",
        "settings.rate_limit.per_second: must be more than 0",
    ),
    "a reading that there is not": (
        b"apps: {shop: {settings: {assumptions: {success_url: maybe}}}}",
        "apps.shop.settings.assumptions.success_url: must be one of optional, required",
    ),
    "a currency that is not enabled": (
        b"settings: {main_currency: GBP}",
        "main_currency: GBP is not among currencies",
    ),
    "a day of retries twice": (
        b"settings: {renewal_retry_days: [1, 1]}",
        "each day must be later than the one before",
    ),
    "a currency that there is not": (
        b"settings: {currencies: [XAF, ABC]}",
        "currencies: ABC is not a code of ISO 4217",
    ),
    "a country that there is not": (
        b"settings: {countries: [ZZ]}",
        "countries: ZZ is not a code of ISO 3166-1",
    ),
    "a line break after a currency": (b'settings: {currencies: [XAF, "EUR\\n"]}', "currencies"),
    "a line break after a country": (b'settings: {countries: ["FR\\n"]}', "countries"),
    "a wrong setting of an App": (b"apps: {shop: {settings: {tax: 1}}}", "tax is not a setting"),
    "an App that cannot be": (b"apps: {a b: {}}", "'a b'"),
    "a public key": (b"keys: [pk_test_demo]", "'pk_test_demo'"),
    "keys that are no list": (b"keys: sk_test_demo", "keys"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_fixture_file_is_reported_in_one_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """Which file, and what is wrong with it."""
    file = tmp_path / "shop.yaml"
    file.write_bytes(content)
    line = rejected("--port", "0", "--fixtures", file)
    assert f"{file}: " in line
    assert message in line


def test_fixtures_apply_the_later_over_the_earlier(tmp_path: Path) -> None:
    """Those of an App over those of all; YAML or JSON; a folder's files in order of names.

    B-02, B-04: the keys are known that they list, and magic ones.
    """
    general, folder = tmp_path / "general.yaml", tmp_path / "folder"
    folder.mkdir()
    general.write_text(
        "settings: {tax_rate: 18, main_currency: EUR, currencies: [EUR]}\napps: {shop: {settings:"
        " {tax_rate: 5}}}\nkeys: [sk_test_demo, sk_test_shop, sk_prod_till]"
    )
    own = {"currencies": ["EUR", "USD"]}
    (folder / "1.json").write_text(
        json.dumps(
            {
                "settings": {"reactivation_days": 9, "refund_expiry_days": 3},
                "apps": {"shop": {"settings": own}},
            }
        )
    )
    (folder / "2.yaml").write_text("settings: {refund_expiry_days: 4}")
    (folder / "3.yaml").write_text("# nothing yet\n")
    (folder / "notes.txt").write_text("settings: [")
    with RunningServer(fixtures=(general, folder), listed_keys_only=True) as server:
        served = Reached(server.url)
        assert [served.setting("tax_rate"), served.setting("tax_rate", "shop")] == [18, 5]
        assert [served.setting("currencies"), served.setting("currencies", "shop")] == [
            ["EUR"],
            ["EUR", "USD"],
        ]
        assert [served.setting("reactivation_days", app) for app in ("demo", "shop")] == [9, 9]
        assert served.setting("refund_expiry_days") == 4

        def codes(*keys: str) -> list[str | None]:
            return [served.get("/v1/customers/", key).json().get("code") for key in keys]

        assert codes("sk_test_shop", "sk_prod_till", "sk_prod_shop") == [
            None,
            None,
            "INVALID_API_KEY",
        ]
        assert served.get("/_emulator/health").json()["apps"] == 3
        assert codes("sk_test_expired1", "sk_test_disabled1") == ["EXPIRED_API_KEY", "APP_DISABLED"]


def test_every_option_can_come_from_the_environment(serve: Serve, tmp_path: Path) -> None:
    """``PAYMENTS_EMULATOR_<OPTION>``; files are joined as in PATH. Options outdo variables."""
    first, second, port_file = tmp_path / "first.yaml", tmp_path / "second.yaml", tmp_path / "port"
    first.write_text("settings: {tax_rate: 18}\nkeys: [sk_test_demo]")
    second.write_text("settings: {reactivation_days: 9}")
    fixtures = os.pathsep.join([str(first), str(second)])
    variables = {
        "HOST": "localhost",
        "PORT": "1",
        "PORT_FILE": str(port_file),
        "CLOCK": START,
        "SEED": "7",
    }
    variables |= {
        "KEYS": "listed",
        "FIXTURES": fixtures,
        "STATE": "memory",
        "STRICT": "1",
        "QUIET": "1",
    }
    served = serve(**{f"PAYMENTS_EMULATOR_{name}": value for name, value in variables.items()})
    assert served.url == f"http://localhost:{int(port_file.read_text())}"
    assert served.get("/_emulator/clock").json()["now"] == "2026-01-01T00:00:00.000Z"
    assert (served.setting("tax_rate"), served.setting("reactivation_days")) == (18, 9)
    assert served.get("/v1/customers/", "sk_test_other").status_code == 401
    assert served.end().lines == [], "no line for a request"
    for variable, value in {"SEED": "x", "STATE": "floppy:x", "FIXTURES": "/nowhere.yaml"}.items():
        assert value in rejected(**{f"PAYMENTS_EMULATOR_{variable}": value})


def test_a_request_is_a_line(serve: Serve) -> None:
    """With the events that it caused; no card number or key is in it. An advance sums up.

    An address for all interfaces is printed as one that can be called.
    """
    served = serve("--clock", START, "--host", "0.0.0.0", "--insecure")
    assert served.url.startswith("http://127.0.0.1:")
    served.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
    served.post("/v1/customers/", {"email": 7})
    served.get("/_emulator/clock", "sk_test_other")
    served.post("/_emulator/trigger", {"event": "customer.deleted"})
    served.get("/nowhere%1b[2J")
    served.get(
        "/v1/payment-methods/4242424242424242/?key=sk_test_demo&iban=FR7630006000011234567890189"
    )
    inbox = f"{served.url}/_emulator/inbox/shop"
    served.post("/v1/webhooks/", {"name": "Shop", "url": inbox, "events": ["*"]})
    served.post("/_emulator/trigger", {"event": "subscription.created"})
    served.post("/_emulator/clock/advance", {"by": "31d"})
    lines = [re.sub(r"\d+ ms", "1 ms", line) for line in served.end().lines]
    assert lines[:4] == [
        "demo          201  POST /v1/customers/  customer.created  1 ms",
        "demo          422  POST /v1/customers/  1 ms",
        "demo          200  POST /_emulator/trigger  customer.created, customer.deleted  1 ms",
        "-             404  GET /nowhere?[2J  1 ms",
    ]
    assert "GET /v1/payment-methods/****4242/" in lines[4]
    assert not re.search(r"42424242|sk_test_demo|FR7630|/inbox/", "\n".join(lines))
    assert (
        lines[-1]
        == "demo          200  POST /_emulator/clock/advance  → 2026-02-01T00:00:00Z · 1 job · 3"
        " events · 3 webhooks delivered  1 ms"
    )


# -- its end: soon after SIGTERM and Ctrl-C, whatever hangs


def test_what_could_not_be_stored_at_the_end_is_said_with_exit_status_1(
    serve: Serve, tmp_path: Path
) -> None:
    served = serve("--state", f"tinydb:{tmp_path}/worlds.json")
    served.post("/v1/customers/", CUSTOMER)
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
    served.post("/v1/products/", {"name": "Tea", "unit_amount": 500, "currency": "XAF"})
    status, _, complained = served.end()
    assert status == 1
    last = complained.splitlines()[-1]
    assert last.startswith(f"payments-emulator: {tmp_path}/worlds.json: File too large: ")
    assert re.search(r"what was changed in the last \d+ seconds is not stored$", last)


LAST_WORDS = {
    "GET /_emulator/events?wait=30 HTTP/1.1": b'"count":0',
    "GET /_emulator/stream HTTP/1.1": b"\r\n0\r\n\r\n",
    "POST /v1/customers/ HTTP/1.1": b"INTERNAL_ERROR",
}


def test_a_server_ends_with_its_standard_input(tmp_path: Path) -> None:
    """However the pipe's program ends, the system closes the pipe; its content is ignored.

    Clients that wait get a response.
    """
    state = tmp_path / "worlds.json"
    command = [*COMMAND, "serve", "--port", "0", "--exit-with-stdin", "--state", f"tinydb:{state}"]
    pipes: Any = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    with subprocess.Popen(command, env=clean(), **pipes) as process, ExitStack() as stack:
        served = Served(process)
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
        host, port = served.url.removeprefix("http://").split(":")
        lines = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            for _ in LAST_WORDS
        ]
        for head, line in zip(LAST_WORDS, lines, strict=True):
            rows = (
                head,
                "Host: localhost",
                "Authorization: Bearer sk_test_demo",
                "Content-Length: 9",
                "",
                "",
            )
            line.sendall("\r\n".join(rows).encode())
        assert served.get("/v1/customers/").status_code == 200
        status, _, complained = ended(process)
        assert (status, "Traceback" in complained, state.exists()) == (0, False, True)
        for words, line in zip(LAST_WORDS.values(), lines, strict=True):
            assert words in line.makefile("rb").read()


LIMIT = 5
"""Seconds (real time) for its end on a busy machine. Without own limits it waits 10 and more."""

UNANSWERED = "unanswered.example"

NAME_SERVER = f"""
import os, socket, sys

def look_up(event, about):
    if event == "socket.getaddrinfo" and about[0].endswith("{UNANSWERED}"):
        host, port = os.environ["NAME_SERVER"].split(":")
        socket.create_connection((host, int(port))).recv(1)

sys.addaudithook(look_up)
"""
"""The code at Python's start that leads names below that host to a silent name server."""


class Silence:
    """A server that takes connections and never says a word."""

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.address = "{}:{}".format(*self._sockets[0].getsockname())

    def wait(self) -> None:
        """Wait until somebody has connected."""
        self._sockets.append(self._sockets[0].accept()[0])

    def close(self) -> None:
        for connection in self._sockets:
            connection.close()


def subscribe(served: Served) -> None:
    customer = served.post("/v1/customers/", CUSTOMER)["id"]
    terms = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "day"}
    plan = served.post("/v1/subscription-plans/", terms)["id"]
    served.post("/v1/subscriptions/", {"customer": customer, "plan": plan})


@contextmanager
def name_servers(served: Served, silence: Silence) -> Iterator[None]:
    """A receiver that a request waits for is the same with one address."""

    def register(number: int) -> None:
        url = f"https://{number}.{UNANSWERED}/" if number else f"http://{silence.address}"
        with suppress(httpx.HTTPError, ValueError):
            served.post("/v1/webhooks/", {"name": "Shop", "url": url, "events": ["*"]})

    with ThreadPoolExecutor(40) as pool:
        pool.map(register, range(40))
        silence.wait()
        yield


@contextmanager
def an_advance(served: Served, silence: Silence) -> Iterator[None]:
    """It answers how far it came."""
    subscribe(served)
    started = served.get("/_emulator/clock").json()["now"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.post, "/_emulator/clock/advance", {"by": "P30Y"})
        while len(served.get("/v1/invoices/").json()["data"]) < 10:
            pass
        yield
        assert waiting.result()["now"] > started


HANGING = {function.__name__: function for function in (name_servers, an_advance)}


@pytest.mark.parametrize(
    "name", ["an_advance", pytest.param("name_servers", marks=pytest.mark.long)]
)
def test_it_ends_whatever_hangs(serve: Serve, name: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NAME_SERVER)
    with closing(Silence()) as silence:
        served = serve(PYTHONPATH=str(tmp_path), NAME_SERVER=silence.address)
        with HANGING[name](served, silence):
            started = time.monotonic()
            status, _, complained = served.end(
                signal.SIGINT if name == "an_advance" else signal.SIGTERM
            )
            assert time.monotonic() - started < LIMIT
    assert status == (130 if name == "an_advance" else 0)
    assert "Traceback" not in complained
