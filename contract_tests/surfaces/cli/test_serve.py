"""``serve`` as its user sees it: what it prints, where it listens, how it ends and what it rejects."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests import ROOT
from contract_tests.surfaces.cli.terminal import run
from emulator.cli.serve import serve as command_line
from emulator.document.paths import guide_folder

START = "frozen@2026-01-01T00:00:00Z"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}


def command(*options: str | Path) -> list[str]:
    return [sys.executable, "-m", "emulator.cli.main", "serve", *map(str, options)]


class Served:
    """A server in a process of its own, from its start to its ``Ready.``"""

    def __init__(self, *options: str | Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            command(*options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**CLEAN, **environment},
        )
        assert self.process.stdout
        self.said = []
        for row in self.process.stdout:
            self.said.append(row.rstrip("\n"))
            if row == "Ready.\n":
                break
        service = re.search(r"http://\S+(?=/v1/)", "\n".join(self.said))
        assert service, self.process.communicate()
        self.url = service[0]

    def get(self, path: str, key: str = "sk_test_demo") -> httpx.Response:
        return httpx.get(self.url + path, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60)

    def post(self, path: str, body: Any) -> Any:
        headers = {"Authorization": "Bearer sk_test_demo"}
        return httpx.post(self.url + path, json=body, headers=headers, trust_env=False, timeout=60).json()

    def setting(self, name: str, app: str = "demo") -> Any:
        return self.get("/_emulator/app", f"sk_test_{app}").json()["settings"][name]

    def end(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit status, and what was said on both outputs since ``Ready.``"""
        self.process.send_signal(by)
        said, complained = self.process.communicate(timeout=30)
        return self.process.returncode, said, complained


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[Served] = []

    def start(*options: str | Path, **environment: str) -> Served:
        running.append(Served(*options, **environment))
        return running[-1]

    yield start
    for served in running:
        if served.process.poll() is None:
            served.process.kill()
        served.process.communicate()


def rejected(*options: str | Path, **environment: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - CLEAN.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        ended = run("serve", *map(str, options))
    assert (ended.status, ended.errors.count("\n"), "Ready." in ended.output) == (2, 1, False), ended
    assert ended.errors.startswith("payments-emulator: ")
    return ended.errors


def test_it_says_where_it_is_and_that_it_is_ready(serve: Serve, tmp_path: Path) -> None:
    """The addresses, and ``Ready.`` last; the port file holds the port and nothing else."""
    file = tmp_path / "port"
    file.write_text("4747\n")
    served = serve("--port", "0", "--port-file", file, "--clock", START, "--seed", "7")
    assert served.said[-1] == "Ready."
    port = int(file.read_text())
    assert served.url == f"http://127.0.0.1:{port}"
    assert file.read_text() == f"{port}\n"
    assert list(tmp_path.iterdir()) == [file]
    named = [url.removeprefix(served.url) for url in re.findall(r"http://[^\s)]+", "\n".join(served.said))]
    guide = ["/docs/guide/"] if guide_folder().is_dir() else []
    assert named == ["/v1/", "/_emulator/", "/docs/", "/openapi.json", *guide]
    assert {served.get(path).status_code for path in named[1:]} == {200}
    assert served.get("/_emulator/health").json()["status"] == "ok"
    assert served.get("/_emulator/clock").json()["now"] == "2026-01-01T00:00:00.000Z"
    assert served.end() == (0, "", "")


@pytest.mark.parametrize(
    ("request_head", "last_words"),
    [
        ("GET /_emulator/events?wait=30 HTTP/1.1", b'"count":0'),
        ("GET /_emulator/stream HTTP/1.1", b"\r\n0\r\n\r\n"),
        ("POST /v1/customers/ HTTP/1.1", b"INTERNAL_ERROR"),
    ],
)
def test_it_ends_also_while_somebody_waits(serve: Serve, request_head: str, last_words: bytes) -> None:
    """Within seconds, with 0, and clients that waited get an answer."""
    served = serve("--port", "0")
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        rows = (request_head, "Host: localhost", "Authorization: Bearer sk_test_demo", "Content-Length: 9", "", "")
        line.sendall("\r\n".join(rows).encode())
        served.get("/_emulator/health")
        status, _, complained = served.end()
        assert status == 0
        assert "Traceback" not in complained
        assert last_words in line.makefile("rb").read()


def test_what_could_not_be_stored_at_the_end_is_said_with_exit_status_1(serve: Serve, tmp_path: Path) -> None:
    served = serve("--port", "0", "--state", f"tinydb:{tmp_path}/worlds.json")
    served.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa"})
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
    served.post("/v1/products/", {"name": "Tea", "unit_amount": 500, "currency": "XAF"})
    status, _, complained = served.end()
    assert status == 1
    last = complained.splitlines()[-1]
    assert last.startswith(f"payments-emulator: {tmp_path}/worlds.json: File too large: ")
    assert re.search(r"what was changed in the last \d+ seconds is not stored$", last)


def test_it_can_be_stopped_before_it_is_ready() -> None:
    """SIGTERM is a success at whatever moment it comes."""
    process = subprocess.Popen(
        command("--port", "0"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    )
    assert process.stdout
    process.stdout.readline()
    process.terminate()
    _, complained = process.communicate(timeout=30)
    assert (process.returncode, complained) == (0, "")


def test_a_taken_port_is_reported_in_one_line(serve: Serve) -> None:
    port = serve("--port", "0").url.rsplit(":", 1)[1]
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use" in rejected("--port", port)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "x"], "--port"),
        (["--port", "-1"], "--port"),
        (["--port", "65536"], "65536"),
        (["--port", "1.5"], "--port"),
        (["--port"], "--port"),
        (["--host", "no.such.host.invalid"], "Cannot listen on no.such.host.invalid:4747"),
        (["--host", "x" * 80], "Cannot listen on"),
        (["--host", "203.0.113.1", "--port", "0", "--insecure"], "Cannot listen on 203.0.113.1:0"),
        (["--host", ""], "Cannot listen on"),
        (["--clock", "stopped"], "running, frozen, or frozen@"),
        (["--clock", "frozen@"], "frozen@"),
        (["--clock", "frozen@2026-02-30T00:00:00Z"], "frozen@"),
        (["--clock", "frozen@2026-01-01 00:00:00Z"], "frozen@"),
        (["--clock", "running@2026-01-01T00:00:00Z"], "running"),
        (["--seed", "x"], "--seed"),
        (["--seed", "1.5"], "--seed"),
        (["--keys", "closed"], "'open', 'listed'"),
        (["--state", "floppy:x"], "floppy:x"),
        (["--public-url", "sandbox.local"], "--public-url"),
        (["--public-url", "ftp://sandbox.local"], "--public-url"),
        (["--public-url", "http://sandbox.local/path"], "--public-url"),
        (["--strict=maybe"], "--strict"),
        (["--prot", "0"], "did you mean `--port`?"),
        (["4747"], "4747"),
        (["--port-file", "/nowhere/port", "--port", "0"], "/nowhere/port: cannot be written: No such file"),
        (["--port-file", "/", "--port", "0"], "--port-file"),
        (["--port-file", "/dev/null/port", "--port", "0"], "/dev/null/port: cannot be written"),
        (["-q", "-v"], "--quiet and --verbose contradict each other"),
        (["--host", "0.0.0.0"], "--control-token"),
        (["--host", "::"], "--insecure"),
    ],
)
def test_a_bad_option_is_reported_in_one_line(options: list[str], message: str) -> None:
    """A mistyped option or value says which one and what is allowed."""
    assert message in rejected(*options)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "x"),
        ("CLOCK", "stopped"),
        ("SEED", "x"),
        ("KEYS", "closed"),
        ("STATE", "floppy:x"),
        ("STRICT", "maybe"),
        ("PUBLIC_URL", "x"),
        ("FIXTURES", "/nowhere.yaml"),
    ],
)
def test_a_bad_variable_is_reported_in_one_line(variable: str, value: str) -> None:
    assert value in rejected(**{f"PAYMENTS_EMULATOR_{variable}": value})


BROKEN = {
    "not YAML": (b"settings: [", "is not YAML"),
    "a tab": (b"settings:\n\ttax_rate: 1", "is not YAML"),
    "several documents": (b"a: 1\n---\nb: 2", "is not YAML"),
    "a Python object": (b"settings: !!python/object/apply:os.getcwd []", "is not YAML"),
    "binary": (bytes(range(256)), "cannot be read"),
    "a NUL": (b"settings: \x00", "is not YAML"),
    "a list": (b"- settings", "object"),
    "a word": (b"settings", "object"),
    "an unknown part": (b"setings: {}", "setings"),
    "an unknown setting": (b"settings: {tax: 1}", "tax is not a setting"),
    "a wrong value": (b"settings: {tax_rate: high}", "tax_rate"),
    "a value out of range": (b"settings: {tax_rate: 101}", "tax_rate"),
    "a wrong choice": (b"settings: {pricing_plan: gold}", "pricing_plan"),
    "a currency that is not enabled": (b"settings: {main_currency: GBP}", "main_currency GBP is not among currencies"),
    "a wrong setting of an App": (b"apps: {shop: {settings: {tax: 1}}}", "tax is not a setting"),
    "an App that cannot be": (b"apps: {a b: {}}", "'a b'"),
    "a key that is none": (b"keys: [demo]", "'demo'"),
    "a public key": (b"keys: [pk_test_demo]", "'pk_test_demo'"),
    "keys that are no list": (b"keys: sk_test_demo", "keys"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_fixture_file_is_reported_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    """Which file, and what is wrong with it."""
    file = tmp_path / "shop.yaml"
    file.write_bytes(content)
    line = rejected("--port", "0", "--fixtures", file)
    assert f"{file}: " in line
    assert message in line


def test_files_that_are_missing_or_do_not_go_together_are_reported_at_the_start(tmp_path: Path) -> None:
    """Each is in order by itself; a request is not what finds out."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("settings: {main_currency: XOF}")
    assert f"{second}: cannot be read: No such file or directory" in rejected("--fixtures", second)
    second.write_text("apps: {shop: {settings: {currencies: [EUR]}}}")
    line = rejected("--port", "0", "--fixtures", first, "--fixtures", second)
    assert f"{second}: main_currency XOF is not among currencies" in line


def test_fixtures_apply_the_later_over_the_earlier_and_an_app_over_all(serve: Serve, tmp_path: Path) -> None:
    """Settings for every App, for one App, YAML or JSON, several files; those of a folder in the order of their names."""
    general, folder = tmp_path / "general.yaml", tmp_path / "folder"
    folder.mkdir()
    general.write_text(
        "settings: {tax_rate: 18, main_currency: EUR, currencies: [EUR]}\napps: {shop: {settings: {tax_rate: 5}}}"
    )
    own = {"currencies": ["EUR", "USD"]}
    (folder / "1.json").write_text(
        json.dumps({"settings": {"reactivation_days": 9, "refund_expiry_days": 3}, "apps": {"shop": {"settings": own}}})
    )
    (folder / "2.yaml").write_text("settings: {refund_expiry_days: 4}")
    (folder / "3.yaml").write_text("# nothing yet\n")
    (folder / "notes.txt").write_text("settings: [")
    served = serve("--port", "0", "--fixtures", general, "--fixtures", folder)
    assert [served.setting("tax_rate"), served.setting("tax_rate", "shop")] == [18, 5]
    assert [served.setting("currencies"), served.setting("currencies", "shop")] == [["EUR"], ["EUR", "USD"]]
    assert [served.setting("reactivation_days", app) for app in ("demo", "shop")] == [9, 9]
    assert served.setting("refund_expiry_days") == 4
    assert served.post("/v1/customers/", {"email": "a@example.com", "name": "A"})["currency"] == "EUR"


def test_only_listed_keys_are_known_if_configured_so(serve: Serve, tmp_path: Path) -> None:
    """B-02: ``--keys listed``."""
    file = tmp_path / "keys.yaml"
    file.write_text("keys: [sk_test_shop, sk_prod_till]")
    served = serve("--port", "0", "--fixtures", file, "--keys", "listed")
    assert "sk_test_demo" not in "\n".join(served.said)
    answers = {key: served.get("/v1/customers/", key) for key in ("sk_test_shop", "sk_prod_till", "sk_prod_shop", "x")}
    assert {key: answer.status_code for key, answer in answers.items()} == {
        "sk_test_shop": 200,
        "sk_prod_till": 200,
        "sk_prod_shop": 401,
        "x": 401,
    }
    assert answers["sk_prod_shop"].json()["code"] == "INVALID_API_KEY"
    assert served.get("/_emulator/health").json()["apps"] == 2
    magic = {name: served.get("/v1/customers/", f"sk_test_{name}").json()["code"] for name in ("expired1", "disabled1")}
    assert magic == {"expired1": "EXPIRED_API_KEY", "disabled1": "APP_DISABLED"}  # B-04: in both modes


def test_without_a_list_no_key_is_known(serve: Serve) -> None:
    assert serve("--port", "0", "--keys", "listed").get("/v1/customers/").json()["code"] == "INVALID_API_KEY"


def test_every_option_can_come_from_the_environment(serve: Serve, tmp_path: Path) -> None:
    """``PAYMENTS_EMULATOR_<OPTION>``; several files are joined as in PATH. An option outdoes its variable."""
    first, second, port_file = tmp_path / "first.yaml", tmp_path / "second.yaml", tmp_path / "port"
    first.write_text("settings: {tax_rate: 18}\nkeys: [sk_test_demo]")
    second.write_text("settings: {reactivation_days: 9}")
    served = serve(
        PAYMENTS_EMULATOR_HOST="localhost",
        PAYMENTS_EMULATOR_PORT="0",
        PAYMENTS_EMULATOR_PORT_FILE=str(port_file),
        PAYMENTS_EMULATOR_CLOCK=START,
        PAYMENTS_EMULATOR_SEED="7",
        PAYMENTS_EMULATOR_KEYS="listed",
        PAYMENTS_EMULATOR_FIXTURES=os.pathsep.join([str(first), str(second)]),
        PAYMENTS_EMULATOR_STATE="memory",
        PAYMENTS_EMULATOR_STRICT="1",
    )
    assert served.url == f"http://localhost:{int(port_file.read_text())}"
    assert served.get("/_emulator/clock").json()["now"] == "2026-01-01T00:00:00.000Z"
    assert (served.setting("tax_rate"), served.setting("reactivation_days")) == (18, 9)
    assert served.get("/v1/customers/", "sk_test_other").status_code == 401
    made = served.post("/v1/customers/", {"email": "a@example.com", "name": "A"})
    served.end()
    others = {"PAYMENTS_EMULATOR_SEED": "8", "PAYMENTS_EMULATOR_CLOCK": "running", "PAYMENTS_EMULATOR_PORT": "1"}
    same = serve("--port", "0", "--seed", "7", "--clock", START, **others)
    assert same.get("/_emulator/clock").json()["mode"] == "frozen"
    assert same.post("/v1/customers/", {"email": "a@example.com", "name": "A"})["app"] == made["app"]


def test_a_public_url_goes_into_links(serve: Serve, tmp_path: Path) -> None:
    """For a server behind a port mapping."""
    port_file = tmp_path / "port"
    served = serve("--port", "0", "--port-file", port_file, "--public-url", "http://sandbox.local/")
    assert served.url == "http://sandbox.local"
    served.url = f"http://127.0.0.1:{int(port_file.read_text())}"
    customer = served.post("/v1/customers/", {"email": "a@example.com", "name": "A"})
    served.post("/v1/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "month"})
    invoice = served.get("/v1/invoices/").json()["data"][0]
    assert invoice["payment_url"].startswith("http://sandbox.local/invoice/")


@pytest.mark.parametrize(
    ("host", "arguments", "variables"),
    [
        ("127.0.0.1", [], {}),
        ("localhost", [], {}),
        ("0.0.0.0", ["--control-token", "secret"], {}),
        ("0.0.0.0", ["--insecure"], {}),
        ("0.0.0.0", [], {"PAYMENTS_EMULATOR_CONTROL_TOKEN": "secret"}),
        ("0.0.0.0", [], {"PAYMENTS_EMULATOR_INSECURE": "1"}),
    ],
    ids=str,
)
def test_it_listens_on_the_given_address(
    serve: Serve, host: str, arguments: list[str], variables: dict[str, str]
) -> None:
    """One for all interfaces is printed as one that can be called."""
    served = serve("--host", host, "--port", "0", *arguments, **variables)
    assert served.url.startswith("http://localhost:" if host == "localhost" else "http://127.0.0.1:")
    assert served.get("/_emulator/health").status_code == 200


def test_the_image_says_openly_that_others_reach_it() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    assert "PAYMENTS_EMULATOR_HOST=0.0.0.0" in dockerfile
    assert "PAYMENTS_EMULATOR_INSECURE=1" in dockerfile


OPTIONS = ["port", "host", "state", "fixtures", "clock", "seed", "keys", "strict", "no-strict", "port-file"]


def test_the_help_shows_every_documented_option() -> None:
    """Control API page, command line. Alone the program names three commands."""
    shown = run("serve", "--help").output
    variables = {parameter.envvar for parameter in command_line.params}
    for name in OPTIONS:
        assert f"--{name}" in shown
        variable = name.removeprefix("no-").replace("-", "_").upper()
        assert f"PAYMENTS_EMULATOR_{variable}" in variables
    sentence = "Every option can be an environment variable: --port is PAYMENTS_EMULATOR_PORT."
    assert sentence in " ".join(shown.split())
    alone = "\n".join(run().lines)
    assert re.findall(r"^  payments-emulator (\w+)", alone, re.M) == ["demo", "serve", "exec"]
    assert "'payments-emulator --help'" in alone
    for option in ("--help", "-h"):
        assert "serve" in "\n".join(run(option).lines[5:])


def request_lines(served: Served) -> list[str]:
    """What was printed since ``Ready.``, without the times."""
    status, output, errors = served.end()
    assert (status, errors) == (0, "")
    return [re.sub(r"\d+ ms", "1 ms", line) for line in output.splitlines()]


def traffic(served: Served) -> None:
    """A request that causes an event, one that fails, one of the console's kind, and one to an unknown page."""
    served.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
    served.post("/v1/customers/", {"email": 7})
    served.get("/_emulator/clock", "sk_test_other")
    served.post("/_emulator/trigger", {"event": "customer.deleted"})
    served.get("/nowhere%1b[2J")


def test_an_advance_sums_up_and_deliveries_to_inboxes_are_no_lines(serve: Serve) -> None:
    served = serve("--port", "0", "--clock", START)
    inbox = f"{served.url}/_emulator/inbox/shop"
    served.post("/v1/webhooks/", {"name": "Shop", "url": inbox, "events": ["*"]})
    served.post("/_emulator/trigger", {"event": "subscription.created"})
    served.post("/_emulator/clock/advance", {"by": "31d"})
    lines = request_lines(served)
    assert [line for line in lines if "/inbox/" in line] == []
    assert lines[-1] == (
        "demo          200  POST /_emulator/clock/advance  → 2026-02-01T00:00:00Z · 1 job · 3 events · "
        "3 webhooks delivered  1 ms"
    )


@pytest.mark.parametrize("option", ["--host=127.0.0.1", "-v", "--quiet"])
def test_a_request_is_a_line(serve: Serve, option: str) -> None:
    """No card number or key is in it. Verbose lines leave nothing out and name the request."""
    served = serve("--port", "0", option, "--clock", START)
    traffic(served)
    served.get("/v1/payment-methods/4242424242424242/?key=sk_test_demo&iban=FR7630006000011234567890189")
    lines = request_lines(served)
    if option == "-v":
        assert "other         200  GET /_emulator/clock  1 ms" in lines.pop(2)
        assert all(re.search(r"  req_\w+$", line) for line in lines)
    if option == "--quiet":
        assert lines == []
        return
    card = lines.pop()
    assert "GET /v1/payment-methods/****4242/" in card
    assert not re.search(r"42424242|sk_test_demo|FR7630", card)
    assert [re.sub(r"  req_\w+$", "", line) for line in lines] == [
        "demo          201  POST /v1/customers/  customer.created  1 ms",
        "demo          422  POST /v1/customers/  1 ms",
        "demo          200  POST /_emulator/trigger  customer.created, customer.deleted  1 ms",
        "-             404  GET /nowhere?[2J  1 ms",
    ]


def test_lines_as_json(serve: Serve) -> None:
    served = serve("--port", "0", "--clock", START, PAYMENTS_EMULATOR_LOG_FORMAT="json")
    traffic(served)
    first, *rest = map(json.loads, request_lines(served))
    own = {name: first[name] for name in ("request", "duration_ms")}
    made = {"app": "demo", "method": "POST", "path": "/v1/customers/", "status": 201, "events": ["customer.created"]}
    assert first == {**own, **made}
    assert [each["status"] for each in rest] == [422, 200, 404]


def test_the_lines_may_stay_unread(serve: Serve) -> None:
    """A pipe holds 64 KiB, and a program that started the server may read no further than ``Ready.``"""
    served = serve("--port", "0", "--clock", START)
    path = f"/v1/customers/?search={'x' * 50}"
    long = f"/nowhere/{'x' * 4000}"
    for _ in range(40):
        assert served.get(long).status_code == 404
    assert served.get(path).status_code == 200
    served.end()


def test_without_a_host_only_this_machine_reaches_it(serve: Serve) -> None:
    """Neither from another address of this machine, nor under another name."""
    served = serve("--port", "0")
    assert served.get("/_emulator/health").status_code == 200
    port = int(served.url.rpartition(":")[2])
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert {line[1] for line in listening if line[3] == "0A" and line[1].endswith(f":{port:04X}")} == {
        f"0100007F:{port:04X}"
    }
    rebound = httpx.get(f"{served.url}/v1/customers/", headers={"Host": "evil.example"}, trust_env=False, timeout=60)
    assert rebound.status_code == 403


def test_it_ends_with_its_standard_input(tmp_path: Path) -> None:
    """However the program that holds the pipe ends, the system closes it; what is written into it is ignored."""
    state = tmp_path / "worlds.json"
    options = ("--port", "0", "--exit-with-stdin", "--state", f"tinydb:{state}")
    with subprocess.Popen(
        command(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    ) as served:
        assert served.stdout
        assert served.stdin
        url = served.stdout.readline().split()[2].removesuffix("/v1/")
        assert any(row == "Ready.\n" for row in served.stdout)
        served.stdin.write("\n")
        served.stdin.flush()
        key = {"Authorization": "Bearer sk_test_demo"}
        assert httpx.get(f"{url}/v1/customers/", headers=key, trust_env=False, timeout=60).status_code == 200
        _, complained = served.communicate(timeout=60)
    assert (served.returncode, complained) == (0, "")
    assert state.exists()
