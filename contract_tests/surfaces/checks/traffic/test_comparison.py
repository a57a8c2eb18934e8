"""What the proxy finds: nothing on the emulator itself, each setting and deviation of another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.checks.service.deviations import DEVIATIONS
from contract_tests.surfaces.checks.service.random_requests import RandomRequests
from contract_tests.surfaces.checks.service.second import NOTHING, Draw, client, serving
from contract_tests.surfaces.checks.traffic.running import RunningProxy, proxying
from emulator.cli.main import cli

KEY = {"Authorization": "Bearer sk_test_compare"}


@pytest.fixture(scope="module")
def itself() -> Iterator[RunningServer]:
    """An emulator without any difference."""
    with serving(NOTHING) as server:
        yield server


def through(proxy: RunningProxy, key: str = "sk_test_compare") -> httpx.Client:
    return http_client(base_url=f"{proxy.url}/v1", headers={"Authorization": f"Bearer {key}"})


def control(server: RunningServer, path: str, **body: Any) -> Any:
    with http_client(base_url=f"{server.url}/_emulator", headers=KEY) as http:
        answer = http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()


def post(http: httpx.Client, path: str, body: Any = None) -> Any:
    answer = http.post(path, json=body or {})
    assert answer.is_success, answer.text
    return answer.json()


def test_of_the_emulator_itself_nothing_differs(itself: RunningServer) -> None:
    with serving(NOTHING) as second, proxying(itself.url) as proxy, client(second.url) as other, through(proxy) as http:
        for _ in RandomRequests(http, other, 5).run(100):
            pass
    assert proxy.kinds == set()
    assert proxy.findings.compared == 100, proxy.findings.skipped


@pytest.mark.breaks_the_document
def test_six_settings_are_six_kinds_of_difference_by_their_assumptions() -> None:
    switched = {
        "assumptions.unknown_fields": "ignore",
        "assumptions.metadata_values": "any",
        "assumptions.search_nothing_found": "error",
        "assumptions.error_shape": "nested",
        "assumptions.success_url": "required",
        "main_currency": "EUR",
    }
    draw = Draw(switched, [])
    line = {"description": "Basket", "unit_amount": 2000, "quantity": 1}

    def session(http: httpx.Client) -> None:
        made = post(http, "/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        http.patch(f"/customers/{made['id']}/", json={"unheard_of": 1})
        http.patch(f"/customers/{made['id']}/", json={"metadata": {"a": [1]}})
        http.get("/customers/?search=nothing")
        http.get("/products/prod_unknown/")
        http.post("/checkout-sessions/", json={"currency": "XAF", "line_items": [line]})

    with serving(draw) as server, proxying(server.url) as proxy, through(proxy) as http:
        session(http)
    assert proxy.kinds == {
        ("createCustomer", "currency"),
        ("updateCustomer", "status"),
        ("listCustomers", "status"),
        ("getProduct", "error shape"),
        ("createCheckoutSession", "status"),
    }
    assert {"B-10", "B-13", "B-20", "B-22", "B-30", "B-58"} <= proxy.findings.by_assumption().keys()
    with serving(draw) as server, proxying(server.url, settings=draw.settings) as proxy, through(proxy) as http:
        session(http)
    assert (proxy.kinds, proxy.findings.compared) == (set(), 6)


@pytest.mark.breaks_the_document
def test_a_deviation_that_no_setting_follows_is_found() -> None:
    draw = Draw({}, [each for each in DEVIATIONS if each.probes[0] in ("no-key", "default-address", "timestamps")])
    with serving(draw) as server, proxying(server.url) as proxy, through(proxy) as http:
        post(http, "/customers/", {"email": "awa@example.com", "name": "Awa"})
        http.get("/customers/", headers={"Authorization": ""})
    assert proxy.kinds >= {("createCustomer", "created_at"), ("listCustomers", "error code")}


def test_time_that_passes_at_the_service_passes_beside_it() -> None:
    """A renewal: a job of the world beside, at the instant that the service's answers show."""
    with serving(NOTHING) as server, proxying(server.url) as proxy, through(proxy) as http:
        customer = post(http, "/customers/", {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"})
        plan = post(
            http, "/subscription-plans/", {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
        )
        made = post(http, "/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
        control(server, "/clock/advance", by="31d")
        assert len(http.get("/invoices/").json()["data"]) == 2
        assert http.get(f"/subscriptions/{made['id']}/").json()["current_period_start"].startswith("2026-02-01")
        assert len(http.get("/transactions/").json()["data"]) == 2
    assert proxy.kinds == set()
    assert proxy.findings.compared == 6


def test_a_date_shows_the_time_where_no_object_does(tmp_path: Path) -> None:
    """A session that has expired: the answer is an error, so only its ``Date`` shows the time."""
    file, line = tmp_path / "run.jsonl", {"description": "Basket", "unit_amount": 2000, "quantity": 2}
    with serving(NOTHING) as server, proxying(server.url, record=file) as proxy, through(proxy) as http:
        body = {"currency": "XAF", "success_url": "https://shop.example.com/", "line_items": [line]}
        session = post(http, "/checkout-sessions/", body)["id"]
        control(server, "/clock/advance", by="2d")
        assert http.post(f"/checkout-sessions/{session}/expire/").status_code == 422
    assert proxy.kinds == {("expireCheckoutSession", "status")}
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    dates = ["2026-01-01T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]
    dated = [lines[0], *({**line, "date": date} for line, date in zip(lines[1:], dates, strict=True))]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in dated), "utf-8")
    ended = CliRunner().invoke(cli, ["replay", str(file)], standalone_mode=False)
    assert ended.return_value == 0, ended.output


def test_it_is_played_at_an_emulator_whose_url_is_typed(tmp_path: Path) -> None:
    """Its App is reset first; one that does not run is said so."""
    file = tmp_path / "run.jsonl"
    with serving(NOTHING) as server, proxying(server.url, record=file) as proxy, through(proxy) as http:
        post(http, "/customers/", {"name": "Awa", "email": "awa@example.com"})
    with serving(NOTHING) as server:
        url = ["replay", str(file), "--url", server.url]
        ended = CliRunner().invoke(cli, url, standalone_mode=False)
        assert ended.return_value == 0, ended.output
        with http_client(base_url=server.url, headers={"Authorization": "Bearer sk_test_demo"}) as there:
            assert [each["firstname"] for each in there.get("/v1/customers/").json()["data"]] == ["Awa"]
    ended = CliRunner().invoke(cli, url, standalone_mode=False)
    assert "no emulator at" in str(ended.exception)


def test_it_leaves_the_emulator_of_the_environment_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose URL stands there for other commands: a world that is in use is not reset unasked."""
    file = tmp_path / "run.jsonl"
    with serving(NOTHING) as server, proxying(server.url, record=file) as proxy, through(proxy) as http:
        post(http, "/customers/", {"name": "Awa", "email": "awa@example.com"})
        monkeypatch.setenv("PAYMENTS_EMULATOR_URL", server.url)
        journal = f"{server.url}/_emulator/requests?app=demo"
        before = http.get(journal).json()["pagination"]["count"]
        assert CliRunner().invoke(cli, ["replay", str(file)], standalone_mode=False).return_value == 0
        assert http.get(journal).json()["pagination"]["count"] == before > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "line 1 is no request"),
        ('{"type": "start", "service": "x"}\n{"type": "request"}', "line 2 is no request"),
    ],
)
def test_a_file_that_is_no_recording_is_explained(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.jsonl").write_text(text)
    ended = CliRunner().invoke(cli, ["replay", str(tmp_path / "run.jsonl")], standalone_mode=False)
    assert message in str(ended.exception)


def test_what_a_buyer_does_on_a_page_is_done_beside_it() -> None:
    line = {"description": "Basket", "unit_amount": 2000, "quantity": 2}
    with serving(NOTHING) as server, proxying(server.url) as proxy, through(proxy) as http:
        session = post(
            http,
            "/checkout-sessions/",
            {"currency": "XAF", "success_url": "https://shop.example.com/", "line_items": [line]},
        )
        control(server, f"/checkout-sessions/{session['id']}/pay")
        paid = http.get(f"/checkout-sessions/{session['id']}/").json()
        intent = http.get(f"/payment-intents/{paid['payment_intent']}/").json()
        post(http, "/refunds/", {"transaction": intent["transaction"], "amount": 1000})
    assert proxy.kinds == set()
    assert proxy.findings.compared == 4


def test_what_was_there_before_is_not_compared() -> None:
    with serving(NOTHING) as server:
        with client(server.url) as before:
            old = post(before, "/customers/", {"email": "old@example.com", "name": "Old One"})
        control(server, "/clock/advance", by="1d")
        with proxying(server.url) as proxy, through(proxy) as http:
            post(http, "/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
            assert http.get("/customers/").json()["pagination"]["count"] == 2
            assert http.get(f"/customers/{old['id']}/").status_code == 200
    assert proxy.kinds == set()
    assert proxy.findings.skipped.total() == 1


def test_each_key_has_a_world_of_its_own(itself: RunningServer) -> None:
    body = {"email": "same@example.com", "name": "Awa Diop"}
    with proxying(itself.url) as proxy, through(proxy, "sk_test_one") as one, through(proxy, "sk_test_two") as other:
        first, second = post(one, "/customers/", body), post(other, "/customers/", body)
        assert one.get(f"/customers/{first['id']}/").status_code == 200
        assert other.get(f"/customers/{first['id']}/").status_code == 404
        assert other.get(f"/customers/{second['id']}/", headers={"Authorization": "Bearer pk_test_two"}).is_error
        assert other.get("/customers/", headers={"Authorization": "nonsense"}).status_code == 401
    assert proxy.kinds == set()
    assert proxy.findings.compared == 6, proxy.findings.skipped
