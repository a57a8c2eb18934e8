"""schemathesis takes both documents at their word: allowed and forbidden requests, all checks on.

A long run: ``EXAMPLES=1000 pytest -n 2 contract_tests/contract/every/test_schemathesis.py``, which
looks elsewhere each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.checks.document.exceptions import ANY_OPERATION
from emulator.checks.document.links import headers, links, operations
from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
from emulator.checks.document.report import DocumentResults
from emulator.checks.document.suite import Suite
from emulator.document import bundles

EXAMPLES = int(os.environ.get("EXAMPLES", "3"))
"""The number of made-up requests for each operation, beside those along its schema."""

SEED = None if "EXAMPLES" in os.environ else 1

FLOOR = 0.05
"""The least part of the valid requests that succeed, for any operation; most are far above."""

CHECKS = frozenset(
    {
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
    }
    | {
        "response_schema_conformance",
        "negative_data_rejection",
        "positive_data_acceptance",
        "missing_required_header",
    }
    | {
        "unsupported_method",
        "allow_header_conformance",
        "use_after_free",
        "ensure_resource_availability",
    }
    | {"ignored_auth", "object_level_authorization"}
)
"""Every check that schemathesis has for an API."""

WRONG_STATE = {
    *(
        f"{source}Subscription {to}Subscription"
        for source in ("create", "get")
        for to in ("reactivate", "resume")
    ),
    *(
        f"{source}Invoice {to}"
        for source in ("create", "get")
        for to in ("sendInvoice", "voidInvoice", "payInvoice", "getInvoicePdf")
    ),
    *(f"{source}PaymentLink restorePaymentLink" for source in ("create", "get")),
    *(f"{source}PaymentIntent capturePaymentIntent" for source in ("create", "get", "confirm")),
    "getTransaction cancelTransaction",
    "testWebhook retryWebhookDelivery",
}
"""Links to uses of an object in another state than the one that the walk finds."""

SECONDS = frozenset(map(str, range(31)))
"""The times that a response may be held back."""


@pytest.fixture
def examine(server: RunningServer, world_name: str) -> Iterator[Callable[..., DocumentResults]]:
    """Runs phases of the service's suite in a world of its own, whose refunds wait for a review."""
    with server.world(world_name) as sandbox, webhook_receiver() as receiver:
        sandbox.settings(refund_review=True)
        base_url = f"{server.url}/v1"

        def run(*phases: str) -> DocumentResults:
            stage = ObjectFactory(base_url, headers(sandbox.key), receiver.url, "test")
            return Suite(
                bundles.load("service"), base_url, sandbox.key, EXAMPLES, SEED, stage, phases=phases
            ).run()

        yield run


def failures(report: DocumentResults) -> list[str]:
    failed = [
        (tally.operation, failure)
        for tally in report.operations.values()
        for failure in tally.failures.values()
    ]
    details = [
        f"{name}: {failure.check}: {failure.message}\n{failure.curl}\n"
        f"{failure.status} {failure.response}"
        for name, failure in failed
    ]
    return report.errors + report.notes + details


def seldom(report: DocumentResults) -> dict[str, float]:
    return {
        tally.operation: tally.rate for tally in report.operations.values() if tally.rate < FLOOR
    }


@pytest.mark.long
def test_requests_with_every_point_of_the_schemas(examine: Callable[..., DocumentResults]) -> None:
    report = examine("examples", "coverage")
    assert failures(report) == []
    assert seldom(report) == {}
    assert len(report.operations) == len(operations(bundles.load("service")))
    assert report.checks.keys() == CHECKS
    assert min(report.checks.values()) > 1000
    # Nothing is excused by the list of any operation: the key may do everything, and there are no
    # limits.
    rejected = {code for tally in report.operations.values() for code in tally.rejected}
    assert rejected
    assert rejected.isdisjoint(ANY_OPERATION)


@pytest.mark.long
def test_requests_made_up_at_random(examine: Callable[..., DocumentResults]) -> None:
    report = examine("fuzzing")
    assert failures(report) == []
    assert report.checks.keys() == CHECKS


@pytest.mark.long
def test_requests_that_one_response_leads_to(examine: Callable[..., DocumentResults]) -> None:
    """The made object is read, changed, confirmed, deleted in any order; links lead right."""
    report = examine("stateful")
    assert failures(report) == []
    document = bundles.load("service")
    every = list(links(document))
    assert {id for id, operation in operations(document).items() if "{" in operation.path} <= {
        link.target.id for link in every
    }
    assert report.links.keys() == {link.name for link in every}
    failed = {
        f"{link.source.id} {link.target.id}"
        for link in every
        if not 200 <= report.links[link.name] < 300
    }
    assert failed == WRONG_STATE


@pytest.fixture
def known(sandbox: Sandbox) -> dict[str, str]:
    """The id of an object for each of the control API's paths that has one."""
    invoice = sandbox.draft()
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/", {"auto_send": True})
    sandbox.control.post("/snapshots", {"name": "before"})
    advance = sandbox.control.post("/clock/advance", {"by": "1s"}, Prefer="respond-async")
    return {
        "/checkout-sessions/{id}/pay": sandbox.session()["id"],
        "/payment-links/{id}/pay": sandbox.link()["id"],
        "/invoices/{id}/pay": invoice["id"],
        "/explain/{id}": invoice["id"],
        "/objects/{id}": sandbox.product()["id"],
        "/clock/advances/{id}": advance["id"],
        "/emails/{id}": sandbox.control.get("/emails")["data"][0]["id"],
        "/requests/{req_id}": sandbox.control.get("/requests")["data"][0]["id"],
    }


UNREPEATABLE = {
    "POST /faults",
    "POST /reset",
    "POST /checkout-sessions/{id}/answer",
    "POST /checkout-sessions/{id}/pay",
    "POST /invoices/{id}/pay",
    "POST /payment-intents/{id}/answer",
    "POST /refunds/{id}/answer",
    "POST /payment-links/{id}/pay",
    "POST /phones/{number}/answer",
    "PUT /snapshots/{name}",
    "PATCH /objects/{id}",
    "GET /recording",
    "GET /requests/{req_id}",
}
"""Done once, without a schema for its values, or forgotten in a long run: other tests have them. A
fault has one effect of many, each with its own fields; the fixtures of a reset are many settings,
which seldom go together.
"""


@pytest.mark.long
def test_the_control_api(sandbox: Sandbox, server: RunningServer, known: dict[str, str]) -> None:
    def adjust(case: Any) -> None:
        if str((case.query or {}).get("wait")) in SECONDS:
            case.query["wait"] = (
                0  # it is for holding a response back, and there is nothing to wait for here
            )
        path = case.operation.path.removesuffix("/html").removesuffix("/raw")
        if path in known:
            case.path_parameters = dict.fromkeys(case.path_parameters, known[path])

    base_url = f"{server.url}/_emulator"
    suite = Suite(bundles.load("control"), base_url, sandbox.key, EXAMPLES, SEED, adjust=adjust)
    report = suite.run()
    assert failures(report) == []
    assert report.checks.keys() == CHECKS
    assert seldom(report).keys() <= UNREPEATABLE
