"""A request of the journal is sent again from its page, changed or not; only the two APIs can be sent to."""

from __future__ import annotations

from html import unescape
from re import DOTALL, findall, search

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.visitor import Visitor, visiting


def of_page(visitor: Visitor, operation: str, sandbox: Sandbox) -> tuple[str, dict[str, str]]:
    """The id of the last request of an operation, and the fields of the form that sends it again."""
    id = sandbox.control.get("/requests", operation=operation)["data"][0]["id"]
    html = visitor.open(f"requests/{id}").html
    form = search(r'<form method="post" action="[^"]*do/send[^"]*"[^>]*>(.*?)</form>', html, DOTALL)
    assert form
    fields = findall(r'name="([^"]*)" value="([^"]*)"', form[1])
    return id, {name: unescape(value) for name, value in fields}


def send(visitor: Visitor, fields: dict[str, str]) -> Page:
    return visitor.do("send", **fields)


def test_a_request_is_sent_again_and_the_new_one_is_shown(sandbox: Sandbox) -> None:
    sandbox.product(name="Basket <b>")
    with visiting(sandbox) as visitor:
        before, fields = of_page(visitor, "createProduct", sandbox)
        page = send(visitor, fields)
        assert page.said("notice") == "Sent: 201."
        shown = page.answer.url.path.rpartition("/")[2]
    assert shown != before
    assert shown.startswith("req_")
    assert [product["name"] for product in sandbox.api.get("/products/")["data"]] == ["Basket <b>", "Basket <b>"]


def test_it_is_changed_before(sandbox: Sandbox) -> None:
    sandbox.customer()
    with visiting(sandbox) as visitor:
        _, fields = of_page(visitor, "createCustomer", sandbox)
        page = send(visitor, {**fields, "_body": fields["_body"].replace("buyer0", "other")})
        assert page.said("notice") == "Sent: 201."
        page = send(visitor, fields)
    assert "exists already" in page.said("notice")
    assert "409" in page.text, "the rejected request is shown"
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 2


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"_path": "https://evil.example/"}, "A path starts with"),
        ({"_path": "/_emulator/console/do/reset"}, "A path starts with"),
        ({"_path": "/docs/"}, "A path starts with"),
        ({"_path": "/v1/customers/\r\nHost: x"}, "A path starts with"),
        ({"_method": "TRACE"}, "A path starts with"),
        ({"_body": "{"}, "not JSON"),
        ({"_body": "[" * 10_000}, "not JSON"),
    ],
    ids=str,
)
def test_what_cannot_be_sent_is_said_and_not_sent(sandbox: Sandbox, changed: dict[str, str], why: str) -> None:
    sandbox.customer()
    with visiting(sandbox) as visitor:
        _, fields = of_page(visitor, "createCustomer", sandbox)
        count = sandbox.control.get("/requests")["pagination"]["count"]
        assert why in send(visitor, {**fields, **changed}).said("notice")
    assert sandbox.control.get("/requests")["pagination"]["count"] == count


def test_the_query_is_sent_too(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        visitor.do("send", _method="GET", _path="/v1/customers/?page_size=1", _body="")
    assert sandbox.control.get("/requests")["data"][0]["path"] == "/v1/customers/?page_size=1"
