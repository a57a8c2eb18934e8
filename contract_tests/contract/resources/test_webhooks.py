"""A webhook endpoint from its first ping to its deletion."""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import Sandbox, path_of

HOOK = {"name": "Shop", "events": ["*"]}
SECRET = r"whsec_[0-9A-Za-z]{32}"


def rejected(
    sandbox: Sandbox, url: str, code: str = "WEBHOOK_ENDPOINT_UNREACHABLE", **fields: Any
) -> Any:
    """Return the error of an endpoint that is not made."""
    error = sandbox.api.rejected(
        "POST", "/webhooks/", 422, code, json={**HOOK, "url": url, **fields}
    )
    assert sandbox.api.get("/webhooks/")["data"] == []
    return error


# -- creation and its ping


def test_creation_shows_the_secret_once(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-81."""
    endpoint = sandbox.endpoint(receiver.url)
    assert re.fullmatch(SECRET, endpoint["secret"])
    visible = {name: value for name, value in endpoint.items() if name != "secret"}
    assert sandbox.api.get("/webhooks/")["data"] == [visible]
    assert sandbox.api.patch(f"{path_of(endpoint)}/", {}) == visible


def test_creation_pings_the_url_once(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82: a signed webhook.ping, which is no delivery and no event of the log."""
    endpoint = sandbox.endpoint(receiver.url)
    (ping,) = receiver.received
    assert ping.event["type"] == "webhook.ping"
    assert ping.event["data"]["object"]["id"] == endpoint["id"]
    assert ping.signed_with(endpoint["secret"])
    assert ping.headers["content-type"] == "application/json"
    assert {"emulator-delivery", "emulator-attempt"} & ping.headers.keys() == set()
    assert sandbox.deliveries(endpoint) == sandbox.events() == []


DEFAULTS = {"max_attempts": 5, "backoff_type": "exponential"}
POLICIES: tuple[dict[str, Any], ...] = ({"max_attempts": 0}, {"backoff_type": "linear"}, {})


@pytest.mark.parametrize("policy", POLICIES)
def test_a_retry_policy_has_defaults(
    sandbox: Sandbox, receiver: Receiver, policy: dict[str, Any]
) -> None:
    endpoint = sandbox.endpoint(receiver.url, retry_policy=policy)
    assert endpoint["retry_policy"] == DEFAULTS | policy


@pytest.mark.parametrize("policy", POLICIES)
def test_a_retry_policy_is_merged_field_by_field(
    sandbox: Sandbox, receiver: Receiver, policy: dict[str, Any]
) -> None:
    endpoint = sandbox.endpoint(receiver.url, retry_policy=policy)
    changed = sandbox.api.patch(f"{path_of(endpoint)}/", {"retry_policy": {"max_attempts": 7}})
    assert changed["retry_policy"] == DEFAULTS | policy | {"max_attempts": 7}


def test_any_2xx_is_a_willing_receiver(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82: else 422 WEBHOOK_ENDPOINT_UNREACHABLE, param url."""
    for status in (300, 304, 404, 410, 500, 503):
        receiver.statuses = [status]
        error = rejected(sandbox, receiver.url)
        assert (error["param"], str(status) in error["message"]) == ("url", True)
    for status in (200, 204, 299):
        receiver.statuses = [status]
        assert sandbox.endpoint(receiver.url)["enabled"] is True


def test_a_ping_without_a_response_creates_nothing(impatient: Sandbox, receiver: Receiver) -> None:
    """Ping answer time (Limits), shortened on this server."""
    receiver.reply = lambda received: Reply(held=True)
    assert "no response within" in rejected(impatient, receiver.url)["message"]


def test_a_redirect_is_a_response_that_is_not_followed(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-82: neither with the ping nor with a delivery."""
    target = Receiver()
    receiver.reply = lambda received: Reply(307, {"location": target.url})
    rejected(sandbox, receiver.url)
    receiver.reply = lambda received: (
        Reply() if received.is_ping else Reply(308, {"location": target.url})
    )
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer()
    assert [delivery["status"] for delivery in sandbox.deliveries(endpoint)] == ["failed"]
    target.close()
    assert target.received == []


def test_what_happens_during_the_ping_counts(sandbox: Sandbox, receiver: Receiver) -> None:
    """A ping runs in no unit of work: creation and PATCH meet the world as it is after the ping."""
    pings = []

    def look(received: Received) -> Reply:
        pings.append(sandbox.api.get("/webhooks/")["pagination"]["count"])
        return Reply()

    def meddle(received: Received) -> Reply:
        sandbox.api.patch(f"{path_of(endpoint)}/", {"name": "Meddled", "metadata": {"a": "1"}})
        return Reply()

    receiver.reply = look
    endpoint = sandbox.endpoint(receiver.url)
    assert pings == [0]
    receiver.reply = meddle
    changed = sandbox.api.patch(
        f"{path_of(endpoint)}/", {"url": f"{receiver.url}/moved", "metadata": {"b": "2"}}
    )
    assert (changed["name"], changed["metadata"]) == ("Meddled", {"a": "1", "b": "2"})
    receiver.reply = lambda received: Reply(
        204 if sandbox.api.delete(f"{path_of(endpoint)}/") is None else 500
    )
    sandbox.api.rejected(
        "PATCH", f"{path_of(endpoint)}/", 404, "WEBHOOK_NOT_FOUND", json={"url": receiver.url}
    )


# -- URLs


def test_plain_http_is_for_loopback_hosts(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82, setting webhook_http: loopback by default."""
    for host in ("shop.example.com", "192.168.1.4", "localhost.example.com", "0.0.0.0:1"):
        assert rejected(sandbox, f"http://{host}/hook", "INVALID_FIELD")["param"] == "url"
    for host in ("127.0.0.1", "localhost", "shop.localhost", "LOCALHOST"):
        sandbox.endpoint(receiver.url.replace("127.0.0.1", host))
    assert len(receiver.received) == 4


METADATA = (
    *("169.254.169.254", "169.254.0.1", "[fd00:ec2::254]", "[fe80::1]", "[::ffff:169.254.169.254]"),
    *("[::169.254.169.254]", "[::ffff:0:169.254.169.254]", "[64:ff9b::169.254.169.254]"),
    *("[64:ff9b:1::169.254.169.254]", "[64:ff9b:1:a9fe:a9:fe00::]", "[64:ff9b:1:a9:fe:a9fe::]"),
    *(
        "[64:ff9b:1:0:a9:fea9:fe00:0]",
        "[2002:a9fe:a9fe::1]",
        "[2002:6464:64c8::]",
        "[2001:0:a9fe:a9fe::1]",
        "[64:ff9b:1:6464:64:c800::]",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
    ),
    *(
        "metadata.google.internal",
        "metadata.goog",
        "instance-data.ec2.internal",
        "METADATA.google.internal.",
    ),
)


def test_metadata_addresses_are_rejected(sandbox: Sandbox) -> None:
    """A stranger's URL must not lead to a cloud's machine credentials.

    The address at the time of the call counts; the system reads the last two names as
    169.254.169.254.
    """
    for host in METADATA:
        for scheme in ("http", "https"):
            error = rejected(sandbox, f"{scheme}://{host}/latest/meta-data/", "INVALID_FIELD")
            assert "never called" in error["message"], host
    for host in ("0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe"):
        assert "never called" in rejected(sandbox, f"https://{host}/")["message"]


def test_the_setting_webhook_http_may_allow_any_host_or_none(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-82; 0.0.0.0 is no loopback address, but leads to this machine."""
    url = receiver.url.replace("127.0.0.1", "0.0.0.0")
    sandbox.settings(webhook_http="never")
    expected = "url: must be an https:// URL"
    assert rejected(sandbox, receiver.url, "INVALID_FIELD")["message"] == expected
    assert receiver.received == []
    sandbox.settings(webhook_http="any")
    assert sandbox.endpoint(url)["url"] == url


def test_nothing_is_pinged_that_is_rejected_anyway(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82: a ping is no event of the list, and types stand beside no sign for all."""
    for events, message in (
        (["webhook.ping"], "events.0: "),
        (["*", "invoice.paid"], 'events: must be types of event, or ["*"] alone for all'),
    ):
        assert rejected(sandbox, receiver.url, "INVALID_FIELD", events=events)[
            "message"
        ].startswith(message)
    assert receiver.received == []


# -- changes, and the end


def test_a_url_that_does_not_respond_does_not_take_over(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-82."""
    endpoint = sandbox.endpoint(receiver.url)
    other = f"{receiver.url}/moved"
    receiver.statuses = [500]
    body = {"url": other, "name": "Moved"}
    sandbox.api.rejected(
        "PATCH", f"{path_of(endpoint)}/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body
    )
    assert sandbox.shown(endpoint).items() >= {"url": receiver.url, "name": "Shop"}.items()
    assert [item.path for item in receiver.received] == ["/hook", "/hook/moved"]


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://a:b@example.com/", "https://169.254.169.254/"]
)
def test_a_change_to_a_forbidden_url_is_rejected(
    sandbox: Sandbox, receiver: Receiver, url: str
) -> None:
    """B-82."""
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.api.rejected("PATCH", f"{path_of(endpoint)}/", 422, "INVALID_FIELD", json={"url": url})


def test_a_changed_url_is_pinged_once(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82: not where it is the one that was."""
    endpoint = sandbox.endpoint(receiver.url)
    other = f"{receiver.url}/moved"
    for _ in range(2):
        assert sandbox.api.patch(f"{path_of(endpoint)}/", {"url": other})["url"] == other
    assert [item.path for item in receiver.received] == ["/hook", "/hook/moved"]
    assert receiver.received[1].is_ping
    assert receiver.received[1].signed_with(endpoint["secret"])


def test_a_rolled_secret_is_shown_once(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.advance("30s")
    rolled = sandbox.api.post(f"{path_of(endpoint)}/roll-secret/")
    assert re.fullmatch(SECRET, rolled["secret"])
    assert rolled == {**endpoint, "secret": rolled["secret"], "updated_at": sandbox.now}
    assert "secret" not in sandbox.shown(endpoint)


def test_a_rolled_secret_signs_in_place_of_the_old_one(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    sandbox.advance("30s")
    rolled = sandbox.api.post(f"{path_of(endpoint)}/roll-secret/")
    sandbox.advance("30s")
    before, retry = receiver.deliveries
    signed = [
        request.signed_with(with_["secret"])
        for request in (before, retry)
        for with_ in (endpoint, rolled)
    ]
    assert signed == [True, False, False, True]


def test_a_deleted_endpoint_goes_with_all_it_had(sandbox: Sandbox, receiver: Receiver) -> None:
    """Its deliveries and their retries."""
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.endpoint(f"{receiver.url}/other")
    receiver.reply = lambda received: Reply(500)
    sandbox.customer()
    sandbox.settle()
    sandbox.api.delete(f"{path_of(endpoint)}/")
    assert sandbox.control.get("/clock")["pending"] == 1
    sandbox.api.rejected("GET", f"{path_of(endpoint)}/deliveries/", 404, "WEBHOOK_NOT_FOUND")
    sandbox.advance("2m")
    assert sorted(item.path for item in receiver.deliveries) == [
        "/hook",
        "/hook/other",
        "/hook/other",
    ]


def test_an_endpoint_is_deleted_during_a_delivery_to_it(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    endpoint = sandbox.endpoint(receiver.url)

    def leave(received: Received) -> Reply:
        sandbox.api.delete(f"{path_of(endpoint)}/")
        return Reply(500)

    receiver.reply = leave
    sandbox.customer()
    sandbox.settle()
    assert sandbox.api.get("/webhooks/")["data"] == []
    assert sandbox.control.get("/clock")["pending"] == 0
