"""The same scenario with the client that openapi-generator makes of the document: ``python FILE URL``."""

import sys

import payments_client as payments

configuration = payments.Configuration(host=sys.argv[1], access_token="sk_test_generated")

with payments.ApiClient(configuration) as http:
    body = payments.CustomerCreate(email="awa@example.com", name="Awa Diop", phone="+24177000000")
    customer = payments.CustomersApi(http).create_customer(body)
    terms = payments.SubscriptionPlanCreate(name="Basic", amount=5000, currency="XAF", interval="month")
    plan = payments.SubscriptionPlansApi(http).create_subscription_plan(terms)
    subscriptions = payments.SubscriptionsApi(http)
    subscription = subscriptions.create_subscription(payments.SubscriptionCreate(customer=customer.id, plan=plan.id))
    assert subscription.status == "active", subscription
    assert [each.id for each in subscriptions.list_subscriptions(customer=customer.id).data] == [subscription.id]
    missing = payments.CustomersApi(http).get_customer_without_preload_content("cust_000000000000000000000000")
    assert (missing.status, b"CUSTOMER_NOT_FOUND" in missing.data) == (404, True), missing.data
