"""A webhook endpoint from its first ping to its deletion."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import START, Sandbox

HOOK = {"name": "Shop", "events": ["*"]}


def path(endpoint: Any, *more: str) -> str:
    return "/".join(["/webhooks", endpoint["id"], *more, ""])


# -- creation and its ping


def test_a_new_endpoint_has_the_documented_defaults_and_shows_its_secret(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-81; retry_policy's defaults are those of the create body's table."""
    endpoint = sandbox.api.post("/webhooks/", {**HOOK, "url": receiver.url})
    assert re.fullmatch(r"wh_[0-9A-Za-z]{24}", endpoint.pop("id"))
    assert re.fullmatch(r"whsec_[0-9A-Za-z]{32}", endpoint.pop("secret"))
    assert re.fullmatch(r"app_[0-9A-Za-z]{24}", endpoint.pop("app"))
    assert endpoint == {
        "object": "webhook_endpoint",
        "name": "Shop",
        "url": receiver.url,
        "events": ["*"],
        "security_profile": "HMAC_SHA256",
        "ssl_verification": True,
        "retry_policy": {"max_attempts": 5, "backoff_type": "exponential"},
        "enabled": True,
        "metadata": {},
        "livemode": False,
        "created_at": START,
        "updated_at": START,
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"max_attempts": 0}, {"max_attempts": 0, "backoff_type": "exponential"}),
        ({"backoff_type": "linear"}, {"max_attempts": 5, "backoff_type": "linear"}),
        ({}, {"max_attempts": 5, "backoff_type": "exponential"}),
    ],
)
def test_what_a_retry_policy_leaves_out_has_its_default(
    sandbox: Sandbox, receiver: Receiver, given: Any, kept: Any
) -> None:
    assert sandbox.endpoint(receiver.url, retry_policy=given)["retry_policy"] == kept


def test_the_secret_is_shown_once(sandbox: Sandbox, receiver: Receiver) -> None:
    """The response to creation includes a secret, returned only once."""
    endpoint = sandbox.endpoint(receiver.url)
    shown = {name: value for name, value in endpoint.items() if name != "secret"}
    assert sandbox.api.get(path(endpoint)) == shown
    assert sandbox.api.get("/webhooks/")["data"] == [shown]
    assert sandbox.api.patch(path(endpoint), {}) == shown


def test_creation_pings_the_url_once_signed_and_as_documented(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82: a signed webhook.ping, which is no delivery and no event of the log."""
    endpoint = sandbox.endpoint(receiver.url)
    (ping,) = receiver.received
    assert ping.event["type"] == "webhook.ping"
    assert ping.event["data"]["object"]["id"] == endpoint["id"]
    assert ping.signed_with(endpoint["secret"])
    assert ping.headers["content-type"] == "application/json"
    assert {"emulator-delivery", "emulator-attempt"} & ping.headers.keys() == set()
    assert sandbox.deliveries(endpoint) == []
    assert sandbox.events() == []


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_willing_receiver(sandbox: Sandbox, receiver: Receiver, status: int) -> None:
    receiver.statuses = [status]
    assert sandbox.endpoint(receiver.url)["enabled"] is True


@pytest.mark.parametrize("status", [300, 302, 304, 400, 404, 410, 429, 500, 503])
def test_no_2xx_creates_nothing(sandbox: Sandbox, receiver: Receiver, status: int) -> None:
    """B-82: 422 WEBHOOK_ENDPOINT_UNREACHABLE, param url."""
    receiver.statuses = [status]
    assert str(status) in unreachable(sandbox, receiver.url)["message"]
    assert sandbox.api.get("/webhooks/")["data"] == []


def unreachable(sandbox: Sandbox, url: str, **fields: Any) -> Any:
    body = {**HOOK, "url": url, **fields}
    error = sandbox.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)
    assert error["param"] == "url"
    return error


def test_a_ping_that_is_not_answered_in_time_creates_nothing(impatient: Sandbox, receiver: Receiver) -> None:
    """Ping answer time (Limits), shortened on this server."""
    receiver.reply = lambda received: Reply(held=True)
    assert "no answer within" in unreachable(impatient, receiver.url)["message"]
    assert impatient.api.get("/webhooks/")["data"] == []


def test_a_ping_cut_off_or_rejected_creates_nothing(sandbox: Sandbox, receiver: Receiver) -> None:
    receiver.reply = lambda received: Reply(cut=True)
    assert "connection was closed" in unreachable(sandbox, receiver.url)["message"]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/hook"
        assert "Connection refused" in unreachable(sandbox, url)["message"]


def test_a_redirect_is_not_followed(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82."""
    target = Receiver()
    receiver.reply = lambda received: Reply(307, {"location": target.url})
    unreachable(sandbox, receiver.url)
    target.close()
    assert target.received == []


def test_the_receiver_may_call_the_api_while_it_is_pinged(sandbox: Sandbox, receiver: Receiver) -> None:
    """No unit of work is open while something is sent; the endpoint is not there yet."""
    seen = []

    def look(received: Received) -> Reply:
        seen.append(sandbox.api.get("/webhooks/")["pagination"]["count"])
        return Reply()

    receiver.reply = look
    sandbox.endpoint(receiver.url)
    assert seen == [0]


# -- URLs


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "shop.localhost", "LOCALHOST"])
def test_plain_http_is_for_loopback_hosts(sandbox: Sandbox, receiver: Receiver, host: str) -> None:
    """B-82, setting webhook_http: loopback by default."""
    sandbox.endpoint(receiver.url.replace("127.0.0.1", host))
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "url",
    [
        *("http://shop.example.com/hook", "http://192.168.1.4/hook"),
        *("http://localhost.example.com/hook", "http://0.0.0.0:1/hook", "ftp://127.0.0.1/hook"),
        *("", "/hook", "https:///hook", "https://shop.example.com:99999/", "https://shop.example.com/a b"),
    ],
)
def test_other_urls_are_rejected(sandbox: Sandbox, url: str) -> None:
    body = {**HOOK, "url": url}
    assert sandbox.api.rejected("POST", "/webhooks/", 422, "INVALID_FIELD", json=body)["param"] == "url"


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "169.254.0.1", "[fd00:ec2::254]", "[fe80::1]", "[::ffff:169.254.169.254]"),
        *("[::169.254.169.254]", "[::ffff:0:169.254.169.254]", "[64:ff9b::169.254.169.254]"),
        *("[64:ff9b:1::169.254.169.254]", "[64:ff9b:1:a9fe:a9:fe00::]", "[64:ff9b:1:a9:fe:a9fe::]"),
        *("[64:ff9b:1:0:a9:fea9:fe00:0]", "[2002:a9fe:a9fe::1]", "[2002:6464:64c8::]", "[2001:0:a9fe:a9fe::1]"),
        *("metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "METADATA.google.internal."),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_metadata_addresses_are_rejected(sandbox: Sandbox, scheme: str, host: str) -> None:
    """A stranger's URL must not lead to where a cloud hands out the machine's credentials."""
    body = {**HOOK, "url": f"{scheme}://{host}/latest/meta-data/"}
    error = sandbox.api.rejected("POST", "/webhooks/", 422, "INVALID_FIELD", json=body)
    assert "never called" in error["message"]


@pytest.mark.parametrize("host", ["0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe"])
def test_a_name_that_leads_to_a_metadata_address_is_not_called(sandbox: Sandbox, host: str) -> None:
    """What counts is the address at the time of the call; the system reads these names as 169.254.169.254."""
    assert "never called" in unreachable(sandbox, f"https://{host}/")["message"]


def test_a_url_holds_no_credentials(sandbox: Sandbox) -> None:
    """They would show in lists and logs; the error does not repeat them."""
    response = sandbox.api.request("POST", "/webhooks/", json={**HOOK, "url": "https://user:hunter2@example.com/"})
    assert (response.status_code, response.json()["code"]) == (422, "INVALID_FIELD")
    assert "hunter2" not in response.text


def test_the_setting_webhook_http_may_allow_any_host(with_settings: Callable[..., Sandbox], receiver: Receiver) -> None:
    """B-82; 0.0.0.0 is no loopback address, but leads to this machine."""
    url = receiver.url.replace("127.0.0.1", "0.0.0.0")
    assert with_settings(webhook_http="any").endpoint(url)["url"] == url


def test_the_setting_webhook_http_may_allow_none(with_settings: Callable[..., Sandbox], receiver: Receiver) -> None:
    body = {**HOOK, "url": receiver.url}
    error = with_settings(webhook_http="never").api.rejected("POST", "/webhooks/", 422, "INVALID_FIELD", json=body)
    assert error["message"] == "url: must be an https:// URL"
    assert receiver.received == []


# -- fields


def test_nothing_is_pinged_that_is_rejected_anyway(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82: a ping is no event of the list."""
    body = {**HOOK, "url": receiver.url, "events": ["webhook.ping"]}
    assert sandbox.api.rejected("POST", "/webhooks/", 422, "INVALID_FIELD", json=body)["param"] == "events.0"
    assert receiver.received == []


def test_types_of_events_stand_beside_no_sign_for_all(sandbox: Sandbox, receiver: Receiver) -> None:
    body = {**HOOK, "url": receiver.url, "events": ["*", "invoice.paid"]}
    error = sandbox.api.rejected("POST", "/webhooks/", 422, "INVALID_FIELD", json=body)
    assert error["message"] == 'events: must be types of event, or ["*"] alone for all'


# -- changes


def test_a_retry_policy_is_merged_field_by_field(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url, retry_policy={"max_attempts": 3, "backoff_type": "linear"})
    for change, expected in [
        ({"max_attempts": 7}, {"max_attempts": 7, "backoff_type": "linear"}),
        ({"backoff_type": "exponential"}, {"max_attempts": 7, "backoff_type": "exponential"}),
        ({}, {"max_attempts": 7, "backoff_type": "exponential"}),
    ]:
        assert sandbox.api.patch(path(endpoint), {"retry_policy": change})["retry_policy"] == expected


def test_a_changed_url_is_pinged_and_takes_over(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82."""
    endpoint = sandbox.endpoint(receiver.url)
    other = f"{receiver.url}/moved"
    assert sandbox.api.patch(path(endpoint), {"url": other})["url"] == other
    assert [item.path for item in receiver.received] == ["/hook", "/hook/moved"]
    assert receiver.received[1].is_ping
    assert receiver.received[1].signed_with(endpoint["secret"])
    sandbox.api.patch(path(endpoint), {"url": other})
    assert len(receiver.received) == 2, "the same URL is not pinged again"


def test_a_changed_url_that_does_not_answer_changes_nothing(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    body = {"url": f"{receiver.url}/moved", "name": "Moved"}
    sandbox.api.rejected("PATCH", path(endpoint), 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)
    assert sandbox.api.get(path(endpoint)).items() >= {"url": receiver.url, "name": "Shop"}.items()
    for url in ("http://example.com/", "https://a:b@example.com/", "https://169.254.169.254/"):
        sandbox.api.rejected("PATCH", path(endpoint), 422, "INVALID_FIELD", json={"url": url})


def test_what_happens_during_the_ping_counts(sandbox: Sandbox, receiver: Receiver) -> None:
    """The PATCH is a unit of work after the ping: it meets the endpoint as it is then."""
    endpoint = sandbox.endpoint(receiver.url)

    def meddle(received: Received) -> Reply:
        sandbox.api.patch(path(endpoint), {"name": "Meddled", "metadata": {"a": "1"}})
        return Reply()

    receiver.reply = meddle
    body = {"url": f"{receiver.url}/moved", "metadata": {"b": "2"}}
    assert (
        sandbox.api.patch(path(endpoint), body).items() >= {"name": "Meddled", "metadata": {"a": "1", "b": "2"}}.items()
    )
    receiver.reply = lambda received: Reply(204 if sandbox.api.delete(path(endpoint)) is None else 500)
    sandbox.api.rejected("PATCH", path(endpoint), 404, "WEBHOOK_NOT_FOUND", json={"url": receiver.url})


# -- disable, enable, roll, delete


def test_disable_and_enable_may_be_repeated(sandbox: Sandbox, receiver: Receiver) -> None:
    """One that is disabled (enabled) stays so, and did not change."""
    endpoint = sandbox.endpoint(receiver.url)
    for action, enabled, instants in [
        ("disable", False, ["2026-01-01T01:00:00.000Z"] * 2),
        ("enable", True, ["2026-01-01T03:00:00.000Z"] * 2),
    ]:
        for instant in instants:
            sandbox.advance("1h")
            answer = sandbox.api.post(path(endpoint, action))
            assert (answer["enabled"], answer["updated_at"]) == (enabled, instant)
            assert "secret" not in answer


def test_a_rolled_secret_signs_from_now_on_and_the_old_one_is_void(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    sandbox.advance("30s")
    rolled = sandbox.api.post(path(endpoint, "roll-secret"))
    assert re.fullmatch(r"whsec_[0-9A-Za-z]{32}", rolled["secret"])
    assert rolled["secret"] != endpoint["secret"]
    assert rolled == {**endpoint, "secret": rolled["secret"], "updated_at": "2026-01-01T00:00:30.000Z"}
    assert "secret" not in sandbox.api.get(path(endpoint))
    sandbox.advance("30s")
    before, retry = receiver.deliveries
    assert before.signed_with(endpoint["secret"])
    assert retry.signed_with(rolled["secret"])
    assert not retry.signed_with(endpoint["secret"])


def test_a_deleted_endpoint_goes_with_its_deliveries_and_retries(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint, other = sandbox.endpoint(receiver.url), sandbox.endpoint(f"{receiver.url}/other")
    receiver.reply = lambda received: Reply(500)
    sandbox.customer()
    sandbox.settle()
    assert sandbox.control.get("/clock")["pending"] == 2
    assert sandbox.api.delete(path(endpoint)) is None
    assert sandbox.control.get("/clock")["pending"] == 1
    sandbox.api.rejected("GET", path(endpoint), 404, "WEBHOOK_NOT_FOUND")
    sandbox.api.rejected("GET", path(endpoint, "deliveries"), 404, "WEBHOOK_NOT_FOUND")
    sandbox.advance("2m")
    sandbox.customer()
    sandbox.settle()
    assert [item.path for item in receiver.deliveries if item.path == "/hook"] == ["/hook"]
    assert len(sandbox.deliveries(other)) == 2


def test_an_endpoint_may_be_deleted_during_a_delivery_to_it(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)

    def leave(received: Received) -> Reply:
        sandbox.api.delete(path(endpoint))
        return Reply(500)

    receiver.reply = leave
    sandbox.customer()
    sandbox.settle()
    assert sandbox.api.get("/webhooks/")["data"] == []
    assert sandbox.control.get("/clock")["pending"] == 0
