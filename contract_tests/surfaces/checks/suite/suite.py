"""A suite that is a command: refunds. ``amount`` checks the amount, ``waits`` waits for it."""

import json
import os
import sys
import time
from urllib.request import Request, urlopen


def post(path, body):
    headers = {
        "Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_KEY']}",
        "Content-Type": "application/json",
    }
    request = Request(
        os.environ["PAYMENTS_EMULATOR_URL"] + path, json.dumps(body).encode(), headers
    )
    with urlopen(request, timeout=60) as response:
        return json.load(response)


customer = post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})["id"]
method = post(
    "/v1/payment-methods/", {"customer": customer, "type": "mobile_money", "phone": "+24177123456"}
)["id"]
intent = post(
    "/v1/payment-intents/", {"amount": 5000, "currency": "XAF", "payment_method": method}
)["id"]
transaction = post(f"/v1/payment-intents/{intent}/confirm/", {})["transaction"]
refund = post("/v1/refunds/", {"transaction": transaction, "amount": 2000})
if "amount" in sys.argv:
    assert refund["amount"] == 2000, "refunded something else"
while "waits" in sys.argv and refund["amount"] != 2000:
    time.sleep(60)
