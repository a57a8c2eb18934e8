"""Labels: the messages that the console looks up by a name that the API or an address gives."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.translatable import N_
from emulator.resources.registry import REGISTRY

PAGES: Mapping[str, str] = {
    "overview": N_("Overview"),
    "schedule": N_("Timeline"),
    "requests": N_("Requests"),
    "events": N_("Events"),
    "webhooks": N_("Webhooks"),
    "emails": N_("Emails"),
    "inbox": N_("Inboxes"),
    "audit": N_("Audit"),
    "coverage": N_("Coverage"),
    "ledger": N_("Ledger"),
    "over-time": N_("Over time"),
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

_RECORDS: tuple[type[Record], ...] = (*REGISTRY.kinds, Event)
_NAMES = {record.kind: record.names for record in _RECORDS if record.names is not None}

KINDS: Mapping[str, str] = {kind: several for kind, (_, several) in _NAMES.items()}
"""The kinds of object, as headings of lists."""

KIND_NAMES: Mapping[str, str] = {kind: one for kind, (one, _) in _NAMES.items()}
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

SETTINGS: Mapping[str, str] = {
    "main_currency": N_("Main currency"),
    "currencies": N_("Currencies"),
    "countries": N_("Countries"),
    "pricing_plan": N_("Pricing plan"),
    "commission_rate": N_("Commission rate"),
    "tax_rate": N_("Tax rate"),
    "minimum_amount": N_("Minimum amount"),
    "maximum_amount": N_("Maximum amount"),
    "rate_limit": N_("Rate limit"),
    "concurrency_limit": N_("Concurrency limit"),
    "renewal_retry_days": N_("Renewal retry days"),
    "reactivation_days": N_("Reactivation days"),
    "operator_delay": N_("Operator delay"),
    "mobile_money": N_("Mobile money prompts"),
    "refund_review": N_("Refund review"),
    "refund_expiry_days": N_("Refund expiry days"),
    "webhook_http": N_("Webhooks over HTTP"),
    "trusted_proxies": N_("Trusted proxies"),
    "merchant": N_("Merchant"),
}
"""The settings of an App, but for its assumptions."""

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
    "advance": N_("The clock moved on: {jobs}, {events}."),
    "freeze": N_("The clock stands still."),
    "run": N_("The clock runs."),
    "change": N_("{id} was changed."),
    "answer_payment": N_("The payment is now {status}."),
    "answer_refund": N_("The refund is now {status}."),
    "rewind": N_("Back to before {to}."),
    "retry": N_("Retried: {status}."),
    "test_webhook": N_("Sent: {status}."),
    "outcome": N_("Added: the next {operation} is {result}."),
    "fault": N_("The fault is active."),
    "clear_outcomes": N_("All outcomes are cleared."),
    "clear_faults": N_("All faults are cleared."),
    "save": N_("Saved as {name}."),
    "restore": N_("Restored {name}."),
    "import": N_("Imported as {name}."),
    "delete": N_("The snapshot was deleted."),
    "reset": N_("The world was reset; its clock reads {now}."),
    "record": N_("Recording: what you do from now on becomes a test."),
    "trigger": N_("Triggered {type}."),
    "settings": N_("The settings are changed."),
    "add_card": N_("The card is added."),
    "response": N_("From now on it answers with {status}."),
    "clear_response": N_("From now on it answers with 200."),
}
"""What an action did, by its name; the placeholders are fields of the API's answer."""
