"""A small scenario with the client that openapi-python-client makes of the document: ``python FILE URL``."""

import sys

from payments_and_recurring_billing_api_client import AuthenticatedClient
from payments_and_recurring_billing_api_client.api.customers import create_customer, get_customer, list_customers
from payments_and_recurring_billing_api_client.api.subscription_plans import create_subscription_plan
from payments_and_recurring_billing_api_client.api.subscriptions import create_subscription
from payments_and_recurring_billing_api_client.models import (
    CustomerCreate,
    Interval,
    SubscriptionCreate,
    SubscriptionPlanCreate,
)

client = AuthenticatedClient(base_url=sys.argv[1], token="sk_test_pyclient")

body = CustomerCreate.from_dict({"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"})
customer = create_customer.sync(client=client, body=body)
assert (customer.firstname, customer.lastname, customer.total_spent) == ("Awa", "Diop", 0), customer
assert [each.id for each in list_customers.sync(client=client, search="awa").data] == [customer.id]
assert get_customer.sync(customer.id, client=client) == customer
terms = SubscriptionPlanCreate(name="Basic", amount=5000, currency="XAF", interval=Interval.MONTH)
plan = create_subscription_plan.sync(client=client, body=terms)
choice = SubscriptionCreate(customer=customer.id, plan=plan.id)
subscription = create_subscription.sync(client=client, body=choice)
assert subscription.status == "active", subscription
missing = get_customer.sync_detailed("cust_000000000000000000000000", client=client)
assert (missing.status_code, missing.parsed.to_dict()["code"]) == (404, "CUSTOMER_NOT_FOUND"), missing
