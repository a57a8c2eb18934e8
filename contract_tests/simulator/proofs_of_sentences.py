"""The proof of each row of ``fixtures/status-sentences.yaml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from contract_tests.simulator.proofs import (
    LIVE,
    NUMBER,
    Object,
    Proof,
    View,
    Words,
    amounts,
    are,
    failed_with,
    is_day,
    is_transfer,
    money,
)
from contract_tests.simulator.world_rules import ARRIVED

CHARGED_BY_INVOICE = "send_invoice"
ANSWERED = ("payment_intent.answer", "payment_intent.unconfirmed")


def status(*statuses: str) -> Proof:
    return lambda view, one, words: one["status"] in statuses


def both(*proofs: Proof) -> Proof:
    return lambda view, one, words: all(proof(view, one, words) for proof in proofs)


def amount(name: str, field: str = "") -> Proof:
    """The text names the amount of a field, in its currency."""
    return lambda view, one, words: words[name] == money(one[field or name], one["currency"])


def day(name: str, field: str) -> Proof:
    return lambda view, one, words: is_day(words[name], one[field])


def planned(name: str, *kinds: str) -> Proof:
    """The text names the instant of the object's next job of these kinds."""
    return lambda view, one, words: is_day(
        words[name], next(iter(view.due(one["id"], *kinds)), None)
    )


def number(words: Words, name: str = "count") -> int:
    """Return the number in a row that has another text for 1."""
    return int(words[name]) if name in words else 1


def counted(own: Callable[[View, Object], list[Any]]) -> Proof:
    return lambda view, one, words: number(words) == len(own(view, one))


# -- subscriptions


def owing(view: View, one: Object) -> list[Object]:
    return view.invoices(one, "open", "uncollectible")


def owing_is_said(view: View, one: Object, words: Words) -> bool:
    """The invoices named are owed, and the sum is theirs; those left out are named elsewhere."""
    named = re.findall(NUMBER, words["owing_numbers"])
    own = [invoice for invoice in owing(view, one) if invoice["invoice_number"] in named]
    left = [(invoice["amount_remaining"], invoice["currency"]) for invoice in own]
    return len(own) == len(named) == number(words) and are(words["owing_sum"], *left)


def overdue_is_said(view: View, one: Object, words: Words) -> bool:
    own = owing(view, one)
    overdue = [invoice for invoice in own if (invoice["due_date"] or "9") < view.now[:10]]
    return owing_is_said(view, one, words) and number(words) == len(overdue or own)


def due_is_said(view: View, one: Object, words: Words, *, is_overdue: bool = False) -> bool:
    named = re.findall(NUMBER, words["owing_numbers"])
    due = [
        own["due_date"]
        for own in owing(view, one)
        if own["invoice_number"] in named and own["due_date"]
    ]
    is_charged = one["collection_method"] != CHARGED_BY_INVOICE
    return (
        owing_is_said(view, one, words)
        and not is_charged
        and is_day(words["owing_due_day"], min(due))
        and (min(due) < view.now[:10]) == is_overdue
    )


def nothing_is_charged(view: View, one: Object, words: Words) -> bool:
    return not view.payments(one) and not view.due(
        one["id"], "subscription.retry", "subscription.charge"
    )


def no_charge_is_planned(view: View, one: Object, words: Words) -> bool:
    return (
        nothing_is_charged(view, one, words)
        and one["status"] in ("past_due", "unpaid")
        and (one["status"], one["collection_method"]) != ("past_due", CHARGED_BY_INVOICE)
    )


def failed_before(view: View, one: Object, words: Words) -> bool:
    """As many charges failed as it says, the last one with this code and method."""
    failed = [
        intent
        for intent in view.failures(one)
        if one["object"] != "subscription" or intent["subscription"]
    ]
    is_known = any(failed_with(intent, words["last_failure"]) for intent in failed)
    return number(words) <= len(failed) and is_known


# -- what is under way


def one_payment(*kinds: str) -> Proof:
    """Just one payment is under way, of this sum, and its answer is due on this day."""

    def proof(view: View, one: Object, words: Words) -> bool:
        payments = view.payments(one)
        if len(payments) != 1 or not are(words["payment_sum"], *amounts(payments)):
            return False
        [payment] = payments
        named = re.findall(NUMBER, words["payment_sum"])
        if named and view.objects[payment["invoice"]]["invoice_number"] != named[0]:
            return False
        action = (payment["next_action"] or {}).get("type", "")
        due = view.answer_due(payment) or [(payment["next_action"] or {}).get("expires_at")]
        is_due = "payment_until_day" not in words or is_day(words["payment_until_day"], due[0])
        return is_due and (not kinds or action in kinds)

    return proof


def capture_is_awaited(view: View, one: Object, words: Words) -> bool:
    [payment] = view.payments(one)
    return payment["status"] == "requires_capture" and are(
        words["payment_sum"], *amounts([payment])
    )


def several_payments(view: View, one: Object, words: Words) -> bool:
    payments = view.payments(one)
    due = sorted(instant for payment in payments for instant in view.answer_due(payment))
    return (
        int(words["payment_several"]) == len(payments)
        and are(words["payment_sum"], *amounts(payments))
        and ("payment_until_day" not in words or is_day(words["payment_until_day"], due[0]))
    )


def subscription_of(view: View, one: Object) -> Object | None:
    [payment] = view.payments(one)
    invoice = view.objects.get(payment["invoice"])
    return view.objects.get(invoice["subscription"]) if invoice else None


def can_recover(view: View, one: Object, words: Words) -> bool:
    subscription = subscription_of(view, one)
    return subscription is not None and subscription["status"] in ("past_due", "unpaid")


def can_give_up(view: View, one: Object, words: Words) -> bool:
    subscription = subscription_of(view, one)
    return (
        subscription is not None
        and subscription["status"] in ("active", "past_due")
        and not view.due(subscription["id"], "subscription.retry")
    )


def is_of(*statuses: str) -> Proof:
    """The payment is of a subscription in one of these statuses."""

    def proof(view: View, one: Object, words: Words) -> bool:
        subscription = subscription_of(view, one)
        return subscription is not None and subscription["status"] in statuses

    return proof


def can_be_retried(
    view: View, one: Object, words: Words, *, method: str = "charge_automatically"
) -> bool:
    subscription = subscription_of(view, one)
    days = re.findall(r"\d+ \w+ \d+", words["payment_retry_days"])
    return (
        subscription is not None
        and subscription["status"] in ("active", "past_due")
        and subscription["collection_method"] == method
        and (method == CHARGED_BY_INVOICE or number(words) >= len(days))
        and len(days) > 0
    )


def one_arrival(view: View, one: Object, words: Words) -> bool:
    arrivals = view.arrivals(one)
    if len(arrivals) != 1 or not are(words["arrival_sum"], *amounts(arrivals)):
        return False
    due = view.due(arrivals[0]["id"], "transaction.settle")
    return is_day(words["arrival_until_day"], due[0]) if due else "arrival_until_day" not in words


def several_arrivals(view: View, one: Object, words: Words) -> bool:
    arrivals = view.arrivals(one)
    return int(words["arrival_several"]) == len(arrivals) and are(
        words["arrival_sum"], *amounts(arrivals)
    )


def one_refund(status: str, *jobs: str) -> Proof:
    def proof(view: View, one: Object, words: Words) -> bool:
        refunds = view.refunds(one)
        if len(refunds) != 1 or not are(words["refund_sum"], *amounts(refunds)):
            return False
        due = view.due(refunds[0]["id"], *jobs)
        is_due = is_day(words["refund_until_day"], due[0]) if due else not jobs
        return is_due and refunds[0]["status"] in status

    return proof


def several_refunds(view: View, one: Object, words: Words) -> bool:
    refunds = view.refunds(one)
    return int(words["refund_several"]) == len(refunds) and are(
        words["refund_sum"], *amounts(refunds)
    )


UNDER_WAY: Mapping[str, Proof] = {
    "{payment_several} payments are under way, {payment_sum} in all; the next answer is due on"
    " {payment_until_day}.": several_payments,
    "{payment_several} payments are under way, {payment_sum} in all.": several_payments,
    "{payment_sum} is being charged to {payment_method}: it waits for the buyer’s phone until"
    " {payment_until_day}, then it fails.": one_payment("confirm_on_phone"),
    "{payment_sum} is being charged to {payment_method}: the buyer has to confirm it by"
    " {payment_until_day}, or it fails.": one_payment("confirm_card"),
    "{payment_sum} from {payment_method} is held; capture it to receive it.": capture_is_awaited,
    "{payment_sum} is being charged to {payment_method}; the operator answers on"
    " {payment_until_day}.": one_payment(),
    "{payment_sum} is being charged to {payment_method}; it waits for the funds until"
    " {payment_until_day}.": both(one_payment(), lambda view, one, words: is_transfer(view, one)),
    "{payment_sum} is being charged to {payment_method}; there is no answer yet.": one_payment(),
    "If it succeeds, the subscription becomes active.": can_recover,
    "If it fails, no retry is left: the subscription becomes unpaid.": can_give_up,
    "If it fails, it is tried again once the subscription is resumed.": is_of("paused"),
    "If it fails, it is tried again only if the subscription is reactivated.": is_of("canceled"),
    "If it fails, it is not tried again.": is_of("canceled", "expired"),
    "If it fails, the invoice is emailed again on {payment_retry_days}.": partial(
        can_be_retried, method=CHARGED_BY_INVOICE
    ),
    "If it fails, it is tried again on {payment_retry_days}, for the last time.": can_be_retried,
    "{arrival_several} payments, {arrival_sum}, are approved; their money has not arrived yet.": (
        several_arrivals
    ),
    "{arrival_sum} from {arrival_method} is approved; the money arrives on {arrival_until_day}.": (
        one_arrival
    ),
    "{refund_several} refunds are under way, {refund_sum} in all.": several_refunds,
    "{refund_sum} is to be refunded to {refund_method}; it goes to the operator on"
    " {refund_until_day}.": one_refund("pending", "refund.send"),
    "{refund_sum} is being refunded to {refund_method}; the operator answers on"
    " {refund_until_day}.": one_refund("processing", "refund.answer", "refund.lose_dispute"),
    "{refund_sum} is being refunded to {refund_method}; without an answer the refund expires on"
    " {refund_until_day}.": one_refund("processing", "refund.expire"),
}
"""What every kind says of payments and refunds that are under way."""

OF_SUBSCRIPTIONS: Mapping[str, Proof] = {
    "Canceled on {ended_day}.": both(status("canceled"), day("ended_day", "canceled_at")),
    "Ended on {ended_day}.": status("expired"),
    "Nothing more is charged.": both(status("canceled", "expired"), nothing_is_charged),
    "Past due since {past_due_since_day}.": status("past_due"),
    "Past due.": status("past_due"),
    "Unpaid since {behind_since_day}; the first charge failed on {failed_at_day}.": (
        status("unpaid")
    ),
    "Unpaid.": status("unpaid"),
    "The last charge failed: {failure_cause}.": status("past_due", "unpaid"),
    "1 charge to {failed_method} failed, with {last_failure}.": both(
        status("past_due", "unpaid"), failed_before
    ),
    "Paused since {paused_since_day}: nothing is charged until it is resumed.": both(
        status("paused"), nothing_is_charged
    ),
    "Paused since {paused_since_day}: no period is charged until it is resumed.": status("paused"),
    "In its trial until {trial_end_day}.": both(
        status("trialing"), day("trial_end_day", "trial_end")
    ),
    "In its trial until {trial_end_day}; then {price}.": both(
        status("trialing"), day("trial_end_day", "trial_end")
    ),
    "Active: {price}.": status("active", "trialing"),
    "{owing_numbers}, {owing_sum}, is overdue; the subscription becomes active when it is paid.": (
        both(status("past_due", "unpaid"), overdue_is_said)
    ),
    "{owing_numbers}, {owing_sum}, has been overdue since {owing_due_day}.": partial(
        due_is_said, is_overdue=True
    ),
    "{owing_numbers}, {owing_sum}, is to be paid by {owing_due_day}.": due_is_said,
    "{owing_numbers}, {owing_sum}, is not paid.": owing_is_said,
    "It becomes active when {uncollectible} is paid on its page.": lambda view, one, words: (
        words["uncollectible"]
        in {own["invoice_number"] for own in view.invoices(one, "uncollectible")}
    ),
    "Cancels on {cancels_day}; no further charge.": both(
        nothing_is_charged,
        lambda view, one, words: is_day(words["cancels_day"], one["current_period_end"]),
        # At the instant of an end date it expires instead (B-40).
        lambda view, one, words: (one["ends_at"] or "9") > one["current_period_end"],
    ),
    "The invoice is emailed again on {lone_retry_day}.": both(
        planned("lone_retry_day", "subscription.retry"),
        lambda view, one, words: one["collection_method"] == CHARGED_BY_INVOICE,
    ),
    "The charge is tried again on {lone_retry_day}.": both(
        lambda view, one, words: is_day(words["lone_retry_day"], view.retry(one)),
        lambda view, one, words: one["collection_method"] != CHARGED_BY_INVOICE,
    ),
    "job subscription.renew": both(status("active"), planned("day", "subscription.renew")),
    "The next period, {price}, is billed on {renewal_day}.": both(
        status("past_due", "unpaid"), planned("renewal_day", "subscription.renew")
    ),
    "No further charge is planned; periods continue until you cancel.": both(
        no_charge_is_planned, lambda view, one, words: view.end(one) is None
    ),
    "No further charge is planned.": no_charge_is_planned,
    "It ends on {ends_day}.": lambda view, one, words: is_day(words["ends_day"], view.end(one)),
}


def paid_by(view: View, one: Object, words: Words) -> bool:
    paid = [own for own in view.intents(one) if own["status"] == "succeeded"]
    return bool(paid) and words["amount_paid"] == money(one["amount_paid"], one["currency"])


def paid_elsewhere(view: View, one: Object, words: Words) -> bool:
    return one["transaction"] is None and one["status"] == "paid"


def paid_that_day(view: View, one: Object, words: Words) -> bool:
    """The day is that of the event; an invoice that was set directly to paid may have none."""
    events = view.of("event", type="invoice.paid")
    paid = [event["created_at"] for event in events if event["data"]["object"]["id"] == one["id"]]
    return not paid or any(is_day(words["paid_day"], instant) for instant in paid)


def arrived(view: View, one: Object, words: Words) -> bool:
    deposit = view.objects.get(one["transaction"], {})
    instant = deposit.get("processed_at") or one["updated_at"]
    return not view.arrivals(one) and is_day(words["received_day"], instant)


def refunded_of_invoice(view: View, one: Object, words: Words) -> bool:
    refunded = [(own["amount_refunded"], own["currency"]) for own in view.deposits(one)]
    return are(words["refunded"], *refunded)


def charged_again(view: View, one: Object, words: Words) -> bool:
    subscription = view.objects[one["subscription"]]
    return is_day(words["charged_again_day"], view.retry(subscription))


OPEN = status("open")

OF_INVOICES: Mapping[str, Proof] = {
    "A draft: it cannot be paid until it is finalized.": status("draft"),
    "Paid outside the service: {amount_paid} on {paid_day}.": both(
        paid_elsewhere, amount("amount_paid"), paid_that_day
    ),
    "Paid: {amount_paid} with {paid_with} on {paid_day}.": both(
        status("paid"), paid_by, paid_that_day
    ),
    "Paid: {amount_paid}.": both(status("paid"), amount("amount_paid")),
    "{refunded} of it was refunded.": refunded_of_invoice,
    "Void: nothing is to be paid.": status("void"),
    "Uncollectible: every attempt to charge {amount_remaining} failed, and no more are made. It can"
    " still be paid on its page.": both(status("uncollectible"), amount("amount_remaining")),
    "{amount_remaining} has been overdue since {due_date_day}.": both(
        OPEN,
        amount("amount_remaining"),
        day("due_date_day", "due_date"),
        lambda view, one, words: bool(one["due_date"] < view.now[:10]),
    ),
    "{amount_remaining} is to be paid by {due_date_day}.": both(
        OPEN,
        amount("amount_remaining"),
        day("due_date_day", "due_date"),
        lambda view, one, words: bool(one["due_date"] >= view.now[:10]),
    ),
    "{amount_remaining} is to be paid.": both(OPEN, amount("amount_remaining")),
    "1 payment failed, with {last_failure}.": failed_before,
    "It is charged again once {charged_after} is paid.": lambda view, one, words: (
        view.is_charged_after(one, words["charged_after"])
    ),
    "It is charged again on {charged_again_day}.": both(OPEN, charged_again),
}

OF_INTENTS: Mapping[str, Proof] = {
    "No payment method is chosen yet.": status("requires_payment_method"),
    "A payment method is chosen; the payment is not confirmed yet.": (
        status("requires_confirmation")
    ),
    "{amount_received} was received from {paid_with} on {received_day}.": both(
        status("succeeded"), amount("amount_received"), arrived
    ),
    "{paid_with} was not charged {amount}: {last_failure}.": both(
        status("canceled"), amount("amount"), failed_before
    ),
    "Canceled: {amount} was not charged.": both(status("canceled"), amount("amount")),
}

OF_TRANSACTIONS: Mapping[str, Proof] = {
    "{amount} went back to {paid_with} on {processed_day}.": both(
        lambda view, one, words: one["type"] == "refund", amount("amount")
    ),
    "{paid_with} was not charged {amount}.": both(status("failed"), amount("amount")),
    "The dispute was lost: {amount} went back to the buyer.": both(
        status("failed"),
        amount("amount"),
        lambda view, one, words: view.intents(one)[0]["status"] == "succeeded",
    ),
    "Canceled: {amount} was not charged.": both(status("canceled"), amount("amount")),
    "{amount} was received from {paid_with} on {processed_day}; {net_amount} after fees.": both(
        status(*ARRIVED), amount("amount"), amount("net_amount")
    ),
    "{amount_refunded} of it was refunded.": amount("amount_refunded"),
    "The buyer disputes it.": status("disputed"),
    "{rest} can still be refunded.": lambda view, one, words: (
        words["rest"]
        == money(
            one["amount"]
            - sum(
                refund["amount"]
                for refund in view.of("refund", transaction=one["id"])
                if refund["status"] in ("pending", "processing", "succeeded")
            ),
            one["currency"],
        )
    ),
    "job transaction.dispute": planned("day", "transaction.dispute"),
}


def next_is_said(view: View, one: Object, words: Words) -> bool:
    """The soonest job that has words is said, or that there is none."""
    due = view.due(one["id"])
    return is_day(words["day"], due[0]) if "day" in words else not due


OF_REFUNDS: Mapping[str, Proof] = {
    "{amount} went back to the buyer on {refunded_day}.": both(
        status("succeeded"), amount("amount")
    ),
    "{amount} did not go back by this refund: the dispute was lost, so the buyer has the money"
    " already.": lambda view, one, words: one["failure_reason"] == "dispute_lost",
    "{amount} did not go back: {failure_reason}.": both(
        status("failed"), lambda view, one, words: words["failure_reason"] == one["failure_reason"]
    ),
    "Canceled: {amount} stays with the merchant.": both(status("cancelled"), amount("amount")),
    "The operator never answered: {amount} stays with the merchant.": both(
        status("expired"), amount("amount")
    ),
}


OF_SESSIONS: Mapping[str, Proof] = {
    "Not paid yet.": status("open"),
    "{saving_method} is being saved: the buyer has to confirm it by {saving_until_day}, or it is"
    " not saved.": both(
        status("processing"), planned("saving_until_day", "checkout_session.unconfirmed")
    ),
    "{saving_method} is being saved; the operator answers on {saving_until_day}.": both(
        status("processing"),
        planned("saving_until_day", "checkout_session.answer", "checkout_session.unconfirmed"),
    ),
    "Completed by its buyer.": status("complete"),
    "The payment failed, with {last_failure}; the buyer can try again.": both(
        status("payment_failed"), failed_before
    ),
    "The last payment failed; the buyer can try again.": status("payment_failed"),
    "Closed by the merchant without a payment.": both(
        status("expired"), lambda view, one, words: one["id"] in view.closed
    ),
    "Expired on {expires_at_day} without a payment.": both(
        status("expired"), lambda view, one, words: one["id"] not in view.closed
    ),
    "job next": next_is_said,
}

OF_LINKS: Mapping[str, Proof] = {
    "Archived: it accepts no payments any more.": status("archived"),
    "Expired on {expires_at_day}: it accepts no payments any more.": lambda view, one, words: bool(
        one["expires_at"] <= view.now and is_day(words["expires_at_day"], one["expires_at"])
    ),
    "1 payment so far.": lambda view, one, words: number(words) == one["usage_count"],
    "No payment yet.": lambda view, one, words: one["usage_count"] == 0,
    "It can be used once.": lambda view, one, words: number(words) == one["max_usage"],
    "Used up by a payment that failed: it takes no other one.": lambda view, one, words: (
        one["usage_count"] == one["max_usage"] and bool(view.failures(one))
    ),
}


def arrived(view: View, one: Object) -> list[Object]:
    return [own for own in view.deposits(one) if own["status"] in ARRIVED]


def has_paid(view: View, one: Object, words: Words) -> bool:
    own = arrived(view, one)
    paid = [(deposit["amount"], deposit["currency"]) for deposit in own]
    back = [(deposit["amount_refunded"], deposit["currency"]) for deposit in own]
    return are(words["paid"], *paid) and are(words.get("refunded", ""), *back)


def due_invoices(name: str, wanted: str) -> Proof:
    def proof(view: View, one: Object, words: Words) -> bool:
        own = view.invoices(one, wanted)
        left = [(invoice["amount_remaining"], invoice["currency"]) for invoice in own]
        return number(words) == len(own) and are(words[name], *left)

    return proof


OF_CUSTOMERS: Mapping[str, Proof] = {
    "Blocked: no payment of theirs is accepted.": lambda view, one, words: one["is_blacklisted"],
    "Has paid {paid}, {refunded} of it refunded.": has_paid,
    "Has paid {paid}.": has_paid,
    **{
        f"1 {name.replace('_', ' ')} subscription.": counted(
            lambda view, one, name=name: [
                own
                for own in view.of("subscription", status=name)
                if one["id"] in (own["customer"], own["product"], own["plan"])
            ]
        )
        for name in LIVE
    },
    "1 open invoice, {open_sum}.": due_invoices("open_sum", "open"),
    "1 uncollectible invoice, {uncollectible_sum}.": due_invoices(
        "uncollectible_sum", "uncollectible"
    ),
    "No payment method is stored.": lambda view, one, words: (
        not view.of("payment_method", customer=one["id"])
    ),
}

OF_METHODS: Mapping[str, Proof] = {
    "Expired: it is not charged any more.": status("expired"),
    "Active, and the default of {owner}.": both(
        status("active", "inactive"), lambda view, one, words: one["is_default"]
    ),
    "Active, of {owner}.": both(
        status("active", "inactive"), lambda view, one, words: not one["is_default"]
    ),
    "job next": next_is_said,
}

OF_PRODUCTS: Mapping[str, Proof] = {
    "Not for sale any more.": lambda view, one, words: not one["active"],
    "No subscription to it.": lambda view, one, words: (
        not any(
            one["id"] in (own["product"], own["plan"])
            for own in view.of("subscription")
            if own["status"] in LIVE
        )
    ),
}


def deliveries(view: View, one: Object, *statuses: str) -> list[Object]:
    field = {"event": "event", "webhook_endpoint": "webhook"}[one["object"]]
    own = view.of("webhook_delivery", **{field: one["id"]})
    return [delivery for delivery in own if not statuses or delivery["status"] in statuses]


def attempts(view: View, one: Object, words: Words) -> bool:
    return number(words) == one["attempt_count"]


OF_DELIVERIES: Mapping[str, Proof] = {
    "Delivered to {endpoint_name} at the first attempt.": both(status("succeeded"), attempts),
    "Not delivered to {endpoint_name}: 1 attempt, which got {last_result}.": both(
        status("pending", "failed"), attempts
    ),
    "Not sent to {endpoint_name} yet.": lambda view, one, words: one["attempt_count"] == 0,
    "job next": next_is_said,
}

OF_ENDPOINTS: Mapping[str, Proof] = {
    "Switched off: it is sent nothing.": lambda view, one, words: not one["enabled"],
    "1 delivery so far.": counted(deliveries),
    "No delivery so far.": lambda view, one, words: not deliveries(view, one),
    "1 failed.": counted(lambda view, one: deliveries(view, one, "failed")),
    "1 will be retried.": counted(lambda view, one: deliveries(view, one, "pending")),
}

OF_EVENTS: Mapping[str, Proof] = {
    "Sent to 1 endpoint;": counted(deliveries),
    "No endpoint is registered for it, so it was sent nowhere.": lambda view, one, words: (
        not deliveries(view, one)
    ),
    "1 accepted it.": counted(lambda view, one: deliveries(view, one, "succeeded")),
    "none accepted it.": lambda view, one, words: not deliveries(view, one, "succeeded"),
}

BY_KIND: Mapping[str, Mapping[str, Proof]] = {
    "subscription": {**OF_SUBSCRIPTIONS, **UNDER_WAY},
    "invoice": OF_INVOICES,
    "payment_intent": OF_INTENTS,
    "transaction": OF_TRANSACTIONS,
    "refund": OF_REFUNDS,
    "checkout_session": OF_SESSIONS,
    "payment_link": OF_LINKS,
    "customer": OF_CUSTOMERS,
    "payment_method": OF_METHODS,
    "product": OF_PRODUCTS,
    "webhook_delivery": OF_DELIVERIES,
    "webhook_endpoint": OF_ENDPOINTS,
    "event": OF_EVENTS,
}

PROOFS: Mapping[str, Proof] = {
    f"{kind}: {text}": proof for kind, proofs in BY_KIND.items() for text, proof in proofs.items()
}
"""By the name of the row: its kind, the first one of several that share it, and its text."""
