"""A small client of the service: sells a plan, refunds a part, and retries broken connections.

``python client.py careless`` sends its repetitions without ``Idempotency-Key``.
"""

import json
import os
import sys
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

CARELESS = "careless" in sys.argv


def call(method, path, body=None):
    headers = {
        "Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_KEY']}",
        "Content-Type": "application/json",
    }
    if method == "POST" and not CARELESS:
        headers["Idempotency-Key"] = str(uuid.uuid4())
    data = None if body is None else json.dumps(body).encode()
    for pause in (1, 2, 4, 8):
        request = Request(os.environ["PAYMENTS_EMULATOR_URL"] + path, data, headers, method=method)
        try:
            with urlopen(request, timeout=10) as response:
                return json.load(response)
        except HTTPError as error:
            error.close()
            if error.code == 409 and path == "/v1/customers/":
                return call("GET", f"/v1/customers/?search={body['email']}")["data"][0]
            if error.code != 429 and error.code < 500:
                raise
            time.sleep(int(error.headers.get("Retry-After", pause)))
        except (OSError, HTTPException, ValueError):
            pass
    raise SystemExit("the service does not answer")


customer = call(
    "POST",
    "/v1/customers/",
    {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"},
)
plan = call(
    "POST",
    "/v1/subscription-plans/",
    {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"},
)
call("POST", "/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
[transaction] = call("GET", f"/v1/transactions/?customer={customer['id']}")["data"]
call("POST", "/v1/refunds/", {"transaction": transaction["id"], "amount": 1000})
