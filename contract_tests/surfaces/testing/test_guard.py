"""While a test has a world, nothing goes to the real service: neither to its hosts nor with a live key."""

from __future__ import annotations

import pytest

from contract_tests.surfaces.testing.test_plugin import run
from emulator.testing import guard

CLIENTS = """
import asyncio, http.client, urllib.request, httpx, pytest
from emulator.testing import RealServiceBlocked

BODY = b'{"email": "awa@example.com", "name": "Awa Diop"}'

def headers(key):
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

def by_urllib(url, key):
    with urllib.request.urlopen(urllib.request.Request(url + "/v1/customers/", BODY, headers(key))) as answer:
        return answer.status

def by_httpx(url, key):
    return httpx.post(url + "/v1/customers/", content=BODY, headers=headers(key)).status_code

def by_asyncio(url, key):
    async def post():
        async with httpx.AsyncClient() as client:
            return (await client.get(url + "/v1/customers/")).status_code
    return asyncio.run(post())
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    pytester.makeini("[pytest]\npayments_real_hosts = example.com localhost")
    pytester.makepyfile(clients=CLIENTS)
    return pytester


def test_a_host_of_the_real_service_is_not_looked_up_by_any_client(suite: pytest.Pytester) -> None:
    module = """
        from clients import *

        @pytest.mark.parametrize("client", [by_urllib, by_httpx, by_asyncio])
        @pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "api.example.com"])
        def test_blocked(payments, client, host):
            with pytest.raises(RealServiceBlocked) as blocked:
                client(f"http://{host}:{payments.url.rpartition(':')[2]}", payments.key)
            assert f"{host.lower()} is a host of the real service." in str(blocked.value)
            assert "@pytest.mark.payments(real=True)" in str(blocked.value)

        @pytest.mark.payments(real=True)
        @pytest.mark.parametrize("client", [by_urllib, by_httpx])
        def test_allowed(payments, client):
            client(f"http://localhost:{payments.url.rpartition(':')[2]}", payments.key)

        @pytest.mark.parametrize("client", [by_urllib, by_httpx])
        def test_the_emulator(payments, client):
            assert client(payments.url, payments.key) == 201
    """
    run(suite, test_hosts=module).assert_outcomes(passed=13)


def test_a_live_key_is_not_sent(suite: pytest.Pytester) -> None:
    module = """
        from clients import *

        def test_blocked(payments):
            with pytest.raises(RealServiceBlocked, match="A request has a live key"):
                by_urllib(payments.url, "sk_prod_0123456789abcdef")
            assert payments.api.get("/_emulator/requests")["data"] == []

        @pytest.mark.payments(real=True)
        def test_allowed(payments):
            assert by_urllib(payments.url, "sk_prod_0123456789abcdef") == 201

        def test_without_a_world():
            with pytest.raises(OSError):
                by_urllib("http://127.0.0.1:9", "sk_prod_0123456789abcdef")
    """
    run(suite, test_keys=module).assert_outcomes(passed=3)


def test_a_live_key_in_the_environment_is_named_before_the_test_begins(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "sk_prod_0123456789abcdef")
    module = """
        import pytest

        def test_blocked(payments):
            pass

        @pytest.mark.payments(real=True)
        def test_allowed(payments):
            pass
    """
    result = run(suite, test_environment=module)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*The environment variable SHOP_KEY holds a live key. {guard.ALLOW}"])
    result.stdout.no_fnmatch_line("*0123456789abcdef*")
