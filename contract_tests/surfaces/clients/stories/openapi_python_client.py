"""The story with the client that openapi-python-client makes: ``python FILE SERVER``."""

import sys

from payments_and_recurring_billing_api_client import AuthenticatedClient, models
from payments_and_recurring_billing_api_client.api.checkout_sessions import (
    create_checkout_session,
    get_checkout_session,
)
from payments_and_recurring_billing_api_client.api.customers import create_customer, get_customer
from payments_and_recurring_billing_api_client.api.invoices import list_invoices
from payments_and_recurring_billing_api_client.api.refunds import create_refund
from payments_and_recurring_billing_api_client.api.subscription_plans import (
    create_subscription_plan,
)
from payments_and_recurring_billing_api_client.api.transactions import list_transactions

KEY = "sk_test_openapi_python_client"
server = sys.argv[1]
client = AuthenticatedClient(base_url=f"{server}/v1", token=KEY)
emulator = AuthenticatedClient(base_url=f"{server}/_emulator", token=KEY)


def control(path: str, body: dict[str, str]) -> None:
    """Do what no client of the service can: pay as a buyer would, and move the clock."""
    emulator.get_httpx_client().post(path, json=body).raise_for_status()


buyer = models.CustomerCreate(email="awa@example.com", name="Awa Diop", phone="+24177000000")
customer = create_customer.sync(client=client, body=buyer)
assert isinstance(customer, models.Customer), customer
terms = models.SubscriptionPlanCreate(
    name="Basic", amount=5000, currency=models.Currency.XAF, interval=models.Interval.MONTH
)
plan = create_subscription_plan.sync(client=client, body=terms)
assert isinstance(plan, models.SubscriptionPlan), plan

basket = models.CheckoutSessionCreate(
    mode=models.CheckoutMode.SUBSCRIPTION,
    currency=models.Currency.XAF,
    customer=customer.id,
    line_items=[models.CheckoutLineInput(plan=plan.id)],
)
session = create_checkout_session.sync(client=client, body=basket)
assert isinstance(session, models.CheckoutSession), session
control(f"/checkout-sessions/{session.id}/pay", {})
session = get_checkout_session.sync(session.id, client=client)
assert isinstance(session, models.CheckoutSession), session
assert session.status is models.CheckoutSessionStatus.COMPLETE, session

control("/clock/advance", {"by": "31d"})
invoices = list_invoices.sync(
    client=client, customer=customer.id, status=[models.InvoiceStatus.PAID]
)
assert isinstance(invoices, models.InvoiceList), invoices
assert len(invoices.data) == 2, invoices

transactions = list_transactions.sync(client=client, customer=customer.id)
assert isinstance(transactions, models.TransactionList), transactions
wish = models.RefundCreate(transaction=transactions.data[0].id, amount=2000)
refund = create_refund.sync(client=client, body=wish)
assert isinstance(refund, models.Refund), refund
assert refund.status is models.RefundStatus.PROCESSING, refund

error = get_customer.sync("cust_000000000000000000000000", client=client)
assert isinstance(error, models.ApiError), error
assert error.code is models.ErrorCode.CUSTOMER_NOT_FOUND, error
