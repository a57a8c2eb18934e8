"""Seeded faults: ways to break the emulator, each with the test of the suite that must notice, as data.

A mutation that no test notices would be a hole in the tests, so ``test_faults.py`` breaks the emulator in each of these
ways and runs the test named beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from emulator.core.errors import ApiError
from emulator.core.state_machine import StateMachine
from emulator.resources.app.clients import Key

Swap = Callable[[Any], Any]
"""Makes the broken thing from the real one."""

DOCUMENT, RULE = "the document", "a rule"


@dataclass(frozen=True)
class Fault:
    """One fault: what is wrong, the thing that is swapped for a broken one, and who notices what is broken by it."""

    name: str
    target: str
    swap: Swap
    breaks: str
    caught_by: str


def instead(value: Any) -> Swap:
    """Something that always gives this value."""
    return lambda real: lambda *args, **kwargs: value


def after(change: Callable[[Any], Any]) -> Swap:
    """The real thing, its result changed."""
    return lambda real: lambda *args, **kwargs: change(real(*args, **kwargs))


def body(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Swap:
    """The real encoder, the object it encodes changed; lists are left alone."""

    def changed(raw: bytes) -> bytes:
        value = json.loads(raw)
        return json.dumps(change(value)).encode() if "id" in value else raw

    return after(changed)


def without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The dictionary without some names."""
    return lambda value: {name: each for name, each in value.items() if name not in names}


def reply(**changes: Any) -> Swap:
    """The real answer, changed."""
    return after(lambda answer: msgspec.structs.replace(answer, **changes))


def headerless(name: bytes) -> Swap:
    """The edge, one header lost from every answer."""

    def broken(real: Any) -> Any:
        async def serve(self: Any, scope: Any, receive: Any, send: Any) -> None:
            async def lossy(message: Any) -> None:
                if "headers" in message:
                    message["headers"] = [each for each in message["headers"] if each[0] != name]
                await send(message)

            await real(self, scope, receive, lossy)

        return serve

    return broken


def page(**changes: Callable[[Any], Any]) -> Swap:
    """The real list, parts of its pagination changed."""

    def changed(listed: dict[str, Any]) -> dict[str, Any]:
        pagination = listed["pagination"]
        return {
            **listed,
            "pagination": pagination | {name: change(pagination[name]) for name, change in changes.items()},
        }

    return after(changed)


def keyless(real: Any) -> Any:
    """An authentication that lets in requests without a key."""
    return lambda header: real(header) if header else Key("anonymous", False)


def forgetful(*types: str) -> Swap:
    """An emission of events that leaves some out."""

    def broken(real: Any) -> Any:
        def emit(self: Any, type: str, *args: Any, **kwargs: Any) -> Any:
            return None if type in types else real(self, type, *args, **kwargs)

        return emit

    return broken


def stammering(real: Any) -> Any:
    """A teller of events that says everything twice."""

    def emit(self: Any, *args: Any, **kwargs: Any) -> Any:
        real(self, *args, **kwargs)
        return real(self, *args, **kwargs)

    return emit


def jobless(name: str) -> Swap:
    """A planner that never plans one job."""

    def broken(real: Any) -> Any:
        def at(self: Any, due: Any, job: str, *args: Any, **kwargs: Any) -> Any:
            return None if job == name else real(self, due, job, *args, **kwargs)

        return at

    return broken


def lawless(real: Any) -> Any:
    """Life cycles that let through what is not in their tables, and change nothing."""

    def move(self: StateMachine[Any], world: Any, record: Any, trigger: str, **changes: Any) -> Any:
        try:
            return real(self, world, record, trigger, **changes)
        except ApiError:
            return record

    return move


WEB, RULES, CORE = "emulator.web", "emulator.resources", "emulator.core"
A_CUSTOMER = "contract.resources.test_customers.test_email_and_name_are_enough"
REPEATED = "contract.rules.test_idempotency.test_a_repetition_gets_the_first_answer_byte_for_byte"
REJECTED = "contract.resources.test_customers.test_several_violations_are_reported_at_once"
SIGNED = "contract.resources.test_deliveries.test_an_hmac_is_over_the_raw_body_in_lower_case_hex"
MONTHS = "contract.scenarios.test_renewal.test_each_period_has_an_invoice_and_a_transaction_with_fee_and_net"

FAULTS = (
    # What an answer looks like
    Fault("wrong status", f"{WEB}.operation.OperationHandler._respond", reply(status=202), DOCUMENT, A_CUSTOMER),
    Fault("missing field", f"{WEB}.operation.encode", body(without("created_at")), DOCUMENT, A_CUSTOMER),
    Fault("undocumented field", f"{WEB}.operation.encode", body(lambda it: it | {"note": "?"}), DOCUMENT, A_CUSTOMER),
    Fault("wrong type", f"{WEB}.operation.encode", body(lambda it: it | {"livemode": "no"}), DOCUMENT, A_CUSTOMER),
    Fault(
        "null where none is allowed",
        f"{WEB}.operation.encode",
        body(lambda it: it | {"metadata": None}),
        DOCUMENT,
        A_CUSTOMER,
    ),
    Fault(
        "value outside its enum",
        f"{WEB}.operation.encode",
        body(lambda it: it | {"object": "client"}),
        DOCUMENT,
        A_CUSTOMER,
    ),
    Fault(
        "instant without its zone",
        f"{WEB}.operation.encode",
        body(lambda it: it | {"created_at": "2026-01-01 00:00"}),
        DOCUMENT,
        A_CUSTOMER,
    ),
    Fault("lost header Request-Id", f"{WEB}.root_app.RootApp._serve", headerless(b"request-id"), DOCUMENT, A_CUSTOMER),
    Fault(
        "wrong content type",
        f"{WEB}.operation.OperationHandler._respond",
        reply(media_type="text/plain"),
        DOCUMENT,
        A_CUSTOMER,
    ),
    Fault(
        "body where none is documented",
        f"{WEB}.operation.OperationHandler._respond",
        reply(body=b"{}"),
        DOCUMENT,
        "contract.resources.test_customers.test_a_deleted_customer_is_gone",
    ),
    Fault("error without its code", f"{WEB}.validation._flat", after(without("code")), DOCUMENT, REJECTED),
    Fault(
        "secret shown again",
        f"{RULES}.webhooks.endpoints.WebhookEndpoint.public_view",
        lambda real: lambda self: self,
        DOCUMENT,
        "contract.resources.test_webhooks.test_the_secret_is_shown_once",
    ),
    # Keys, ids and requests
    Fault(
        "skipped authentication",
        f"{RULES}.app.clients.read_key",
        keyless,
        RULE,
        "contract.http.test_keys.test_no_key_at_all_is_missing",
    ),
    Fault(
        "one world for all keys",
        f"{RULES}.app.clients.read_key",
        instead(Key("everybody", False)),
        RULE,
        "contract.rules.test_idempotency.test_a_key_belongs_to_one_world",
    ),
    Fault(
        "use after delete",
        f"{CORE}.repository.Repository.remove",
        instead(None),
        RULE,
        "contract.resources.test_customers.test_a_deleted_customer_is_gone",
    ),
    Fault("validation of bodies skipped", f"{WEB}.validation.CompiledSchema.accepts", instead(True), RULE, REJECTED),
    Fault(
        "defaults not filled in",
        f"{WEB}.validation.CompiledSchema.complete",
        lambda real: lambda self, value: value,
        RULE,
        "contract.resources.test_products.test_what_is_left_out_has_its_default",
    ),
    Fault(
        "lost idempotency",
        f"{WEB}.service_app.lookup",
        instead(None),
        RULE,
        REPEATED,
    ),
    Fault(
        "body of an idempotent request not compared",
        f"{WEB}.service_app.fingerprint",
        instead("same"),
        RULE,
        "contract.rules.test_idempotency.test_another_body_or_path_under_the_key_is_a_conflict",
    ),
    Fault(
        "rejected change half done",
        f"{CORE}.repository.Repository.undo",
        instead(None),
        RULE,
        "surfaces.control.test_trigger.test_a_trigger_that_is_rejected_leaves_nothing_behind",
    ),
    # Lists
    Fault(
        "off-by-one in pages",
        f"{CORE}.handlers._newest",
        lambda real: lambda runs, first=0, size=None: real(runs, first + 1, size),
        RULE,
        "contract.resources.test_customers.test_customers_are_listed_newest_first",
    ),
    Fault(
        "pages end too early",
        f"{WEB}.operation.envelope",
        page(next=lambda url: None),
        RULE,
        "contract.http.test_queries.test_links_keep_the_other_parameters",
    ),
    Fault("wrong count", f"{WEB}.operation.envelope", page(count=lambda count: count + 1), RULE, REPEATED),
    Fault(
        "filters ignored",
        f"{CORE}.handlers._fits",
        instead(True),
        RULE,
        "contract.resources.test_products.test_products_by_activity_and_currency",
    ),
    # Webhooks and events
    Fault(
        "unsigned webhook",
        f"{RULES}.webhooks.deliveries.signed",
        after(lambda sent: msgspec.structs.replace(sent, headers=without("Service-Signature")(sent.headers))),
        RULE,
        SIGNED,
    ),
    Fault(
        "signature of other bytes",
        f"{RULES}.webhooks.deliveries.signature",
        lambda real: lambda secret, raw: real(secret, raw + b"\n"),
        RULE,
        SIGNED,
    ),
    Fault(
        "missing event",
        f"{CORE}.world.World.emit",
        forgetful("customer.deleted"),
        RULE,
        "contract.resources.test_customers.test_a_receiver_gets_the_event_of_the_deletion",
    ),
    Fault(
        "event emitted twice",
        f"{CORE}.world.World.emit",
        stammering,
        RULE,
        "contract.resources.test_deliveries.test_a_delivery_shows_what_was_sent_and_answered",
    ),
    Fault(
        "undocumented field in a webhook",
        f"{RULES}.webhooks.deliveries.encode",
        body(lambda it: it | {"note": "?"}),
        DOCUMENT,
        "contract.resources.test_deliveries.test_only_what_an_endpoint_listens_to_is_sent",
    ),
    Fault(
        "no retry",
        f"{CORE}.world.World.schedule",
        jobless("webhook.attempt"),
        RULE,
        "contract.resources.test_deliveries.test_a_retry_that_succeeds_is_the_last",
    ),
    # Money and time
    Fault(
        "refund over the limit",
        f"{RULES}.payments.refunds.refundable",
        instead(1_000_000_000),
        RULE,
        "contract.resources.test_refunds.test_partial_refunds_accumulate_up_to_the_amount",
    ),
    Fault(
        "wrong money rounding",
        f"{RULES}.app.amounts.percent",
        lambda real: lambda amount, rate: int(amount * rate / 100),
        RULE,
        "contract.resources.test_transactions.test_the_commission_is_the_partners",
    ),
    Fault("fee forgotten", f"{RULES}.app.amounts.percent", instead(0), RULE, MONTHS),
    Fault("subscription never renewed", f"{CORE}.world.World.schedule", jobless("subscription.renew"), RULE, MONTHS),
    Fault(
        "illegal step of a life cycle",
        f"{CORE}.state_machine.StateMachine.transition",
        lawless,
        RULE,
        "contract.resources.test_deliveries.test_only_a_failed_delivery_can_be_replayed",
    ),
    Fault(
        "metadata replaced instead of merged",
        f"{CORE}.handlers.merge_metadata",
        lambda real: lambda old, patch: dict(patch),
        # Metadata that is returned may hold any JSON, under the assumption `metadata_values`.
        RULE,
        "contract.resources.test_customers.test_metadata_is_merged",
    ),
    Fault(
        "email taken twice",
        f"{RULES}.customers.customers.require_free_email",
        instead(None),
        RULE,
        "contract.resources.test_customers.test_a_taken_email_is_rejected_and_nothing_changes",
    ),
    # What is shown of a world
    Fault(
        "jobs without a cause",
        "emulator.control.explain.causality.Causality.creator",
        instead(None),
        RULE,
        "surfaces.control.test_explain.test_a_renewal_is_led_back_to_the_request_that_made_the_subscription",
    ),
    Fault(
        "everything excused as development",
        "emulator.control.audit.violations._is_in_development",
        instead(True),
        RULE,
        "surfaces.control.test_audit.test_on_the_live_side_loopback_is_no_excuse",
    ),
)
