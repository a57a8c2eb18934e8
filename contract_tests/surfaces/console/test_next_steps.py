"""What an object's page offers to do now: each form does what it says, and a test can be copied."""

from __future__ import annotations

from html import unescape
from re import DOTALL, findall, search
from typing import Any

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.console.visitor import Visitor, visiting


def offered(page: Page) -> list[str]:
    """The labels of what is offered beside the answer."""
    row = search(r'id="steps".*?</div>', page.html, DOTALL)
    assert row
    return [unescape(label) for label in findall(r'<button[^>]*data-testid="(?:now-|replay)[^>]*>([^<]*)<', row[0])]


def press(visitor: Visitor, id: str, action: str) -> Page:
    """Send the form of this action as the page of the object has it."""
    html = visitor.open(f"objects/{id}").html.partition('id="steps"')[2]
    forms = findall(rf'<form method="post" action="[^"]*do/{action}[^"]*"[^>]*>(.*?)</form>', html, DOTALL)
    fields = dict(findall(r'name="([^"]*)" value="([^"]*)"', forms[0]))
    return visitor.do(action, **{name: unescape(value) for name, value in fields.items()})


def failing(sandbox: Sandbox) -> Any:
    return sandbox.subscribe(FAILING_PHONE)


def test_a_failing_subscription_is_helped_to_succeed(sandbox: Sandbox) -> None:
    id = failing(sandbox)["id"]
    sandbox.settle()
    with visiting(sandbox) as visitor:
        assert offered(visitor.open(f"objects/{id}")) == ["Make the next payment succeed", "Add a card that works"]
        assert press(visitor, id, "outcome").said("notice") == "Arranged: the next payment succeeds · Awa Diop · once."
        sandbox.advance("2d")
        assert sandbox.subscription(id)["status"] == "active"
        press(visitor, id, "advance")
    assert sandbox.now == "2026-02-01T00:00:00.000Z"


def test_a_card_is_added(sandbox: Sandbox) -> None:
    id = failing(sandbox)["customer"]
    with visiting(sandbox) as visitor:
        assert press(visitor, id, "add_card").said("notice") == "The card is added."
    assert [method["type"] for method in sandbox.api.get(f"/customers/{id}/payment-methods/")["data"]] == [
        "bank_card",
        "mobile_money",
    ]


def test_a_failed_delivery_arrives_after_its_inbox_accepts_again(sandbox: Sandbox) -> None:
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}")
    sandbox.inbox_answers("shop", status=400)
    sandbox.customer()
    [delivery] = sandbox.deliveries(endpoint)
    with visiting(sandbox) as visitor:
        assert offered(visitor.open(f"objects/{delivery['id']}")) == ["Replay", "Let the inbox answer 200"]
        press(visitor, delivery["id"], "clear_response")
        assert (
            press(visitor, delivery["id"], "retry").said("notice") == "Replayed: succeeded, the endpoint answered 200."
        )
        assert offered(visitor.open(f"objects/{delivery['id']}")) == []


def test_the_last_change_is_undone_from_the_object(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.api.patch(f"/customers/{customer['id']}/", {"name": "Ada Ndong"})
    with visiting(sandbox) as visitor:
        html = visitor.open(f"objects/{customer['id']}").html
        sheet = search(r'<div popover id="rewind".*?</form>', html, DOTALL)
        assert sheet
        assert "PATCH /v1/customers/" in sheet[0]
        (to,) = findall(r'name="to" value="(req_\w+)"', sheet[0])
        visitor.do("rewind", to=to)
    assert sandbox.api.get(f"/customers/{customer['id']}/")["firstname"] == "Awa"


@pytest.mark.parametrize(("form", "words"), [("pytest", "def test_"), ("node", "import"), ("curl", "curl")])
def test_an_object_is_copied_as_a_test(sandbox: Sandbox, form: str, words: str) -> None:
    id = sandbox.subscribe()["id"]
    sandbox.settle()
    with visiting(sandbox) as visitor:
        page = visitor.open(f"objects/{id}/test", **{"as": form})
    assert words in page.said("code")
    assert "active" in page.said("code")
