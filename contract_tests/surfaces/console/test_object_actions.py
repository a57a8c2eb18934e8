"""What a page offers to do with an object succeeds, sent as its own form sends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import unescape
from re import DOTALL, findall, search
from typing import Any

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.console.visitor import Visitor, visiting
from emulator.ui.console.object_actions import OBJECT_ACTIONS

LINES = [{"description": "Mat", "unit_amount": 900}]


def subscription(sandbox: Sandbox) -> Any:
    return sandbox.subscribe()


def subscription_after(operation: str) -> Callable[[Sandbox], Any]:
    def make(sandbox: Sandbox) -> Any:
        made = sandbox.subscribe()
        sandbox.api.post(f"/subscriptions/{made['id']}/{operation}/", {})
        return made

    return make


def invoice(sandbox: Sandbox) -> Any:
    return sandbox.api.post("/invoices/", {"customer": sandbox.customer()["id"], "line_items": LINES})


def open_invoice(sandbox: Sandbox) -> Any:
    made = invoice(sandbox)
    return sandbox.api.post(f"/invoices/{made['id']}/finalize/", {"auto_send": False})


def held(sandbox: Sandbox) -> Any:
    return sandbox.pay(sandbox.method(), capture_method="manual")


def transaction(sandbox: Sandbox) -> Any:
    return sandbox.deposit()


def refund_in_review(sandbox: Sandbox) -> Any:
    sandbox.settings(refund_review=True)
    return sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"], "amount": 100})


def archived_link(sandbox: Sandbox) -> Any:
    made = sandbox.link()
    sandbox.api.post(f"/payment-links/{made['id']}/archive/", {})
    return made


def archived_product(sandbox: Sandbox) -> Any:
    made = sandbox.product()
    sandbox.api.patch(f"/products/{made['id']}/", {"active": False})
    return made


def second_method(sandbox: Sandbox) -> Any:
    customer = sandbox.customer()
    sandbox.method(customer)
    return sandbox.method(customer)


def endpoint(sandbox: Sandbox) -> Any:
    return sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}")


def disabled_endpoint(sandbox: Sandbox) -> Any:
    made = endpoint(sandbox)
    sandbox.api.post(f"/webhooks/{made['id']}/disable/", {})
    return made


CASES: Mapping[tuple[str, str], Callable[[Sandbox], Any]] = {
    ("customer", "delete"): lambda sandbox: sandbox.customer(),
    ("subscription", "pause"): subscription,
    ("subscription", "resume"): subscription_after("pause"),
    ("subscription", "cancel_later"): subscription,
    ("subscription", "cancel"): subscription,
    ("subscription", "reactivate"): subscription_after("cancel"),
    ("invoice", "finalize"): invoice,
    ("invoice", "send"): open_invoice,
    ("invoice", "pay"): open_invoice,
    ("invoice", "paid"): open_invoice,
    ("invoice", "void"): open_invoice,
    ("payment_intent", "capture"): held,
    ("payment_intent", "cancel"): held,
    ("transaction", "refund"): transaction,
    ("refund", "cancel"): refund_in_review,
    ("checkout_session", "pay"): lambda sandbox: sandbox.session(),
    ("checkout_session", "expire"): lambda sandbox: sandbox.session(),
    ("payment_link", "archive"): lambda sandbox: sandbox.link(),
    ("payment_link", "restore"): archived_link,
    ("product", "archive"): lambda sandbox: sandbox.product(),
    ("product", "restore"): archived_product,
    ("payment_method", "default"): second_method,
    ("payment_method", "remove"): second_method,
    ("webhook_endpoint", "disable"): endpoint,
    ("webhook_endpoint", "enable"): disabled_endpoint,
}


REPEATABLE = ("send", "refund")
"""What can be done again: the operator may still reject a refund."""


def test_every_action_has_a_case(sandbox: Sandbox) -> None:
    assert CASES.keys() == {(kind, name) for kind, actions in OBJECT_ACTIONS.items() for name in actions}
    with visiting(sandbox) as visitor:
        assert visitor.do("operate", _kind="customer", _name="nonsense", _id="cust_0").status == 404
        assert visitor.do("operate").status == 404


def test_part_of_a_transaction_is_refunded(sandbox: Sandbox) -> None:
    id = sandbox.deposit()["id"]
    with visiting(sandbox) as visitor:
        assert perform(visitor, id, "refund", **{"amount:number": "100"}).said("notice") == "Done: Refund."
        notice = perform(visitor, id, "refund", **{"amount:number": "99999999"}).said("notice")
    assert ("refund" in notice, notice.startswith("Done")) == (True, False)
    assert [refund["amount"] for refund in sandbox.api.get("/refunds/")["data"]] == [100]


def form_of(page: Page, name: str) -> dict[str, str]:
    """Return the fields of the form behind a button of the page."""
    sheet = search(rf'<div popover id="op-{name}".*?</form>', page.html, DOTALL)
    assert sheet, f"{name} is not offered"
    fields = findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', sheet[0])
    return {key: unescape(value) for key, value in fields}


def perform(visitor: Visitor, id: str, name: str, **more: str) -> Page:
    form = form_of(visitor.open(f"objects/{id}"), name)
    return visitor.do("operate", **{**form, "_back": f"/_emulator/console/events?app={visitor.app}", **more})


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_is_offered_is_done_and_no_longer_offered(sandbox: Sandbox, kind: str, name: str) -> None:
    id = CASES[kind, name](sandbox)["id"]
    with visiting(sandbox) as visitor:
        page = perform(visitor, id, name)
        assert page.said("notice").startswith("Done: "), page.said("notice")
        after = visitor.open(f"objects/{id}")
    assert f'id="op-{name}"' not in after.html or name in REPEATABLE


# -- What an object's page offers to do now: each form does what it says, and a test can be copied


def offered(page: Page) -> list[str]:
    """Return the labels of what is offered beside the answer."""
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
    failing = sandbox.subscribe(FAILING_PHONE)
    id, customer = failing["id"], failing["customer"]
    sandbox.settle()
    with visiting(sandbox) as visitor:
        assert offered(visitor.open(f"objects/{id}")) == ["Make the next payment succeed", "Add a card that works"]
        assert press(visitor, id, "outcome").said("notice") == "Arranged: the next payment succeeds · Awa Diop · once."
        assert press(visitor, customer, "add_card").said("notice") == "The card is added."
        sandbox.advance("2d")
        assert sandbox.subscription(id)["status"] == "active"
        press(visitor, id, "advance")
    assert sandbox.now == "2026-02-01T00:00:00.000Z"
    methods = sandbox.api.get(f"/customers/{customer}/payment-methods/")["data"]
    assert [method["type"] for method in methods] == ["bank_card", "mobile_money"]


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


# -- A request of the journal is sent again from its page, changed or not; only the two APIs can be sent to


def of_page(visitor: Visitor, operation: str, sandbox: Sandbox) -> tuple[str, dict[str, str]]:
    """Return the id of the last request of an operation, and the fields of the form that sends it again."""
    id = sandbox.control.get("/requests", operation=operation)["data"][0]["id"]
    html = visitor.open(f"requests/{id}").html
    form = search(r'<form method="post" action="[^"]*do/send[^"]*"[^>]*>(.*?)</form>', html, DOTALL)
    assert form
    fields = findall(r'name="([^"]*)" value="([^"]*)"', form[1])
    return id, {name: unescape(value) for name, value in fields}


def send(visitor: Visitor, fields: dict[str, str]) -> Page:
    return visitor.do("send", **fields)


def test_a_request_is_sent_again_and_the_new_one_is_shown(sandbox: Sandbox) -> None:
    """Changed or not, with its query; a rejected one is shown as well."""
    sandbox.customer(name="Awa <b>")
    with visiting(sandbox) as visitor:
        before, fields = of_page(visitor, "createCustomer", sandbox)
        page = send(visitor, {**fields, "_body": fields["_body"].replace("buyer0", "other")})
        assert page.said("notice") == "Sent: 201."
        shown = page.answer.url.path.rpartition("/")[2]
        assert (shown != before, shown.startswith("req_")) == (True, True)
        page = send(visitor, fields)
        assert "exists already" in page.said("notice")
        assert "409" in page.text
        visitor.do("send", _method="GET", _path="/v1/customers/?page_size=1", _body="")
    assert sandbox.control.get("/requests")["data"][0]["path"] == "/v1/customers/?page_size=1"
    assert [customer["lastname"] for customer in sandbox.api.get("/customers/")["data"]] == ["<b>", "<b>"]


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
