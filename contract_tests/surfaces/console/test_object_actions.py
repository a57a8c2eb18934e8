"""What a page offers to do with an object succeeds, sent as its own form sends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import unescape
from re import DOTALL, findall, search
from typing import Any

import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox
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


def test_every_action_has_a_case() -> None:
    assert CASES.keys() == {(kind, name) for kind, actions in OBJECT_ACTIONS.items() for name in actions}


def form_of(page: Page, name: str) -> dict[str, str]:
    """The fields of the form behind a button of the page."""
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


def test_part_of_a_transaction_is_refunded(sandbox: Sandbox) -> None:
    id = sandbox.deposit()["id"]
    with visiting(sandbox) as visitor:
        assert perform(visitor, id, "refund", **{"amount:number": "100"}).said("notice") == "Done: Refund."
        notice = perform(visitor, id, "refund", **{"amount:number": "99999999"}).said("notice")
    assert "refund" in notice
    assert not notice.startswith("Done")
    assert [refund["amount"] for refund in sandbox.api.get("/refunds/")["data"]] == [100]


def test_an_action_that_is_none_is_a_page_that_is_not_there(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        assert visitor.do("operate", _kind="customer", _name="nonsense", _id="cust_0").status == 404
        assert visitor.do("operate").status == 404
