"""The example shops behind the proxy: nothing differs, and their recordings hold no secret and can be played again."""

from __future__ import annotations

import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from click.testing import CliRunner

from contract_tests.support.client import http_client
from contract_tests.support.shops import SHOPS, ExampleShop
from contract_tests.surfaces.checks.service.second import NOTHING, client, serving
from contract_tests.surfaces.checks.traffic.running import proxying
from emulator.cli.main import cli

pytestmark = pytest.mark.long

SECRETS = re.compile(
    r"[sp]k_(test|prod)_(?!\*{4})|whsec_(?!\*{4})|(?<!\d)\d{13,19}(?!\d)|(?i:signature|token)\"?[:=]\"?(?!\*{4})\w"
)
"""Keys, secrets of endpoints, card numbers, and signatures and tokens that are not masked."""

CARD = "4242424242424242"


class Silent(WSGIRequestHandler):
    """Writes no log."""

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


def played(file: Path) -> Any:
    """Return the report of ``play``, as JSON."""
    ended = CliRunner().invoke(cli, ["replay", str(file), "--json"], standalone_mode=False)
    assert ended.exception is None, ended.output
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "shop", [SHOPS["python"], pytest.param(SHOPS["node"], marks=pytest.mark.needs("node"))], ids=["python", "node"]
)
def test_nothing_differs_and_no_secret_is_recorded(shop: ExampleShop, tmp_path: Path) -> None:
    file, command = tmp_path / "run.jsonl", [sys.executable if word == "python" else word for word in shop.story]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    program = shutil.which("payments-emulator", path=str(Path(sys.executable).parent))
    with serving(NOTHING) as server:
        ended = subprocess.run(
            [
                program,
                "compare",
                "traffic",
                "--upstream",
                server.url,
                "--port",
                "0",
                "--record",
                file,
                "--json",
                "--",
                *command,
            ],
            cwd=shop.path,
            env={**own, "PAYMENTS_EMULATOR_KEY": "sk_test_club"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    assert (report["differences"], report["not_compared"]) == ([], {})
    assert report["compared"] >= 12
    assert played(file) == report
    assert SECRETS.findall(file.read_text("utf-8")) == []
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.breaks_the_document
def test_the_command_shows_each_difference_and_reports_when_it_is_ended(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    program = str(Path(sys.executable).with_name("payments-emulator"))
    draw = NOTHING._replace(switched={"main_currency": "EUR"})
    with (
        serving(draw) as server,
        subprocess.Popen(
            [program, "compare", "traffic", "--upstream", server.url, "--port", "0", "--port-file", port_file],
            stdout=subprocess.PIPE,
            text=True,
        ) as proxy,
    ):
        assert proxy.stdout
        started = iter(proxy.stdout.readline, "")  # a command that ends at once says no more
        assert "Ready.\n" in started
        with client(f"http://127.0.0.1:{port_file.read_text().strip()}") as http:
            http.post("/customers/", json={"email": "a@example.com", "name": "Awa Diop"})
        assert proxy.stdout.readline() == "1. POST /v1/customers/: currency is 'EUR', the emulator's 'XAF' (B-30)\n"
        proxy.terminate()
        report = proxy.stdout.read()
    assert "createCustomer\n  1 × currency: 'EUR', the emulator's 'XAF'  B-30\nB-30 Customers: " in report
    assert proxy.returncode == 1


@contextmanager
def shop_served(key: str) -> Iterator[tuple[Any, str]]:
    """The Python shop with its webhooks' URL. It is registered before it knows the secret, so pings get a 200."""
    module = ModuleType("shop")
    exec((SHOPS["python"].path / "shop.py").read_text("utf-8"), module.__dict__)
    shop = module.__dict__["Shop"]("", key, "")

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if json.loads(body)["type"] == "webhook.ping":
            start_response("200 OK", [])
            return []
        return shop({**environ, "wsgi.input": BytesIO(body)}, start_response)

    with make_server("127.0.0.1", 0, app, handler_class=Silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield shop, f"http://127.0.0.1:{server.server_port}/webhooks"
        server.shutdown()
        thread.join()


def test_webhooks_are_passed_on_and_compared(tmp_path: Path) -> None:
    """A buyer fails once and pays then; the shop hears it by webhooks that arrive at the proxy."""
    file = tmp_path / "run.jsonl"
    events = ["checkout.session.completed", "payment_intent.failed", "transaction.succeeded"]
    with (
        serving(NOTHING) as server,
        shop_served("sk_test_compare") as (shop, hook),
        proxying(server.url, webhooks_to=hook, record=file) as proxy,
        client(proxy.url) as http,
        http_client(base_url=f"{server.url}/_emulator", headers=http.headers) as control,
    ):
        shop.url = proxy.url
        body = {"name": "Shop", "url": f"{proxy.url}/_proxy/webhooks", "events": events}
        shop.secret = http.post("/webhooks/", json=body).json()["secret"]
        session = shop.order("awa@example.com", 2).rpartition("/")[2]
        for method in ({"type": "mobile_money", "phone": "+24177000001"}, card()):
            control.post(f"/checkout-sessions/{session}/pay", json={"method": method}).raise_for_status()
        control.post("/clock/advance", json={"by": "0s"}).raise_for_status()
        assert shop.orders[session]["status"] == "paid"
        assert shop.thank(session) == "paid"
        shop.refund(session, 1000)
    assert proxy.kinds == set()
    assert proxy.findings.events == len(events), proxy.findings.skipped
    report = played(file)
    assert (report["differences"], report["events"]) == ([], proxy.findings.events)
    text = file.read_text("utf-8")
    assert SECRETS.findall(text) == []
    assert shop.secret not in text


def card() -> dict[str, Any]:
    return {"type": "bank_card", "number": CARD, "exp_month": 12, "exp_year": 2030, "cvc": "123"}


def test_a_recording_masks_by_type(tmp_path: Path) -> None:
    """Keys, secrets, card numbers, accounts, tokens in links, signatures in metadata: none is in the file."""
    file = tmp_path / "run.jsonl"
    signature = hmac.new(b"secret", b"body", sha256).hexdigest()
    iban = "FR1420041010050500013M02606"
    with serving(NOTHING) as server, proxying(server.url, record=file) as proxy, client(proxy.url) as http:
        http.headers["Authorization"] = "Bearer sk_test_private"
        body = {"email": "a@example.com", "name": "Awa Diop", "metadata": {"service_signature": signature}}
        customer = http.post("/customers/", json=body).json()["id"]
        assert http.post("/payment-methods/", json={**card(), "customer": customer}).status_code == 201
        transfer = {"type": "bank_transfer", "iban": iban, "customer": customer}
        assert http.post("/payment-methods/", json=transfer).status_code == 201
        line = {"description": "Basket", "unit_amount": 1000, "quantity": 1}
        invoice = {"customer": customer, "currency": "XAF", "line_items": [line]}
        made = http.post("/invoices/", json=invoice).json()
        final = http.post(f"/invoices/{made['id']}/finalize/").json()
        http.get("/customers/?api_key=k3y&token=t0ken")
        http.get("/customers/", headers={"Authorization": "Bearer not-a-key-but-secret"})
        http.get("/customers/", headers={"Authorization": "secret-without-scheme"})
    assert proxy.kinds == set(), [*proxy.findings.lines()]
    text = file.read_text("utf-8")
    pdf_tokens = re.findall(r"token=([^\"&]+)", json.dumps(final))
    for secret in (
        "private",
        CARD,
        iban,
        signature,
        "k3y",
        "t0ken",
        "not-a-key",
        "secret-without",
        *pdf_tokens,
    ):
        assert secret not in text, secret
    assert SECRETS.findall(text) == []
    assert played(file)["differences"] == []
