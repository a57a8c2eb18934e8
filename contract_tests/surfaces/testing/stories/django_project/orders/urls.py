"""The views of the shop."""

import json
import urllib.request

from django.db import transaction
from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from orders.models import Order


@csrf_exempt
def hook(request):
    """Note that an order is paid, and each customer as an order."""
    event = json.loads(request.body)
    id = event["data"]["object"]["id"]
    if event["type"] == "checkout.session.completed":
        with transaction.atomic():
            if not Order.objects.filter(id=id).update(paid=True):
                return HttpResponse("no such order", status=500)
    elif event["type"] == "customer.created":
        Order.objects.create(id=id)
    return HttpResponse()


@transaction.non_atomic_requests
@csrf_exempt
async def awaited_hook(request):
    event = json.loads(request.body)
    order = Order.objects.filter(id=event["data"]["object"]["id"])
    if event["type"] == "checkout.session.completed" and not await order.aupdate(paid=True):
        return HttpResponse("no such order", status=500)
    return HttpResponse()


@csrf_exempt
def welcome(request):
    """Create customers, of whom webhooks tell while this request goes on."""
    for number in range(10):
        body = json.dumps(
            {"email": f"{request.headers['number']}.{number}@example.com", "name": "Awa Diop"}
        ).encode()
        headers = {
            "Authorization": f"Bearer {request.headers['key']}",
            "Content-Type": "application/json",
        }
        url = f"{request.headers['url']}/v1/customers/"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)):
            pass
        with transaction.atomic():
            Order.objects.create(id=f"welcome {number}")
    return HttpResponse()


urlpatterns = [path("hook", hook), path("awaited", awaited_hook), path("welcome", welcome)]
