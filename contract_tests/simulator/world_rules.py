"""The truths of a world's objects about each other, after any history: sums, all only once.

The rules read rows by their kind: of a snapshot that was exported, or of a world in this process.
They compute nothing as the product does. Each clause notes where it had something to decide: a rule
that never met such a row would prove nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import Any

ARRIVED = ("completed", "refunded", "disputed")
"""The statuses of a deposit whose money has arrived."""


REFERENCES = ("payment_method", "subscription", "invoice", "transaction", "payment_intent")
"""Fields that hold the id of an object of their name."""

CLAUSES = frozenset(
    {
        "money held",
        "transaction of a succeeded payment",
        "transaction of a processing payment",
        "transaction of a canceled payment",
        "fee",
        "commission",
        "deposit refunded in part",
        "deposit refunded whole",
        "receipt",
        "several refunds of a deposit",
        "refund that gives nothing back",
        "dispute lost",
        "dispute lost after a refund",
        "refund that a lost dispute ended",
        "discount",
        "link used up",
        "default method",
        "trial",
        "canceled payment",
        "deposits of a customer in another currency",
        "lost deposit of a customer",
        "invoice number",
        "tax",
        "invoice paid by a payment",
        "invoice whose money has not arrived",
        "session paid",
        "session complete without a charge",
        "session with a payment whose money has not arrived",
        "subscription past due",
        "renewal planned",
        "creation of a customer",
        "creation of a subscription",
        "money returned in the ledger",
        "invoice paid manually",
        "two currencies",
    }
)
"""What the rules decide about."""


class Rows:
    """A world's rows by kind, oldest first; ``assumptions`` are those of its settings.

    ``met`` are the clauses that had something to decide.
    """

    def __init__(
        self, kinds: Mapping[str, Iterable[Any]], now: str, assumptions: Mapping[str, str]
    ) -> None:
        self.kinds = {kind: list(rows) for kind, rows in kinds.items()}
        self.now, self.assumptions = now, assumptions
        self.met: set[str] = set()

    def meet(self, clause: str, is_met: object = True) -> None:
        """Note whether a row is one that a clause decides about."""
        if clause not in CLAUSES:
            raise KeyError(clause)
        if is_met:
            self.met.add(clause)

    def all(self, kind: str, **fields: Any) -> list[Any]:
        rows = self.kinds.get(kind, ())
        return [row for row in rows if all(row[name] == value for name, value in fields.items())]

    def by(self, kind: str, field: str, **fields: Any) -> dict[Any, list[Any]]:
        groups: dict[Any, list[Any]] = defaultdict(list)
        for row in self.all(kind, **fields):
            groups[row[field]].append(row)
        return groups


def exported(snapshot: Mapping[str, Any]) -> Rows:
    (head,) = snapshot["worlds"].values()
    kinds = {
        name.rpartition("/")[2]: table.values() for name, table in snapshot.items() if "/" in name
    }
    (settings,) = kinds["settings"]
    return Rows(kinds, head["now"], settings["assumptions"])


def flags(rows: Rows) -> list[str]:
    rules = (intents, deposits, refunds, buyers, bounds, instants, customers, invoices, sessions)
    others = (subscriptions, events, jobs, references)
    return [flag for rule in (*rules, *others) for flag in rule(rows)]


def per_cent(amount: int, rate: float) -> int:
    """Return a rate of an amount in minor units, half up."""
    return int((amount * Decimal(str(rate)) / 100).quantize(Decimal(1), ROUND_HALF_UP))


def intents(rows: Rows) -> Iterator[str]:
    """No more is captured than was authorized, and a transaction stands as its payment does."""
    transactions = {
        transaction["id"]: transaction["status"] for transaction in rows.all("transaction")
    }
    # One that failed after its payment succeeded is a dispute that was lost (B-56).
    standing = {
        "succeeded": ("approved", "failed", *ARRIVED),
        "processing": ("pending",),
        "canceled": ("failed", "canceled"),
    }
    for intent in rows.all("payment_intent"):
        id, status = intent["id"], intent["status"]
        held, received = intent["amount_capturable"], intent["amount_received"]
        if held + received > intent["amount"] or (received > 0, held > 0) != (
            status == "succeeded",
            status == "requires_capture",
        ):
            yield f"{id}: {status} with {held} held and {received} received of {intent['amount']}"
        transaction = transactions.get(intent["transaction"])
        rows.meet("money held", held)
        if transaction and status in standing:
            rows.meet(f"transaction of a {status} payment")
        if (transaction or status == "succeeded") and transaction not in standing.get(status, ()):
            yield f"{id}: {status}, and its transaction is {transaction}"


def refunds(rows: Rows) -> Iterator[str]:
    """No more goes back than came, and each refund that succeeded has its transaction."""
    amounts = {transaction["id"]: transaction["amount"] for transaction in rows.all("transaction")}
    for transaction, own in rows.by("refund", "transaction").items():
        taken = sum(
            transaction["amount"]
            for transaction in own
            if transaction["status"] not in ("failed", "cancelled", "expired")
        )
        rows.meet("several refunds of a deposit", len(own) > 1)
        rows.meet("refund that gives nothing back", taken < sum(row["amount"] for row in own))
        if taken > amounts[transaction]:
            yield f"{transaction}: refunds of {taken}, and its amount is {amounts[transaction]}"
    returned = Counter(
        transaction["amount"] for transaction in rows.all("transaction", type="refund")
    )
    succeeded = Counter(refund["amount"] for refund in rows.all("refund", status="succeeded"))
    if returned != succeeded:
        yield f"transactions of refunds: {returned}, and refunds that succeeded: {succeeded}"


def lost(rows: Rows) -> set[str]:
    """Return the ids of the deposits whose money a dispute took back after it arrived (B-56)."""
    succeeded = {intent["id"] for intent in rows.all("payment_intent", status="succeeded")}
    failed = rows.all("transaction", type="deposit", status="failed")
    return {
        transaction["id"] for transaction in failed if transaction["payment_intent"] in succeeded
    }


def buyers(rows: Rows) -> Iterator[str]:
    """No buyer has more back than was paid, by refunds and by disputes that were lost (B-56)."""
    refunds, gone = rows.by("refund", "transaction"), lost(rows)
    ending = {job["about"] for job in rows.all("job", name="refund.lose_dispute")}
    for deposit in rows.all("transaction", type="deposit"):
        id, paid = (
            deposit["id"],
            deposit["amount"] if deposit["status"] in ARRIVED or deposit["id"] in gone else 0,
        )
        returned = sum(
            refund["amount"] for refund in refunds[id] if refund["status"] == "succeeded"
        )
        disputed = deposit["amount"] - deposit["amount_refunded"] if id in gone else 0
        if returned + disputed > paid:
            yield f"{id}: {returned} returned and {disputed} lost of {paid} paid"
        coming = [refund for refund in refunds[id] if refund["status"] in ("pending", "processing")]
        rows.meet("dispute lost", id in gone)
        rows.meet("dispute lost after a refund", id in gone and returned)
        ended = [refund for refund in refunds[id] if refund["failure_reason"] == "dispute_lost"]
        rows.meet("refund that a lost dispute ended", id in gone and ended)
        if id in gone and any(refund["id"] not in ending for refund in coming):
            yield f"{id}: lost, and a refund of it is under way"


def bounds(rows: Rows) -> Iterator[str]:
    """A discount is at most the subtotal, a link is used as often as it may be, and one method is
    the default.
    """
    for invoice in rows.all("invoice"):
        rows.meet("discount", invoice["discount_amount"])
        if not 0 <= invoice["discount_amount"] <= invoice["subtotal"]:
            yield (
                f"{invoice['id']}: a discount of {invoice['discount_amount']}"
                f" on {invoice['subtotal']}"
            )
    for link in rows.all("payment_link"):
        rows.meet("link used up", link["usage_count"] == link["max_usage"])
        if link["max_usage"] is not None and link["usage_count"] > link["max_usage"]:
            yield f"{link['id']}: used {link['usage_count']} times of {link['max_usage']}"
    for customer, defaults in rows.by("payment_method", "customer", is_default=True).items():
        rows.meet("default method")
        if len(defaults) > 1:
            yield f"{customer}: {len(defaults)} default methods"


def instants(rows: Rows) -> Iterator[str]:
    """A trial has an end, and what is canceled an instant at which it was."""
    for subscription in rows.all("subscription", status="trialing"):
        rows.meet("trial")
        if subscription["trial_end"] is None:
            yield f"{subscription['id']}: in a trial without an end"
    for intent in rows.all("payment_intent", status="canceled"):
        rows.meet("canceled payment")
        if intent["canceled_at"] is None:
            yield f"{intent['id']}: canceled at no time"


def deposits(rows: Rows) -> Iterator[str]:
    """A payment has one transaction with fee and refunds; a completed one has one receipt."""
    refunds = rows.by("refund", "transaction", status="succeeded")
    receipts = rows.by("receipt", "transaction")
    made = rows.by("transaction", "payment_intent", type="deposit")
    for intent in rows.all("payment_intent", status="succeeded"):
        if [paid_in(receipt) for receipt in made[intent["id"]]] != [intent["amount_received"]]:
            yield (
                f"{intent['id']} received {intent['amount_received']}, and has"
                f" {len(made[intent['id']])} transactions"
            )
    for deposit in rows.all("transaction", type="deposit"):
        id, amount = deposit["id"], deposit["amount"]
        returned = sum(refund["amount"] for refund in refunds[id])
        rows.meet("fee", deposit["fee"])
        rows.meet("commission", deposit["commission"])
        rows.meet("deposit refunded in part", 0 < returned < amount)
        rows.meet("deposit refunded whole", returned == amount)
        rows.meet("receipt", deposit["status"] == "completed")
        if deposit["fee"] != per_cent(amount, deposit["fee_rate"]):
            yield f"{id}: fee {deposit['fee']} of {amount}"
        if deposit["net_amount"] != amount - deposit["fee"] - deposit["commission"]:
            yield f"{id}: net amount {deposit['net_amount']} of {amount}"
        if deposit["amount_refunded"] != returned:
            yield f"{id}: refunded {deposit['amount_refunded']}, and the refunds are {returned}"
        if (deposit["status"] == "refunded") != (returned == amount):
            yield f"{id}: {deposit['status']} with {returned} of {amount} refunded"
        if deposit["status"] == "completed" and [receipt["amount"] for receipt in receipts[id]] != [
            amount
        ]:
            yield f"{id} has {len(receipts[id])} receipts"


def paid_in(deposit: Any) -> int:
    """Return what the buyer paid: the amount less the sum that a tester added to it (B-89)."""
    return int(deposit["amount"] - deposit.get("set_directly", 0))


def customers(rows: Rows) -> Iterator[str]:
    """A customer has spent what arrived and did not go back, in the currency of the customer.

    A deposit that was lost by a dispute stays in the count (B-56).
    """
    own, gone = rows.by("transaction", "customer", type="deposit"), lost(rows)
    for customer in rows.all("customer"):
        arrived = [
            transaction for transaction in own[customer["id"]] if transaction["status"] in ARRIVED
        ]
        counted = [
            transaction
            for transaction in arrived
            if transaction["currency"] == customer["currency"]
        ]
        number = len(arrived) + sum(
            transaction["id"] in gone for transaction in own[customer["id"]]
        )
        expected = (
            sum(transaction["amount"] - transaction["amount_refunded"] for transaction in counted),
            number,
        )
        rows.meet("deposits of a customer in another currency", len(counted) < len(arrived))
        rows.meet("lost deposit of a customer", number > len(arrived))
        if (customer["total_spent"], customer["transactions_count"]) != expected:
            yield (
                f"{customer['id']}: spent {customer['total_spent']}, and its transactions are"
                f" {expected}"
            )


def invoices(rows: Rows) -> Iterator[str]:
    """An invoice is paid once, its amounts add up, and its number is given once."""
    transactions = {transaction["id"]: transaction for transaction in rows.all("transaction")}
    paying = rows.by("payment_intent", "invoice", status="succeeded")
    numbers = [
        invoice["invoice_number"] for invoice in rows.all("invoice") if invoice["invoice_number"]
    ]
    rows.meet("invoice number", len(numbers) > 1)
    if len(set(numbers)) != len(numbers):
        yield "an invoice number was given twice"
    for invoice in rows.all("invoice"):
        id, subtotal = invoice["id"], sum(line["amount"] for line in invoice["line_items"])
        rows.meet("tax", invoice["tax_amount"])
        if len(paying[id]) > 1:
            yield f"{id}: paid {len(paying[id])} times"
        if (
            invoice["subtotal"] != subtotal
            or invoice["total"] != subtotal - invoice["discount_amount"] + invoice["tax_amount"]
        ):
            yield f"{id}: total {invoice['total']} of lines of {subtotal}"
        if invoice["amount_paid"] + invoice["amount_remaining"] != invoice["total"]:
            yield (
                f"{id}: {invoice['amount_paid']} paid and {invoice['amount_remaining']} remaining"
                f" of {invoice['total']}"
            )
        for intent in paying[id]:
            settled = transactions[intent["transaction"]]["status"] in ARRIVED
            if rows.assumptions.get("payment_received") == "transaction" and not settled:
                rows.meet("invoice whose money has not arrived")
                continue
            rows.meet("invoice paid by a payment")
            payer = (
                invoice.get("payment_intent", intent["id"]),
                invoice.get("transaction", intent["transaction"]),
            )
            if (invoice["status"], invoice["amount_paid"]) != ("paid", intent["amount_received"]):
                yield (
                    f"{id}: {invoice['status']} with {invoice['amount_paid']} paid"
                    f" by {intent['id']}"
                )
            if payer != (intent["id"], intent["transaction"]):
                yield f"{id}: paid by {payer}, and its payment is {intent['id']}"


def sessions(rows: Rows) -> Iterator[str]:
    """A session is paid once, and complete only when it is."""
    paying = rows.by("payment_intent", "checkout_session", status="succeeded")
    for session in rows.all("checkout_session"):
        times = len(paying[session["id"]])
        is_complete = session["status"] == "complete"
        rows.meet("session paid", is_complete and times)
        rows.meet("session complete without a charge", is_complete and not times)
        rows.meet("session with a payment whose money has not arrived", times and not is_complete)
        if times > 1:
            yield f"{session['id']}: paid {times} times"
        if is_complete and session["amount_total"] and not times:
            yield f"{session['id']}: complete without a payment"
        if times and session["status"] not in ("complete", "processing"):
            yield f"{session['id']}: {session['status']} with a payment"


def subscriptions(rows: Rows) -> Iterator[str]:
    """A past due subscription owes money; its periods end once, in the future."""
    owing = {invoice["subscription"] for invoice in rows.all("invoice", status="open")}
    planned = rows.by("job", "about", name="subscription.renew")
    for subscription in rows.all("subscription"):
        if subscription["status"] == "past_due" and subscription["id"] not in owing:
            yield f"{subscription['id']}: past due, and nothing is owed"
        due = [job["due"] for job in planned[subscription["id"]]]
        rows.meet("subscription past due", subscription["status"] == "past_due")
        rows.meet("renewal planned", subscription["status"] == "active")
        if len(due) > 1 or (
            subscription["status"] == "active" and due != [subscription["current_period_end"]]
        ):
            yield (
                f"{subscription['id']}: its period ends at {subscription['current_period_end']},"
                f" and renewals are due at {due}"
            )


def events(rows: Rows) -> Iterator[str]:
    counts = Counter((event["type"], event["data"]["object"]["id"]) for event in rows.all("event"))
    for kind in ("customer", "subscription"):
        for row in rows.all(kind):
            rows.meet(f"creation of a {kind}")
            if (times := counts[f"{kind}.created", row["id"]]) != 1:
                yield f"{kind}.created of {row['id']} was emitted {times} times"


def jobs(rows: Rows) -> Iterator[str]:
    yield from (f"failed: {job['name']}: {job}" for job in rows.all("failed_job"))


def references(rows: Rows) -> Iterator[str]:
    """A row names what there is: only intents keep a method that was removed (B-32, B-52)."""
    for kind, name in product(rows.kinds, REFERENCES):
        ids = {row["id"] for row in rows.all(name)}
        for row in rows.all(kind) if (kind, name) != ("payment_intent", "payment_method") else ():
            if isinstance(row.get(name), str) and row[name] not in ids:
                yield f"{row['id']}: its {name} {row[name]} does not exist"


def ledger(rows: Rows, books: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """The books of each currency add up, and say of each side what the transactions say.

    Of what did not arrive, or was lost by a dispute, the part that was refunded had come in and has
    gone out.
    """
    expected: dict[tuple[str, str], int] = defaultdict(int)
    for transaction in rows.all("transaction"):
        currency = transaction["currency"]
        if transaction["type"] == "refund":
            rows.meet("money returned in the ledger")
            expected["merchant", currency] -= transaction["amount"]
            expected["buyers", currency] += transaction["amount"]
        elif transaction["status"] in ARRIVED:
            expected["merchant", currency] += transaction["net_amount"]
            expected["buyers", currency] -= paid_in(transaction)
            expected["set_directly", currency] += paid_in(transaction) - transaction["amount"]
        else:
            expected["merchant", currency] += transaction["amount_refunded"]
            expected["buyers", currency] -= transaction["amount_refunded"]
    for invoice in rows.all("invoice", paid_manually=True):
        rows.meet("invoice paid manually", invoice["amount_paid"])
        expected["buyers", invoice["currency"]] -= invoice["amount_paid"]
    rows.meet("two currencies", len(books) > 1)
    for currency, accounts in books.items():
        if sum(accounts.values()):
            yield f"the books of {currency} do not add up: {accounts}"
        for account in ("merchant", "buyers", "set_directly"):
            if accounts.get(account, 0) != expected[account, currency]:
                wanted = expected[account, currency]
                yield f"{account}: {accounts.get(account, 0)} {currency}, not {wanted}"
