"""The fixture ``payments`` beside tools that fake or forbid the requests of other services.

``contract_tests.quality.release`` runs it with the tools, which the tests otherwise do without.
"""

import asyncio
import json
import urllib.request

import aiohttp
import aioresponses
import httpretty
import httpx
import pytest
import requests
import requests_mock
import responses
import respx
from mocket import Mocketizer
from mocket.mocks.mockhttp import Entry

pytestmark = pytest.mark.enable_socket  # the run has --disable-socket

RATES = "https://rates.example.com/"
PLAIN = "http://rates.example.com/"
RATE = {"XAF": 655.957}


def story(payments):
    """A request, an event, and time that passes."""
    payments.trigger("subscription.created")
    payments.clock.advance("31d")
    assert payments.events.types.count("invoice.paid") == 2


def test_beside_respx(payments):
    with respx.mock:
        respx.get(RATES).respond(json=RATE)
        assert httpx.get(RATES).json() == RATE
        story(payments)


def test_beside_pytest_httpx(payments, httpx_mock):
    httpx_mock.add_response(url=RATES, json=RATE)
    assert httpx.get(RATES).json() == RATE
    story(payments)


@pytest.mark.vcr
@pytest.mark.block_network
def test_beside_pytest_recording(payments, vcr):
    with pytest.raises(Exception, match="play back this request"):
        requests.get(RATES, timeout=60)
    story(payments)
    assert len(vcr) == 0


def test_beside_responses(payments):
    with responses.RequestsMock() as faked:
        faked.get(RATES, json=RATE)
        assert requests.get(RATES, timeout=60).json() == RATE
        story(payments)


def test_beside_requests_mock(payments):
    with requests_mock.Mocker() as faked:
        faked.get(RATES, json=RATE)
        assert requests.get(RATES, timeout=60).json() == RATE
        story(payments)


def test_beside_aioresponses(payments):
    async def rate():
        async with aiohttp.ClientSession() as session, session.get(RATES) as response:
            return await response.json()

    with aioresponses.aioresponses() as faked:
        faked.get(RATES, payload=RATE)
        assert asyncio.run(rate()) == RATE
        story(payments)


def test_beside_httpretty(payments):
    with httpretty.enabled(allow_net_connect=False):
        httpretty.register_uri(httpretty.GET, PLAIN, body=json.dumps(RATE))
        with urllib.request.urlopen(PLAIN) as response:
            assert json.load(response) == RATE
        story(payments)


def test_beside_mocket(payments):
    with Mocketizer(strict_mode=True):
        Entry.single_register(Entry.GET, PLAIN, body=json.dumps(RATE))
        with urllib.request.urlopen(PLAIN) as response:
            assert json.load(response) == RATE
        story(payments)


def test_beside_pytest_socket(payments, pytestconfig):
    assert pytestconfig.getoption("--disable-socket")
    story(payments)
