"""A shop that sells subscriptions. It keeps their last states and reads again on every event."""

import hashlib
import hmac
import json
import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server

PLANS = {
    "basic": {"amount": 2000},
    "premium": {"amount": 5000},
    "trial": {"amount": 5000, "trial_period_days": 14},
}
"""What a month costs, in francs."""

GRACE = timedelta(days=3)
"""How long an account keeps access after a renewal that failed."""

EVENTS = (
    "checkout.session.completed",
    "invoice.paid",
    "subscription.payment_failed",
    "subscription.trial_will_end",
    "subscription.canceled",
)

PAUSES = (1, 2, 4)
"""Seconds before each further attempt at a request."""


class Shop:
    """``url`` and ``key`` belong to the payments service, ``secret`` to the webhook endpoint."""

    def __init__(self, url, key, secret, now=lambda: datetime.now(UTC)):
        self.url, self.key, self.secret, self.now = url, key, secret, now
        self.pauses = PAUSES
        self.plans = {}
        self.sessions = {}  # a checkout session that is not known to be complete: its account
        self.customers = {}  # an account: its customer at the service
        self.subscriptions = {}  # an account: its subscription as it was read last
        self.reminders = set()  # accounts to be told that their trial ends

    # -- what the shop sells, and what its buttons do

    def open(self):
        """Make the plans, once: the same key makes the same plan."""
        for name, own in PLANS.items():
            terms = {"name": name, "currency": "XAF", "interval": "month", **own}
            self.plans[name] = self._call(
                "POST", "/v1/subscription-plans/", terms, key=f"plan-{name}"
            )["id"]

    def subscribe(self, account, plan):
        """Begin a subscription; where the buyer pays it. ``account`` is an address for emails."""
        session = self._call(
            "POST",
            "/v1/checkout-sessions/",
            {
                "mode": "subscription",
                "currency": "XAF",
                "success_url": "https://shop.example.com/thanks",
                "customer_email": account,
                "line_items": [{"plan": self.plans[plan]}],
            },
        )
        self.sessions[session["id"]] = account
        return session["url"]

    def has_access(self, account):
        """Return whether the account has access."""
        subscription = self.subscriptions.get(account)
        if subscription is None:
            return False
        now, paid_until = self.now(), datetime.fromisoformat(subscription["current_period_end"])
        if subscription["status"] in ("past_due", "unpaid"):  # the current period is the unpaid one
            grace = GRACE if subscription["status"] == "past_due" else timedelta()
            return now < datetime.fromisoformat(subscription["current_period_start"]) + grace
        return subscription["status"] in ("trialing", "active") and now < paid_until + GRACE

    def change_plan(self, account, plan):
        """Move to another plan; it counts from the next period on."""
        self._change(account, {"plan": self.plans[plan]})

    def cancel(self, account):
        """End the subscription with the period that is paid."""
        self._change(account, {"cancel_at_period_end": True})

    def keep(self, account):
        """Take back a cancellation before the period ends."""
        self._change(account, {"cancel_at_period_end": False})

    def pay_with(self, account, phone):
        """Charge another phone from now on."""
        # Only a sandbox has this: a real buyer saves a method in a checkout session in setup mode.
        method = {"customer": self.customers[account], "type": "mobile_money", "phone": phone}
        made = self._call("POST", "/v1/payment-methods/", method, key=f"phone-{account}-{phone}")
        self._change(account, {"payment_method": made["id"]})

    def pay_now(self, account):
        """Return the page on which to pay the unpaid invoice now; None if all are paid."""
        # An uncollectible invoice, whose last retry failed, can still be paid on its page, which
        # makes the subscription active. Don't call POST /v1/invoices/{id}/pay/: it records money
        # that came another way.
        invoices = self._invoices(account, "open,uncollectible")
        return next((invoice["payment_url"] for invoice in invoices), None)

    def refund(self, account):
        """Pay back the last payment. A second click on the button pays nothing more."""
        invoice = self._invoices(account, "paid")[0]
        return self._call(
            "POST",
            "/v1/refunds/",
            {"transaction": invoice["transaction"]},
            key=f"refund-{invoice['id']}",
        )

    def reconcile(self):
        """Every night, look up changes without a webhook: ``unpaid`` has no event."""
        for session in [*self.sessions]:
            self._look_at_session(session)
        for account in self.customers:
            self._look_up(account)

    # -- what the service says

    def _look_at_session(self, id):
        session = self._call("GET", f"/v1/checkout-sessions/{id}/")
        if session["status"] == "complete":
            account = self.sessions.pop(id, None) or session["customer_email"]
            self.customers[account] = session["customer"]
            self._look_up(account)

    def _look_up(self, account):
        """Read the subscription: events may come twice, late, or in another order."""
        found = self._call("GET", f"/v1/subscriptions/?customer={self.customers[account]}")["data"]
        if found:
            self.subscriptions[account] = found[0]

    def _change(self, account, fields):
        id = self.subscriptions[account]["id"]
        self.subscriptions[account] = self._call("PATCH", f"/v1/subscriptions/{id}/", fields)

    def _invoices(self, account, status):
        """Return the invoices with this status, or one of several, the newest first."""
        id = self.subscriptions[account]["id"]
        return self._call("GET", f"/v1/invoices/?subscription={id}&status={status}")["data"]

    def __call__(self, environ, start_response):
        """Receive webhooks, as a WSGI application."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        expected = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        # Bytes: the comparison of texts fails on letters that only a forger sends.
        is_genuine = hmac.compare_digest(
            environ.get("HTTP_SERVICE_SIGNATURE", "").encode(), expected.encode()
        )
        if is_genuine:
            event = json.loads(body)
            self._handle(event["type"], event["data"]["object"])
        start_response(
            "200 OK" if is_genuine else "401 Unauthorized", [("Content-Type", "application/json")]
        )
        return [b"{}"]

    def _handle(self, type, thing):
        if type == "checkout.session.completed" and thing["id"] in self.sessions:
            self._look_at_session(thing["id"])
            return
        customer = thing.get("customer")
        account = next((name for name, id in self.customers.items() if id == customer), None)
        if account:
            self._look_up(account)
            if type == "subscription.trial_will_end":
                self.reminders.add(account)

    def _call(self, method, path, body=None, key=None):
        """Return the response to a request; send the same one again if its outcome is unknown."""
        key = key or str(uuid.uuid4())
        for pause in self.pauses:
            try:
                return self._send(method, path, body, key)
            except HTTPError as error:
                if error.code < 500 and error.code != 429:
                    raise
                time.sleep(float(error.headers.get("Retry-After", pause)))
            except (OSError, HTTPException, ValueError):
                time.sleep(pause)
        return self._send(method, path, body, key)

    def _send(self, method, path, body, key):
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        data = None if body is None else json.dumps(body).encode()
        try:
            with urlopen(
                Request(self.url + path, data, headers, method=method), timeout=10
            ) as response:
                return json.load(response)
        except HTTPError as error:
            error.close()
            raise


if __name__ == "__main__":
    shop = Shop(
        os.environ["PAYMENTS_URL"],
        os.environ["PAYMENTS_KEY"],
        os.environ["PAYMENTS_WEBHOOK_SECRET"],
    )
    shop.open()
    make_server("127.0.0.1", 8000, shop).serve_forever()
