"""A shop that sells baskets: Django, in one file."""

import hashlib
import hmac
import json

import httpx
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["localhost", "testserver"],
        ROOT_URLCONF=__name__,
        SECRET_KEY="only for tests",
        # Where the payments service is; a test sets them to its own.
        PAYMENTS_URL="",
        PAYMENTS_KEY="",
        PAYMENTS_WEBHOOK_SECRET="",
    )

orders = {}


@csrf_exempt
@require_POST
def order(request):
    """Begin an order; where the buyer pays it."""
    body = {
        "mode": "payment",
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
        "customer_email": json.loads(request.body)["email"],
        "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": 1}],
    }
    answer = httpx.post(
        f"{settings.PAYMENTS_URL}/v1/checkout-sessions/",
        json=body,
        headers={"Authorization": f"Bearer {settings.PAYMENTS_KEY}"},
        timeout=30,
    )
    session = answer.raise_for_status().json()
    orders[session["id"]] = "open"
    return JsonResponse({"id": session["id"], "pay_at": session["url"]}, status=201)


def show(request, id):
    """Return the state of an order."""
    return JsonResponse({"status": orders[id]})


@csrf_exempt
@require_POST
def webhooks(request):
    """Hear what happened at the payments service."""
    expected = hmac.new(settings.PAYMENTS_WEBHOOK_SECRET.encode(), request.body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(request.headers.get("Service-Signature", "").encode(), expected.encode()):
        return HttpResponse(status=401)
    event = json.loads(request.body)
    if event["type"] == "checkout.session.completed":
        orders[event["data"]["object"]["id"]] = "paid"
    return HttpResponse()


urlpatterns = [path("orders", order), path("orders/<id>", show), path("webhooks", webhooks)]
application = get_wsgi_application()
