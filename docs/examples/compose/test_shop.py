"""The shop's tests, on the standard library: they order at the shop and pay as a buyer would."""

import json
import os
import unittest
from urllib.request import Request, urlopen

PAYMENTS, KEY, SHOP = os.environ["PAYMENTS_URL"], os.environ["PAYMENTS_KEY"], os.environ["SHOP_URL"]


def post(url, body):
    """Return the JSON of the answer to a POST."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as response:
        return json.load(response)


def orders():
    """Return the status of each order."""
    with urlopen(f"{SHOP}/orders", timeout=30) as response:
        return json.load(response)


class ShopTest(unittest.TestCase):
    """The clock is frozen, so a payment is answered when its webhooks have their outcome."""

    def setUp(self):
        self.order = post(f"{SHOP}/orders", {})["id"]

    def pay(self, body):
        return post(f"{PAYMENTS}/_emulator/checkout-sessions/{self.order}/pay", body)

    def test_an_order_that_is_paid_is_paid_in_the_shop(self):
        self.assertEqual(orders()[self.order], "open")
        self.pay({})
        self.assertEqual(orders()[self.order], "paid")

    def test_an_order_whose_payment_fails_stays_open(self):
        intent = self.pay({"method": {"type": "mobile_money", "phone": "+24177000001"}})
        self.assertEqual(intent["last_error"]["code"], "INSUFFICIENT_FUNDS")
        self.assertEqual(orders()[self.order], "open")
