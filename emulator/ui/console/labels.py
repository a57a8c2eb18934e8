"""Labels: the messages that the console looks up by a name that the API or an address gives; the errors of forms.

The API answers errors in English; the console translates those it knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from emulator.core.errors import ERRORS
from emulator.core.events import Event
from emulator.core.records import N_, Record
from emulator.presentation.languages.language import Language
from emulator.resources.registry import REGISTRY

# -- labels


PAGES: Mapping[str, str] = {
    "overview": N_("Overview"),
    "schedule": N_("Schedule"),
    "requests": N_("Requests"),
    "events": N_("Events"),
    "webhooks": N_("Webhooks"),
    "emails": N_("Emails"),
    "inbox": N_("Inboxes"),
    "audit": N_("Audit"),
    "coverage": N_("Coverage"),
    "ledger": N_("Ledger"),
    "charts": N_("Charts"),
    "objects": N_("Objects"),
    "worlds": N_("Worlds"),
    "reports": N_("Reports"),
    "assumptions": N_("Assumptions"),
    "failures": N_("Failures"),
    "snapshots": N_("Snapshots"),
    "settings": N_("Settings"),
    "magic": N_("Magic values"),
}
"""The pages of the menu."""

WORDS: Mapping[str, str] = {
    "schedule": "timeline upcoming jobs next",
    "charts": "plots over time report",
    "requests": "logs journal record replay",
    "events": "trigger",
    "webhooks": "deliveries endpoints replay retry",
    "emails": "mail outbox",
    "ledger": "money balance",
    "objects": "customers subscriptions invoices payments",
    "worlds": "apps",
    "failures": "fail lose drop faults outcomes",
    "snapshots": "save load restore export import reset share",
    "assumptions": "decisions",
    "audit": "client rules",
}
"""Further words by which the search finds a page: those of the command line, and what one can do there."""

_RECORDS: tuple[type[Record], ...] = (*REGISTRY.kinds, Event)
_NAMES = {record.kind: record.names for record in _RECORDS if record.names is not None}

KINDS: Mapping[str, str] = {kind: several for kind, (_, several) in _NAMES.items()} | {"email": N_("Emails")}
"""The kinds of object, as headings of lists."""

KIND_NAMES: Mapping[str, str] = {kind: one for kind, (one, _) in _NAMES.items()} | {"email": N_("Email")}
"""The same for one object."""

JOBS: Mapping[str, str] = {
    "checkout_session.expire": N_("Checkout session expires"),
    "invoice.mail": N_("Invoice is emailed"),
    "invoice.overdue": N_("Invoice becomes overdue"),
    "invoice.voided": N_("Subscription continues without its invoice"),
    "payment_intent.answer": N_("Operator answers the payment"),
    "payment_intent.canceled": N_("Session continues without its payment"),
    "payment_method.expire": N_("Card expires"),
    "refund.answer": N_("Operator answers the refund"),
    "refund.expire": N_("Refund expires"),
    "refund.send": N_("Refund goes to the operator"),
    "subscription.charge": N_("First period is charged"),
    "subscription.expire": N_("Subscription ends"),
    "subscription.renew": N_("Subscription renews"),
    "subscription.retry": N_("Failed charge is retried"),
    "subscription.trial_notice": N_("Trial’s end is announced"),
    "transaction.dispute": N_("Buyer disputes the transaction"),
    "transaction.settle": N_("Transaction is settled"),
    "webhook.attempt": N_("Webhook is retried"),
}
"""What each kind of job does when it is due."""

LANES: Mapping[str, str] = {
    "requests": N_("Requests"),
    "clock": N_("Clock and jobs"),
    "money": N_("Money and states"),
    "webhooks": N_("Webhooks"),
    "mail": N_("Emails"),
}
"""The lanes of the chain that explains an object."""

EMAILS: Mapping[str, str] = {
    "invoice": N_("Invoice"),
    "receipt": N_("Receipt"),
    "renewal_failed": N_("Failed renewal"),
    "trial_ending": N_("End of a trial"),
    "subscription_canceled": N_("Canceled subscription"),
    "refund": N_("Refund"),
}
"""The kinds of email."""

CHANGES: Mapping[str, str] = {
    "created": N_("created"),
    "updated": N_("updated"),
    "deleted": N_("deleted"),
}
"""What a request did to an object."""

OPERATIONS: Mapping[str, str] = {
    "payment": N_("Payment"),
    "refund": N_("Refund"),
    "delivery": N_("Delivery"),
}
"""What an outcome can be arranged for."""

SEVERITIES: Mapping[str, str] = {
    "error": N_("error"),
    "warning": N_("warning"),
    "info": N_("info"),
}
"""The severities of the audit's findings."""

SETTINGS: Mapping[str, Mapping[str, str]] = {
    N_("Money"): {
        "main_currency": N_("Main currency"),
        "currencies": N_("Currencies"),
        "countries": N_("Countries"),
        "pricing_plan": N_("Pricing plan"),
        "commission_rate": N_("Commission rate"),
        "tax_rate": N_("Tax rate"),
        "minimum_amount": N_("Minimum amount"),
        "maximum_amount": N_("Maximum amount"),
    },
    N_("Renewals"): {
        "renewal_retry_days": N_("Renewal retry days"),
        "reactivation_days": N_("Reactivation days"),
    },
    N_("Payments"): {
        "operator_delay": N_("Operator delay"),
        "mobile_money": N_("Mobile money prompts"),
        "refund_review": N_("Refund review"),
        "refund_expiry_days": N_("Refund expiry days"),
    },
    N_("Requests and webhooks"): {
        "rate_limit": N_("Rate limit"),
        "concurrency_limit": N_("Concurrency limit"),
        "webhook_http": N_("Webhooks over HTTP"),
        "trusted_proxies": N_("Trusted proxies"),
    },
}
"""The settings of an App in groups, but for its assumptions and its merchant."""

MERCHANT: Mapping[str, str] = {
    "address": N_("Address"),
    "tax_number": N_("Tax number"),
    "email": N_("Email"),
    "phone": N_("Phone"),
    "logo": N_("Logo (data: URI)"),
}
"""The fields of the merchant."""

ASSUMPTIONS: Mapping[str, str] = {
    "search_nothing_found": N_("Search without results"),
    "metadata_values": N_("Metadata values"),
    "renewal_without_method": N_("Renewal without a method"),
    "past_due_periods": N_("Periods while past due"),
    "success_url": N_("Success URL"),
    "anonymous_customer": N_("Anonymous customer"),
    "payment_received": N_("Payment received"),
    "webhook_success": N_("Webhook success"),
    "webhook_retry": N_("Webhook retry"),
    "cors_without_domains": N_("CORS without domains"),
    "unknown_fields": N_("Unknown fields"),
    "error_shape": N_("Shape of errors"),
    "refund_timing": N_("Refund timing"),
}
"""The assumptions."""

HORIZONS: Mapping[str, str] = {
    "P1W": N_("1 week"),
    "P1M": N_("1 month"),
    "P3M": N_("3 months"),
    "P1Y": N_("1 year"),
}
"""How far the future can be played, as ISO 8601 durations."""

COVERAGE: Mapping[str, str] = {
    "operations": N_("Operations"),
    "statuses": N_("Statuses of responses"),
    "fields": N_("Fields of requests"),
    "parameters": N_("Query parameters"),
    "states": N_("States"),
    "moves": N_("Changes of state"),
    "events": N_("Types of event"),
    "errors": N_("Error codes"),
}
"""The groups of the coverage report, in its order."""

FIELDS: Mapping[str, str] = {
    "firstname": N_("First name"),
    "lastname": N_("Last name"),
    "email": N_("Email"),
    "status": N_("Status"),
    "customer": N_("Customer"),
    "unit_amount": N_("Unit amount"),
    "interval": N_("Interval"),
    "current_period_end": N_("Period ends"),
    "invoice_number": N_("Number"),
    "customer_email": N_("Customer’s email"),
    "total": N_("Total"),
    "due_date": N_("Due date"),
    "amount": N_("Amount"),
    "payment_method_type": N_("Payment method type"),
    "type": N_("Type"),
    "transaction": N_("Transaction"),
    "reason": N_("Reason"),
    "number": N_("Number"),
    "mode": N_("Mode"),
    "amount_total": N_("Total"),
    "name": N_("Name"),
    "payment_link_type": N_("Type"),
    "usage_count": N_("Uses"),
    "active": N_("Active"),
    "line1": N_("Street"),
    "city": N_("City"),
    "country": N_("Country"),
    "max_amount": N_("Highest amount"),
    "url": N_("URL"),
    "enabled": N_("Enabled"),
    "event_type": N_("Event"),
    "webhook": N_("Endpoint"),
    "attempt_count": N_("Attempts"),
}
"""The fields that lists show of objects."""

THEMES: Mapping[str, str] = {
    "system": N_("System"),
    "light": N_("Light"),
    "dark": N_("Dark"),
}
"""The themes, the first for those who have not chosen."""

DONE: Mapping[str, str] = {
    "advance": N_("Advanced to {now}: {jobs}, {events}."),
    "freeze": N_("Clock stopped."),
    "run": N_("Clock running."),
    "change": N_("{id} was changed."),
    "answer_payment": N_("The payment is now {status}."),
    "answer_refund": N_("The refund is now {status}."),
    "rewind": N_("Back to before {to}."),
    "retry": N_("Replayed: {status}, the endpoint answered {answered}."),
    "test_webhook": N_("Sent: {status}."),
    "outcome": N_("Arranged: {sentence}."),
    "fault": N_("Arranged: {sentence}."),
    "remove_outcome": N_("Removed."),
    "remove_fault": N_("Removed."),
    "clear_outcomes": N_("All outcomes are removed."),
    "clear_faults": N_("All faults are removed."),
    "save": N_("Saved as {name}."),
    "restore": N_("Restored {name}."),
    "import": N_("Imported as {name}."),
    "delete": N_("The snapshot was deleted."),
    "reset": N_("This App was reset; its clock reads {now}."),
    "record": N_("Recording: what you do from now on becomes a test."),
    "trigger": N_("Triggered {type}."),
    "settings": N_("The settings are changed."),
    "add_card": N_("The card is added."),
    "response": N_("From now on it answers with {status}."),
    "clear_response": N_("From now on it answers with 200."),
}
"""What an action did, by its name; the placeholders are fields of the API's answer."""


OUTCOMES: Mapping[str, str] = {
    "payment failed": N_("the next payment fails"),
    "payment succeeded": N_("the next payment succeeds"),
    "refund failed": N_("the next refund fails"),
    "refund succeeded": N_("the next refund succeeds"),
    "delivery failed": N_("the next delivery fails"),
    "delivery succeeded": N_("the next delivery succeeds"),
}
"""An arranged outcome as a sentence, by operation and result."""

EFFECTS: Mapping[str, str] = {
    "code": N_("the next request gets the error {value}"),
    "status": N_("the next request gets HTTP {value}"),
    "delay_ms": N_("the next request waits {value} ms"),
    "hold_ms": N_("the next request holds its idempotency key for {value} ms"),
    "hang_ms": N_("the next request is done, hangs for {value} ms and gets no response"),
    "drop before": N_("the next request is cut off before anything is done"),
    "drop after": N_("the next request is done, but its response is lost"),
    "garble": N_("the next request gets an unreadable response"),
    "repeat": N_("the next request is done twice at the same moment"),
    "lose": N_("the next delivery is lost"),
    "duplicate": N_("the next delivery arrives again, {value} ×"),
    "delay": N_("the next delivery is late by {value}"),
    "reorder": N_("the next delivery arrives after the one that follows it"),
    "tamper": N_("the next delivery arrives changed"),
    "forge": N_("a forged copy arrives before the next delivery"),
    "late_answer": N_("the next delivery is accepted, but too late"),
    "again": N_("the next delivery arrives again after {value}"),
    "reissue": N_("the next delivery arrives again under another event id"),
    "outage declined": N_("the operator declines every payment"),
    "outage silent": N_("the operator answers no payment"),
}
"""An arranged fault as a sentence, by its effect."""

OFFERED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "requests": (
        {"status": 503},
        {"status": 500},
        {"status": 429},
        {"drop": "before"},
        {"drop": "after"},
        {"garble": True},
        {"delay_ms": 2000},
        {"delay_ms": 30000},
    ),
    "webhooks": (
        {"lose": True},
        {"duplicate": 1},
        {"reorder": True},
        {"delay": "1h"},
        {"tamper": True},
        {"forge": True},
        {"late_answer": True},
        {"reissue": True},
    ),
}
"""The effects that the page of failures offers."""


def sentence(language: Language, arranged: Mapping[str, Any]) -> str:
    """Return the effect of an arranged outcome or fault."""
    if arranged["object"] == "outcome":
        wanted = f"{arranged['operation']} {arranged['result']}"
        return language.gettext(OUTCOMES[wanted])
    return effect(language, arranged["then"])


def effect(language: Language, then: Mapping[str, Any]) -> str:
    """Return the effect of a fault, by its ``then``."""
    name, value = next((name, value) for name, value in then.items() if name not in ("executed", "body") and value)
    said = language.gettext(EFFECTS.get(f"{name} {value}") or EFFECTS[name], value=value)
    return language.gettext("{effect} (after it is done)", effect=said) if then.get("executed") else said


def conditions(language: Language, arranged: Mapping[str, Any]) -> list[str]:
    """Return the scope of an arranged outcome or fault, and how often or when: ids and names of the API, and texts."""
    found = [str(value) for name, value in arranged["match"].items() if value is not None and name != "nth"]
    if nth := arranged["match"].get("nth"):
        found.append(language.gettext("from number {count} on", count=nth))
    times = arranged["times"]
    if times is None and arranged.get("probability") is None:
        return [*found, f"{arranged['starts_at'] or arranged['created_at']} – {arranged['ends_at'] or '…'}"]
    often = language.ngettext("once", "{count} times", times) if times else f"{arranged['probability']:.0%}"
    return [*filter(None, [arranged.get("code")]), *found, often]


# -- errors of forms


MESSAGES: Sequence[str] = (
    N_("Invalid fields: {fields}."),
    N_("is required"),
    N_("unknown field"),
    N_("must be a string"),
    N_("must be an integer"),
    N_("must be a number"),
    N_("must be true or false"),
    N_("must be an object"),
    N_("must be an array"),
    N_("must be one of {values}"),
    N_("must have at least {number} characters"),
    N_("must have at most {number} characters"),
    N_("must be at least {number}"),
    N_("must be at most {number}"),
    N_("comes to {amount}; must be at least {number}"),
    N_("comes to {amount}; must be at most {number}"),
    N_("must have at least {number} entries"),
    N_("must have at most {number} entries"),
    N_("must be of letters, digits, '.', '_' and '-', and not '.' or '..'"),
    N_("must be of letters, digits, '_' and '-'"),
    N_("must be of printable ASCII characters"),
    N_("must be a card number of 12 to 19 digits"),
    N_("must be 3 or 4 digits"),
    N_("must be 4 to 6 digits"),
    N_("must be a status such as 404 or 4xx"),
    N_("must be ID.FIELD=VALUE"),
    N_("must not repeat an entry"),
    N_("must not be blank"),
    N_("must be an ISO 4217 code in upper case"),
    N_("must be an ISO 3166-1 alpha-2 code in upper case"),
    N_("must be an http:// or https:// URL"),
    N_("must be an email address of at most 254 characters, such as name@example.com"),
    N_("must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes"),
    N_("must be a code of the error model"),
    N_("must hold just one of {values}"),
    N_("does not suit this fault; use {values}"),
    N_("the service has no {name} {value}"),
    N_("is before the clock's present instant, {instant}; the clock never goes back"),
    N_("is after the calendar's end, {instant}"),
    N_("is too long ago; its changes are no longer in the journal"),
    N_("There is no request {id} in the journal."),
    N_("There is no such resource."),
    N_("There is no subscription plan {id}."),
    N_("There is no address {id}."),
    N_("There is no object {id}."),
    N_("There is no email {id}."),
    N_("must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z; a + in a URL is written %2B"),
    N_("must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z"),
    N_("unknown parameter; must be one of {values}"),
    N_("unknown parameter"),
    N_("must have at least {number} keys"),
    N_("must have at most {number} keys"),
    N_("keys have at most {number} characters"),
    N_("keys have at least 1 character"),
    N_("must be a duration such as 31d, 2h, 90s, P1M or PT90S"),
    N_("A payment of this {object} is under way."),
    N_("This payment link is {status}: it takes no payment."),
    N_("A phone has a number in E.164, such as +24177123456."),
    N_("A snapshot has a name of 1 to 64 of A-Z a-z 0-9 . _ -, which is not . or .."),
    N_("An inbox has a name of 1 to 64 of A-Z a-z 0-9 . _ ~ -."),
    N_("Idempotency-Key: must have 1 to 255 printable ASCII characters"),
    N_("Only a sandbox can be reset; this is a production key."),
    N_("The Starter plan has no security profiles."),
    N_("The body is larger than {number} bytes."),
    N_("The body must be a JSON object: {reason}."),
    N_("The query has more than {number} parameters."),
    N_("The sandbox is stopping."),
    N_("The token does not open this invoice; take pdf_url as it is."),
    N_("There is more than one Authorization header."),
    N_("There is no advance {id}."),
    N_("There is no snapshot {name}."),
    N_("There is no {path} here. Did you mean {other}?"),
    N_("There is no {path} here."),
    N_("There is nothing at {path}; the service is below /v1/."),
    N_("{path} is not found. Add the trailing slash: {other}"),
    N_("{path} is not found. Remove the trailing slash: {other}"),
    N_("No such prompt waits on {phone}."),
    N_("No prompt waits on {phone}."),
    N_("{number} advances are under way already."),
    N_("cannot be changed"),
    N_("cannot be given beside a line with a plan"),
    N_("cannot be given beside a plan"),
    N_("cannot be given beside a product whose price is fixed"),
    N_("cannot be given beside a product, whose name is billed"),
    N_("cannot be given beside customer"),
    N_("does not belong to a method of type {type}"),
    N_("goes with the answer approve only"),
    N_("goes with the mode subscription only"),
    N_("goes with the result failed only"),
    N_("goes with the validity type limited only"),
    N_("goes without a probability"),
    N_("is a link-local or cloud metadata address, which is never called"),
    N_("is before the clock's present instant, {instant}"),
    N_("is before the request of since"),
    N_("is created by the trigger; give its fields, or leave it out"),
    N_("is no override of {type} here; there are: {names}"),
    N_("is not completed, or nothing of it is left"),
    N_("is not sold through this link"),
    N_("is not the buyer's to choose here"),
    N_("is required beside a product whose price is free"),
    N_("is the email of another customer"),
    N_("is the sku of {product} already"),
    N_("is the {field} of another {kind}"),
    N_("it is {status}, and no transaction comes of it"),
    N_("keys are known from the start of the server; leave them out"),
    N_("must be 1 on a line with a plan"),
    N_("must be an App's name: 1 to 64 of A-Z a-z 0-9 _ -"),
    N_("must be an IBAN: a country, two check digits, and the account's number"),
    N_("must be an active method of this customer"),
    N_("must be an integer from {least} to {most}"),
    N_("must be in the future"),
    N_("must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"),
    N_('must be types of event, or ["*"] alone for all'),
    N_("must equal the plan's, {value}"),
    N_("must equal the product's, {value}"),
    N_("must have an email, to which renewals are notified"),
    N_("must have at most {number} keys; {left} would be left"),
    N_("must have no user name or password in it; they would show up in logs"),
    N_("must name at least one product"),
    N_("must not be empty but in setup mode"),
    N_("must not be in the past"),
    N_("needs a status whose responses have a body"),
    N_("needs one of {names}"),
    N_("needs a duplicate"),
    N_("only one line may hold a plan"),
    N_("the App does not cover {country}; it covers {countries}"),
    N_("the card has expired"),
    N_("the check digit (Luhn) is wrong"),
    N_("the check digits or the length are wrong"),
    N_("the ping was not answered with a 2xx: {reason}"),
    N_("there are only {number} requests in the journal"),
    N_("there are {number} snapshots; delete one first"),
    N_("this method belongs to another customer"),
    N_("this method is {status}"),
    N_("this plan is deactivated"),
    N_("this product is archived"),
    N_("{code} is no error code"),
    N_("{currency} is not enabled"),
    N_("{type} is not allowed here"),
    N_("{plan} charges {currency}, not {other}"),
    N_("{product} is sold in {currency}, not in {other}"),
    N_("there is no field {field}: the fields are {names}"),
    N_("there is no field {field}: there are none"),
    N_("{type} does not come of this {object}; it is {status}, for {code}"),
    N_("{type} does not come of this {object}; it is {status}"),
    N_("must be an https:// URL"),
    N_("must be an https:// URL; http:// is for loopback hosts only"),
    N_("there is no field {field}: {present}"),
    N_("{type} does not come of this {object}; {present}"),
    N_("give a product, or a description with a unit_amount"),
    N_("is required on a line without a product"),
    N_("is required: renewals are notified to it"),
    N_("is required: the method is saved for a customer"),
    N_("is required: the buyer says how much"),
    N_("is required: the link sells several"),
    N_("is required: the link collects it"),
    N_("is required but in setup mode"),
    N_("must be a date YYYY-MM-DD"),
    N_("must be a bare domain name: no protocol, port, path or wildcard"),
    N_("must be an IPv4 address or a CIDR range without host bits"),
)
"""The messages of validation, and those that an error has in place of its default one; placeholders for what varies."""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the pattern of each message, those of the table of errors included."""
    messages = (*MESSAGES, *(row.message for row in ERRORS.values()))
    return {
        message: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(message)), re.DOTALL)
        for message in messages
    }


def translated(language: Language, message: str, fields: Sequence[str] = ()) -> str:
    """Return the message of an API error, in which ``field: text`` stands for each wrong field; unknown texts stay."""
    names = "|".join(map(re.escape, fields))
    parts = re.split(rf"(?:^|\s)({names}): ", message) if names else [message]
    texts = [_text(language, parts[0])] if parts[0] else []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        texts.append(language.gettext("{field}: {text}", field=name, text=_text(language, text)))
    return " ".join(texts)


def _text(language: Language, text: str) -> str:
    """Return one text, of which several for one field are separated by commas."""
    for message, pattern in _patterns().items():
        if found := pattern.fullmatch(text):
            return language.gettext(message, **found.groupdict())
    return text
