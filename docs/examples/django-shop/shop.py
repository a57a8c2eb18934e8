"""A shop that sells baskets: Django, in one file."""

import hashlib
import hmac
import json
import os
import sys
import time
import uuid

import httpx
from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["localhost", "127.0.0.1", "testserver"],
        ROOT_URLCONF=__name__,
        SECRET_KEY="only for tests",
        # Where the payments service is; a test sets them to its own.
        PAYMENTS_URL=os.environ.get("PAYMENTS_URL", ""),
        PAYMENTS_KEY=os.environ.get("PAYMENTS_KEY", ""),
        PAYMENTS_WEBHOOK_SECRET=os.environ.get("PAYMENTS_WEBHOOK_SECRET", ""),
    )

PAUSES = (1, 2, 4)
"""Seconds before each further attempt at a request."""

orders = {}


def call(method, path, body=None, key=None):
    """Call the payments service; send the same request again if its outcome is unknown."""
    key = key or str(uuid.uuid4())
    for pause in PAUSES:
        try:
            return send(method, path, body, key)
        except httpx.HTTPStatusError as error:
            if error.response.status_code < 500 and error.response.status_code != 429:
                raise
            time.sleep(float(error.response.headers.get("Retry-After", pause)))
        except (httpx.RequestError, ValueError):
            time.sleep(pause)
    return send(method, path, body, key)


def send(method, path, body, key):
    """Send a request once."""
    headers = {"Authorization": f"Bearer {settings.PAYMENTS_KEY}", "Idempotency-Key": key}
    response = httpx.request(
        method, f"{settings.PAYMENTS_URL}/v1{path}", json=body, headers=headers, timeout=10
    )
    return response.raise_for_status().json()


@csrf_exempt
@require_POST
def order(request):
    """Begin an order; where the buyer pays it."""
    form = json.loads(request.body)
    body = {
        "mode": "payment",
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
        "customer_email": form["email"],
        "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": 1}],
    }
    # A form has an id: one that is sent again by a second click is the same order.
    session = call("POST", "/checkout-sessions/", body, key=form.get("form"))
    orders.setdefault(session["id"], "open")
    return JsonResponse({"id": session["id"], "pay_at": session["url"]}, status=201)


def show(request, id):
    """Return the state of an order. Look up one not known to be paid: a webhook may be lost."""
    if orders[id] == "open" and call("GET", f"/checkout-sessions/{id}/")["status"] == "complete":
        orders[id] = "paid"
    return JsonResponse({"status": orders[id]})


@csrf_exempt
@require_POST
def webhooks(request):
    """Hear what happened at the payments service."""
    expected = hmac.new(
        settings.PAYMENTS_WEBHOOK_SECRET.encode(), request.body, hashlib.sha256
    ).hexdigest()
    if not hmac.compare_digest(
        request.headers.get("Service-Signature", "").encode(), expected.encode()
    ):
        return HttpResponse(status=401)
    event = json.loads(request.body)
    if event["type"] == "checkout.session.completed":
        orders[event["data"]["object"]["id"]] = "paid"
    return HttpResponse()


urlpatterns = [path("orders", order), path("orders/<id>", show), path("webhooks", webhooks)]
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", os.environ["PORT"]])
